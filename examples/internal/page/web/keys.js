// Keys and gamepads: what is held on this page.

export class Keys {
  // layout says what is what: byCode has buttons by the place of a key on the keyboard,
  // so that any layout will do, byPad by the number of a gamepad's button, and byAxis by
  // that of an axis, [negative, positive]. changed is called with the buttons held now
  // and those that have just gone down, and pause when P has.
  constructor(layout, changed, pause) {
    this.pause = pause;
    this.layout = layout;
    this.changed = changed;
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
    if (!this.layout.byCode[e.code] || (isDown && (e.ctrlKey || e.metaKey || e.altKey))) return;
    // A slider keeps its arrow keys, and a button what presses it.
    if (isDown && e.target instanceof HTMLInputElement && e.code.startsWith('Arrow')) return;
    if (isDown && e.target instanceof HTMLButtonElement && ['Space', 'Enter'].includes(e.code)) return;
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
      p.buttons.forEach((b, i) => { if (b.pressed) pad |= this.layout.byPad[i] ?? 0; });
      for (const [axis, [negative, positive]] of Object.entries(this.layout.byAxis ?? {})) {
        if (p.axes[axis] < -0.5) pad |= negative;
        if (p.axes[axis] > 0.5) pad |= positive;
      }
    }
    if (pad === this.pad) return;
    this.pad = pad;
    this.update();
  }

  update() {
    let held = this.pad;
    for (const code of this.down) held |= this.layout.byCode[code];
    if (held === this.held) return;
    const pressed = held & ~this.held;
    this.held = held;
    this.changed(held, pressed);
  }
}
