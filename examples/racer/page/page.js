// The racer's page: what is its own beside the shared part, live.js.

import { keys } from './buttons.js';
import { clock, ordinal } from './hud.js';
import { drawKart, drawNumber, name } from './karts.js';
import { live } from './live.js';
import { recipes } from './recipes.js';
import { Road } from './road.js';
import { Scene } from './scene.js';

const byId = (id) => document.getElementById(id);
const road = new Road(await (await fetch('./world.json')).json());
const scene = new Scene(byId('stage'), road);

// gone says in a word or two if the match goes on without the player of kart p, and a bot
// drives it.
const gone = (frame, p) => {
  const other = frame.peers?.find((peer) => peer.gone && peer.participant === p);
  return other ? (other.returning ? 'coming back' : 'gone') : '';
};

const { say } = await live({
  title: 'driftback racer', scene, recipes, keys, name,
  hands: (frame) => (frame.hands === 'you' ? `You drive ${name(frame.self)}.` : `A bot drives ${name(frame.self)}: press any of the keys to take over.`),
  where: ({ args, name: what }, { view }) => (['count', 'go', 'race end'].includes(what) ? 0 : (view.karts[args[0]]?.x ?? 9000) / 9000 - 1),
  take(key, effect, frame) {
    scene.sparks.add(key, effect, frame.view);
    words(key, effect, frame);
  },
  undo: (key) => scene.undo(key),
  summarise(frame) {
    const { view, self, hands } = frame;
    const karts = order(view).map((p) => {
      const k = view.karts[p];
      const who = p === self ? `, driven by ${hands === 'you' ? 'you' : 'your bot'},` : gone(frame, p) ? `, whose player is ${gone(frame, p)},` : '';
      return `${name(p)}${who} is ${k.place ? `home as ${ordinal(k.place)}` : `${ordinal(k.rank)} on lap ${k.lap}`}${p === self && k.item ? ` and has ${k.item}` : ''}`;
    });
    return `Race ${view.race}, ${view.phase}. ${karts.join('. ')}.`;
  },
});

// words writes and says what an effect means, if it is about the own kart or everybody.
// What counts is told when it is confirmed: no later input can take it back.
function words(key, { name: what, args }, { self, view }) {
  const [who, n, ticks] = args;
  switch (what) {
    case 'go':
      scene.announce(key, 'GO!', 60);
      say('Go.');
      break;
    case 'lap':
      if (who !== self || n >= view.laps) break;
      scene.announce(key, n + 1 === view.laps ? 'LAST LAP' : `LAP ${n + 1}`, 70);
      say(`Lap ${n} took ${clock(ticks)}.`);
      break;
    case 'finish':
      if (who !== self) break;
      scene.announce(key, `FINISHED ${ordinal(n)}`, 150);
      say(`You finished as ${ordinal(n)} in ${clock(ticks)}.`);
      break;
    case 'race end':
      if (who < 0) break;
      scene.announce(key, `${name(who).toUpperCase()} WINS`, 200);
      say(`${name(who)} wins race ${n}.`);
      break;
    case 'spin':
      if (who === self) say('You spin.');
      break;
    case 'pick up':
      if (who === self) say(`You have ${view.karts[self].item || 'an item'}.`);
      break;
  }
}

// A camera that follows is a motion of the whole picture: who wants less of that begins
// with one that stands.
function lookAtAll(whole) {
  scene.whole = whole;
  byId('whole').setAttribute('aria-pressed', String(whole));
}
lookAtAll(scene.calm);
byId('whole').addEventListener('click', () => lookAtAll(!scene.whole));

// The order, in words beside the picture.

const order = (view) => view.karts.map((k, p) => p).filter((p) => view.karts[p].on).sort((a, b) => view.karts[a].rank - view.karts[b].rank);

function row(p) {
  const li = document.createElement('li');
  const [rank, badge, who, how] = ['span', 'canvas', 'span', 'span'].map((kind) => li.appendChild(document.createElement(kind)));
  rank.className = 'rank';
  who.className = 'who';
  how.className = 'how';
  badge.setAttribute('aria-hidden', 'true');
  badge.width = badge.height = 52;
  const c = badge.getContext('2d');
  c.translate(26, 26);
  drawKart(c, p, 22);
  drawNumber(c, p, 22);
  return li;
}

const rows = new Map();

function tellOrder() {
  const frame = scene.frame;
  if (!frame) return;
  const list = order(frame.view);
  const wanted = list.map((p) => {
    if (!rows.has(p)) rows.set(p, row(p));
    const li = rows.get(p), k = frame.view.karts[p], own = p === frame.self;
    li.classList.toggle('own', own);
    const texts = [String(k.rank), null, `${name(p)}${own ? (frame.hands === 'you' ? ', you' : ', your bot') : gone(frame, p) && `, ${gone(frame, p)}`}`, k.place ? clock(k.took) : `lap ${k.lap}`];
    texts.forEach((text, i) => { if (text !== null && li.children[i].textContent !== text) li.children[i].textContent = text; });
    return li;
  });
  const at = byId('order');
  if (wanted.length !== at.children.length || wanted.some((li, i) => at.children[i] !== li)) at.replaceChildren(...wanted);
}

// tellPlace says lap and place where screen readers hear it, and not so often that they
// could not keep up.
function tellPlace() {
  const frame = scene.frame, k = frame?.view.karts[frame.self];
  if (!k?.on) return;
  const words = k.place ? `Finished ${ordinal(k.place)} in ${clock(k.took)}` : frame.view.phase === 'countdown' ? `On the grid of race ${frame.view.race}` : `Lap ${k.lap} of ${frame.view.laps}, ${ordinal(k.rank)} of ${order(frame.view).length}`;
  if (byId('place').textContent !== words) byId('place').textContent = words;
}

setInterval(tellOrder, 250);
setInterval(tellPlace, 2000);
