package session

import (
	"fmt"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/feed"
)

// past is what was done on the ticks that are final: for those who watch or come back, and to run
// some of them again when states differ.
type past struct {
	archive *feed.Archive      // nil: nothing is kept
	summed  driftback.Tick     // the newest due tick whose fingerprint is in the archive
	every   driftback.Tick     // 0: none is
	status  []driftback.Status // by participant: who is behind its newest input in the archive
}

// keepPast makes ready to keep what is done. before has what is known of the ticks before this
// peer's first; nil: there are none.
func (m *Lockstep[S, I]) keepPast(before *feed.Archive) (err error) {
	c := &m.cfg
	ticks, every := c.History, max(c.FingerprintEvery, 0)
	if !c.feeds() {
		if !m.inquires() {
			return nil
		}
		// Those since the oldest state that is kept.
		ticks, every = min(c.History, keptStates*every+int(c.window())+2), 0
	}
	p := &m.past
	if p.archive = before; before == nil {
		p.archive, err = feed.NewArchive(len(c.Players), m.inputs.Size(), ticks, every)
		if err != nil {
			return fmt.Errorf("session: History is %d ticks: %w", c.History, err)
		}
	}
	p.every, p.summed = driftback.Tick(every), p.archive.SumsEnd()
	p.status = make([]driftback.Status, len(c.Players))
	p.archive.Statuses(p.archive.End()-1, p.status)
	return nil
}

// archive takes what has become final: ticks that this peer has run, so that where the match is to end
// can still be said.
func (m *Lockstep[S, I]) archive() {
	a := m.past.archive
	if a == nil {
		return
	}
	for t := a.End(); t < m.final(); t++ {
		for p := range m.cfg.Players {
			p := driftback.Participant(p)
			if now := m.mesh.Status(p, t); now != m.past.status[p] && a.PutStatus(p, t, now) {
				m.past.status[p] = now
			}
			a.Put(p, m.mesh.Input(p, t), m.mesh.Entry(p, t))
		}
		a.Next()
	}
	for agreed := m.mesh.Agreed(); m.past.every > 0 && m.past.summed < agreed; {
		m.past.summed += m.past.every
		if sum, ok := m.mesh.Root(m.past.summed); ok {
			a.PutSum(m.past.summed, sum)
		}
	}
}
