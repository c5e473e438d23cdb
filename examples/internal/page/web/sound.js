// Sounds, made here from noise and oscillators. Each effect sounds once, although
// the tick that raised it may run many times; one that is undone is cut.

const maxSounding = 24;

export class Sound {
  // recipes make the sound of each effect, by its name: a recipe is called with a kit and
  // the effect's arguments, and returns the sound's length in seconds.
  constructor(recipes) {
    this.recipes = recipes;
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
    const recipe = this.recipes[effect.name];
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
