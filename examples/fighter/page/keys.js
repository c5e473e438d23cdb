// Keys and gamepads: what is held on this page.

const left = 1, right = 2, up = 4, down = 8, light = 16, heavy = 32, grab = 64, special = 128;

// By place on the keyboard, so that any layout will do.
const byCode = {
  ArrowLeft: left, KeyA: left, ArrowRight: right, KeyD: right, ArrowUp: up, KeyW: up, ArrowDown: down, KeyS: down,
  KeyJ: light, KeyZ: light, KeyK: heavy, KeyX: heavy, KeyL: grab, KeyC: grab, Semicolon: special, KeyV: special,
};
const byPad = { 0: light, 1: grab, 2: heavy, 3: special, 12: up, 13: down, 14: left, 15: right };

export class Keys {
  // changed is called with the buttons held now and those that have just gone down, and
  // pause when P has.
  constructor(changed, pause) {
    this.changed = changed;
    this.pause = pause;
    this.down = new Set();
    this.pad = 0;
    this.held = 0;
    window.addEventListener('keydown', (e) => this.key(e, true));
    window.addEventListener('keyup', (e) => this.key(e, false));
    window.addEventListener('blur', () => this.release());
    document.addEventListener('visibilitychange', () => { if (document.hidden) this.release(); });
  }

  key(e, isDown) {
    if (e.code === 'KeyP' && isDown && !e.repeat && !e.ctrlKey && !e.metaKey && !e.altKey) this.pause();
    if (!byCode[e.code] || (isDown && (e.ctrlKey || e.metaKey || e.altKey))) return;
    // A slider keeps its arrow keys.
    if (isDown && e.target instanceof HTMLInputElement && e.code.startsWith('Arrow')) return;
    if (isDown) {
      e.preventDefault(); // the page does not scroll
      if (e.repeat) return;
      this.down.add(e.code);
    } else this.down.delete(e.code);
    this.update();
  }

  release() {
    this.down.clear();
    this.update();
  }

  // poll reads a gamepad, which tells nothing by itself.
  poll() {
    let pad = 0;
    for (const p of navigator.getGamepads?.() ?? []) {
      if (!p || p.mapping !== 'standard') continue;
      p.buttons.forEach((b, i) => { if (b.pressed) pad |= byPad[i] ?? 0; });
      if (p.axes[0] < -0.5) pad |= left;
      if (p.axes[0] > 0.5) pad |= right;
      if (p.axes[1] < -0.5) pad |= up;
      if (p.axes[1] > 0.5) pad |= down;
    }
    if (pad === this.pad) return;
    this.pad = pad;
    this.update();
  }

  update() {
    let held = this.pad;
    for (const code of this.down) held |= byCode[code];
    if (held === this.held) return;
    const pressed = held & ~this.held;
    this.held = held;
    this.changed(held, pressed);
  }
}
