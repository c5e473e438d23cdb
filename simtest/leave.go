package simtest

import (
	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
)

// haltWords is the reason with which a peer halts.
const haltWords = "a scenario says so"

// obey lets a peer leave or halt before its turn, if a fault bids it. What it then ends
// with shows in the turn.
func (p *peer[S, I]) obey() {
	if len(p.bids) == 0 {
		return
	}
	fault := p.bids[0]
	p.bids = nil // once is enough
	c := cause{at: []driftback.Peer{p.self}}
	if p.m.s.Faults[fault].Kind != Halt {
		c.here = []like{is(session.ErrLeft)}
		c.may = p.m.mayGoOn()
		p.session.Leave()
	} else {
		c.here = []like{is(session.ErrHalted)}
		p.session.Halt(haltWords)
	}
	p.m.happens[fault] = p.m.s.Faults[fault].Kind != Return
	p.m.plant(c)
}

// limitMay plants that a match ends where a window is used up.
func (m *match[S, I]) limitMay() {
	c := cause{here: []like{is(session.ErrPredictionLimit)}, wrong: m.limitWrongly, may: true}
	for i := range m.s.Peers {
		c.at = append(c.at, driftback.Peer(i))
	}
	m.plant(c)
}

// limitWrongly returns why a peer may not say that its window is used up.
func (m *match[S, I]) limitWrongly(self driftback.Peer, _ error) string {
	if p := m.peers[self]; p.next != p.confirmed+m.window {
		return "its window is not used up"
	}
	return ""
}

// checkLimit checks that a peer that is to halt where its window is used up does.
func (p *peer[S, I]) checkLimit(r *session.Result) {
	m := p.m
	if m.s.HaltAtLimit && !p.gait.waits && r.Phase == session.Stalled && p.next < driftback.Tick(m.s.Ticks) && p.next == p.confirmed+m.window {
		p.breaks(RuleCause, p.next, "tick %d lacks an input, so its window is used up, and it goes on", p.confirmed)
	}
}
