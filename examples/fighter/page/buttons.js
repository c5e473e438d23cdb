// The fighter's buttons, and what they are on a keyboard and a gamepad.

const left = 1, right = 2, up = 4, down = 8, light = 16, heavy = 32, grab = 64, special = 128;

export const keys = {
  byCode: {
    ArrowLeft: left, KeyA: left, ArrowRight: right, KeyD: right, ArrowUp: up, KeyW: up, ArrowDown: down, KeyS: down,
    KeyJ: light, KeyZ: light, KeyK: heavy, KeyX: heavy, KeyL: grab, KeyC: grab, Semicolon: special, KeyV: special,
  },
  byPad: { 0: light, 1: grab, 2: heavy, 3: special, 12: up, 13: down, 14: left, 15: right },
  byAxis: { 0: [left, right], 1: [up, down] },
};
