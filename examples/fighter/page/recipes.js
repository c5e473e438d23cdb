// The sounds of the fight. A recipe makes one sound and returns its length in seconds.
export const recipes = {
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
