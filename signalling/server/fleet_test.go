package server

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/internal/waittest"
	"github.com/driftback/driftback/signalling/internal/frame"
)

// wire is a bus between the servers of one test. It hands over in its own goroutine, as a network
// would.
type wire struct {
	mu     sync.Mutex
	hear   map[string][]*func([]byte)
	queue  chan func()
	broken bool
}

func newWire(t testing.TB) *wire {
	w := &wire{hear: map[string][]*func([]byte){}, queue: make(chan func(), 10_000)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for f := range w.queue {
			f()
		}
	}()
	t.Cleanup(func() { close(w.queue); <-done })
	return w
}

func (w *wire) Publish(room string, b []byte) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken {
		return errors.New("it is broken")
	}
	b = slices.Clone(b)
	for _, hear := range w.hear[room] {
		w.queue <- func() { (*hear)(b) }
	}
	return nil
}

func (w *wire) Subscribe(room string, hear func([]byte)) (func(), error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken {
		return nil, errors.New("it is broken")
	}
	w.hear[room] = append(w.hear[room], &hear)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.hear[room] = slices.DeleteFunc(w.hear[room], func(h *func([]byte)) bool { return h == &hear })
	}, nil
}

// roomAt returns the room of these tests.
func roomAt(s *Server) *room {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rooms[roomOf(1)]
}

func TestMembersOfOneRoomMayBeAtDifferentInstances(t *testing.T) {
	w := newWire(t)
	_, one := open(t, Config{Bus: w})
	second, two := open(t, Config{Bus: w})
	host := newIdentity(t)
	a := enter(t, one, roomOf(1), 0, host)

	b := dial(t, two, roomOf(1), newIdentity(t))
	b.say(b.entry(roomOf(1), 1, false)) // the room exists, although not there
	require.Equal(t, frame.Welcome, b.read().Kind)
	require.Equal(t, frame.Frame{Kind: frame.Member, Peer: 0, Key: host.Key(), Proof: frame.Proof{1}}, b.read())
	require.Equal(t, frame.Frame{Kind: frame.Member, Peer: 1, Key: b.id.Key(), Proof: frame.Proof{1}}, a.read())
	require.NoError(t, a.send(1, "across"))
	require.Equal(t, "across", b.hears())
	require.NoError(t, b.send(0, "and back"))
	require.Equal(t, "and back", a.hears())

	code, why := refuses(t, two, roomOf(1), 0, newIdentity(t), true)
	require.Equal(t, frame.Taken, code, why)
	code, _ = refuses(t, two, roomOf(2), 0, newIdentity(t), false)
	require.Equal(t, frame.NoRoom, code, "no instance has it")

	// Its connection breaks, and the balancer picks another instance.
	again := enter(t, two, roomOf(1), 0, host)
	code, why = a.ended()
	require.Equal(t, frame.Replaced, code, why)
	require.NoError(t, again.send(1, "from here"))
	require.Equal(t, "from here", b.hears())
	again.say(&frame.Frame{Kind: frame.Leave})
	require.Equal(t, frame.Gone, b.read().Kind)
	b.say(&frame.Frame{Kind: frame.Leave})
	b.ended()
	waittest.Until(t, "the room is gone", func() bool { return second.Counts().Rooms == 0 })
	waittest.Until(t, "nobody listens any more", func() bool {
		w.mu.Lock()
		defer w.mu.Unlock()
		return len(w.hear[roomOf(1).String()]) == 0
	})
}

func TestOfTwoWithOnePlaceAtDifferentInstancesOneStays(t *testing.T) {
	now := time.Now()
	early, late := newIdentity(t), newIdentity(t)
	for name, c := range map[string]struct {
		theirs *identity.Identity
		since  time.Time
		want   frame.Status // 0 if ours stays
	}{
		"another key that came first": {early, now.Add(-time.Minute), frame.Taken},
		"another key that came later": {early, now.Add(time.Minute), 0},
		"the same key, come again":    {late, now.Add(time.Minute), frame.Replaced},
		"the same key, of before":     {late, now.Add(-time.Minute), 0},
	} {
		t.Run(name, func(t *testing.T) {
			s, url := open(t, Config{Bus: newWire(t)})
			a := enter(t, url, roomOf(1), 0, late)
			n := frame.Note{Instance: 1, Kind: frame.NotePresent, Peer: 0, Since: c.since.UnixMilli()}
			n.Member.Key = c.theirs.Key()
			s.hear(roomAt(s), n.Append(nil))
			if c.want == 0 {
				require.Equal(t, 1, s.Counts().Members)
				return
			}
			code, why := a.ended()
			require.Equal(t, c.want, code, why)
		})
	}
}

func TestTheMembersOfAnInstanceThatIsSilentAreGone(t *testing.T) {
	s, url := open(t, Config{Bus: newWire(t), sweepEvery: time.Hour})
	a := enter(t, url, roomOf(1), 0, newIdentity(t))
	n := frame.Note{Instance: 1, Kind: frame.NotePresent, Peer: 1, Since: 1}
	s.hear(roomAt(s), n.Append(nil))
	require.Equal(t, frame.Member, a.read().Kind)
	s.sweep(time.Now().Add(absentAfter - time.Second)) // too early
	require.NoError(t, a.send(1, "it is still there"))
	waittest.Until(t, "it is sent on", func() bool { return s.Counts().Messages == 1 })
	s.hear(roomAt(s), []byte("junk"))
	require.EqualValues(t, 1, s.Counts().Bus)
	s.sweep(time.Now().Add(absentAfter + time.Second))
	require.Equal(t, frame.Gone, a.read().Kind)
}

func TestABusThatIsBrokenKeepsNobodyWhoIsInFromBeingServed(t *testing.T) {
	w := newWire(t)
	s, url := open(t, Config{Bus: w})
	a, b := enter(t, url, roomOf(1), 0, newIdentity(t)), enter(t, url, roomOf(1), 1, newIdentity(t))
	w.mu.Lock()
	w.broken = true
	w.mu.Unlock()
	require.NoError(t, a.send(1, "x"))
	require.Equal(t, "x", b.hears())
	code, why := refuses(t, url, roomOf(2), 0, newIdentity(t), true)
	require.Equal(t, frame.Full, code, why)
	require.Positive(t, s.Counts().Bus)
}
