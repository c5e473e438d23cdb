// The drawn fighters: bones from a pose, and flesh on the bones.

import { mix, snap, strikingLimb, target } from './poses.js';

const torso = 28, upperArm = 16, lowerArm = 16, thigh = 23, shin = 22, ankle = 4;
const ink = '#0a0c15';

// The two differ in dress and hair as well as in colour.
export const cast = [
  { name: 'Kite', main: '#4b8dff', dark: '#2a57b5', light: '#9cc2ff', skin: '#f0c49a', hair: '#2b2330', band: '#ffd34d', glove: '#f4f7ff', sleeves: true },
  { name: 'Ember', main: '#ff6a4d', dark: '#b33526', light: '#ffb199', skin: '#b97a50', hair: '#3d1712', band: '#7df0d2', glove: '#ffe9d6', sleeves: false },
];

// looks are what either may wear; the first is its own.
export const looks = [
  { name: 'Own colours' },
  { name: 'Moss', main: '#4fae5a', dark: '#24662f', light: '#a8e0a0', band: '#ffe08a' },
  { name: 'Violet', main: '#a06bff', dark: '#5a33ab', light: '#d3b8ff', band: '#8af0ff' },
  { name: 'Sand', main: '#d9b25a', dark: '#8a6a24', light: '#ffe3a1', band: '#ff8d85' },
];
const own = cast.map((dress) => ({ ...dress }));

// wear dresses one of the two.
export function wear(side, look) {
  Object.assign(cast[side], own[side], looks[look], { name: own[side].name });
}

// bend returns the joint between two bones from a to b; side 1 bends it to the left
// of the way there. What is too far away stretches the bones.
function bend(a, b, first, second, side) {
  const dx = b.x - a.x, dy = b.y - a.y;
  const far = Math.max(Math.hypot(dx, dy), 0.001);
  const stretch = Math.max(1, far / (first + second));
  const p = first * stretch, q = second * stretch;
  const along = (p * p - q * q + far * far) / (2 * far);
  const off = Math.sqrt(Math.max(p * p - along * along, 0)) * side;
  return { x: a.x + (dx * along - dy * off) / far, y: a.y + (dy * along + dx * off) / far };
}

// bones puts a pose on the stage: points in stage pixels, y upwards.
function bones(p, x, y, facing) {
  const turn = (p.rot * Math.PI) / 180;
  const sin = Math.sin(turn), cos = Math.cos(turn);
  // Facing left mirrors the body; rot turns it forwards about the hip.
  const at = (px, py) => {
    const rx = px - p.hx, ry = py - p.hy;
    return { x: x + facing * (p.hx + rx * cos + ry * sin), y: y + p.hy - rx * sin + ry * cos };
  };
  const lean = (p.lean * Math.PI) / 180, nod = ((p.lean * 0.5 + p.head) * Math.PI) / 180;
  const sx = p.hx + Math.sin(lean) * torso, sy = p.hy + Math.cos(lean) * torso;
  const b = {
    hip: at(p.hx, p.hy), neck: at(sx, sy),
    head: at(sx + Math.sin(nod) * 12 + 1, sy + Math.cos(nod) * 12),
    frontShoulder: at(sx + 3, sy - 3), backShoulder: at(sx - 4, sy - 3),
    frontHip: at(p.hx + 3, p.hy), backHip: at(p.hx - 3, p.hy),
    frontHand: at(p.fhx, p.fhy), backHand: at(p.bhx, p.bhy),
    frontFoot: at(p.ffx, p.ffy + ankle), backFoot: at(p.bfx, p.bfy + ankle),
    tilt: nod + turn,
  };
  b.frontElbow = bend(b.frontShoulder, b.frontHand, upperArm, lowerArm, -facing);
  b.backElbow = bend(b.backShoulder, b.backHand, upperArm, lowerArm, -facing);
  b.frontKnee = bend(b.frontHip, b.frontFoot, thigh, shin, facing);
  b.backKnee = bend(b.backHip, b.backFoot, thigh, shin, facing);
  return b;
}

export class Figure {
  constructor(side) {
    this.dress = cast[side];
    this.pose = null;
    this.trail = []; // of the striking limb
    this.tails = [{ x: 0, y: 0 }, { x: 0, y: 0 }, { x: 0, y: 0 }, { x: 0, y: 0 }];
  }

  // follow moves the body towards what the view asks for, ticks later.
  follow(v, ticks, calm) {
    const goal = target(v);
    const far = !this.pose || Math.abs(v.x - this.x) > 120; // a new round
    if (far) {
      this.pose = goal;
      this.trail.length = 0;
    } else if (!v.frozen || v.stage === '') {
      this.pose = mix(this.pose, goal, 1 - Math.pow(1 - snap(v), ticks));
    }
    this.x = v.x;
    this.view = v;
    // A blow makes who has taken it tremble.
    const shake = v.frozen && v.stage === '' && !calm ? Math.sin(v.age * 9 + performance.now() * 0.09) * 1.6 : 0;
    this.bones = bones(this.pose, v.x + shake, v.y, v.facing);

    const limb = strikingLimb(v.action);
    if (limb && v.stage !== 'recovery') this.trail.push({ ...this.bones[limb] });
    else this.trail.shift();
    if (this.trail.length > 6) this.trail.shift();
    this.swing(far, ticks, calm);
  }

  // swing lets the band's tails hang behind the head and lag.
  swing(far, ticks, calm) {
    const { head } = this.bones, f = this.view.facing;
    let before = { x: head.x - f * 8, y: head.y + 1 };
    for (const [i, tail] of this.tails.entries()) {
      const wave = calm ? 0 : Math.sin(performance.now() * 0.005 - i * 1.1) * (1 + i * 0.7);
      const rest = { x: before.x - f * 5.2, y: before.y - 2.2 + wave };
      const k = far || calm ? 1 : 1 - Math.pow(0.6, ticks);
      tail.x += (rest.x - tail.x) * k;
      tail.y += (rest.y - tail.y) * k;
      const d = Math.max(Math.hypot(tail.x - before.x, tail.y - before.y), 0.001);
      if (d > 7) {
        tail.x = before.x + ((tail.x - before.x) * 7) / d;
        tail.y = before.y + ((tail.y - before.y) * 7) / d;
      }
      before = tail;
    }
  }

  // draw paints the fighter on a context whose y counts downwards from the floor.
  draw(c) {
    const b = this.bones, d = this.dress, v = this.view;
    c.lineCap = c.lineJoin = 'round';
    this.drawTrail(c);
    this.drawTails(c);
    const arm = d.sleeves ? d.main : d.skin, backArm = d.sleeves ? d.dark : shade(d.skin);
    this.limb(c, [b.backShoulder, b.backElbow, b.backHand], 8, 6.5, backArm);
    this.glove(c, b.backHand, shade(d.glove));
    this.limb(c, [b.backHip, b.backKnee, b.backFoot], 12, 9, d.dark);
    this.shoe(c, b.backFoot, b.backKnee, shade(d.band));
    this.limb(c, [b.frontHip, b.frontKnee, b.frontFoot], 12.5, 9.5, d.main, d.light);
    this.shoe(c, b.frontFoot, b.frontKnee, d.band);
    this.drawTorso(c);
    this.drawHead(c, v);
    this.limb(c, [b.frontShoulder, b.frontElbow, b.frontHand], 8.5, 7, arm, d.sleeves ? d.light : '');
    this.glove(c, b.frontHand, d.glove);
    if (v.action === 'fireball' && v.stage === 'startup') this.charge(c);
  }

  limb(c, [a, j, z], wide, thin, colour, light) {
    const path = (from, to, width, style) => {
      c.lineWidth = width;
      c.strokeStyle = style;
      c.beginPath();
      c.moveTo(from.x, -from.y);
      c.lineTo(to.x, -to.y);
      c.stroke();
    };
    path(a, j, wide + 3.2, ink);
    path(j, z, thin + 3.2, ink);
    path(a, j, wide, colour);
    path(j, z, thin, colour);
    if (light) {
      c.globalAlpha = 0.55;
      const up = (p) => ({ x: p.x - 1.2, y: p.y + 1.8 });
      path(up(a), up(j), 2, light);
      path(up(j), up({ x: j.x + (z.x - j.x) * 0.6, y: j.y + (z.y - j.y) * 0.6 }), 1.6, light);
      c.globalAlpha = 1;
    }
  }

  glove(c, p, colour) {
    disc(c, p.x, -p.y, 6.4, ink);
    disc(c, p.x, -p.y, 4.9, colour);
  }

  shoe(c, foot, knee, colour) {
    // The sole is square to the shin, and flat where the shin is upright.
    const f = this.view.facing;
    const dx = foot.x - knee.x, dy = foot.y - knee.y, n = Math.max(Math.hypot(dx, dy), 0.001);
    const steep = Math.abs(dy) / n > 0.5 && dy < 0;
    const toe = steep ? { x: foot.x + f * 7, y: foot.y - 1 } : { x: foot.x - (dy / n) * 7 * f, y: foot.y + (dx / n) * 7 * f };
    for (const [width, style] of [[9.5, ink], [6.6, colour]]) {
      c.lineWidth = width;
      c.strokeStyle = style;
      c.beginPath();
      c.moveTo(foot.x, -foot.y);
      c.lineTo(toe.x, -toe.y);
      c.stroke();
    }
  }

  drawTorso(c) {
    const { hip, neck } = this.bones, d = this.dress, f = this.view.facing;
    const dx = neck.x - hip.x, dy = neck.y - hip.y, n = Math.max(Math.hypot(dx, dy), 0.001);
    const ux = dx / n, uy = dy / n, sx = uy, sy = -ux; // up the spine, and to its right
    const at = (up, out) => [hip.x + ux * up + sx * out, -(hip.y + uy * up + sy * out)];
    const shape = () => {
      c.beginPath();
      c.moveTo(...at(-6, -9));
      c.lineTo(...at(10, -8));
      c.quadraticCurveTo(...at(24, -14), ...at(30, -8));
      c.quadraticCurveTo(...at(33, 0), ...at(30, 8));
      c.quadraticCurveTo(...at(24, 14), ...at(10, 8));
      c.lineTo(...at(-6, 9));
      c.closePath();
    };
    shape();
    c.lineWidth = 3.2;
    c.strokeStyle = ink;
    c.stroke();
    c.fillStyle = d.main;
    c.fill();
    c.save();
    shape();
    c.clip();
    c.fillStyle = d.dark; // the side away from the moon
    c.beginPath();
    c.moveTo(...at(-8, -f * 12));
    c.lineTo(...at(34, -f * 12));
    c.lineTo(...at(34, -f * 5));
    c.lineTo(...at(-8, -f * 3));
    c.fill();
    c.fillStyle = d.skin; // the open collar
    c.beginPath();
    c.moveTo(...at(34, -f * 2));
    c.lineTo(...at(34, f * 9));
    c.lineTo(...at(16, f * 4));
    c.fill();
    c.lineWidth = 2.2;
    c.strokeStyle = d.light;
    c.beginPath();
    c.moveTo(...at(33, -f * 3));
    c.lineTo(...at(15, f * 4));
    c.lineTo(...at(33, f * 10));
    c.stroke();
    c.restore();
    c.lineWidth = 6.4;
    c.strokeStyle = ink;
    c.beginPath();
    c.moveTo(...at(3, -8));
    c.lineTo(...at(3, 8));
    c.stroke();
    c.lineWidth = 3.6;
    c.strokeStyle = d.band;
    c.stroke();
    c.lineWidth = 2.6;
    c.beginPath();
    c.moveTo(...at(3, f * 4));
    c.lineTo(...at(-7, f * 7));
    c.moveTo(...at(3, f * 4));
    c.lineTo(...at(-8, f * 2));
    c.stroke();
  }

  drawHead(c, v) {
    const { head, neck, tilt } = this.bones, d = this.dress, f = v.facing;
    c.lineWidth = 7;
    c.strokeStyle = shade(d.skin);
    c.beginPath();
    c.moveTo(neck.x, -neck.y);
    c.lineTo(head.x, -head.y);
    c.stroke();
    c.save();
    c.translate(head.x, -head.y);
    c.scale(f, 1);
    c.rotate(tilt);
    disc(c, 0, 0, 10.6, ink);
    disc(c, 0, 0, 9.1, d.skin);
    c.fillStyle = d.hair;
    c.beginPath();
    if (d.sleeves) { // short and swept up
      c.arc(0, 0, 9.6, Math.PI * 0.8, Math.PI * 1.92);
      c.lineTo(11, -8.5); c.lineTo(6, -10.5); c.lineTo(6.5, -14); c.lineTo(1, -11); c.lineTo(-2, -14.5); c.lineTo(-5, -10.5); c.lineTo(-10, -11.5); c.lineTo(-9, -6);
    } else { // tied in a knot
      c.arc(0, 0, 9.6, Math.PI * 0.72, Math.PI * 1.88);
      c.quadraticCurveTo(2, -4, -3, 3);
    }
    c.fill();
    if (!d.sleeves) {
      disc(c, -4, -12, 5.2, ink);
      disc(c, -4, -12, 4, d.hair);
      c.fillStyle = d.band;
      c.fillRect(-7, -9.8, 6, 2.4);
    } else {
      c.lineWidth = 3.4;
      c.strokeStyle = d.band;
      c.beginPath();
      c.moveTo(-9, -1.2);
      c.quadraticCurveTo(0, -6.4, 8.6, -4.6);
      c.stroke();
    }
    c.strokeStyle = ink;
    c.lineWidth = 1.7;
    c.beginPath();
    const hurt = v.action.startsWith('hit') || v.action === 'lying' || v.action === 'caught';
    if (hurt) {
      c.moveTo(2.8, -2.6); c.lineTo(6.4, 0.6); c.moveTo(6.4, -2.6); c.lineTo(2.8, 0.6);
    } else {
      c.moveTo(5, -2.4); c.lineTo(5, 0.8);
      if (!d.sleeves) { c.moveTo(2.6, -4.6); c.lineTo(7.2, -3.6); }
    }
    c.stroke();
    c.lineWidth = 1.3;
    c.beginPath();
    const shouting = v.stage === 'active' || hurt || v.action === 'cheer';
    if (shouting) c.arc(5, 4.4, 1.9, 0, Math.PI * 2);
    else { c.moveTo(3.6, 4.4); c.lineTo(7, 4); }
    c.stroke();
    c.restore();
  }

  drawTails(c) {
    const d = this.dress, { head } = this.bones, f = this.view.facing;
    const at = d.sleeves ? { x: head.x - f * 8, y: head.y + 2 } : { x: head.x - f * 8, y: head.y + 9 };
    const drop = at.y - (head.y + 2);
    for (const [width, style, fall] of d.sleeves ? [[6, ink, 0], [3.4, d.band, 0], [2.6, shade(d.band), -4]] : [[7.5, ink, 0], [4.6, d.hair, 0]]) {
      c.lineWidth = width;
      c.strokeStyle = style;
      c.beginPath();
      c.moveTo(at.x, -at.y);
      this.tails.slice(0, d.sleeves ? 4 : 3).forEach((t, i) => c.lineTo(t.x, -(t.y + drop * (1 - i * 0.3) + fall * (i + 1) * 0.5)));
      c.stroke();
    }
  }

  drawTrail(c) {
    const { trail } = this;
    for (let i = 1; i < trail.length; i++) {
      const far = Math.hypot(trail[i].x - trail[i - 1].x, trail[i].y - trail[i - 1].y);
      if (far < 3) continue;
      c.globalAlpha = (0.55 * i) / trail.length;
      c.lineWidth = 3 + (9 * i) / trail.length;
      c.strokeStyle = this.dress.light;
      c.beginPath();
      c.moveTo(trail[i - 1].x, -trail[i - 1].y);
      c.lineTo(trail[i].x, -trail[i].y);
      c.stroke();
    }
    c.globalAlpha = 1;
  }

  charge(c) {
    const { frontHand: p } = this.bones, r = 4 + this.view.age * 0.7;
    orb(c, p.x, -p.y, r, this.dress);
  }
}

// orb is a projectile's glow.
export function orb(c, x, y, r, dress) {
  const g = c.createRadialGradient(x, y, 0, x, y, r * 2.4);
  g.addColorStop(0, '#ffffff');
  g.addColorStop(0.25, dress.light);
  g.addColorStop(0.5, dress.main + 'aa');
  g.addColorStop(1, dress.main + '00');
  c.fillStyle = g;
  c.fillRect(x - r * 2.4, y - r * 2.4, r * 4.8, r * 4.8);
}

export function disc(c, x, y, r, colour) {
  c.fillStyle = colour;
  c.beginPath();
  c.arc(x, y, r, 0, Math.PI * 2);
  c.fill();
}

// shade returns a #rrggbb colour darker.
function shade(colour) {
  const n = parseInt(colour.slice(1), 16);
  const part = (shift) => Math.round(((n >> shift) & 255) * 0.68);
  return `rgb(${part(16)},${part(8)},${part(0)})`;
}
