package detour

import (
	"errors"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
)

const (
	// maxPending and maxPendingBytes bound what waits in between, for each sender and
	// destination: what the ends of a link let wait, and what they say about it. Who sends more breaks its own link, since
	// what is left out is missed.
	maxPending      = 2 * maxWaiting
	maxPendingBytes = maxWaitingBytes + 4*transport.MaxReliable/8
)

// pending is what waits until the transport below has room for it.
type pending struct {
	list  [][]byte
	bytes int
}

// takeEnvelope sends an envelope on, or opens one for this peer, and returns what it
// has for whoever is above.
func (d *Transport) takeEnvelope(m transport.Message) (transport.Message, bool) {
	from, to, ok := parties(m.Data)
	via := m.From
	switch {
	case !ok:
	case from == via && to != d.cfg.Self:
		d.forward(from, to, m)
		return m, false
	case to != d.cfg.Self || from == via:
		// Nobody is asked to send on what another sent on.
	default:
		m.From = from
		m.Data, ok = d.open(from, via, m.Data)
		return m, ok
	}
	d.stats.Refused++
	return m, false
}

// forward sends an envelope on to a neighbour as it is.
func (d *Transport) forward(from, to driftback.Peer, m transport.Message) {
	if !d.direct.has(to) {
		d.stats.NotForwarded++
		return
	}
	if m.Kind == transport.Datagram {
		d.below.Send(to, m.Data)
		d.noteForwarded(len(m.Data))
		return
	}
	if q := d.peers[from].doors; q == nil || q.pending[to] == nil {
		err := d.below.SendReliable(to, m.Data)
		if err == nil {
			d.noteForwarded(len(m.Data))
			return
		}
		if !errors.Is(err, transport.ErrFull) {
			d.stats.NotForwarded++
			return
		}
		d.doorsOf(from).pending[to] = &pending{}
	}
	q := d.peers[from].doors.pending[to]
	if len(q.list) == maxPending || q.bytes+len(m.Data) > maxPendingBytes {
		d.stats.NotForwarded++
		return
	}
	q.list = append(q.list, append([]byte(nil), m.Data...))
	q.bytes += len(m.Data)
	d.busy |= bit(from)
}

func (d *Transport) noteForwarded(n int) {
	d.stats.Forwarded++
	d.stats.ForwardedBytes += uint64(n)
}

// flushPending sends on what waits for room, and says whether something is left.
func (d *Transport) flushPending(n *doors, to driftback.Peer) (left bool) {
	q := n.pending[to]
	for len(q.list) > 0 {
		err := d.below.SendReliable(to, q.list[0])
		if errors.Is(err, transport.ErrFull) {
			return true
		}
		if err != nil {
			d.stats.NotForwarded++
		} else {
			d.noteForwarded(len(q.list[0]))
		}
		q.bytes -= len(q.list[0])
		q.list[0] = nil
		q.list = q.list[1:]
	}
	n.pending[to] = nil
	return false
}

// open does what an envelope for this peer asks for, and returns what it has for whoever
// is above.
func (d *Transport) open(from, via driftback.Peer, b []byte) ([]byte, bool) {
	p := &d.peers[from]
	switch b[0] {
	case kindCall:
		d.keepCall(from, via, b)
	case kindAnswer:
		d.keepReply(from, via, b)
	case kindConfirm:
		d.keepConfirm(from, via, b)
	case kindNoWay:
		if p.way != nil && p.way.via == via {
			d.lose(from, ErrRestarted, true)
		}
	case kindMessage:
		return d.openSealed(from, via, b)
	case kindDatagram:
		if p.way == nil || p.way.via != via {
			d.stranger(from, via)
			break
		}
		return d.openDatagram(p.way, b)
	}
	return nil, false
}

// openSealed opens a reliable message. The first one that the answerer sends shows that it has
// heard the confirmation, so the link is up at this end too.
func (d *Transport) openSealed(from, via driftback.Peer, b []byte) ([]byte, bool) {
	p := &d.peers[from]
	w := p.way
	rises := w == nil && p.call != nil && p.call.way != nil
	if rises {
		w = p.call.way
	}
	if w == nil || w.via != via || [idSize]byte(b[headSize:]) != w.id {
		d.stranger(from, via)
		return nil, false
	}
	inner, plain, err := d.openMessage(w, b)
	switch {
	case rises && err != nil:
		d.stats.Forged++
		d.fail(from, via)
		return nil, false
	case err != nil:
		d.stats.Broken++
		d.sayGoodbye(from, w, byeBroken)
		d.lose(from, ErrBroken, true)
		return nil, false
	case rises:
		d.rise(from, w)
	}
	return d.takeInner(from, w, inner, plain)
}

// stranger takes note of an envelope that belongs to no link. A caller is told, once a
// round, when there is none at all: it may not know that this process is a new one, and
// then calls again. An answerer need not be told, since this peer calls it.
func (d *Transport) stranger(from, via driftback.Peer) {
	p := &d.peers[from]
	d.stats.Altered++
	if from > d.cfg.Self || d.direct.has(from) || p.way != nil || p.noWay {
		return
	}
	d.out = head(d.out[:0], kindNoWay, d.cfg.Self, from)
	p.noWay = d.below.SendReliable(via, d.out) == nil
	d.told |= bit(from)
}
