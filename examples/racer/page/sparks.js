// Sparks: what an effect looks like. One that a re-simulation takes back is taken back
// here as well.

const lives = { bump: 16, wall: 14, pulse: 26, 'pick up': 26, boost: 16, spin: 20 };

export class Sparks {
  constructor() { this.list = []; }

  add(key, { name, args }, view) {
    const life = lives[name], k = view.karts[args[0]];
    if (!life || !k?.on) return;
    const spark = { key, name, x: k.x / 10, y: k.y / 10, age: 0, life, text: '', who: args[0] };
    if (name === 'bump' && view.karts[args[1]]?.on) {
      spark.x = (k.x + view.karts[args[1]].x) / 20;
      spark.y = (k.y + view.karts[args[1]].y) / 20;
    }
    if (name === 'pick up') spark.text = k.item;
    this.list.push(spark);
    if (this.list.length > 64) this.list.shift();
  }

  undo(key) { this.list = this.list.filter((s) => s.key !== key); }

  draw(c, ticks, calm) {
    for (const s of this.list) {
      s.age += ticks;
      const t = Math.min(s.age / s.life, 1);
      c.save();
      c.translate(s.x, s.y);
      c.globalAlpha = 1 - t;
      if (s.name === 'pulse') ring(c, calm ? 130 : 20 + 120 * t, '#8be9ff', 7);
      else if (s.name === 'pick up') {
        c.font = '800 17px system-ui, sans-serif';
        c.textAlign = 'center';
        c.lineWidth = 4;
        c.strokeStyle = '#11141c';
        const y = -26 - (calm ? 0 : 18 * t);
        c.strokeText(s.text, 0, y);
        c.fillStyle = '#ffffff';
        c.fillText(s.text, 0, y);
      } else if (s.name === 'spin' || s.name === 'boost') ring(c, 22 + (calm ? 0 : 14 * t), s.name === 'boost' ? '#ffb13d' : '#ffffff', 3);
      else star(c, 9 + (calm ? 4 : 16 * t));
      c.restore();
    }
    this.list = this.list.filter((s) => s.age < s.life);
    c.globalAlpha = 1;
  }
}

function ring(c, r, style, width) {
  c.strokeStyle = style;
  c.lineWidth = width;
  c.beginPath();
  c.arc(0, 0, r, 0, Math.PI * 2);
  c.stroke();
}

function star(c, r) {
  c.fillStyle = '#fff3b0';
  c.strokeStyle = '#11141c';
  c.lineWidth = 1.5;
  c.beginPath();
  for (let i = 0; i < 16; i++) {
    const at = (i * Math.PI) / 8, far = i % 2 ? r * 0.45 : r;
    c.lineTo(Math.cos(at) * far, Math.sin(at) * far);
  }
  c.closePath();
  c.fill();
  c.stroke();
}
