// Who has gone and who comes back, in words.

const names = (list) => (list.length > 1 ? `${list.slice(0, -1).join(', ')} and ${list.at(-1)}` : list[0]);

export class Back {
  // name says what a participant is called, and say writes a sentence where screen readers
  // hear it.
  constructor(name, say) {
    Object.assign(this, { name, say });
    this.away = new Map(); // by participant, whether it is known to come back
  }

  // notice is what is written over the picture meanwhile, or ''. Of more than two, who is
  // there has a race to see.
  notice({ phase, peers }) {
    if (phase === 'coming back') return 'Coming back…';
    const [other] = peers ?? [];
    if (peers?.length !== 1 || !other.gone) return '';
    return other.returning ? `${this.name(other.participant)} is coming back…` : `Waiting for ${this.name(other.participant)} to come back`;
  }

  // tell says what is new.
  tell(frame, before) {
    const coming = frame.phase === 'coming back', came = before?.phase === 'coming back';
    if (coming && !came) this.say('Coming back to the match…');
    if (came && ['advanced', 'stalled'].includes(frame.phase)) this.say('You are back. The match goes on.');
    const gone = [], returning = [], back = [];
    for (const p of frame.peers ?? []) {
      const was = this.away.get(p.participant);
      // A link may come and go on the way back; that is said once.
      if (p.returning && !was) returning.push(this.name(p.participant));
      else if (p.gone && was === undefined) gone.push(this.name(p.participant));
      else if (!p.gone && was !== undefined) back.push(this.name(p.participant));
      if (p.gone) this.away.set(p.participant, p.returning || !!was);
      else this.away.delete(p.participant);
    }
    if (coming) return;
    if (gone.length) this.say(`${names(gone)} ${gone.length > 1 ? 'have' : 'has'} gone. The match goes on.`);
    if (returning.length) this.say(`${names(returning)} ${returning.length > 1 ? 'are' : 'is'} coming back…`);
    if (back.length) this.say(`${names(back)} ${back.length > 1 ? 'are' : 'is'} back.`);
  }
}
