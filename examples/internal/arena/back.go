package arena

import (
	"errors"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/examples/internal/page"
	"github.com/driftback/driftback/pacing"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

// maxTries is how often in a row a player begins anew when nothing is played in between.
const maxTries = 8

// maxJoins is how often a player that is new follows another into a match before it waits for
// the other to come and choose.
const maxJoins = 3

// back is what a player knows about processes that were started anew, its own among them.
type back struct {
	// reopen closes the links to the others and opens them again at the same address. Nil:
	// who is lost is lost.
	reopen func() (transport.Transport, error)
	tries  int
	next   next       // what it begins with, once it has rested
	rest   int        // for how many turns it still does nothing
	joins  int        // how often it has taken the other for one who plays
	known  bool       // it has met the others
	met    bool       // and in this session
	played bool       // in this session a tick of the match has run
	linked wire.Peers // whose link is up
}

// note takes what a turn was like.
func (b *back) note(r *session.Result, choosing bool) {
	switch r.Phase {
	case session.Joining, session.Ended:
	case session.Advanced:
		b.tries, b.known, b.met, b.played = 0, true, true, !choosing
	default:
		b.known, b.met = true, true
	}
	for _, e := range r.Events {
		switch e.Kind {
		case session.PeerUp:
			b.linked |= wire.PeersOf(e.Peer)
		case session.PeerDown:
			b.linked &^= wire.PeersOf(e.Peer)
		default: // it is not about a link
		}
	}
}

// isComing reports whether this process is on its way back to a match.
func (p *peer[S, I]) isComing(r *session.Result) bool {
	return p.coming != nil || r.Phase == session.CatchingUp
}

// returns reports whether a process that has come in place of peer q's is on its way.
func (p *peer[S, I]) returns(q driftback.Peer) bool {
	return p.o.back && p.gone(q) && p.back.linked.Has(q)
}

// comeBack is one turn of coming back.
func (p *peer[S, I]) comeBack(now time.Duration) (session.Result, error) {
	r, err := p.coming.Tick(now)
	if s := p.coming.Session(); s != nil && err == nil {
		p.match, p.coming = s, nil
		err = p.arrive()
	}
	return r, err
}

// arrive lets the match end here where the others let it end.
func (p *peer[S, I]) arrive() error {
	if p.endsWhenWon() {
		if ticks := p.game.Picks.WonFor(p.match.State()); ticks > 0 {
			return p.match.Finish(p.endOf(p.match.Stats().Tick - ticks))
		}
	}
	return p.setEnd()
}

// next is what is left to do when a session has ended.
type next int

const (
	nothing next = iota
	meetAgain
	joinAgain
)

// after says what to do when a session has ended because of err.
func (p *peer[S, I]) after(err error) next {
	switch {
	case errors.Is(err, session.ErrUnderWay), errors.Is(err, session.ErrCutOff):
		return joinAgain
	case p.coming != nil && errors.Is(err, session.ErrFinished):
		if p.choosesNext() {
			return meetAgain
		}
		return nothing
	case p.otherwise(err) && p.choosing != nil && !p.back.known && p.back.joins < maxJoins:
		// The other plays, or is about to. Only a process that is new follows, and does not for
		// ever: otherwise each could follow where the other was.
		p.back.joins++
		return joinAgain
	case p.otherwise(err), p.mistaken(err):
		return meetAgain
	case errors.Is(err, session.ErrRefused): // what differs will differ again
		return nothing
	case p.coming != nil:
		// Who had the match may have been started anew as well.
		if errors.Is(err, session.ErrNoFeeder) || errors.Is(err, session.ErrNeverJoined) {
			return meetAgain
		}
	case p.back.played:
		// A process that is new came when this one had played to the end, and waited for no
		// more than the other's word.
		if lost := (*session.LostError)(nil); errors.As(err, &lost) && lost.Silence == 0 && p.choosesNext() {
			return meetAgain
		}
	case errors.Is(err, session.ErrPeerLost):
		return meetAgain
	case errors.Is(err, session.ErrPeerLeft) && !p.back.met:
		return meetAgain // it took this process for one that it knew
	}
	return nothing
}

// otherwise reports whether this side chooses and the other plays, or the other way round.
func (p *peer[S, I]) otherwise(err error) bool {
	m := (*session.MismatchError)(nil)
	return p.game.Picks != nil && errors.As(err, &m) && m.Setting == "game" && m.Theirs == p.gameName(p.choosing == nil)
}

// mistaken reports whether the other has begun with the process that was here before, or has
// compared its settings with those of a session that this process has left since: had they
// differed from this one's, this process had found that itself.
func (p *peer[S, I]) mistaken(err error) bool {
	m, told := (*session.MismatchError)(nil), (*session.ToldError)(nil)
	return !p.back.met && (errors.As(err, &m) && m.Setting == "the seed" || errors.As(err, &told) && errors.Is(err, session.ErrRefused))
}

// startAnew goes on when a session has ended because of err, and another process is, or may
// be, what this one has to do with from now on. It returns why it does not. Each time in a row it
// rests for a turn more: the other has to hear of it before it hears of the next session, or
// both could go on for ever to where the other has just been.
func (p *peer[S, I]) startAnew(err error) error {
	what := p.after(err)
	if what == nothing || !p.o.back || p.back.reopen == nil || p.back.tries >= maxTries {
		return err
	}
	p.back.next, p.back.rest = what, p.back.tries
	p.back.tries++
	if p.back.rest > 0 {
		return nil
	}
	return p.beginAnew()
}

// resting is one turn of that.
func (p *peer[S, I]) resting() (r session.Result, err error) {
	r = session.Result{Phase: session.Joining, Pace: pacing.Advice{Rate: 1}}
	if p.back.rest--; p.back.rest == 0 {
		err = p.beginAnew()
	}
	return r, err
}

// beginAnew begins what is next.
func (p *peer[S, I]) beginAnew() error {
	tr, err := p.back.reopen()
	if err != nil {
		return err
	}
	if p.back.played || p.coming != nil {
		p.bout++ // for a page, whose ticks begin anew
	}
	p.coming = nil
	defer p.anew()
	if p.back.next == meetAgain {
		if c := p.choosing; p.game.Picks != nil {
			p.choosing = &choosing{}
			if c != nil {
				p.choosing.picks[p.self] = c.picks[p.self]
			}
		}
		return p.meet(tr)
	}
	p.choosing = nil
	c := p.config()
	c.Transport = tr
	p.coming, err = session.Join(session.JoinConfig[S, I]{Config: c})
	return err
}

// anew forgets what was about the session before.
func (p *peer[S, I]) anew() {
	p.strip, p.rate, p.pausedBy = page.Strip{}, rate{}, page.Nobody
	p.back.met, p.back.played = false, false
	p.before = nil
}
