// The road and the land around it, which never change.

const looks = {
  dark: { grass: '#22402f', stripe: '#264634', verge: '#2d523c', road: '#3c414e', line: '#8d94a5', edge: '#e8e8ee', kerb: '#c8453c' },
  light: { grass: '#8cc084', stripe: '#94c78b', verge: '#a9d59d', road: '#6a6f7d', line: '#c9cdd8', edge: '#ffffff', kerb: '#d4483f' },
};

export class Road {
  // world is what the process serves as world.json.
  constructor(world) {
    this.world = world;
    this.path = new Path2D();
    world.middle.forEach(([x, y], i) => (i ? this.path.lineTo(x / 10, y / 10) : this.path.moveTo(x / 10, y / 10)));
    this.path.closePath();
    const [[x, y], [nx, ny]] = world.middle;
    this.start = { x: x / 10, y: y / 10, angle: Math.atan2(ny - y, nx - x) };
    this.scheme = window.matchMedia('(prefers-color-scheme: light)');
  }

  get look() { return this.scheme.matches ? looks.light : looks.dark; }

  // draw paints everything that lies on the ground. The context's pixels are the map's.
  draw(c) {
    const { world, look, path } = this;
    c.fillStyle = look.grass;
    c.fillRect(-600, -600, world.width + 1200, world.height + 1200);
    c.fillStyle = look.stripe;
    for (let x = -600; x < world.width + 600; x += 120) c.fillRect(x, -600, 60, world.height + 1200);
    const stroke = (width, style, dash = []) => {
      c.lineWidth = width;
      c.strokeStyle = style;
      c.setLineDash(dash);
      c.stroke(path);
    };
    c.lineJoin = 'round';
    c.lineCap = 'butt';
    const wide = 2 * world.halfWidth;
    stroke(wide + 54, look.verge);
    stroke(wide + 16, look.edge);
    stroke(wide + 16, look.kerb, [22, 22]);
    stroke(wide, look.road);
    stroke(3, look.line, [26, 30]);
    c.setLineDash([]);
    this.startLine(c);
  }

  startLine(c) {
    const { start, world } = this;
    c.save();
    c.translate(start.x, start.y);
    c.rotate(start.angle);
    const square = (2 * world.halfWidth) / 14;
    for (let i = 0; i < 14; i++) {
      for (let j = 0; j < 2; j++) {
        c.fillStyle = (i + j) % 2 ? '#15181f' : '#ffffff';
        c.fillRect((j - 1) * square, -world.halfWidth + i * square, square, square);
      }
    }
    c.restore();
  }
}
