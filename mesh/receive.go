package mesh

import (
	"bytes"
	"strings"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/wire"
)

func (m *Mesh) receivePacket(l *link, b []byte) {
	l.stats.PacketsReceived++
	l.stats.BytesReceived += uint64(len(b))
	tag, ok := wire.TagOf(b)
	switch {
	case !ok:
		m.refuse(Malformed)
		return
	case m.phase == Joining || !m.start.ready:
		m.refuse(Early)
		return
	case tag != m.tag:
		m.receiveOtherView(l, tag)
		return
	}
	l.view.known, l.view.unaware = m.views.number, false
	p := &m.incoming
	if err := p.Parse(b, m.cfg.Stride); err != nil {
		m.refuse(Malformed)
		return
	}
	m.hear(l)
	m.takeWord(l, p)
	l.meter.heard(p.Seq, m.clock)
	if p.Echo.Set {
		l.meter.measure(p.Echo.Seq, time.Duration(p.Echo.HeldMicros)*time.Microsecond, m.clock)
		l.pace.take(&p.Echo, l.meter.unwrap(p.Seq), m.clock)
	}
	if m.phase == Agreeing && l.hello != nil && len(p.Runs) > 0 {
		// It plays, so it has agreed; its own word is on its way.
		l.started = true
		m.play()
	}
	for i := range p.Acks {
		m.receiveAck(l, &p.Acks[i])
	}
	for i := range p.Runs {
		if m.receiveRun(l, &p.Runs[i]); m.phase == Ended {
			return
		}
	}
	m.receiveSums(l, p)
}

func (m *Mesh) receiveAck(l *link, a *wire.Ack) {
	for i, p := range m.own {
		if p != a.Participant {
			continue
		}
		switch {
		case m.relayed() && a.Next > m.publishedOf(i).held:
			// The relay takes no input for these ticks any more, and this peer has none yet.
			l.acked[i] = m.publishedOf(i).held
		case a.Next > m.publishedOf(i).held:
			m.refuse(BadAck)
		case a.Next > l.acked[i]:
			l.acked[i] = a.Next
		}
		return
	}
	if !m.receiveSharedAck(l, a) {
		m.refuse(BadAck)
	}
}

func (m *Mesh) receiveRun(l *link, r *wire.Run) {
	if !m.supplies(l, r) {
		m.refuse(NotOwner)
		return
	}
	if m.relayed() {
		defer m.findMarks(r.Participant, m.histories[r.Participant].held)
	}
	h := &m.histories[r.Participant]
	for i := range r.Count {
		t := r.First + driftback.Tick(i)
		in := r.Inputs[i*m.cfg.Stride : (i+1)*m.cfg.Stride]
		e := r.Entry(i)
		if m.relayed() {
			in, e = m.fromRelay(r.Participant, in, e)
		}
		switch {
		case h.contradicts(t, in, e):
			m.halt(&ConflictError{Participant: r.Participant, Tick: t, Had: h.at(t), Got: in, HadEntry: h.entry(t), GotEntry: e})
			return
		case t < h.held: // again
		case t >= m.Confirmed()+m.span || m.relayed() && t >= m.used+m.span:
			m.refuse(FarAhead)
			return
		case m.cfg.Valid != nil && !m.cfg.Valid(in) || !m.may(r.Participant, e) && (!m.relayed() || !e.Mark()):
			m.refuse(BadInput)
			l.balked = true
			return
		default:
			// One that has overtaken others waits for them; it is acknowledged with them.
			if h.put(t, in) {
				h.enter(t, e)
				l.owesAck = true
			}
			l.balked, l.balkedFor = false, 0
		}
	}
}

// halt ends the match because of evidence against whoever plays a participant. err
// borrows the inputs.
func (m *Mesh) halt(err *ConflictError) {
	err.Peer, err.Had, err.Got = m.cfg.Players[err.Participant], bytes.Clone(err.Had), bytes.Clone(err.Got)
	m.Halt(err, strings.TrimPrefix(err.Error(), "mesh: "))
}
