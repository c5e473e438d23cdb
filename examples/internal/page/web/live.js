// The page of one peer: it shows the frames that the process sends and tells it what is
// pressed. All of the game happens there; nothing here changes a match.
//
// live runs a game's page, given what is the game's own:
//
//   scene            draws: it has frame, notice and calm, and draw(ticks, seconds)
//   recipes          sounds by the name of the effect, for Sound
//   keys             what the keys and buttons are, for Keys
//   name(p)          what participant p is called
//   take(key, effect, frame)   shows an effect, and undo(key) takes one back
//   where(effect, frame)       from where it sounds, −1 (left) to 1
//   hands(frame)     who plays, in a sentence
//   summarise(frame) what is to be seen, in sentences
//   choosing         if there is something to pick before a match: show(frame) returns what
//                    to say of it, notice(frame) what to write over the picture, and send
//                    is set to tell the process
//   dress(frame)     if anything of the picture follows from the frame alone
//
// It returns { say, sound } for the game's own use.

import { Back } from './back.js';
import { Keys } from './keys.js';
import { Panel } from './panel.js';
import { Sound } from './sound.js';

// What has happened on this page, for tests and for the curious.
const stats = { frames: 0, connections: 0, happened: 0, undone: 0, confirmed: 0, duplicates: 0, sounds: 0 };
const driftback = { stats, frame: null, sounds: {} };
window.driftback = driftback;

const byId = (id) => document.getElementById(id);

// include puts a shared part of the page in an element's place.
async function include(id, part) {
  byId(id).outerHTML = await (await fetch(part)).text();
}

export async function live(game) {
  const { scene } = game;
  const sound = new Sound(game.recipes);

  await Promise.all([include('ticks', './ticks.html'), include('numbers', './numbers.html')]);

  // Connection

  let socket = null, retry = 0;

  function connect() {
    socket = new WebSocket(`ws://${location.host}/live`);
    socket.onopen = () => {
      retry = 0;
      stats.connections++;
      seen.clear();
      scene.notice = '';
      say('Connected.');
      if (keys.held) send({ buttons: keys.held }); // the process has forgotten
    };
    socket.onmessage = (e) => receive(JSON.parse(e.data));
    socket.onclose = () => {
      const ended = driftback.frame?.end;
      if (!retry) say(ended ? ended : 'The connection to the process is lost. Trying again.');
      scene.notice = ended ? 'The match has ended' : 'No connection. Trying again';
      state(ended ? 'ended' : 'not connected');
      setTimeout(connect, Math.min(500 * 2 ** retry++, 4000));
    };
  }

  function send(command) {
    if (socket?.readyState === WebSocket.OPEN) socket.send(JSON.stringify(command));
  }

  // Frames

  const back = new Back(game.name, say);
  const stallsToTell = 45; // calls in a row
  let stalls = 0, chosen = '';

  function receive(frame) {
    stats.frames++;
    const before = driftback.frame;
    driftback.frame = frame;
    scene.frame = frame;
    if (frame.bout !== before?.bout || !!frame.picks !== !!before?.picks) seen.clear(); // ticks begin anew
    const told = game.choosing?.show(frame) ?? '';
    if (told !== chosen) {
      chosen = told;
      if (told || frame.phase !== 'coming back') say(told || 'The match begins.');
    }
    game.dress?.(frame);
    for (const effect of frame.effects ?? []) take(effect, frame);
    stalls = frame.phase === 'stalled' ? stalls + 1 : 0;
    if (frame.end && frame.end !== before?.end) say(frame.end);
    if (frame.phase !== 'stalled' || stalls === stallsToTell) {
      const waits = frame.phase === 'stalled';
      const missing = waits ? awaited(frame) : '', away = back.notice(frame);
      scene.notice = frame.end ? 'The match has ended' : frame.phase === 'choosing' ? game.choosing.notice(frame) : frame.paused ? pauseWords(frame) : away || (waits ? `Stalled: waiting for ${missing}` : frame.phase === 'joining' ? 'Waiting for everybody to join' : '');
      if (waits) say(away || `Stalled: the prediction window is used up, and the input of ${missing} is missing.`);
      state(frame.phase === 'advanced' ? (frame.paused ? 'paused' : 'playing') : frame.phase);
    }
    back.tell(frame, before);
    if (frame.paused !== !!before?.paused || (frame.paused && frame.pausedBy !== before?.pausedBy)) tellPause(frame);
    byId('to-bot').disabled = frame.hands !== 'you';
    if (frame.hands !== before?.hands || frame.self !== before?.self) {
      byId('hands').textContent = game.hands(frame);
      document.title = `${game.name(frame.self)} – ${game.title}`;
    }
  }

  // pauseWords says that the match is paused, and by whom once all know.
  function pauseWords({ self, pausedBy, peers }) {
    const other = peers?.length > 1 ? game.name(pausedBy) : 'the other player';
    const who = pausedBy < 0 ? '' : pausedBy === self ? ' by you' : ` by ${other}`;
    return `Paused${who}. Press P to play on`;
  }

  function tellPause(frame) {
    const button = byId('pause');
    button.textContent = frame.paused ? 'Play on' : 'Pause';
    button.setAttribute('aria-pressed', String(frame.paused));
    if (!frame.end) say(frame.paused ? `${pauseWords(frame)}.` : 'The match goes on.');
  }

  // awaited names whose input a stalled match lacks.
  function awaited(frame) {
    const missing = (frame.peers ?? []).filter((p) => p.missing).map((p) => game.name(p.participant));
    return missing.join(' and ') || 'another player';
  }

  // Effects. Each is reported once, however often its tick runs again; the page keeps
  // the newest to be able to say so.

  const seen = new Map();
  const keyOf = (e) => `${e.tick} ${e.name} ${e.args}`;

  function take(effect, frame) {
    stats[effect.kind]++;
    const key = keyOf(effect);
    if (effect.kind === 'undone') {
      seen.delete(key);
      sound.cut(key);
      game.undo(key);
      return;
    }
    if (seen.has(key)) stats.duplicates++;
    seen.set(key, true);
    if (seen.size > 400) seen.delete(seen.keys().next().value);
    if (sound.play(key, effect, game.where(effect, frame))) {
      stats.sounds++;
      driftback.sounds[effect.name] = (driftback.sounds[effect.name] ?? 0) + 1;
    }
    game.take(key, effect, frame);
  }

  // Words

  // say writes a sentence where screen readers hear it.
  function say(sentence) {
    byId('said').textContent = sentence;
  }

  function state(word) {
    const at = byId('state');
    if (at.textContent === word) return;
    at.textContent = word;
    at.dataset.state = word;
  }

  // Controls

  const panel = new Panel((link) => send({ link }), game.name);
  const togglePause = () => send({ pause: !driftback.frame?.paused });
  const keys = new Keys(game.keys, (buttons, pressed) => send({ buttons, pressed }), togglePause);
  if (game.choosing) game.choosing.send = send;

  byId('pause').addEventListener('click', togglePause);

  byId('to-bot').addEventListener('click', () => send({ bot: true }));
  byId('sound').addEventListener('click', (e) => {
    sound.mute(sound.on);
    e.currentTarget.setAttribute('aria-pressed', String(sound.on));
  });
  for (const gesture of ['keydown', 'pointerdown']) window.addEventListener(gesture, (e) => { if (e.isTrusted) sound.wake(); });

  const still = window.matchMedia('(prefers-reduced-motion: reduce)');
  const calm = () => { scene.calm = still.matches; };
  still.addEventListener('change', calm);
  calm();

  // Drawing

  let last = 0, told = 0, summarised = -1e9;

  function draw(now) {
    requestAnimationFrame(draw);
    const ticks = Math.min(((now - last) * 60) / 1000, 6);
    last = now;
    keys.poll();
    scene.draw(ticks, now / 1000);
    const frame = driftback.frame;
    if (!frame) return;
    panel.drawStrip(frame);
    if (now - told > 250) {
      told = now;
      panel.tell(frame);
    }
    if (now - summarised > 5000) {
      summarised = now;
      byId('summary').textContent = game.summarise(frame);
      panel.describe(frame);
    }
  }

  scene.notice = 'Connecting';
  connect();
  requestAnimationFrame(draw);
  return { say, sound };
}
