package simtest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/zeebo/xxh3"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
)

// cause is something that was planted and ends the match: from when on it does, which
// ends it allows at the peers where it is, and which others may find out for themselves.
// What a peer ends with because another told it is judged by who told it; see tells.
type cause struct {
	at []driftback.Peer
	// here are the ends that it allows at, elsewhere those at other peers.
	here, elsewhere []like
	// wrong returns in words why an allowed end may not be after all, or "". Nil allows it.
	wrong func(p driftback.Peer, err error) string
	// may says that the match can go on nevertheless, until it has ended for some peer.
	// Otherwise every match must end from now on, within bound.
	may bool
}

// like reports whether an error is of some sort.
type like func(err error) bool

// is is every error that wraps target.
func is(target error) like { return func(err error) bool { return errors.Is(err, target) } }

// as is every error that wraps an E.
func as[E error]() like {
	return func(err error) bool {
		var e E
		return errors.As(err, &e)
	}
}

// plant makes a cause count from now on.
func (m *match[S, I]) plant(c cause) {
	m.causes = append(m.causes, c)
	if !c.may {
		m.over = true
	}
}

// allows reports whether a peer may end so because of the cause, and if the sort is right
// but the circumstances are not, in words why it may not.
func (c *cause) allows(p driftback.Peer, err error) (ok bool, wrong string) {
	list := c.elsewhere
	if slices.Contains(c.at, p) {
		list = c.here
	}
	if !slices.ContainsFunc(list, func(l like) bool { return l(err) }) {
		return false, ""
	}
	if c.wrong != nil {
		wrong = c.wrong(p, err)
	}
	return wrong == "", wrong
}

// tells are the ends of which one peer tells another: what the teller's own match ended
// with, what the other's then ends with, and in which words. The first that the teller's end
// is like counts.
var tells = []struct {
	teller like
	ends   error
	words  string
}{
	{is(session.ErrLeft), session.ErrPeerLeft, "it left"},
	{is(session.ErrPeerLost), session.ErrPeerLeft, "it lost peer "},
	{is(session.ErrPeerLeft), session.ErrPeerLeft, "another peer left"},
	{is(session.ErrCutOff), session.ErrPeerLeft, "it was cut off"},
	{is(session.ErrNeverJoined), session.ErrNeverJoined, ""},
	{heard(session.ErrHalted), session.ErrHalted, " halted the match: "},
	{heard(session.ErrRefused), session.ErrRefused, "another peer refused the match"},
	{is(session.ErrHalted), session.ErrHalted, ""},
	{is(session.ErrPredictionLimit), session.ErrHalted, "its prediction window is used up"},
	{as[*session.DesyncError](), session.ErrHalted, "the states differ as tick "},
	{as[*session.ConflictError](), session.ErrHalted, " sent two inputs of participant "},
}

// heard is every error with which a match ends because another peer told it to end so.
func heard(target error) like {
	return func(err error) bool {
		var told *session.ToldError
		return errors.As(err, &told) && errors.Is(told, target)
	}
}

// checkEnd judges why a peer's match has ended.
func (p *peer[S, I]) checkEnd() {
	m := p.m
	if p.err == nil {
		return
	}
	m.trace.add(xxh3.HashString(p.err.Error()))
	if errors.Is(p.err, session.ErrFinished) {
		if last := driftback.Tick(m.s.Ticks); p.next != last || p.final != last {
			p.breaks(RuleEnd, p.next, "it has finished with tick %d next and tick %d confirmed, and not at tick %d", p.next, p.final, last)
		}
		p.checkFinished()
		m.unheard(p)
		m.owe(p.self)
		return
	}
	if errors.Is(p.err, session.ErrInternal) {
		p.breaks(RuleInternal, p.next, "%v", p.err)
		return
	}
	if wrong := p.wrongEnd(); wrong != "" {
		p.breaks(RuleEnd, p.next, "%s", wrong)
		return
	}
	p.checkDesync()
	m.gone(p.self, m.s.has(Crash, Down) || m.s.hasNature(comes))
}

// wrongEnd returns in words what is wrong with a peer's end, or "".
func (p *peer[S, I]) wrongEnd() (wrong string) {
	var told *session.ToldError
	if errors.As(p.err, &told) {
		if wrong = p.m.wrongWord(told); wrong == "" && is(session.ErrPeerLeft)(told) {
			wrong = p.m.mustGoOn(p.self)
		}
		return wrong
	}
	wrong = p.err.Error()
	for i := range p.m.causes {
		ok, why := p.m.causes[i].allows(p.self, p.err)
		if ok {
			return ""
		}
		if why != "" {
			wrong = why + ": " + p.err.Error()
		}
	}
	return wrong
}

// wrongWord judges an end of which another peer is said to have told: that one's match
// has ended before, and so that it tells this.
func (m *match[S, I]) wrongWord(told *session.ToldError) string {
	if int(told.Peer) >= len(m.peers) {
		return fmt.Sprintf("there is no peer %d: %v", told.Peer, told)
	}
	source := m.endOf(told)
	for _, t := range tells {
		if source != nil && t.teller(source) {
			undecided := m.s.playsOn() && is(session.ErrPeerLost)(source) && strings.Contains(told.Words, "no decision is reached")
			if !errors.Is(told, t.ends) || !strings.Contains(told.Words, t.words) && !undecided {
				return fmt.Sprintf("peer %d has ended with %q, of which others hear as %q: %v", told.Peer, source, t.words, told)
			}
			return ""
		}
	}
	return fmt.Sprintf("peer %d has told nobody to end, and its own end is %v: %v", told.Peer, source, told)
}

// bound returns within which time a match that is over has ended for a peer: the word of
// it has come, or the peer has been listened to in vain for long enough.
func (p *peer[S, I]) bound() time.Duration {
	m := p.m
	// By its own clock, which may be slow.
	most := m.outlook.patience + 2*m.s.silence()
	if !p.playing {
		most += 2 * joinTimeout
	}
	return most
}
