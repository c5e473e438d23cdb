// The picture: camera, fighters, projectiles, boxes, and what is written over them.

import { Backdrop, worldWidth } from './backdrop.js';
import { cast, Figure, orb } from './figure.js';
import { fit } from './fit.js';
import { font } from './font.js';
import { Sparks } from './sparks.js';

const floorMargin = 30; // stage pixels of planks below the feet

export class Scene {
  constructor(canvas) {
    this.canvas = canvas;
    this.context = canvas.getContext('2d');
    this.backdrop = new Backdrop();
    this.figures = [new Figure(0), new Figure(1)];
    this.sparks = new Sparks();
    this.camera = { x: 0, y: 0, width: worldWidth };
    this.lagging = [1, 1]; // health as the bars show that it was
    this.banner = null;
    this.frame = null;
    this.boxes = false;
    this.calm = false;
    this.seconds = 0; // of the newest picture
    this.notice = ''; // over everything, while there is no picture to trust
    fit(canvas, () => this.draw(0, this.seconds));
  }

  // unit is a pixel of the writing over the picture.
  unit() {
    return Math.max(this.canvas.width / 1240, (0.55 * this.canvas.width) / Math.max(this.canvas.clientWidth, 1));
  }

  // announce shows words across the picture for some ticks.
  announce(key, text, ticks, colour = '#ffffff') {
    this.banner = { key, text, age: 0, ticks, colour };
  }

  // undo takes back what did not happen after all.
  undo(key) {
    this.sparks.undo(key);
    if (this.banner?.key === key) this.banner = null;
  }

  draw(ticks, seconds) {
    this.seconds = seconds;
    const { context: c, canvas, frame } = this;
    c.setTransform(1, 0, 0, 1, 0, 0);
    const view = frame?.view;
    this.look(view, ticks);
    const shake = this.calm ? 0 : this.sparks.shake;
    const camera = {
      x: this.camera.x + Math.sin(shake * 2.1) * shake * 0.4,
      y: this.camera.y + Math.cos(shake * 2.7) * shake * 0.4,
      scale: canvas.width / this.camera.width,
    };
    camera.floor = canvas.height + (camera.y - floorMargin) * camera.scale;
    this.clear = (camera.floor - 128 * this.unit()) / camera.scale; // height free of what is written at the top
    this.backdrop.draw(c, canvas, camera, seconds, this.calm);
    c.setTransform(camera.scale, 0, 0, camera.scale, canvas.width / 2 - camera.x * camera.scale, camera.floor);
    this.backdrop.floor(c, floorMargin);
    if (view) this.drawFighters(c, view, frame, ticks, seconds);
    this.sparks.draw(c, ticks, this.calm);
    c.setTransform(1, 0, 0, 1, 0, 0);
    if (!this.calm) this.backdrop.drift(c, canvas, seconds);
    if (view) this.drawStatus(c, view, frame, ticks);
    this.drawBanner(c, view, ticks);
  }

  // look moves the camera so that both fighters are in the picture.
  look(view, ticks) {
    const tall = this.canvas.height / this.canvas.width;
    let x = 0, y = 0, width = worldWidth;
    if (view && !this.calm) {
      const [a, b] = view.fighters;
      // A jump is first followed upwards, as far as the floor stays in the picture,
      // and then from further away.
      const need = Math.max(a.y, b.y) + 116 + floorMargin;
      width = Math.min(Math.max(Math.abs(a.x - b.x) + 250, 490, (need - 22) / tall), worldWidth);
      y = Math.min(Math.max(need - width * tall, 0), 22);
      const edge = worldWidth / 2 - width / 2;
      x = Math.min(Math.max((a.x + b.x) / 2, -edge), edge);
    }
    const slow = 1 - Math.pow(0.93, ticks), quick = 1 - Math.pow(0.8, ticks);
    this.camera.x += (x - this.camera.x) * slow;
    this.camera.y += (y - this.camera.y) * slow;
    this.camera.width += (width - this.camera.width) * (width > this.camera.width ? quick : slow);
  }

  drawFighters(c, view, frame, ticks, seconds) {
    view.fighters.forEach((f, side) => {
      this.figures[side].follow(f, ticks, this.calm);
      c.globalAlpha = 0.45 * Math.max(1 - f.y / 200, 0.3);
      c.fillStyle = '#05030a';
      c.beginPath();
      c.ellipse(f.x, 1, 30 - f.y * 0.07, 5, 0, 0, Math.PI * 2);
      c.fill();
      c.globalAlpha = 1;
    });
    // Who strikes is in front.
    const order = view.fighters[0].stage === 'active' || view.fighters[0].action === 'hurl' ? [1, 0] : [0, 1];
    for (const side of order) this.figures[side].draw(c);
    view.shots.forEach((shot, side) => {
      if (!shot.live) return;
      const pulse = this.calm ? 0 : Math.sin(seconds * 30) * 1.2;
      for (let i = 4; i >= 1; i--) {
        c.globalAlpha = 0.5 - i * 0.1;
        orb(c, shot.x - shot.dir * i * 7, -shot.y, 11 - i * 1.6, cast[side]);
      }
      c.globalAlpha = 1;
      orb(c, shot.x, -shot.y, 12 + pulse, cast[side]);
    });
    this.drawMarker(c, view.fighters[frame.self], frame);
    if (this.boxes) this.drawBoxes(c, view);
  }

  drawMarker(c, f, frame) {
    const y = -Math.min(f.y + 104, this.clear);
    c.fillStyle = '#ffffff';
    c.strokeStyle = '#0a0c15';
    c.lineWidth = 2.5;
    c.font = font(9, 700);
    c.textAlign = 'center';
    c.strokeText(frame.hands, f.x, y - 8);
    c.fillText(frame.hands, f.x, y - 8);
    c.beginPath();
    c.moveTo(f.x - 5, y - 5);
    c.lineTo(f.x + 5, y - 5);
    c.lineTo(f.x, y + 1);
    c.closePath();
    c.stroke();
    c.fill();
  }

  drawBoxes(c, view) {
    const kinds = [
      ['push', '#ffffff', [4, 3], 1],
      ['hurt', '#6fc3ff', [], 1.4],
      ['hit', '#ff5a5a', [], 2.6],
    ];
    const box = (r, [name, colour, dash, width]) => {
      if (!r.w) return;
      c.setLineDash(dash);
      c.lineWidth = width;
      c.strokeStyle = colour;
      c.strokeRect(r.x, -r.y - r.h, r.w, r.h);
      c.setLineDash([]);
      c.globalAlpha = 0.16;
      c.fillStyle = colour;
      if (name !== 'push') c.fillRect(r.x, -r.y - r.h, r.w, r.h);
      c.globalAlpha = 1;
      c.font = font(7, 600);
      c.textAlign = 'left';
      c.fillText(name, r.x + 2, -r.y - r.h + (name === 'push' ? 14 : 7));
    };
    for (const f of view.fighters) for (const kind of kinds) box(f[kind[0]], kind);
    for (const shot of view.shots) if (shot.live) box(shot.hit, kinds[2]);
  }

  // drawStatus paints health, rounds, time and combos.
  drawStatus(c, view, frame, ticks) {
    const { width } = this.canvas;
    const u = this.unit();
    const mid = width / 2, gap = 52 * u, margin = 18 * u, top = 16 * u, tall = 22 * u;
    const long = mid - gap - margin, slant = 10 * u;
    const veil = c.createLinearGradient(0, 0, 0, 90 * u);
    veil.addColorStop(0, '#0a0c15cc');
    veil.addColorStop(1, '#0a0c1500');
    c.fillStyle = veil;
    c.fillRect(0, 0, width, 90 * u);
    view.fighters.forEach((f, side) => {
      const dress = cast[side], way = side === 0 ? -1 : 1;
      const near = mid + way * gap;
      // A bar is anchored in the middle and loses its far end.
      const bar = (share, style) => {
        if (share <= 0) return;
        const far = near + way * long * share;
        c.fillStyle = style;
        c.beginPath();
        c.moveTo(near, top);
        c.lineTo(far + way * slant, top);
        c.lineTo(far, top + tall);
        c.lineTo(near - way * slant, top + tall);
        c.closePath();
        c.fill();
      };
      const share = f.health / f.maxHealth;
      const lag = this.lagging[side];
      this.lagging[side] = share >= lag ? share : Math.max(share, lag - (f.combo > 0 ? 0.001 : 0.012) * ticks);
      c.save();
      c.shadowColor = 'transparent';
      bar(1.004, '#0a0c15');
      bar(1, '#2b2f45');
      bar(this.lagging[side], '#fff2d8');
      const g = c.createLinearGradient(0, top, 0, top + tall);
      g.addColorStop(0, dress.light);
      g.addColorStop(0.45, dress.main);
      g.addColorStop(1, dress.dark);
      bar(share, g);
      c.restore();

      const text = (words, x, y, size, align, colour = '#ffffff') => {
        c.font = font(size * u);
        c.textAlign = align;
        c.lineWidth = 4 * u;
        c.strokeStyle = '#0a0c15';
        c.lineJoin = 'round';
        c.strokeText(words, x, y);
        c.fillStyle = colour;
        c.fillText(words, x, y);
        return c.measureText(words).width;
      };
      const outer = side === 0 ? 'left' : 'right';
      const edge = mid + way * (gap + long);
      const under = top + tall + 22 * u;
      const who = side === frame.self ? `this page: ${frame.hands}` : 'peer';
      const wide = text(dress.name.toUpperCase(), edge, under, 20, outer);
      text(who, edge - way * (wide + 10 * u), under, 14, outer, '#c9d3ea');
      text(String(f.health), near + way * 8 * u, top + tall - 5.5 * u, 15, side === 0 ? 'right' : 'left');
      for (let i = 0; i < 2; i++) {
        const x = near + way * (10 + i * 24) * u, y = under - 6 * u, r = 8 * u;
        c.beginPath();
        c.moveTo(x, y - r); c.lineTo(x + r, y); c.lineTo(x, y + r); c.lineTo(x - r, y);
        c.closePath();
        c.lineWidth = 2 * u;
        c.fillStyle = i < f.wins ? '#ffd34d' : '#0a0c15aa';
        c.fill();
        c.strokeStyle = i < f.wins ? '#fff4cf' : '#8b93ad';
        c.stroke();
      }
      if (f.combo >= 2) {
        const x = side === 0 ? width - margin : margin; // on the striker's side
        text(`${f.combo} hits`, x, 118 * u, 34, side === 0 ? 'right' : 'left', '#ffd34d');
        text(`${f.damage} damage`, x, 140 * u, 17, side === 0 ? 'right' : 'left');
      }
    });
    c.fillStyle = '#0a0c15';
    c.beginPath();
    c.moveTo(mid - 40 * u, top - 6 * u); c.lineTo(mid + 40 * u, top - 6 * u);
    c.lineTo(mid + 30 * u, top + tall + 20 * u); c.lineTo(mid - 30 * u, top + tall + 20 * u);
    c.closePath();
    c.fill();
    c.font = font(40 * u);
    c.textAlign = 'center';
    c.fillStyle = view.seconds <= 10 && view.phase === 'fight' ? '#ff9a8a' : '#ffffff';
    c.fillText(String(view.seconds).padStart(2, '0'), mid - 2 * u, top + tall + 8 * u);
  }

  drawBanner(c, view, ticks) {
    const { width, height } = this.canvas;
    const u = this.unit();
    let banner = this.banner;
    if (banner) {
      banner.age += ticks;
      if (banner.age > banner.ticks) banner = this.banner = null;
    }
    if (!banner && view?.phase === 'intro') {
      banner = { text: view.round >= 3 ? `ROUND ${view.round}, THE LAST` : `ROUND ${view.round}`, age: 20, ticks: 1e9, colour: '#ffffff', small: `MATCH ${view.match}` };
    }
    if (this.notice) banner = { text: this.notice, age: 20, ticks: 1e9, colour: '#ffe2a8', modest: true };
    if (!banner) return;
    const enter = this.calm ? 1 : Math.min(banner.age / 7, 1);
    const leave = Math.min((banner.ticks - banner.age) / 8, 1);
    const size = (banner.modest ? 34 : 88) * u * (1 + (1 - enter) * 0.9);
    c.save();
    c.globalAlpha = Math.max(Math.min(enter, leave), 0);
    c.translate(width / 2, height * 0.36);
    c.fillStyle = '#0a0c15b0';
    c.fillRect(-width / 2, -46 * u, width, 80 * u);
    c.fillStyle = banner.colour;
    c.fillRect(-width / 2, -47 * u, width, 2 * u);
    c.fillRect(-width / 2, 34 * u, width, 2 * u);
    c.font = font(size);
    c.textAlign = 'center';
    c.lineJoin = 'round';
    c.lineWidth = 10 * u;
    c.strokeStyle = '#0a0c15';
    const y = banner.modest ? 6 * u : 25 * u, most = width * 0.94;
    c.strokeText(banner.text, 0, y, most);
    c.fillStyle = banner.colour;
    c.fillText(banner.text, 0, y, most);
    if (banner.small) {
      c.font = font(17 * u, 700);
      c.lineWidth = 5 * u;
      c.strokeText(banner.small, 0, 58 * u);
      c.fillStyle = '#ffffff';
      c.fillText(banner.small, 0, 58 * u);
    }
    c.restore();
  }
}
