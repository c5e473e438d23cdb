// The kart's buttons, and what they are on a keyboard and a gamepad.

const left = 1, right = 2, throttle = 4, brake = 8, slide = 16, use = 32;

export const keys = {
  byCode: {
    ArrowLeft: left, KeyA: left, ArrowRight: right, KeyD: right, ArrowUp: throttle, KeyW: throttle, ArrowDown: brake, KeyS: brake,
    Space: slide, KeyK: slide, KeyE: use, KeyJ: use,
  },
  byPad: { 0: throttle, 1: brake, 2: use, 5: slide, 6: brake, 7: throttle, 12: throttle, 13: brake, 14: left, 15: right },
  byAxis: { 0: [left, right] },
};
