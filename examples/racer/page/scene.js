// The picture: camera, road, karts, what lies about, and what is written over it.

import { fit } from './fit.js';
import { drawKart, drawNumber } from './karts.js';
import { Hud } from './hud.js';
import { Sparks } from './sparks.js';

const turn = (Math.PI * 2) / 65536;

export class Scene {
  constructor(canvas, road) {
    this.canvas = canvas;
    this.context = canvas.getContext('2d');
    this.road = road;
    this.sparks = new Sparks();
    this.hud = new Hud(road);
    this.camera = null;
    this.shown = []; // where karts are drawn: a correction is made up for gently
    this.frame = null;
    this.calm = false;
    this.whole = false; // the whole track, and a camera that does not move
    this.seconds = 0; // of the newest picture
    this.notice = ''; // over everything, while there is no picture to trust
    fit(canvas, () => this.draw(0, this.seconds));
  }

  announce(key, text, ticks) { this.hud.announce(key, text, ticks); }

  // undo takes back what did not happen after all.
  undo(key) {
    this.sparks.undo(key);
    this.hud.undo(key);
  }

  draw(ticks, seconds) {
    this.seconds = seconds;
    const { context: c, canvas, frame } = this;
    const karts = frame ? this.follow(frame, ticks) : [];
    const at = this.look(karts[frame?.self], ticks);
    c.setTransform(at.scale, 0, 0, at.scale, canvas.width / 2 - at.x * at.scale, canvas.height / 2 - at.y * at.scale);
    this.road.draw(c);
    if (frame) {
      this.drawThings(c, frame.view, seconds);
      this.drawKarts(c, karts, frame, seconds, at);
    }
    this.sparks.draw(c, ticks, this.calm);
    c.setTransform(1, 0, 0, 1, 0, 0);
    this.hud.draw(c, canvas, frame, { ticks, calm: this.calm, notice: this.notice, map: !this.whole });
  }

  // look moves the camera to where the own kart is and a little ahead of it.
  look(own, ticks) {
    const { canvas, road: { world } } = this;
    const scale = Math.min(canvas.width / world.width, canvas.height / world.height);
    const to = { x: world.width / 2, y: world.height / 2, scale };
    if (own && !this.whole) {
      to.scale = canvas.height / 480;
      const reach = Math.min(own.speed, 450) * 0.3;
      to.x = own.x + Math.cos(own.angle) * reach;
      to.y = own.y + Math.sin(own.angle) * reach;
    }
    const at = (this.camera ??= to);
    if (this.whole || Math.hypot(at.x - to.x, at.y - to.y) > 700) return Object.assign(at, to);
    const quick = 1 - Math.pow(0.9, ticks);
    for (const axis of ['x', 'y', 'scale']) at[axis] += (to[axis] - at[axis]) * quick;
    // The camera may lag behind in where it looks, but the kart stays in the picture.
    if (own) {
      const wide = (0.35 * canvas.width) / at.scale, tall = (0.35 * canvas.height) / at.scale;
      at.x = Math.min(Math.max(at.x, own.x - wide), own.x + wide);
      at.y = Math.min(Math.max(at.y, own.y - tall), own.y + tall);
    }
    return at;
  }

  // follow returns where to draw each kart. A kart that turns out to be elsewhere than
  // was guessed does not jump there: it gets there within a few ticks.
  follow(frame, ticks) {
    const past = frame.tick - (this.tick ?? frame.tick);
    this.tick = frame.tick;
    return frame.view.karts.map((k, p) => {
      if (!k.on) return (this.shown[p] = null);
      const now = { ...k, x: k.x / 10, y: k.y / 10, angle: k.heading * turn };
      const was = this.shown[p];
      let off = { x: 0, y: 0 };
      if (was && p !== frame.self) {
        off = was.off;
        if (past > 0) {
          // Where it would be if it had gone on as it was.
          const x = was.real.x + (was.real.vx ?? 0) * past - now.x, y = was.real.y + (was.real.vy ?? 0) * past - now.y;
          const jump = Math.hypot(x, y);
          if (jump > 5 && jump < 120) off = { x: off.x + x, y: off.y + y };
        }
        const stays = Math.pow(0.82, ticks);
        off = { x: off.x * stays, y: off.y * stays };
      }
      const real = past > 0 && was ? { x: now.x, y: now.y, vx: (now.x - was.real.x) / past, vy: (now.y - was.real.y) / past } : was?.real ?? { x: now.x, y: now.y };
      if (past <= 0 && was) Object.assign(real, { x: now.x, y: now.y });
      this.shown[p] = { off, real };
      return { ...now, x: now.x + off.x, y: now.y + off.y };
    });
  }

  drawThings(c, view, seconds) {
    const { boxes, kartRadius } = this.road.world;
    for (const [i, [x, y]] of boxes.entries()) {
      if (!view.boxes[i]) continue;
      c.save();
      c.translate(x / 10, y / 10);
      c.rotate(Math.PI / 4 + (this.calm ? 0 : Math.sin(seconds * 2 + i) * 0.18));
      c.fillStyle = '#7b4dff';
      c.strokeStyle = '#ffffff';
      c.lineWidth = 2.5;
      c.fillRect(-11, -11, 22, 22);
      c.strokeRect(-11, -11, 22, 22);
      c.rotate(-Math.PI / 4);
      c.fillStyle = '#ffffff';
      c.font = '800 17px system-ui, sans-serif';
      c.textAlign = 'center';
      c.fillText('?', 0, 6);
      c.restore();
    }
    for (const oil of view.oils) {
      if (!oil.live) continue;
      c.save();
      c.translate(oil.x / 10, oil.y / 10);
      c.fillStyle = '#0b0b10';
      c.strokeStyle = '#d7b6ff';
      c.lineWidth = 2;
      c.beginPath();
      c.ellipse(0, 0, kartRadius + 4, kartRadius - 2, 0.4, 0, Math.PI * 2);
      c.fill();
      c.stroke();
      c.fillStyle = '#8f7bd1';
      c.beginPath();
      c.ellipse(-4, -4, 5, 2.5, 0.4, 0, Math.PI * 2);
      c.fill();
      c.restore();
    }
  }

  drawKarts(c, karts, frame, seconds, at) {
    const { kartRadius, charged, wellCharged } = this.road.world;
    // Seen from far away they are drawn larger than they are.
    const size = Math.max(kartRadius + 4, 13 / at.scale * Math.min(window.devicePixelRatio || 1, 2));
    const order = karts.map((k, p) => p).filter((p) => karts[p]).sort((a, b) => (a === frame.self) - (b === frame.self));
    for (const p of order) {
      const k = karts[p];
      c.save();
      c.translate(k.x, k.y);
      if (p === frame.self) this.drawMark(c, size, seconds);
      c.save();
      c.rotate(k.angle);
      if (k.drift) smoke(c, k, size, k.charge >= wellCharged ? '#ff8a3d' : k.charge >= charged ? '#6fc3ff' : '#d9dde6');
      drawKart(c, p, size, { boost: k.boost, drift: k.drift, seconds, calm: this.calm });
      c.restore();
      drawNumber(c, p, size);
      c.restore();
    }
    const own = karts[frame.self];
    if (own) this.drawLabel(c, own, frame, size);
  }

  drawMark(c, size) {
    c.strokeStyle = '#11141c';
    c.lineWidth = size * 0.36;
    c.beginPath();
    c.arc(0, 0, size * 1.5, 0, Math.PI * 2);
    c.stroke();
    c.strokeStyle = '#ffffff';
    c.lineWidth = size * 0.18;
    c.stroke();
  }

  drawLabel(c, k, frame, size) {
    const text = frame.hands === 'you' ? 'YOU' : 'YOUR BOT';
    c.save();
    c.translate(k.x, k.y - size * 1.9);
    c.font = `800 ${size * 0.85}px system-ui, sans-serif`;
    c.textAlign = 'center';
    c.lineJoin = 'round';
    c.lineWidth = size * 0.26;
    c.strokeStyle = '#11141c';
    c.fillStyle = '#ffffff';
    c.beginPath();
    c.moveTo(-size * 0.5, -size * 0.5);
    c.lineTo(size * 0.5, -size * 0.5);
    c.lineTo(0, size * 0.15);
    c.closePath();
    c.stroke();
    c.fill();
    c.strokeText(text, 0, -size * 0.85);
    c.fillText(text, 0, -size * 0.85);
    c.restore();
  }
}

// smoke is what comes from the tyres of a kart that drifts; its colour says how large a
// boost there will be.
function smoke(c, k, size, style) {
  const more = Math.min(k.charge / 70, 1);
  c.fillStyle = style;
  for (const side of [-1, 1]) {
    for (let i = 0; i < 3; i++) {
      c.globalAlpha = 0.75 - i * 0.2;
      c.beginPath();
      c.arc(-size * (0.9 + i * 0.45), side * size * 0.6 - k.drift * i * size * 0.2, size * (0.16 + 0.1 * more + 0.07 * i), 0, Math.PI * 2);
      c.fill();
    }
  }
  c.globalAlpha = 1;
}
