package simtest

import (
	"slices"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/loopback"
	"github.com/driftback/driftback/wire"
)

// stray sends something of another match.
func (l *liar[S, I]) stray(a *act, to driftback.Peer) {
	d := a.draw
	switch d.IntN(5) {
	case 0: // the same packet under another tag
		l.out = append(l.out[:0], l.newest[to]...)
		l.out[1+d.IntN(2)] ^= byte(1 + d.IntN(255))
		l.put(to, l.out, lie{fault: a.fault, why: mesh.OtherMatch})
	case 1: // a hello
		b, err := wire.AppendControl(nil, wire.Hello{Match: d.Uint64(), Nonce: d.Uint64()})
		// From who is through it asks for a rematch, which is no lie.
		if err == nil && l.p.session.Stats().Confirmed < driftback.Tick(l.p.m.s.Ticks) {
			l.say(to, b, lie{fault: a.fault, why: mesh.Malformed, heard: true})
		}
	default:
		if !l.recorded {
			l.record()
		}
		if n := len(l.earlier[to]); n > 0 {
			b := l.earlier[to][d.IntN(n)]
			if why, drop := l.judge(to, b); drop {
				l.put(to, b, lie{fault: a.fault, why: why})
			}
		}
	}
}

// record plays the beginning of another match between the same peers, and keeps what
// this one sends in it.
func (l *liar[S, I]) record() {
	l.recorded = true
	s := l.p.m.s.clone()
	s.Seed, s.Ticks, s.Links, s.Faults, s.Cuts = s.Seed+1, min(s.Ticks, 40), nil, nil, nil
	s.PeerTimeout, s.RejoinGrace, s.HaltAtLimit, s.Buggify = 0, 0, false, false
	for i := range s.Peers {
		s.Peers[i].Phase, s.Peers[i].Ahead, s.Peers[i].Skew = 0, 0, 0
	}
	g := l.p.m.game
	g.plant = nil
	m, err := newMatch(g, s)
	if err != nil {
		return
	}
	m.peers[l.p.self].tap.alter = func(to driftback.Peer, b []byte) []byte {
		l.earlier[to] = append(l.earlier[to], slices.Clone(b))
		return b
	}
	m.run()
}

// forge sends what only somebody else may say, alone or inside a packet of its own.
func (l *liar[S, I]) forge(a *act, to driftback.Peer) {
	m, d, stride := l.p.m, a.draw, l.p.m.inputs.Size()
	p := l.head(to)
	if d.Chance(1, 2) && l.packet.Parse(l.newest[to], stride) == nil {
		p = l.packet
		p.Echo = wire.Echo{} // it would be the same measurement again
	}
	// Any participant but its own: one that another peer plays, or that nobody does.
	someone := func(mine func(q driftback.Participant) bool) (driftback.Participant, bool) {
		for range 32 {
			if q := driftback.Participant(d.IntN(min(len(m.owner)+3, driftback.MaxParticipants))); !mine(q) {
				return q, true
			}
		}
		return 0, false
	}
	plays := func(peer driftback.Peer) func(q driftback.Participant) bool {
		return func(q driftback.Participant) bool { return int(q) < len(m.owner) && m.owner[q] == peer }
	}
	switch d.IntN(3) {
	case 0: // an acknowledgement of another's inputs
		if q, ok := someone(plays(to)); ok {
			p.Acks = insertAck(p.Acks, wire.Ack{Participant: q, Next: l.near(d, to)})
			l.send(to, &p, lie{fault: a.fault, why: mesh.BadAck})
		}
	case 1: // an acknowledgement of inputs that are far from being pressed
		q := driftback.Participant(m.s.Peers[to].Plays[0])
		p.Acks = insertAck(p.Acks, wire.Ack{Participant: q, Next: l.near(d, to) + 1<<d.between(20, 60)})
		l.send(to, &p, lie{fault: a.fault, why: mesh.BadAck})
	default:
		if q, ok := someone(plays(l.p.self)); ok {
			n := d.between(1, 8)
			run := wire.Run{Participant: q, First: l.near(d, to), Count: n, Inputs: d.bytes(nil, n*stride)}
			p.Runs = insertRun(p.Runs, run)
			l.send(to, &p, lie{fault: a.fault, why: mesh.NotOwner})
		}
	}
}

// near returns a tick about which a victim might believe something.
func (l *liar[S, I]) near(d *draw, to driftback.Peer) driftback.Tick {
	return max(0, l.p.m.peers[to].confirmed+driftback.Tick(d.between(-10, 10)))
}

func insertAck(list []wire.Ack, ack wire.Ack) []wire.Ack {
	list = slices.DeleteFunc(slices.Clone(list), func(a wire.Ack) bool { return a.Participant == ack.Participant })
	i := slices.IndexFunc(list, func(a wire.Ack) bool { return a.Participant > ack.Participant })
	if i < 0 {
		i = len(list)
	}
	return slices.Insert(list, i, ack)
}

func insertRun(list []wire.Run, run wire.Run) []wire.Run {
	i := slices.IndexFunc(list, func(r wire.Run) bool { return r.Participant > run.Participant })
	if i < 0 {
		i = len(list)
	}
	return slices.Insert(slices.Clone(list), i, run)
}

// change contradicts an input that the victim holds.
func (l *liar[S, I]) change(a *act, to driftback.Peer) {
	m, d := l.p.m, a.draw
	victim := m.peers[to]
	q := driftback.Participant(pick(d, l.p.is.Plays...))
	newest := victim.confirmed - 1
	oldest := max(driftback.Tick(l.p.is.InputDelay), newest-recently)
	if !victim.playing || victim.err != nil || newest < oldest {
		return
	}
	t := oldest + driftback.Tick(d.IntN(int(newest-oldest)+1))
	run := wire.Run{Participant: q, First: max(oldest, t-driftback.Tick(d.IntN(5)))}
	for u := run.First; u <= t; u++ {
		in := m.told(to, q, u)
		run.Inputs = m.inputs.Append(run.Inputs, &in)
		run.Count++
	}
	got := run.Inputs[len(run.Inputs)-m.inputs.Size():]
	had := slices.Clone(got)
	got[d.IntN(len(got))] ^= 1 << d.IntN(8)
	p := l.head(to)
	p.Runs = []wire.Run{run}
	l.send(to, &p, lie{fault: a.fault, conflict: &session.ConflictError{
		Peer: l.p.self, Participant: q, Tick: t, Had: had, Got: slices.Clone(got),
	}})
}

// flood sends one piece of junk.
func (l *liar[S, I]) flood(a *act, to driftback.Peer) {
	d := a.draw
	p := l.head(to)
	what := lie{fault: a.fault}
	far := driftback.Tick(1) << d.between(32, 61)
	switch d.IntN(8) {
	case 0: // inputs of a far future
		q := driftback.Participant(l.p.is.Plays[0])
		n := d.between(1, 4)
		p.Runs = []wire.Run{{Participant: q, First: far, Count: n, Inputs: d.bytes(nil, n*l.p.m.inputs.Size())}}
		what.why = mesh.FarAhead
		l.send(to, &p, what)
	case 1: // what is claimed to have come
		p.Acks = []wire.Ack{{Participant: driftback.Participant(l.p.m.s.Peers[to].Plays[0]), Next: far}}
		what.why = mesh.BadAck
		l.send(to, &p, what)
	case 2: // fingerprints of a far future, or an acknowledgement of such
		if l.p.m.every == 0 {
			return
		}
		if what.why = mesh.FarFingerprint; d.Chance(1, 2) {
			p.Sums = wire.Sums{First: uint64(far), List: []uint64{d.Uint64()}}
		} else {
			p.SumAck, what.why = wire.SumAck{Set: true, Next: uint64(far)}, mesh.BadAck
		}
		l.send(to, &p, what)
	case 3: // a message that is none, where none is lost
		b := d.bytes(l.out[:0], d.between(0, 60))
		if _, err := wire.ParseControl(b); err != nil {
			what.why = mesh.Malformed
			l.say(to, b, what)
		}
		l.out = b
	default:
		b := l.out[:0]
		n := d.between(0, 60)
		if d.Chance(1, 20) {
			n = d.between(0, loopback.MaxDatagram)
		}
		if d.Chance(1, 2) {
			b = append(b, l.newest[to][:5]...)
			b[0] ^= byte(d.IntN(32)) // it says that it has other parts
		}
		b = d.bytes(b, max(0, n-len(b)))
		l.out = b
		if why, drop := l.judge(to, b); drop {
			what.why = why
			l.put(to, b, what)
		}
	}
}
