// Choosing a look before a match: by keys, by a click, or with the controls below the
// picture, which is where a screen reader finds them.

import { cast, looks } from './figure.js';

const byId = (id) => document.getElementById(id);

export class Choose {
  constructor() {
    this.send = () => {}; // told what is chosen: a look, or that the match may begin
    this.frame = null;
    this.wanted = null; // a look that was asked for by key and is not seen yet
    this.options = looks.map(({ name }, look) => {
      const label = document.createElement('label'), option = document.createElement('input');
      Object.assign(option, { type: 'radio', name: 'look', value: String(look), id: `look-${look}` });
      option.addEventListener('change', () => this.send({ look }));
      label.append(option, name);
      byId('looks').append(label);
      return option;
    });
    byId('ready').addEventListener('click', () => this.send({ ready: true }));
    window.addEventListener('keydown', (e) => this.key(e));
  }

  key(e) {
    const own = this.own();
    if (!own || own.ready || e.repeat || e.ctrlKey || e.metaKey || e.altKey) return;
    if (e.target instanceof HTMLInputElement || e.target instanceof HTMLButtonElement) return; // it has keys of its own
    const step = { ArrowLeft: -1, KeyA: -1, ArrowRight: 1, KeyD: 1 }[e.code];
    if (step) {
      this.wanted = ((this.wanted ?? own.look) + step + looks.length) % looks.length;
      this.send({ look: this.wanted });
    } else if (e.code === 'Enter' || e.code === 'NumpadEnter') this.send({ ready: true });
  }

  own() {
    return this.frame?.phase === 'choosing' && !this.frame.end ? this.frame.picks?.[this.frame.self] : null;
  }

  // notice is what is written over the picture meanwhile.
  notice({ self, picks, bout }) {
    return picks[self].ready ? 'Ready. Waiting for the other player' : `Choose with ← →, then Enter ${bout ? 'for a rematch' : 'to begin'}`;
  }

  // show takes a frame and returns what there is to say of it, or ''.
  show(frame) {
    this.frame = frame;
    const own = this.own();
    byId('choose').hidden = !own;
    if (!own || own.ready || own.look === this.wanted) this.wanted = null;
    if (!own) return '';
    const other = frame.picks[1 - frame.self];
    this.options.forEach((option, look) => {
      option.checked = look === own.look;
      option.disabled = own.ready;
    });
    byId('ready').disabled = own.ready;
    byId('ready').textContent = frame.bout ? 'Rematch' : 'Begin';
    byId('choose-title').textContent = `What ${cast[frame.self].name} wears`;
    const theirs = `${cast[1 - frame.self].name} ${other.known ? `wears ${looks[other.look].name.toLowerCase()} and ${other.ready ? 'is ready' : 'is still choosing'}` : 'has not chosen yet'}.`;
    byId('theirs').textContent = theirs;
    return own.ready ? `You are ready. ${theirs}` : `Choose with ← and →, then press Enter ${frame.bout ? 'for a rematch' : 'to begin'}. ${theirs}`;
  }
}
