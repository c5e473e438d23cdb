package loopback

import "time"

// kind says what a message on its way, or in an inbox, is.
type kind uint8

const (
	datagram kind = iota + 1
	reliable
	// A link comes up in three messages: whoever opens says hello, the other
	// answers welcome, which proves to the opener that both directions work, and
	// the opener's ready proves it to the other. A goodbye takes it down.
	hello
	welcome
	ready
	goodbye
	// up and down are never on their way; they wait in an inbox.
	up
	down
)

// class says which spare messages a kind is taken from: datagrams all have the
// room for the largest one.
func (k kind) class() int {
	if k == datagram {
		return 0
	}
	return 1
}

// message is one message between being sent and being received.
type message struct {
	kind     kind
	line     *line
	from, to *Endpoint // to is nil for hello: whichever is open on arrival
	at       time.Duration
	seq      uint64
	data     []byte
	err      error
}

// flight is a heap of the messages on their way, the next to arrive first.
type flight []*message

func (f flight) before(i, j int) bool {
	if f[i].at != f[j].at {
		return f[i].at < f[j].at
	}
	return f[i].seq < f[j].seq
}

func (f *flight) push(m *message) {
	*f = append(*f, m)
	h := *f
	for i := len(h) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h.before(i, parent) {
			break
		}
		h[i], h[parent] = h[parent], h[i]
		i = parent
	}
}

func (f *flight) pop() *message {
	h := *f
	first, last := h[0], len(h)-1
	h[0], h[last] = h[last], nil
	*f = h[:last]
	f.sink(0)
	return first
}

func (f flight) sink(i int) {
	for {
		child := 2*i + 1
		if child >= len(f) {
			return
		}
		if child+1 < len(f) && f.before(child+1, child) {
			child++
		}
		if !f.before(child, i) {
			return
		}
		f[i], f[child] = f[child], f[i]
		i = child
	}
}

// restore makes a heap of what lies in any order.
func (f flight) restore() {
	for i := len(f)/2 - 1; i >= 0; i-- {
		f.sink(i)
	}
}

// queue is a ring of messages that grows; whoever pushes keeps it bounded.
type queue struct {
	ring  []*message
	first int
	n     int
}

// at returns the message with i before it.
func (q *queue) at(i int) *message { return q.ring[(q.first+i)%len(q.ring)] }

func (q *queue) push(m *message) {
	if q.n == len(q.ring) {
		grown := make([]*message, max(16, 2*q.n))
		for i := range q.n {
			grown[i] = q.at(i)
		}
		q.ring, q.first = grown, 0
	}
	q.ring[(q.first+q.n)%len(q.ring)] = m
	q.n++
}

func (q *queue) pop() *message {
	m := q.at(0)
	q.ring[q.first] = nil
	q.first = (q.first + 1) % len(q.ring)
	q.n--
	return m
}

// filter drops the messages that gone chooses, asked from first to last.
func (q *queue) filter(n *Network, gone func(m *message) bool) {
	for range q.n {
		if m := q.pop(); gone(m) {
			n.drop(m)
		} else {
			q.push(m)
		}
	}
}
