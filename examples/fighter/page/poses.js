// Poses: what a fighter's body does in each action of the game. A pose says where
// the hip, the hands and the feet are, in pixels from the point between the feet,
// of a fighter that faces right; y counts upwards. Knees and elbows follow from it
// (see figure.js).

const pose = (hip, lean, frontHand, backHand, frontFoot, backFoot, more = {}) => ({
  hx: hip[0], hy: hip[1], lean, head: 0, rot: 0,
  fhx: frontHand[0], fhy: frontHand[1], bhx: backHand[0], bhy: backHand[1],
  ffx: frontFoot[0], ffy: frontFoot[1], bfx: backFoot[0], bfy: backFoot[1],
  ...more,
});

// mix returns the pose a share t of the way from a to b.
export function mix(a, b, t) {
  const out = {};
  for (const key in a) out[key] = a[key] + (b[key] - a[key]) * t;
  return out;
}

const clamp01 = (x) => Math.min(Math.max(x, 0), 1);
const ease = (x) => { const t = clamp01(x); return t * t * (3 - 2 * t); };

const guard = pose([-1, 39], 10, [22, 66], [12, 58], [17, 0], [-17, 0]);
const crouch = pose([-3, 20], 20, [21, 42], [12, 37], [16, 0], [-14, 0]);
const squat = pose([0, 27], 16, [-4, 40], [-14, 38], [13, 0], [-13, 0]);
const lying = pose([0, 8], 0, [14, 44], [-12, 30], [7, -36], [-3, -33], { rot: -88, head: -6 });

const strikes = {
  jab: {
    wind: pose([-2, 41], 4, [14, 64], [10, 60], [14, 0], [-14, 0]),
    blow: pose([7, 40], 16, [52, 70], [10, 61], [20, 0], [-16, 0]),
    limb: 'frontHand',
  },
  straight: {
    wind: pose([-6, 40], -8, [24, 66], [-14, 62], [14, 0], [-15, 0]),
    blow: pose([15, 37], 30, [8, 58], [68, 66], [30, 0], [-22, 0]),
    limb: 'backHand',
  },
  overhead: {
    wind: pose([-3, 44], -16, [-2, 100], [-8, 98], [16, 14], [-10, 0]),
    blow: pose([14, 34], 40, [54, 42], [49, 38], [28, 0], [-20, 0]),
    limb: 'frontHand',
  },
  'low kick': {
    wind: pose([-5, 22], 14, [18, 46], [8, 40], [8, 8], [-14, 0]),
    blow: pose([-2, 21], -8, [16, 44], [-4, 40], [58, 7], [-14, 0]),
    limb: 'frontFoot',
  },
  sweep: {
    wind: pose([-6, 20], 28, [20, 36], [-4, 30], [-6, 5], [-18, 0]),
    blow: pose([2, 18], -30, [8, 42], [-28, 5], [73, 4], [-10, 0]),
    limb: 'frontFoot',
  },
  'jump kick': {
    wind: pose([0, 46], 6, [16, 66], [-6, 60], [12, 24], [-8, 18]),
    blow: pose([-2, 46], -12, [6, 62], [-20, 56], [39, 18], [-2, 28]),
    limb: 'frontFoot',
  },
  'jump strike': {
    wind: pose([0, 48], -14, [14, 70], [-14, 84], [10, 24], [-10, 20]),
    blow: pose([2, 48], 42, [10, 54], [46, 22], [-6, 26], [-20, 20]),
    limb: 'backHand',
  },
  fireball: {
    wind: pose([-6, 34], -4, [-14, 46], [-17, 40], [18, 0], [-18, 0]),
    blow: pose([10, 33], 24, [48, 57], [46, 49], [29, 0], [-24, 0]),
    limb: '',
  },
  grab: {
    wind: pose([-2, 41], 2, [20, 70], [14, 62], [14, 0], [-14, 0]),
    blow: pose([9, 39], 20, [46, 68], [44, 58], [24, 0], [-16, 0]),
    limb: '',
  },
};

// strikingLimb names what moves fast in an action, or ''.
export const strikingLimb = (action) => strikes[action]?.limb ?? '';

// walking puts the feet down where the ground is: a foot that stands moves back as
// fast as the fighter moves on.
function walking(age, cycle, stride, lean) {
  const foot = (u) => {
    const x = ((u % 1) + 1) % 1;
    return x < 0.5
      ? [stride - 4 * stride * x, 0]
      : [-stride + 4 * stride * (x - 0.5), 9 * Math.sin(Math.PI * 2 * (x - 0.5))];
  };
  const u = age / cycle;
  const sway = Math.sin(u * Math.PI * 2) * 2;
  const bob = Math.abs(Math.sin(u * Math.PI * 2)) * 1.6;
  return pose([0, 39 + bob], lean, [21 + sway, 66 + bob], [11 - sway, 60 + bob], foot(u + 0.2), foot(u + 0.7));
}

function idle(age, base) {
  const breath = Math.sin(age * 0.11);
  return {
    ...base, hy: base.hy + breath, fhy: base.fhy + breath * 1.6, bhy: base.bhy + breath * 1.4,
    fhx: base.fhx + Math.cos(age * 0.11) * 0.8,
  };
}

function striking(v) {
  const { wind, blow } = strikes[v.action];
  switch (v.stage) {
    case 'startup':
      return mix(v.action.startsWith('jump') ? wind : guard, wind, ease(v.age / 4));
    case 'active':
      return blow;
  }
  if (v.action.startsWith('jump')) return mix(blow, airborne(30), 0.3);
  // The page knows when a strike ends, not when it began to: the way back takes the
  // last ticks of it.
  const back = Math.min(12, v.ticks * 0.45);
  const home = v.action === 'low kick' || v.action === 'sweep' ? crouch : guard;
  return mix(blow, home, ease((v.age - (v.ticks - back)) / back));
}

function airborne(age) {
  const rise = pose([0, 44], 10, [18, 74], [-14, 46], [10, 12], [-8, -2]);
  const apex = pose([0, 46], 6, [20, 66], [-12, 62], [14, 24], [-6, 18]);
  const fall = pose([0, 45], 2, [18, 78], [-18, 74], [10, 8], [-10, 4]);
  return age < 19 ? mix(rise, apex, ease(age / 16)) : mix(apex, fall, ease((age - 19) / 16));
}

function hurling(age) {
  const grip = pose([8, 38], 16, [36, 62], [34, 52], [22, 0], [-16, 0]);
  const heave = pose([0, 36], -18, [16, 92], [8, 94], [20, 0], [-18, 0]);
  const slam = pose([12, 32], 44, [44, 30], [40, 24], [28, 0], [-20, 0]);
  if (age < 8) return grip;
  if (age < 17) return mix(grip, heave, ease((age - 8) / 8));
  if (age < 26) return mix(heave, slam, ease((age - 17) / 6));
  return mix(slam, guard, ease((age - 28) / 12));
}

function caught(age) {
  const held = pose([0, 42], -6, [20, 56], [14, 48], [10, 0], [-12, 0], { head: 14 });
  const lifted = pose([26, 88], 8, [8, 100], [-8, 104], [10, 46], [-6, 50], { rot: 100 });
  const dropped = pose([4, 34], 10, [16, 60], [-12, 60], [12, -2], [-4, 2], { rot: 200 });
  if (age < 8) return held;
  if (age < 17) return mix(held, lifted, ease((age - 8) / 9));
  return mix(lifted, dropped, ease((age - 17) / 7));
}

// target returns the pose that a fighter's view asks for.
export function target(v) {
  const age = v.age;
  switch (v.action) {
    case 'walk': return walking(age, 26, 17, 13);
    case 'retreat': return walking(-age, 30, 15, 2);
    case 'crouch': return idle(age, crouch);
    case 'spring': return squat;
    case 'jump': return airborne(age);
    case 'land': return squat;
    case 'hurl': return hurling(age);
    case 'caught': return caught(age);
    case 'parted': return mix(pose([-6, 40], -22, [18, 86], [-16, 80], [16, 0], [-18, 0], { head: -8 }), guard, ease((age - 9) / 9));
    case 'hit high': return mix(pose([-6, 40], -27, [12, 54], [-20, 58], [15, 0], [-18, 0], { head: -24 }), guard, 0.5 * ease((age - 8) / 14));
    case 'hit low': return mix(pose([-8, 21], 44, [18, 22], [8, 18], [15, 0], [-18, 0], { head: 16 }), crouch, 0.5 * ease((age - 8) / 14));
    case 'hit air': return pose([0, 36], -10, [16, 76], [-6, 80], [20, 6], [10, -4], { rot: -Math.min(24 + age * 2.6, 92), head: -16 });
    case 'block high': return pose([-8, 38], -14, [12, 82], [14, 67], [13, 0], [-20, 0], { head: 8 });
    case 'block low': return pose([-6, 19], 6, [19, 40], [20, 27], [15, 0], [-16, 0], { head: 6 });
    case 'lying': return age < 6 ? mix({ ...lying, hy: 13, rot: -96 }, lying, ease(age / 6)) : lying;
    case 'get up': return age < 7
      ? mix(lying, pose([-4, 16], 34, [12, 8], [-8, 18], [14, 0], [-12, 0]), ease(age / 6))
      : mix(crouch, guard, ease((age - 7) / 7));
    case 'cheer': {
      const hop = Math.abs(Math.sin(age * 0.13));
      return pose([0, 40 + hop * 4], -4, [10, 96 + hop * 8], [-14, 46], [11, hop * 2], [-12, hop * 2], { head: -10 });
    }
    case 'kneel': return idle(age, pose([-2, 22], 32, [15, 16], [4, 14], [15, 0], [-20, 0], { head: 26 }));
  }
  if (strikes[v.action]) return striking(v);
  return idle(age, guard);
}

// snap says how fast the body follows: the share of the way per tick.
export function snap(v) {
  if (v.stage === 'active') return 0.75;
  if (v.stage === 'startup') return 0.5;
  switch (v.action) {
    case 'hit high': case 'hit low': case 'hit air': case 'block high': case 'block low': return 0.6;
    case 'caught': case 'hurl': return 0.55;
    case 'walk': case 'retreat': return 0.4;
  }
  return 0.3;
}
