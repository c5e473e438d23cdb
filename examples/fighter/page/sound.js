// Sounds, made here from noise and oscillators. Each effect sounds once, although
// the tick that raised it may run many times; one that is undone is cut.

const maxSounding = 24;

export class Sound {
  constructor() {
    this.on = true;
    this.context = null;
    this.sounding = new Map(); // by effect: its gain
  }

  // wake starts the audio; browsers allow it once a key or a button was touched.
  wake() {
    if (!this.context) {
      const Context = window.AudioContext ?? window.webkitAudioContext;
      if (!Context) return;
      const c = new Context();
      this.context = c;
      this.master = c.createGain();
      this.master.gain.value = this.on ? 0.5 : 0;
      const squeeze = c.createDynamicsCompressor();
      this.master.connect(squeeze).connect(c.destination);
      this.noise = c.createBuffer(1, c.sampleRate, c.sampleRate);
      const samples = this.noise.getChannelData(0);
      for (let i = 0; i < samples.length; i++) samples[i] = Math.random() * 2 - 1;
    }
    if (this.context.state === 'suspended') this.context.resume();
  }

  get awake() { return this.context?.state === 'running'; }

  mute(muted) {
    this.on = !muted;
    if (this.context) this.master.gain.setTargetAtTime(this.on ? 0.5 : 0, this.context.currentTime, 0.01);
  }

  // play makes an effect's sound, from where it is between −1 (left) and 1. It
  // returns whether the effect has one.
  play(key, effect, where) {
    const recipe = recipes[effect.name];
    if (!recipe) return false;
    if (!this.awake || !this.on || this.sounding.size >= maxSounding) return true;
    const c = this.context, out = c.createGain();
    let end = out;
    if (c.createStereoPanner) {
      const pan = c.createStereoPanner();
      pan.pan.value = Math.max(-0.8, Math.min(0.8, where));
      end = out.connect(pan);
    }
    end.connect(this.master);
    const seconds = recipe(this.kit(out), effect.args);
    this.sounding.set(key, out);
    setTimeout(() => {
      if (this.sounding.get(key) === out) this.sounding.delete(key);
      end.disconnect();
    }, seconds * 1000 + 200);
    return true;
  }

  // cut silences a sound whose effect did not happen after all.
  cut(key) {
    const gain = this.sounding.get(key);
    if (!gain) return;
    gain.gain.setTargetAtTime(0, this.context.currentTime, 0.012);
    this.sounding.delete(key);
  }

  // kit is what recipes are made with.
  kit(out) {
    const c = this.context, now = c.currentTime;
    const envelope = (at, length, level) => {
      const g = c.createGain();
      g.gain.setValueAtTime(0.0001, now + at);
      g.gain.exponentialRampToValueAtTime(level, now + at + 0.006);
      g.gain.exponentialRampToValueAtTime(0.0001, now + at + length);
      g.connect(out);
      return g;
    };
    return {
      tone: (type, from, to, length, level, at = 0) => {
        const o = c.createOscillator();
        o.type = type;
        o.frequency.setValueAtTime(from, now + at);
        o.frequency.exponentialRampToValueAtTime(to, now + at + length);
        o.connect(envelope(at, length, level));
        o.start(now + at);
        o.stop(now + at + length);
      },
      hiss: (type, from, to, length, level, at = 0) => {
        const n = c.createBufferSource(), f = c.createBiquadFilter();
        n.buffer = this.noise;
        f.type = type;
        f.Q.value = type === 'bandpass' ? 1.4 : 0.7;
        f.frequency.setValueAtTime(from, now + at);
        f.frequency.exponentialRampToValueAtTime(to, now + at + length);
        n.connect(f).connect(envelope(at, length, level));
        n.start(now + at, Math.random() * 0.5, length);
      },
    };
  }
}

// A recipe makes one sound and returns its length in seconds.
const recipes = {
  'round start': ({ tone }) => { tone('triangle', 392, 388, 0.5, 0.5); tone('triangle', 587, 583, 0.9, 0.5, 0.12); tone('sine', 196, 194, 1, 0.4, 0.12); return 1.1; },
  jump: ({ tone, hiss }) => { tone('sine', 220, 470, 0.12, 0.18); hiss('bandpass', 700, 1500, 0.1, 0.1); return 0.2; },
  land: ({ hiss }) => { hiss('lowpass', 420, 120, 0.12, 0.4); return 0.2; },
  whiff: ({ hiss }) => { hiss('bandpass', 1900, 480, 0.15, 0.3); return 0.2; },
  hit: ({ tone, hiss }, [, damage]) => {
    const weight = Math.min(damage / 110, 1.2);
    hiss('lowpass', 2600 + 1500 * weight, 260, 0.14 + 0.1 * weight, 0.9);
    tone('sine', 210 - 70 * weight, 46, 0.16 + 0.14 * weight, 0.9);
    return 0.4;
  },
  block: ({ tone, hiss }) => { tone('square', 900, 620, 0.06, 0.13); hiss('bandpass', 3200, 1600, 0.09, 0.35); return 0.2; },
  shot: ({ tone, hiss }) => { tone('sawtooth', 760, 160, 0.34, 0.22); hiss('bandpass', 900, 2600, 0.3, 0.25); return 0.4; },
  clash: ({ tone, hiss }) => { hiss('highpass', 700, 3200, 0.35, 0.5); tone('square', 240, 60, 0.3, 0.2); return 0.4; },
  throw: ({ hiss, tone }) => { hiss('bandpass', 500, 1300, 0.12, 0.5); tone('sine', 150, 110, 0.12, 0.4); return 0.2; },
  tech: ({ tone }) => { tone('square', 660, 660, 0.05, 0.15); tone('square', 990, 990, 0.09, 0.15, 0.06); return 0.3; },
  fall: ({ tone, hiss }) => { tone('sine', 105, 38, 0.3, 0.9); hiss('lowpass', 700, 90, 0.25, 0.6); return 0.4; },
  ko: ({ tone, hiss }) => { tone('sine', 150, 28, 1.1, 1); tone('sawtooth', 330, 55, 0.9, 0.22); hiss('lowpass', 3000, 80, 0.9, 0.6); return 1.2; },
  'round end': ({ tone }) => { [392, 494, 587].forEach((f, i) => tone('triangle', f, f, 0.4, 0.35, 0.5 + i * 0.11)); return 1.3; },
  'match end': ({ tone }) => { [392, 494, 587, 784, 988].forEach((f, i) => tone('triangle', f, f, 0.5, 0.4, i * 0.13)); return 1.3; },
};
