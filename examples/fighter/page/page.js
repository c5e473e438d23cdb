// The page of one peer: it shows the frames that the process sends and tells it what
// is pressed. All of the game happens there; nothing here changes a match.

import { Choose } from './choose.js';
import { cast, wear } from './figure.js';
import { Keys } from './keys.js';
import { Panel } from './panel.js';
import { Scene } from './scene.js';
import { Sound } from './sound.js';

const byId = (id) => document.getElementById(id);
const scene = new Scene(byId('stage'));
const sound = new Sound();

// What has happened on this page, for tests and for the curious.
const stats = { frames: 0, connections: 0, happened: 0, undone: 0, confirmed: 0, duplicates: 0, sounds: 0 };
const driftback = { stats, frame: null, sounds: {} };
window.driftback = driftback;

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

const stallsToTell = 45; // calls in a row
let stalls = 0, chosen = '';

function receive(frame) {
  stats.frames++;
  const before = driftback.frame;
  driftback.frame = frame;
  scene.frame = frame;
  if (frame.bout !== before?.bout || !!frame.picks !== !!before?.picks) seen.clear(); // ticks begin anew
  const told = choose.show(frame);
  if (told !== chosen) say((chosen = told) || 'The match begins.');
  frame.view.fighters.forEach((f, side) => wear(side, frame.picks ? frame.picks[side].look : f.look));
  for (const effect of frame.effects ?? []) take(effect, frame.view);
  stalls = frame.phase === 'stalled' ? stalls + 1 : 0;
  if (frame.end && frame.end !== before?.end) say(frame.end);
  if (frame.phase !== 'stalled' || stalls === stallsToTell) {
    const waits = frame.phase === 'stalled';
    scene.notice = frame.end ? 'The match has ended' : frame.phase === 'choosing' ? chooseWords(frame) : frame.paused ? pauseWords(frame) : waits ? 'Stalled: waiting for the other player’s input' : frame.phase === 'joining' ? 'Waiting for the other player' : '';
    if (waits) say('Stalled: the prediction window is used up, and the other player’s input is missing.');
    state(frame.phase === 'advanced' ? (frame.paused ? 'paused' : 'playing') : frame.phase);
  }
  if (frame.paused !== !!before?.paused || (frame.paused && frame.pausedBy !== before?.pausedBy)) tellPause(frame);
  byId('to-bot').disabled = frame.hands !== 'you';
  if (frame.hands !== before?.hands || frame.self !== before?.self) {
    byId('hands').textContent = frame.hands === 'you' ? `You play ${cast[frame.self].name}.` : `A bot plays ${cast[frame.self].name}: press any of the keys to take over.`;
    document.title = `${cast[frame.self].name} – driftback fighter`;
  }
}

function chooseWords({ self, picks, bout }) {
  return picks[self].ready ? 'Ready. Waiting for the other player' : `Choose with ← →, then Enter ${bout ? 'for a rematch' : 'to begin'}`;
}

// pauseWords says that the match is paused, and by whom once both sides know.
function pauseWords({ self, pausedBy }) {
  const who = pausedBy < 0 ? '' : pausedBy === self ? ' by you' : ' by the other player';
  return `Paused${who}. Press P to play on`;
}

function tellPause(frame) {
  const button = byId('pause');
  button.textContent = frame.paused ? 'Play on' : 'Pause';
  button.setAttribute('aria-pressed', String(frame.paused));
  if (!frame.end) say(frame.paused ? `${pauseWords(frame)}.` : 'The match goes on.');
}

// Effects. Each is reported once, however often its tick runs again; the page keeps
// the newest to be able to say so.

const seen = new Map();
const keyOf = (e) => `${e.tick} ${e.name} ${e.args}`;

function take(effect, view) {
  stats[effect.kind]++;
  const key = keyOf(effect);
  if (effect.kind === 'undone') {
    seen.delete(key);
    sound.cut(key);
    scene.undo(key);
    return;
  }
  if (seen.has(key)) stats.duplicates++;
  seen.set(key, true);
  if (seen.size > 400) seen.delete(seen.keys().next().value);
  const fighter = view.fighters[effect.args[0]];
  if (sound.play(key, effect, (fighter?.x ?? 0) / 360)) {
    stats.sounds++;
    driftback.sounds[effect.name] = (driftback.sounds[effect.name] ?? 0) + 1;
  }
  scene.sparks.add(key, effect, view);
  words(key, effect);
}

// words writes and says what an effect means. A knock-out is told when it is
// confirmed: no later input can take it back.
function words(key, { name, args }) {
  const [who, round, ko] = args;
  switch (name) {
    case 'round start':
      scene.announce(key, 'FIGHT!', 48, '#ffd34d');
      say(`Round ${round}. Fight.`);
      break;
    case 'ko':
      scene.announce(key, scene.banner?.text === 'K.O.' ? 'DOUBLE K.O.' : 'K.O.', 62, '#ff7a66');
      break;
    case 'round end': {
      const winner = who < 0 ? 'Nobody' : cast[who].name;
      say(`${ko ? 'K.O.' : 'Time is up.'} ${winner} wins round ${round}.`);
      if (!ko) scene.announce(key, 'TIME', 62, '#ffd34d');
      setTimeout(() => {
        if (driftback.frame?.view.phase === 'round over') scene.announce(key, who < 0 ? 'DRAW' : `${winner.toUpperCase()} WINS`, 62, who < 0 ? '#ffffff' : cast[who].light);
      }, 1050);
      break;
    }
    case 'match end':
      scene.announce(key, who < 0 ? 'A DRAWN MATCH' : `${cast[who].name.toUpperCase()} TAKES THE MATCH`, 140, '#ffd34d');
      say(who < 0 ? 'The match is drawn.' : `${cast[who].name} wins the match.`);
      break;
  }
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

// summarise describes the picture in words, now and then.
function summarise() {
  const frame = driftback.frame;
  if (!frame) return;
  const { view } = frame;
  const fighters = view.fighters.map((f, side) => `${cast[side].name}, ${side === frame.self ? `played by ${frame.hands === 'you' ? 'you' : 'a bot'}` : 'played by the peer'}, has ${Math.round((100 * f.health) / f.maxHealth)} per cent of its health and has won ${f.wins === 1 ? '1 round' : `${f.wins} rounds`}`);
  byId('summary').textContent = `Match ${view.match}, round ${view.round}, ${view.seconds} seconds left. ${fighters.join('. ')}.`;
  panel.describe(frame);
}

// Controls

const choose = new Choose(send);
const panel = new Panel((link) => send({ link }));
const togglePause = () => send({ pause: !driftback.frame?.paused });
const keys = new Keys((buttons, pressed) => send({ buttons, pressed }), togglePause);

byId('pause').addEventListener('click', togglePause);

byId('to-bot').addEventListener('click', () => send({ bot: true }));
byId('boxes').addEventListener('click', (e) => {
  scene.boxes = !scene.boxes;
  e.currentTarget.setAttribute('aria-pressed', String(scene.boxes));
});
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
    summarise();
  }
}

scene.notice = 'Connecting';
connect();
requestAnimationFrame(draw);
