// The panel below the picture: the strip of ticks, the numbers, how deep rollbacks
// went, and the link.

const byId = (id) => document.getElementById(id);

// The marks of the strip differ in height and filling as well as in colour.
const marks = {
  c: { word: 'confirmed', height: 1, paint: (c, x, y, w, h) => { c.fillStyle = '#35a891'; c.fillRect(x, y, w, h); } },
  p: {
    word: 'predicted', height: 0.55,
    paint: (c, x, y, w, h, line) => { c.strokeStyle = '#c98a2b'; c.lineWidth = line; c.strokeRect(x + line / 2, y + line / 2, w - line, h - line); },
  },
  r: {
    word: 're-simulated', height: 1,
    paint: (c, x, y, w, h, line) => {
      c.fillStyle = '#5b3d8f';
      c.fillRect(x, y, w, h);
      c.fillStyle = '#d9b8ff';
      for (let at = y; at < y + h; at += line * 4) c.fillRect(x, at, w, line * 1.6);
    },
  },
  s: {
    word: 'stalled', height: 0.5,
    paint: (c, x, y, w, h, line) => {
      c.strokeStyle = '#e2574c';
      c.lineWidth = line * 1.4;
      c.beginPath();
      c.moveTo(x, y); c.lineTo(x + w, y + h); c.moveTo(x + w, y); c.lineTo(x, y + h);
      c.stroke();
    },
  },
};

const stripTicks = 120;

// paintMark paints one mark that stands on the bottom of a box.
function paintMark(c, mark, x, w, tall, line) {
  const { height, paint } = marks[mark];
  paint(c, x, tall * (1 - height), w, tall * height, line);
}

// sized makes a canvas as fine as the screen and returns its context and the number
// of its pixels in one of the page's.
function sized(canvas) {
  const ratio = Math.min(window.devicePixelRatio || 1, 2);
  const w = Math.max(Math.round(canvas.clientWidth * ratio), 1), h = Math.max(Math.round(canvas.clientHeight * ratio), 1);
  if (canvas.width !== w || canvas.height !== h) { canvas.width = w; canvas.height = h; }
  return { c: canvas.getContext('2d'), ratio, w, h };
}

const count = (n) => Math.round(n).toLocaleString('en');

export class Panel {
  // setLink is called with what the sliders ask for; name says what a participant is
  // called.
  constructor(setLink, name) {
    this.name = name; // of a participant
    this.strip = byId('strip');
    this.past = []; // depths of rollbacks as they were counted each second
    this.touched = -1e9; // when a slider was last moved here
    this.sliders = ['latency', 'jitter', 'loss'].map((name) => byId(name));
    for (const slider of this.sliders) {
      slider.addEventListener('input', () => {
        this.touched = performance.now();
        this.label(slider);
        clearTimeout(this.later);
        this.later = setTimeout(() => this.ask(setLink), 90);
      });
    }
    const bars = byId('depths');
    for (let depth = 1; depth <= 16; depth++) {
      const bar = document.createElement('li');
      const value = document.createElement('b'), fill = document.createElement('i'), name = document.createElement('span');
      name.textContent = depth === 16 ? '16+' : String(depth);
      bar.append(value, fill, name);
      bars.append(bar);
    }
    this.bars = [...bars.children];
    for (const canvas of document.querySelectorAll('canvas.mark')) {
      const { c, ratio, w, h } = sized(canvas);
      paintMark(c, canvas.dataset.mark, 0, w, h, ratio);
    }
  }

  ask(setLink) {
    const [latency, jitter, loss] = this.sliders.map((s) => Number(s.value));
    setLink({ latencyMs: latency, jitterMs: jitter, lossPercent: loss });
  }

  label(slider) {
    const words = `${slider.value}${slider.dataset.unit}`;
    byId(`${slider.id}-value`).textContent = words;
    slider.setAttribute('aria-valuetext', words);
  }

  drawStrip(frame) {
    const { c, ratio, w, h } = sized(this.strip);
    const axis = 15 * ratio, tall = h - axis, cell = w / stripTicks;
    const wide = Math.max(cell - 1.6 * ratio, 1);
    const style = getComputedStyle(this.strip);
    const text = style.color, dim = style.getPropertyValue('--dim');
    c.clearRect(0, 0, w, h);
    c.font = `${11 * ratio}px system-ui, sans-serif`;
    let tick = frame.tick, edge = -1;
    for (let i = frame.strip.length - 1, x = w - cell; i >= 0; i--, x -= cell) {
      const mark = frame.strip[i];
      if (!marks[mark]) continue;
      paintMark(c, mark, x, wide, tall, ratio);
      if (mark === 's') continue;
      tick--;
      if (tick === frame.confirmed) edge = x;
      if (tick % 20 === 0) {
        c.fillStyle = dim;
        c.textAlign = 'center';
        c.fillText(String(tick), Math.min(Math.max(x + cell / 2, 20 * ratio), w - 20 * ratio), h - 3 * ratio);
      }
    }
    if (edge >= 0) { // the first tick that lacks an input
      c.fillStyle = text;
      c.fillRect(edge - 1.5 * ratio, 0, 1.5 * ratio, tall + 3 * ratio);
    }
  }

  // tell writes the numbers; it is called a few times a second, so that they can be
  // read.
  tell(frame) {
    const s = frame.stats;
    const numbers = {
      'round-trip': `${s.roundTripMs.toFixed(0)} ms`, 'jitter-now': `${s.jitterMs.toFixed(1)} ms`, 'loss-now': `${s.lossPercent.toFixed(1)} %`,
      tick: count(frame.tick), confirmed: count(frame.confirmed), ahead: count(Math.max(frame.tick - frame.confirmed, 0)),
      rollbacks: count(s.rollbacks), resimulated: count(s.resimulated), stalled: count(s.stalled),
      'last-depth': count(s.lastDepth), deepest: count(s.deepest),
      delay: count(s.inputDelay), window: s.predictionWindow < 0 ? 'none' : count(s.predictionWindow),
      packets: count(s.packetsPerSecond), bytes: count(s.bytesPerSecond),
    };
    for (const [id, text] of Object.entries(numbers)) {
      const at = byId(id);
      if (at.textContent !== text) at.textContent = text;
    }
    this.tellDepths(s.depths);
    this.tellLink(frame.link);
    this.tellPeers(frame.peers ?? []);
  }

  // tellPeers has a line for each link, where there is more than one.
  tellPeers(peers) {
    byId('peers-card').hidden = peers.length < 2;
    if (peers.length < 2) return;
    const rows = byId('peers');
    while (rows.children.length > peers.length) rows.lastChild.remove();
    peers.forEach((p, i) => {
      const silent = p.silentMs > 1000;
      const words = [
        this.name(p.participant), `${p.roundTripMs.toFixed(0)} ms`, `${p.lossPercent.toFixed(1)} %`, `${p.unacknowledged}`,
        p.returning ? 'coming back' : p.gone ? 'gone' : p.missing ? 'waited for' : silent ? `${(p.silentMs / 1000).toFixed(0)} s ago` : p.through === -1 ? 'yes' : `through ${p.through === -2 ? 'the relay' : this.name(p.through)}`,
      ];
      let row = rows.children[i];
      if (!row) {
        row = rows.insertRow();
        words.forEach((_, at) => {
          const cell = document.createElement(at ? 'td' : 'th');
          if (!at) cell.scope = 'row';
          row.append(cell);
        });
      }
      row.classList.toggle('amiss', p.gone || silent || p.missing);
      words.forEach((word, at) => { if (row.children[at].textContent !== word) row.children[at].textContent = word; });
    });
  }

  // tellDepths shows the rollbacks of the last ten seconds.
  tellDepths(depths) {
    const now = performance.now();
    if (this.past.length && depths.some((n, i) => n < this.past.at(-1).depths[i])) this.past = []; // another match
    if (!this.past.length || now - this.past.at(-1).at > 1000) this.past.push({ at: now, depths });
    while (now - this.past[0].at > 10_500) this.past.shift();
    const recent = depths.map((n, i) => n - this.past[0].depths[i]);
    const most = Math.max(...recent, 4);
    this.bars.forEach((bar, i) => {
      const n = String(recent[i] || '');
      if (bar.children[0].textContent !== n) bar.children[0].textContent = n;
      bar.children[1].style.height = `${(recent[i] / most) * 100}%`;
    });
    this.recent = recent;
  }

  tellLink(link) {
    byId('link').hidden = !link;
    byId('no-link').hidden = !!link;
    // Another page, or the command line, may set it; what is being moved here stays.
    if (!link || performance.now() - this.touched < 1000) return;
    [link.latencyMs, link.jitterMs, link.lossPercent].forEach((value, i) => {
      const slider = this.sliders[i], rounded = String(Math.round(value));
      if (slider.value === rounded && !slider.disabled) return;
      slider.disabled = false;
      slider.value = rounded;
      this.label(slider);
    });
  }

  // describe says in words what the pictures show.
  describe(frame) {
    const counts = Object.entries(marks).map(([mark, { word }]) => `${[...frame.strip].filter((m) => m === mark).length} ${word}`);
    this.strip.setAttribute('aria-label', `The newest ticks: ${counts.join(', ')}.`);
    const depths = (this.recent ?? []).map((n, i) => (n ? `${n} of ${i + 1}` : '')).filter(Boolean);
    byId('depths').setAttribute('aria-label', depths.length ? `Rollbacks of the last ten seconds by ticks run again: ${depths.join(', ')}.` : 'No rollbacks in the last ten seconds.');
  }
}
