package natpunch

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/driftback/driftback"
)

// Patience of a route.
const (
	lookEvery = 50 * time.Millisecond
	// What counts as silence: less is needed to tell where much used to come.
	silenceBusy = 300 * time.Millisecond
	silenceIdle = 1200 * time.Millisecond
	busy        = 20 // packets heard in a second
	// minRound is how long a round is given before another may begin.
	minRound = 250 * time.Millisecond
	// roundPatience is how long a round may try, hurriedPatience how long it may when a
	// match has lost its path, and staleRound how old the addresses of our end may be when
	// the other end is heard of.
	roundPatience   = 3500 * time.Millisecond
	hurriedPatience = time.Second
	staleRound      = 15 * time.Second
	// overlap is how long the old path is listened to once there is a new one: the other
	// side may take a moment longer to change.
	overlap = 2 * time.Second
	// gather is how long a signal waits for more addresses that may ride in it.
	gather = 5 * time.Millisecond
	// One signal is sent every tellEvery at most, but for tellAtOnce that may be sent at once.
	tellEvery  = 100 * time.Millisecond
	tellAtOnce = 10
	// Signals that are not answered are sent again, ever more slowly.
	minResend = 200 * time.Millisecond
	maxResend = 4 * time.Second
)

// betterAfter is when a route that has only a relay looks for something better.
var betterAfter = []time.Duration{3 * time.Second, 15 * time.Second, time.Minute}

// path is where a peer's packets go now. It never changes.
type path struct {
	round   *round
	remote  netip.AddrPort
	relayed bool // through a relay of ours
	// farRelayed: through a relay of the peer's
	farRelayed bool
}

// route is the way to one peer: what has been agreed on with it, and the path.
type route struct {
	t    *Transport
	peer driftback.Peer
	// controlling: in every round this side chooses the path.
	controlling bool
	virtual     *net.UDPAddr

	path     atomic.Pointer[path]
	received atomic.Uint32 // QUIC packets heard from the peer, and checks of the path in use
	trouble  atomic.Pointer[error]
	ups      atomic.Uint32 // how often the path changed
	begun    atomic.Uint32 // rounds

	// addresses are those of socket.table that this route owns, oldest first; socket.mu
	// guards them.
	addresses []netip.AddrPort

	wake  chan struct{} // holds a token when there is something to negotiate
	speak chan struct{} // the same when there is something to say

	mu      sync.Mutex
	ready   chan struct{} // closed while there is a path
	current *round        // the newest; only run replaces it
	settled *round        // whose path is in use
	last    *path         // the newest there was, of settled
	retired []*round      // whose path was in use, until they are closed

	version uint32 // of what we have to say
	acked   uint32 // the newest version that the peer is known to have
	theirs  message
	fresh   bool      // theirs has not been looked at
	past    [4]uint64 // instances of the peer that have been followed by others
	pasts   int

	// What follows is run's alone.

	lastBegun time.Time
	heard     uint32 // received at the last look
	heardAt   time.Time
	rate      [int(time.Second / lookEvery)]uint32 // packets heard in each of the last looks
	looks     int
	better    int // of betterAfter: which comes next
	failed    int // rounds that had their time and found no path, since one did
}

func newRoute(t *Transport, peer driftback.Peer) *route {
	return &route{
		t: t, peer: peer, controlling: t.self < peer, virtual: virtual(peer),
		wake: make(chan struct{}, 1), speak: make(chan struct{}, 1),
		ready: make(chan struct{}), version: 1,
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// wait returns when there is a path, or when ctx ends.
func (r *route) wait(ctx context.Context) {
	r.mu.Lock()
	ready := r.ready
	r.mu.Unlock()
	select {
	case <-ready:
	case <-ctx.Done():
	}
}

// use takes a path that a round has found.
func (r *route) use(p *path) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := p.round
	if n != r.current && n != r.settled {
		return // it has come to be too old
	}
	if r.settled != n {
		if r.settled != nil {
			r.retired = append(r.retired, r.settled)
		}
		r.settled = n
	}
	if n.selected.IsZero() {
		n.selected = time.Now()
	}
	r.last = p
	had := r.path.Swap(p)
	if !p.relayed {
		r.t.socket.allow(r, p.remote)
	}
	r.received.Add(1) // the path has just been tried
	r.ups.Add(1)
	r.trouble.Store(nil)
	if had == nil {
		close(r.ready)
	}
	r.t.log.Info("path", "peer", r.peer, "path", p.String(), "round", n.number)
}

// lose forgets the path. The caller holds r.mu.
func (r *route) lose() {
	if r.path.Swap(nil) != nil {
		r.ready = make(chan struct{})
		r.fail(ErrNoPath)
	}
}

func (r *route) fail(err error) { r.trouble.Store(&err) }

// run keeps the route, until ctx ends.
func (r *route) run(ctx context.Context) {
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-look.C:
			r.negotiate(now)
			r.look(now)
		case <-r.wake:
			r.negotiate(time.Now())
		}
	}
}

// negotiate does what the newest signal asks for.
func (r *route) negotiate(now time.Time) {
	r.mu.Lock()
	m, fresh, n := r.theirs, r.fresh, r.current
	r.mu.Unlock()
	if !fresh {
		return
	}
	next := m.round
	switch {
	case n == nil:
		next = max(next, 1)
	case n.conn != nil && m.instance != n.with:
		next = max(next, n.number+1) // another process, which knows nothing of our round
	case n.conn == nil && m.round == n.number && now.Sub(n.began) > staleRound:
		next++
	}
	if n == nil || next > n.number {
		if now.Sub(r.lastBegun) < minRound || !r.begin(next, now) {
			return // and again at the next look
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.theirs.version != m.version || r.theirs.instance != m.instance {
		signal(r.wake) // something newer came meanwhile
		return
	}
	r.fresh = false
	if n = r.current; m.round != n.number {
		return
	}
	if n.conn == nil {
		if n.start(m.ufrag, m.password, now); n.conn == nil {
			return
		}
		n.with = m.instance
	}
	for _, c := range m.candidates[:m.candidateCount] {
		n.try(c)
	}
}

// begin begins a round.
func (r *route) begin(number uint32, now time.Time) bool {
	r.lastBegun = now
	if number > maxRound {
		return false
	}
	w := firstWaits
	if r.path.Load() != nil {
		w = leisure
		if now.Sub(r.heardAt) >= silenceBusy/2 {
			w = hurry
		}
	}
	// After a round that failed comes one of the other sort, since ICE waits for a relay
	// that is slow to answer and tries nothing else meanwhile. Both sides see it fail.
	r.mu.Lock()
	last := r.current
	failed := last != nil && last.conn != nil && last.selected.IsZero() && now.Sub(last.started) > hurriedPatience*3/4
	plain := failed && !last.plain
	r.mu.Unlock()
	n, err := r.newRound(number, plain, w, now)
	if err != nil {
		r.t.log.Warn("no round can begin", "peer", r.peer, "reason", err)
		r.fail(err)
		return false
	}
	signal(r.t.search)
	r.begun.Add(1)
	r.mu.Lock()
	old := r.current
	if old == r.settled {
		old = nil // its path is in use
	}
	r.current = n
	r.changed()
	r.mu.Unlock()
	r.t.log.Debug("round", "peer", r.peer, "round", number)
	if old != nil {
		r.t.running.Go(old.close)
	}
	return true
}

// end closes what the route has open, once nothing runs that could open more.
func (r *route) end() {
	r.mu.Lock()
	rounds := r.retired
	if r.settled != nil {
		rounds = append(rounds, r.settled)
	}
	if r.current != nil && r.current != r.settled {
		rounds = append(rounds, r.current)
	}
	r.retired, r.settled, r.current, r.last = nil, nil, nil, nil
	r.mu.Unlock()
	for _, n := range rounds {
		n.close()
	}
}
