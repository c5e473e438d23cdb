// The fighter's page: what is its own beside the shared part, live.js.

import { keys } from './buttons.js';
import { Choose } from './choose.js';
import { cast, wear } from './figure.js';
import { live } from './live.js';
import { recipes } from './recipes.js';
import { Scene } from './scene.js';

const byId = (id) => document.getElementById(id);
const scene = new Scene(byId('stage'));

const { say } = await live({
  title: 'driftback fighter', scene, recipes, keys,
  name: (side) => cast[side].name,
  hands: (frame) => (frame.hands === 'you' ? `You play ${cast[frame.self].name}.` : `A bot plays ${cast[frame.self].name}: press any of the keys to take over.`),
  where: (effect, frame) => (frame.view.fighters[effect.args[0]]?.x ?? 0) / 360,
  take(key, effect, frame) {
    scene.sparks.add(key, effect, frame.view);
    words(key, effect);
  },
  choosing: new Choose(),
  dress: ({ view, picks }) => view.fighters.forEach((f, side) => wear(side, picks ? picks[side].look : f.look)),
  undo: (key) => scene.undo(key),
  summarise({ view, self, hands }) {
    const fighters = view.fighters.map((f, side) => `${cast[side].name}, ${side === self ? `played by ${hands === 'you' ? 'you' : 'a bot'}` : 'played by the peer'}, has ${Math.round((100 * f.health) / f.maxHealth)} per cent of its health and has won ${f.wins === 1 ? '1 round' : `${f.wins} rounds`}`);
    return `Match ${view.match}, round ${view.round}, ${view.seconds} seconds left. ${fighters.join('. ')}.`;
  },
});

byId('boxes').addEventListener('click', (e) => {
  scene.boxes = !scene.boxes;
  e.currentTarget.setAttribute('aria-pressed', String(scene.boxes));
});

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
        if (scene.frame?.view.phase === 'round over') scene.announce(key, who < 0 ? 'DRAW' : `${winner.toUpperCase()} WINS`, 62, who < 0 ? '#ffffff' : cast[who].light);
      }, 1050);
      break;
    }
    case 'match end':
      scene.announce(key, who < 0 ? 'A DRAWN MATCH' : `${cast[who].name.toUpperCase()} TAKES THE MATCH`, 140, '#ffd34d');
      say(who < 0 ? 'The match is drawn.' : `${cast[who].name} wins the match.`);
      break;
  }
}
