// What is written over the race: place, lap, item, time, the small map, and what is
// announced.

import { colours } from './karts.js';
import { font } from './font.js';

const ordinal = (n) => `${n}${['th', 'st', 'nd', 'rd'][n % 100 > 10 && n % 100 < 14 ? 0 : n % 10] ?? 'th'}`;
export { ordinal };

export const clock = (ticks) => `${Math.floor(ticks / 3600)}:${((ticks / 60) % 60).toFixed(2).padStart(5, '0')}`;

export class Hud {
  constructor(road) {
    this.road = road;
    this.banner = null;
  }

  announce(key, text, ticks) { this.banner = { key, text, age: 0, ticks }; }

  undo(key) { if (this.banner?.key === key) this.banner = null; }

  draw(c, canvas, frame, { ticks, calm, notice, map }) {
    const u = Math.max(canvas.width / 1008, (0.62 * canvas.width) / Math.max(canvas.clientWidth, 1));
    const k = frame?.view.karts[frame.self];
    if (k?.on) this.drawOwn(c, canvas, frame, k, u);
    if (frame && map) this.drawMap(c, canvas, frame, u);
    this.drawBanner(c, canvas, frame, u, { ticks, calm, notice });
  }

  // pill writes a few words on a dark ground and returns how wide it is.
  pill(c, words, x, y, size, u, { align = 'left', colour = '#ffffff' } = {}) {
    c.font = font(size * u, 800);
    c.textAlign = 'left';
    const wide = c.measureText(words).width + 20 * u, tall = size * 1.45 * u;
    const left = align === 'right' ? x - wide : x;
    c.fillStyle = '#0d1019d0';
    c.beginPath();
    c.roundRect(left, y, wide, tall, 7 * u);
    c.fill();
    c.fillStyle = colour;
    c.fillText(words, left + 9 * u, y + tall - size * 0.4 * u);
    return wide;
  }

  drawOwn(c, canvas, frame, k, u) {
    const { view } = frame, racing = view.karts.filter((other) => other.on).length;
    const first = this.pill(c, ordinal(k.place || k.rank), 12 * u, 12 * u, 40, u, { colour: '#ffd34d' });
    this.pill(c, `of ${racing}`, 18 * u + first, 12 * u, 19, u);
    this.pill(c, k.place ? 'finished' : `lap ${k.lap} of ${view.laps}`, 18 * u + first, 43 * u, 19, u);
    const time = k.place ? clock(k.took) : view.phase === 'racing' ? clock(view.ticks) : '';
    if (time) this.pill(c, time, canvas.width - 12 * u, 12 * u, 22, u, { align: 'right' });
    this.pill(c, k.item ? `item: ${k.item}` : 'no item', canvas.width - 12 * u, 50 * u, 18, u, { align: 'right', colour: k.item ? '#cdb8ff' : '#a9b4c8' });
    if (k.wrongWay && view.phase === 'racing') this.pill(c, 'WRONG WAY', canvas.width / 2 - 80 * u, canvas.height - 60 * u, 28, u, { colour: '#ff9a8a' });
  }

  // drawMap is the whole track in a corner.
  drawMap(c, canvas, frame, u) {
    const { world, path } = this.road;
    const wide = 190 * u, scale = wide / world.width, tall = world.height * scale;
    c.save();
    c.translate(12 * u, canvas.height - tall - 12 * u);
    c.fillStyle = '#0d1019c0';
    c.beginPath();
    c.roundRect(0, 0, wide, tall, 8 * u);
    c.fill();
    c.scale(scale, scale);
    c.lineJoin = 'round';
    c.lineWidth = 100;
    c.strokeStyle = '#8d96aa';
    c.stroke(path);
    c.lineWidth = 62;
    c.strokeStyle = '#2a3040';
    c.stroke(path);
    const { start } = this.road;
    c.save();
    c.translate(start.x, start.y);
    c.rotate(start.angle);
    c.fillStyle = '#ffffff';
    c.fillRect(-12, -60, 24, 120);
    c.restore();
    const { karts } = frame.view;
    karts.map((k, p) => p).filter((p) => karts[p].on).sort((a, b) => (a === frame.self) - (b === frame.self)).forEach((p) => {
      const own = p === frame.self;
      c.save();
      c.translate(karts[p].x / 10, karts[p].y / 10);
      c.beginPath();
      if (own) { // a larger arrow among round dots
        c.rotate((karts[p].heading * Math.PI * 2) / 65536);
        c.moveTo(86, 0); c.lineTo(-56, -58); c.lineTo(-26, 0); c.lineTo(-56, 58);
        c.closePath();
      } else c.arc(0, 0, 36, 0, Math.PI * 2);
      c.lineWidth = own ? 26 : 18;
      c.strokeStyle = own ? '#ffffff' : '#0d1019';
      c.stroke();
      c.fillStyle = colours[p];
      c.fill();
      c.restore();
    });
    c.restore();
  }

  drawBanner(c, canvas, frame, u, { ticks, calm, notice }) {
    let banner = this.banner;
    if (banner && (banner.age += ticks) > banner.ticks) banner = this.banner = null;
    const count = frame?.view.count;
    if (!banner && count) banner = { text: String(count), age: 20, ticks: 1e9 };
    if (notice) banner = { text: notice, age: 20, ticks: 1e9, modest: true };
    if (!banner) return;
    const enter = calm ? 1 : Math.min(banner.age / 6, 1), leave = Math.min((banner.ticks - banner.age) / 8, 1);
    c.save();
    c.globalAlpha = Math.max(Math.min(enter, leave), 0);
    c.translate(canvas.width / 2, canvas.height * 0.24);
    c.font = font((banner.modest ? 28 : 66) * u);
    c.textAlign = 'center';
    c.lineJoin = 'round';
    c.lineWidth = (banner.modest ? 8 : 13) * u;
    c.strokeStyle = '#0d1019';
    c.strokeText(banner.text, 0, 0, canvas.width * 0.94);
    c.fillStyle = banner.modest ? '#ffe2a8' : '#ffd34d';
    c.fillText(banner.text, 0, 0, canvas.width * 0.94);
    c.restore();
  }
}
