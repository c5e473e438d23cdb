package quic

// ring is a queue with a fixed number of places.
type ring[T any] struct {
	places  []T
	head, n int
}

func newRing[T any](places int) ring[T] { return ring[T]{places: make([]T, places)} }

func (r *ring[T]) full() bool { return r.n == len(r.places) }

// push adds v at the end; the ring must not be full.
func (r *ring[T]) push(v T) {
	r.places[(r.head+r.n)%len(r.places)] = v
	r.n++
}

// pop takes the oldest away; the ring must not be empty. It forgets what it gives,
// so that the memory is not held.
func (r *ring[T]) pop() T {
	var none T
	v := r.places[r.head]
	r.places[r.head] = none
	r.head = (r.head + 1) % len(r.places)
	r.n--
	return v
}

// parcels is a queue of reliable messages, bounded in number and in bytes.
type parcels struct {
	ring  ring[[]byte]
	bytes int
}

// fits says whether a message of size bytes may be added. One always fits in an
// empty queue.
func (p *parcels) fits(size int) bool {
	return !p.ring.full() && (p.ring.n == 0 || p.bytes+size <= queueBytes)
}

func (p *parcels) push(b []byte) {
	p.ring.push(b)
	p.bytes += len(b)
}

func (p *parcels) pop() []byte {
	b := p.ring.pop()
	p.bytes -= len(b)
	return b
}
