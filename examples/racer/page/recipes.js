// The sounds of the race. A recipe makes one sound and returns its length in seconds.

export const recipes = {
  count: ({ tone }) => { tone('square', 392, 392, 0.16, 0.2); return 0.2; },
  go: ({ tone }) => { tone('square', 784, 784, 0.5, 0.22); return 0.6; },
  boost: ({ tone, hiss }) => { tone('sawtooth', 160, 620, 0.3, 0.16); hiss('bandpass', 600, 2600, 0.4, 0.3); return 0.5; },
  bump: ({ tone, hiss }, [, , hard]) => { const w = Math.min(hard / 300, 1); tone('sine', 140, 60, 0.14, 0.4 + 0.4 * w); hiss('lowpass', 1400, 200, 0.12, 0.3 + 0.4 * w); return 0.2; },
  wall: ({ hiss }, [, hard]) => { hiss('lowpass', 900, 120, 0.18, 0.3 + Math.min(hard / 500, 0.5)); return 0.25; },
  'pick up': ({ tone }) => { [660, 880, 1320].forEach((f, i) => tone('triangle', f, f, 0.1, 0.22, i * 0.06)); return 0.4; },
  oil: ({ tone }) => { tone('sine', 300, 90, 0.25, 0.4); return 0.3; },
  pulse: ({ tone, hiss }) => { tone('sine', 90, 420, 0.35, 0.6); hiss('bandpass', 300, 3000, 0.4, 0.3); return 0.5; },
  spin: ({ tone }) => { tone('triangle', 900, 240, 0.5, 0.22); return 0.6; },
  lap: ({ tone }) => { tone('triangle', 587, 587, 0.14, 0.3); tone('triangle', 880, 880, 0.3, 0.3, 0.12); return 0.5; },
  finish: ({ tone }) => { [523, 659, 784, 1047].forEach((f, i) => tone('triangle', f, f, 0.3, 0.35, i * 0.11)); return 0.8; },
  'race end': ({ tone }) => { [392, 494, 587, 784].forEach((f, i) => tone('sine', f, f, 0.5, 0.3, i * 0.13)); return 1.1; },
};
