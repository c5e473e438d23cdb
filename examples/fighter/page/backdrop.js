// The stage behind the fighters: a moonlit terrace, painted once for each size of
// the canvas, in layers that move with the camera by what is nearer.

// worldWidth is the stage and a margin, in stage pixels.
export const worldWidth = 760;
const above = 300, below = 60; // what a layer holds of the world, up and down from the floor

// random is a small generator, so that the backdrop is the same each time.
function random(seed) {
  let s = seed;
  return () => {
    s = (Math.imul(s, 1664525) + 1013904223) >>> 0;
    return s / 4294967296;
  };
}

const layers = [
  { depth: 0.1, paint: paintFar },
  { depth: 0.3, paint: paintHills },
  { depth: 0.55, paint: paintTemple },
  { depth: 0.8, paint: paintRailing },
];

export class Backdrop {
  constructor() {
    this.size = '';
    this.petals = Array.from({ length: 26 }, (_, i) => ({ x: i * 61, y: i * 37, s: 0.6 + (i % 5) * 0.2 }));
  }

  // draw paints the layers for a camera at (x, y) that sees width stage pixels.
  draw(c, canvas, camera, seconds, calm) {
    this.prepare(canvas);
    const { width, height } = canvas;
    const sky = c.createLinearGradient(0, 0, 0, height);
    sky.addColorStop(0, '#141a3a');
    sky.addColorStop(0.55, '#40316b');
    sky.addColorStop(0.85, '#b0567a');
    sky.addColorStop(1, '#f0a070');
    c.fillStyle = sky;
    c.fillRect(0, 0, width, height);
    for (const layer of this.painted) {
      // A far layer zooms less than the stage does.
      const zoom = 1 + (camera.scale / (width / worldWidth) - 1) * layer.depth;
      const w = layer.image.width * zoom, h = layer.image.height * zoom;
      const floor = camera.floor + camera.y * camera.scale * (layer.depth - 1);
      c.drawImage(layer.image, width / 2 - w / 2 - camera.x * camera.scale * layer.depth, floor - (h * above) / (above + below), w, h);
    }
  }

  // floor paints the planks, in stage coordinates.
  floor(c, bottom) {
    const g = c.createLinearGradient(0, -8, 0, 44);
    g.addColorStop(0, '#3a2a3f');
    g.addColorStop(1, '#1c1524');
    c.fillStyle = g;
    c.fillRect(-700, -8, 1400, bottom + 60);
    c.strokeStyle = '#160f1d';
    c.lineWidth = 1;
    c.beginPath();
    for (let i = -30; i <= 30; i++) {
      c.moveTo(i * 30, -8);
      c.lineTo(i * 30 * 1.9, bottom + 60);
    }
    for (const y of [-2, 8, 24]) {
      c.moveTo(-700, y);
      c.lineTo(700, y);
    }
    c.stroke();
    c.fillStyle = '#f3b98a40';
    c.fillRect(-700, -8, 1400, 1.4);
    c.fillStyle = '#5fd7c466'; // where the stage ends
    for (const x of [-361, 360]) c.fillRect(x, -8, 1.5, 22);
  }

  // drift paints petals in the wind.
  drift(c, canvas, seconds) {
    c.fillStyle = '#ffc4d0';
    for (const p of this.petals) {
      const x = (((p.x * 7 + seconds * 26 * p.s) % (canvas.width + 40)) + canvas.width + 40) % (canvas.width + 40) - 20;
      const y = ((p.y * 5 + seconds * 19 * p.s + Math.sin(seconds + p.x) * 12) % (canvas.height + 20)) - 10;
      c.globalAlpha = 0.35 + 0.3 * p.s;
      c.save();
      c.translate(x, y);
      c.rotate(seconds * p.s + p.x);
      c.fillRect(-2.6 * p.s, -1.3 * p.s, 5.2 * p.s, 2.6 * p.s);
      c.restore();
    }
    c.globalAlpha = 1;
  }

  prepare({ width, height }) {
    if (this.size === `${width}x${height}`) return;
    this.size = `${width}x${height}`;
    const scale = Math.min(width / worldWidth, 2);
    this.painted = layers.map(({ depth, paint }) => {
      const image = document.createElement('canvas');
      const wide = worldWidth * 1.25;
      image.width = Math.ceil(wide * (width / worldWidth));
      image.height = Math.ceil((above + below) * (width / worldWidth));
      const c = image.getContext('2d');
      c.scale(image.width / wide, image.height / (above + below));
      c.translate(wide / 2, above);
      paint(c, scale);
      return { depth, image };
    });
  }
}

function paintFar(c) {
  const next = random(5);
  for (let i = 0; i < 90; i++) {
    c.fillStyle = `rgba(255,255,255,${0.15 + next() * 0.6})`;
    const r = 0.4 + next() * 0.8;
    c.fillRect((next() - 0.5) * 960, -300 + next() * 190, r, r);
  }
  const glow = c.createRadialGradient(120, -150, 20, 120, -150, 130);
  glow.addColorStop(0, '#fff1d0cc');
  glow.addColorStop(0.3, '#ffd9a855');
  glow.addColorStop(1, '#ffd9a800');
  c.fillStyle = glow;
  c.fillRect(-20, -300, 290, 290);
  c.fillStyle = '#fff3da';
  c.beginPath();
  c.arc(120, -150, 34, 0, Math.PI * 2);
  c.fill();
  c.fillStyle = '#f0dcb8';
  for (const [x, y, r] of [[110, -158, 7], [130, -140, 9], [126, -166, 4], [104, -140, 4]]) {
    c.beginPath();
    c.arc(x, y, r, 0, Math.PI * 2);
    c.fill();
  }
  c.fillStyle = '#d98aa055';
  for (const [x, y, w] of [[-330, -120, 190], [-150, -96, 130], [40, -112, 210], [270, -84, 160]]) {
    c.beginPath();
    c.ellipse(x, y, w / 2, 5, 0, 0, Math.PI * 2);
    c.ellipse(x + w * 0.15, y - 6, w / 3.4, 4, 0, 0, Math.PI * 2);
    c.fill();
  }
}

function ridge(c, seed, base, rise, step, colour) {
  const next = random(seed);
  c.fillStyle = colour;
  c.beginPath();
  c.moveTo(-500, 60);
  for (let x = -500; x <= 500; x += step) c.lineTo(x, -base - next() * rise - (Math.round(x / step) % 2 ? rise * 0.5 : 0));
  c.lineTo(500, 60);
  c.fill();
}

function paintHills(c) {
  ridge(c, 3, 62, 70, 58, '#4a3468');
  ridge(c, 9, 36, 46, 40, '#38285a');
  ridge(c, 21, 16, 30, 22, '#2b2049');
}

function roof(c, x, y, w, h) {
  c.beginPath();
  c.moveTo(x - w / 2 - 12, y + 2);
  c.quadraticCurveTo(x - w / 3, y - 3, x - w / 5, y - h);
  c.lineTo(x + w / 5, y - h);
  c.quadraticCurveTo(x + w / 3, y - 3, x + w / 2 + 12, y + 2);
  c.quadraticCurveTo(x, y + 7, x - w / 2 - 12, y + 2);
  c.fill();
}

function paintTemple(c) {
  const tower = (x, floors, w) => {
    let y = 0;
    for (let i = 0; i < floors; i++, y -= 38) {
      const width = w * (1 - i * 0.17);
      c.fillStyle = '#21183a';
      c.fillRect(x - width / 2, y - 30, width, 32);
      for (let k = -1; k <= 1; k++) {
        c.fillStyle = (i + k + floors) % 3 ? '#ffca7a' : '#8a5a58';
        c.fillRect(x + k * width * 0.27 - 4, y - 22, 8, 12);
        c.fillStyle = '#21183a';
        c.fillRect(x + k * width * 0.27 - 0.6, y - 22, 1.2, 12);
      }
      c.fillStyle = '#171029';
      roof(c, x, y - 28, width, 14);
    }
    c.fillRect(x - 1.2, y - 24, 2.4, 20);
  };
  tower(-205, 4, 110);
  tower(250, 2, 150);
  tower(-385, 2, 120);
  // The gate in the middle.
  c.fillStyle = '#7c2b3d';
  c.fillRect(-62, -108, 9, 110);
  c.fillRect(53, -108, 9, 110);
  c.fillRect(-72, -92, 144, 7);
  c.fillStyle = '#93344a';
  c.beginPath();
  c.moveTo(-92, -118);
  c.quadraticCurveTo(0, -104, 92, -118);
  c.lineTo(88, -106);
  c.quadraticCurveTo(0, -94, -88, -106);
  c.fill();
  c.fillRect(-4, -100, 8, 10);
}

function paintRailing(c) {
  c.fillStyle = '#2a1a30';
  c.fillRect(-480, -34, 960, 5);
  c.fillRect(-480, -18, 960, 3.5);
  for (let x = -470; x <= 480; x += 38) {
    c.fillRect(x, -42, 6, 44);
    c.fillStyle = '#4a2d4a';
    c.fillRect(x - 1, -45, 8, 4);
    c.fillStyle = '#2a1a30';
  }
  c.strokeStyle = '#1a1226';
  c.lineWidth = 1.6;
  for (let x = -480; x < 480; x += 160) {
    c.beginPath();
    c.moveTo(x, -170);
    c.quadraticCurveTo(x + 80, -138, x + 160, -170);
    c.stroke();
    for (const at of [0.18, 0.5, 0.82]) lantern(c, x + 160 * at, -170 + 64 * at * (1 - at) + 2);
    c.fillStyle = '#20152b';
    c.fillRect(x - 3, -176, 6, 178);
  }
}

function lantern(c, x, y) {
  const glow = c.createRadialGradient(x, y + 9, 2, x, y + 9, 30);
  glow.addColorStop(0, '#ffb45a88');
  glow.addColorStop(1, '#ffb45a00');
  c.fillStyle = glow;
  c.fillRect(x - 30, y - 21, 60, 60);
  c.fillStyle = '#ff9a4d';
  c.beginPath();
  c.ellipse(x, y + 9, 6.5, 8, 0, 0, Math.PI * 2);
  c.fill();
  c.fillStyle = '#ffd9a0';
  c.beginPath();
  c.ellipse(x, y + 9, 3, 6, 0, 0, Math.PI * 2);
  c.fill();
  c.fillStyle = '#33202e';
  c.fillRect(x - 3, y, 6, 2);
  c.fillRect(x - 3, y + 16, 6, 2);
}
