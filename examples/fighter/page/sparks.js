// Sparks: what an effect looks like. One that a re-simulation takes back is taken
// back here as well.

import { disc } from './figure.js';
import { font } from './font.js';

const lives = { hit: 18, block: 14, clash: 24, tech: 16, fall: 22, land: 14, jump: 12, shot: 12, throw: 12 };

export class Sparks {
  constructor() {
    this.list = [];
    this.shake = 0;
  }

  // add starts what an effect looks like, given the view it came with.
  add(key, effect, view) {
    const life = lives[effect.name];
    if (!life) return;
    const [side, what] = effect.args;
    const who = view.fighters[side] ?? view.fighters[0], foe = view.fighters[1 - side] ?? view.fighters[1];
    const spark = { key, name: effect.name, x: who.x, y: who.y + 4, age: 0, life, dir: who.facing, size: 1, text: '' };
    switch (effect.name) {
      case 'hit':
      case 'block':
        spark.x = who.x + who.facing * 14;
        spark.y = foe.hit.h > 0 ? foe.hit.y + foe.hit.h / 2 : who.y + 54;
        if (effect.name === 'hit') {
          spark.size = Math.min(0.65 + what / 200, 1.25);
          spark.text = what > 0 ? String(what) : '';
          if (what >= 80) this.shake = 8;
        }
        break;
      case 'clash':
        Object.assign(spark, { x: what, y: 52, size: 1.5 });
        break;
      case 'tech':
      case 'throw':
        Object.assign(spark, { x: (who.x + foe.x) / 2, y: 62 });
        break;
      case 'shot':
        Object.assign(spark, { x: who.x + who.facing * 42, y: 53 });
        break;
    }
    this.list.push(spark);
    if (this.list.length > 64) this.list.shift();
  }

  // undo takes back what did not happen after all.
  undo(key) {
    this.list = this.list.filter((s) => s.key !== key);
  }

  clear() {
    this.list.length = 0;
  }

  draw(c, ticks, calm) {
    this.shake = Math.max(0, this.shake - ticks);
    for (const s of this.list) {
      s.age += ticks;
      const t = Math.min(s.age / s.life, 1);
      if (t < 1) paint[s.name](c, s, t, calm);
      if (s.text) number(c, s);
    }
    this.list = this.list.filter((s) => s.age < (s.text ? 45 : s.life));
    c.globalAlpha = 1;
  }
}

function number(c, s) {
  const t = s.age / 45;
  c.globalAlpha = 1 - t * t;
  c.font = font(10 + s.size * 4);
  c.textAlign = 'center';
  c.lineWidth = 3;
  c.strokeStyle = '#0a0c15';
  c.fillStyle = '#fff0c2';
  const x = s.x - s.dir * 12 * t, y = -s.y - 16 - 26 * t;
  c.strokeText(s.text, x, y);
  c.fillText(s.text, x, y);
}

function star(c, x, y, points, outer, inner, turn) {
  c.beginPath();
  for (let i = 0; i < points * 2; i++) {
    const r = (i % 2 ? inner : outer) * (1 + 0.35 * Math.sin(i * 2.4 + turn));
    const a = (i / points) * Math.PI + turn;
    c.lineTo(x + Math.cos(a) * r, y + Math.sin(a) * r);
  }
  c.closePath();
  c.fill();
}

function ring(c, x, y, r, width, colour) {
  c.lineWidth = width;
  c.strokeStyle = colour;
  c.beginPath();
  c.arc(x, y, r, 0, Math.PI * 2);
  c.stroke();
}

function dust(c, s, t, spread, n) {
  c.globalAlpha = 0.5 * (1 - t);
  for (let i = 0; i < n; i++) {
    const out = ((i / (n - 1)) * 2 - 1) * spread * (0.4 + t);
    disc(c, s.x + out, -2 - t * 7 * (1 + (i % 3)), 2.5 + 5 * t + (i % 2) * 2, '#cdb9b4');
  }
}

const paint = {
  hit(c, s, t, calm) {
    c.globalAlpha = 1 - t * t;
    const r = s.size * (9 + 17 * Math.sqrt(t));
    c.fillStyle = '#ff8a3c';
    star(c, s.x, -s.y, 8, r * 1.5, r * 0.45, s.x);
    c.fillStyle = '#fff3c4';
    star(c, s.x, -s.y, 7, r * (1 - t), r * 0.35 * (1 - t), s.x + 1);
    if (!calm) {
      c.lineWidth = 1.6;
      c.strokeStyle = '#ffd27a';
      c.beginPath();
      for (let i = 0; i < 9; i++) {
        const a = i * 0.698 + s.x, from = r * (0.9 + t), to = r * (1.2 + 1.3 * t);
        c.moveTo(s.x + Math.cos(a) * from, -s.y + Math.sin(a) * from);
        c.lineTo(s.x + Math.cos(a) * to, -s.y + Math.sin(a) * to);
      }
      c.stroke();
    }
    ring(c, s.x, -s.y, r * (0.6 + t * 1.4), 2.5 * (1 - t), '#fff3c4');
  },
  block(c, s, t) {
    c.globalAlpha = 1 - t;
    for (const [grow, width] of [[0, 3.2], [6, 1.4]]) {
      c.lineWidth = width;
      c.strokeStyle = '#9fe3ff';
      c.beginPath();
      c.arc(s.x, -s.y, 13 + 10 * t + grow, s.dir > 0 ? -1.1 : Math.PI - 1.1, s.dir > 0 ? 1.1 : Math.PI + 1.1);
      c.stroke();
    }
    c.fillStyle = '#e4f7ff';
    star(c, s.x + s.dir * 6, -s.y, 4, 10 * (1 - t), 2, 0);
  },
  clash(c, s, t) {
    c.globalAlpha = 1 - t;
    c.fillStyle = '#e8dcff';
    star(c, s.x, -s.y, 10, 14 + 26 * t, 8, t);
    ring(c, s.x, -s.y, 10 + 34 * t, 4 * (1 - t), '#ffffff');
  },
  tech(c, s, t) {
    c.globalAlpha = 1 - t;
    ring(c, s.x, -s.y, 8 + 26 * t, 3.5 * (1 - t), '#7df0d2');
    c.fillStyle = '#dffdf5';
    star(c, s.x, -s.y, 6, 18 * (1 - t), 3, 0.4);
  },
  throw(c, s, t) {
    c.globalAlpha = 1 - t;
    ring(c, s.x, -s.y, 6 + 12 * t, 3 * (1 - t), '#ffd34d');
  },
  shot(c, s, t) {
    c.globalAlpha = 1 - t;
    ring(c, s.x, -s.y, 6 + 20 * t, 3 * (1 - t), '#ffffff');
  },
  fall(c, s, t) { dust(c, s, t, 44, 9); },
  land(c, s, t) { dust(c, s, t, 20, 5); },
  jump(c, s, t) { dust(c, s, t, 14, 4); },
};
