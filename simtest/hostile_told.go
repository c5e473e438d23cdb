package simtest

import (
	"slices"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/transport/loopback"
)

// fork is one input that a victim is told and the others are not.
type fork[I any] struct {
	at    forkAt
	fault int
	in    I
	bytes []byte
}

type forkAt struct {
	victim      driftback.Peer
	participant driftback.Participant
	tick        driftback.Tick
}

// part lets the peers of an Equivocate choose the first tick for which they have pressed
// nothing, and what they tell whom about it.
func (m *match[S, I]) part(fault int, pairs []pair) {
	for _, p := range m.peers {
		if p.liar == nil || p.gone || p.err != nil {
			continue
		}
		if !slices.Contains(m.s.Faults[fault].From, int(p.self)) {
			continue
		}
		q := driftback.Participant(pick(p.liar.act(fault).draw, p.is.Plays...))
		in, ok := m.another(q, p.published(int(q)))
		for _, d := range pairs {
			f := fork[I]{at: forkAt{driftback.Peer(d.to), q, p.published(int(q))}, fault: fault, in: in, bytes: m.inputs.Append(nil, &in)}
			if _, taken := m.forks[f.at]; ok && !taken && d.from == int(p.self) {
				m.forks[f.at] = f
				p.liar.forks = append(p.liar.forks, f)
			}
		}
	}
}

// another returns an input that the participant might have pressed instead.
func (m *match[S, I]) another(q driftback.Participant, t driftback.Tick) (in I, ok bool) {
	truth := m.workload(q, t)
	for u := t + 1; u < t+100; u++ {
		if in = m.workload(q, u); in != truth {
			return in, true
		}
	}
	return in, false
}

// told returns what a peer has been told, or will be, that participant q pressed for tick t.
func (m *match[S, I]) told(to driftback.Peer, q driftback.Participant, t driftback.Tick) I {
	if f, ok := m.forks[forkAt{to, q, t}]; ok {
		return f.in
	}
	return m.workload(q, t)
}

// misreport is one fingerprint that a victim is told and that is not the peer's own.
type misreport struct {
	fault  int
	victim driftback.Peer
	tick   driftback.Tick
	flip   uint64
}

// misreport lets the peers of a Misreport choose the first due tick that they have not
// come to, and what they tell about it.
func (m *match[S, I]) misreport(fault int, pairs []pair) {
	for _, d := range pairs {
		p := m.peers[d.from]
		a := p.liar.act(fault)
		flip := random(m.s.Seed, streamHostile, uint64(a.At)+1)
		if m.every > 0 {
			p.liar.reports = append(p.liar.reports, misreport{fault, driftback.Peer(d.to), p.root, flip.Uint64() | 1})
		}
	}
}

// act returns the peer's part in a fault.
func (l *liar[S, I]) act(fault int) *act {
	return &l.acts[slices.IndexFunc(l.acts, func(a act) bool { return a.fault == fault })]
}

// reported returns the fingerprint of tick t that a peer has been told, or will be, by
// one whose own is sum, and the fault because of which it is another.
func (p *peer[S, I]) reported(by *peer[S, I], t driftback.Tick, sum fingerprint.Sum) (told fingerprint.Sum, fault int) {
	fault = -1
	if by.liar != nil {
		for _, r := range by.liar.reports {
			if r.victim == p.self && r.tick == t {
				sum, fault = sum^fingerprint.Sum(r.flip), r.fault
			}
		}
	}
	return sum, fault
}

// retell returns the packet as it is told to one peer.
func (l *liar[S, I]) retell(to driftback.Peer, b []byte) []byte {
	if len(l.forks) == 0 && len(l.reports) == 0 || l.packet.Parse(b, l.p.m.inputs.Size()) != nil {
		return b
	}
	stride, p, changed := l.p.m.inputs.Size(), &l.packet, false
	for _, f := range l.forks {
		for i := range p.Runs {
			r := &p.Runs[i]
			at := f.at.tick - r.First
			if f.at.victim == to && r.Participant == f.at.participant && at >= 0 && at < driftback.Tick(r.Count) {
				copy(r.Inputs[int(at)*stride:], f.bytes)
				changed = true
			}
		}
	}
	for _, r := range l.reports {
		at := uint64(r.tick/l.p.m.every) - 1 - p.Sums.First
		if r.victim == to && at < uint64(len(p.Sums.List)) {
			p.Sums.List[at] ^= r.flip
			changed = true
		}
	}
	if !changed {
		return b
	}
	for {
		out, err := p.Append(nil, stride)
		if err == nil && len(out) <= loopback.MaxDatagram || len(p.Runs) == 0 {
			return out
		}
		// Another input may need more room: the newest ones go with the next packet.
		last := &p.Runs[len(p.Runs)-1]
		if last.Count--; last.Count == 0 {
			p.Runs = p.Runs[:len(p.Runs)-1]
			continue
		}
		last.Inputs = last.Inputs[:last.Count*stride]
	}
}
