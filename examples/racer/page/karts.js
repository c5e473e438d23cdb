// The karts: their colours, names and shapes. Each has a number too, and the own one a
// white ring and an arrow, so that nobody has to tell colours apart.

export const colours = ['#e69f00', '#56b4e9', '#00a57a', '#f0e442', '#4d7cff', '#ff6a3d', '#d987b5', '#f2f2f2'];

export const name = (p) => `Kart ${p + 1}`;

// drawKart draws a kart around the origin, facing right, size in the context's pixels
// from the middle to the front.
export function drawKart(c, p, size, { boost = 0, drift = 0, seconds = 0, calm = true } = {}) {
  const s = size / 18;
  c.save();
  c.scale(s, s);
  if (boost > 0) { // a flame, which flickers unless that is too much
    const long = calm ? 16 : 14 + 5 * Math.sin(seconds * 40 + p);
    c.fillStyle = '#ffb13d';
    c.beginPath();
    c.moveTo(-15, -6); c.lineTo(-16 - long, 0); c.lineTo(-15, 6);
    c.fill();
    c.fillStyle = '#fff3b0';
    c.beginPath();
    c.moveTo(-15, -3); c.lineTo(-15 - long * 0.55, 0); c.lineTo(-15, 3);
    c.fill();
  }
  c.fillStyle = '#11141c';
  for (const [x, y, turn] of [[-10, -12, 0], [-10, 12, 0], [10, -11, drift * 0.5], [10, 11, drift * 0.5]]) {
    c.save();
    c.translate(x, y);
    c.rotate(turn);
    c.fillRect(-5, -3.2, 10, 6.4);
    c.restore();
  }
  c.beginPath();
  c.moveTo(19, 0);
  c.quadraticCurveTo(17, -7, 6, -9);
  c.lineTo(-13, -10.5);
  c.quadraticCurveTo(-17, 0, -13, 10.5);
  c.lineTo(6, 9);
  c.quadraticCurveTo(17, 7, 19, 0);
  c.closePath();
  c.lineWidth = 2.6;
  c.strokeStyle = '#11141c';
  c.stroke();
  c.fillStyle = colours[p];
  c.fill();
  c.restore();
}

// drawNumber writes a kart's number on its seat, upright whichever way it faces.
export function drawNumber(c, p, size) {
  c.fillStyle = '#11141c';
  c.beginPath();
  c.arc(0, 0, size * 0.46, 0, Math.PI * 2);
  c.fill();
  c.fillStyle = '#ffffff';
  c.font = `800 ${size * 0.66}px system-ui, sans-serif`;
  c.textAlign = 'center';
  c.textBaseline = 'middle';
  c.fillText(String(p + 1), 0, size * 0.04);
  c.textBaseline = 'alphabetic';
}
