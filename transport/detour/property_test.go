package detour_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/detour"
	"github.com/driftback/driftback/transport/loopback"
)

const crowd = 4

// world does anything at all to a few peers and the links between them, and keeps beside them
// what must have become of it.
type world struct {
	t    *rapid.T
	net  *loopback.Network
	ends [crowd]*loopback.Endpoint // nil: not open
	all  [crowd]*detour.Transport
	up   [crowd][crowd]bool
	// ups counts the links that i has had to j. A message says of which it is, and which
	// number it has there.
	ups            [crowd][crowd]uint64
	sent, received [crowd][crowd]uint64
	of             [crowd][crowd]uint64 // the sender's number of the link that i receives from j over
	seen           map[[4]uint64]bool   // datagrams that have come
	draws          uint64
	detours, downs int
}

func (w *world) open(i int) {
	w.close(i)
	w.ends[i] = w.net.Open(driftback.Peer(i))
	c := config(driftback.Peer(i))
	c.Patience = 20
	w.draws++
	c.Random = rand.NewChaCha8([32]byte{byte(i), byte(w.draws), byte(w.draws >> 8)})
	var err error
	var below transport.Transport = w.ends[i]
	if w.draws%2 == 0 {
		below = &stingy{w.ends[i], rand.NewPCG(w.draws, 0)}
	}
	w.all[i], err = detour.New(below, c)
	require.NoError(w.t, err)
}

func (w *world) close(i int) {
	if w.all[i] != nil {
		require.NoError(w.t, w.all[i].Close())
	}
	w.forget(i)
}

func (w *world) forget(i int) {
	w.ends[i], w.all[i], w.up[i] = nil, nil, [crowd]bool{}
}

func (w *world) advance(d time.Duration, steps int) {
	for range steps {
		w.net.Advance(d)
		for i, l := range w.all {
			if l == nil {
				continue
			}
			for m, ok := l.Receive(); ok; m, ok = l.Receive() {
				w.receive(i, int(m.From), m)
			}
		}
	}
}

func (w *world) receive(i, j int, m transport.Message) {
	switch m.Kind {
	case transport.Up:
		require.False(w.t, w.up[i][j], "peer %d: Up twice from %d", i, j)
		w.up[i][j], w.sent[i][j], w.received[i][j], w.of[i][j] = true, 0, 0, 0
		w.ups[i][j]++
		if _, ok := w.all[i].Via(m.From); ok {
			w.detours++
		}
	case transport.Down:
		require.True(w.t, w.up[i][j], "peer %d: Down without Up from %d", i, j)
		require.Error(w.t, m.Err)
		w.up[i][j] = false
		w.downs++
		err := w.all[i].SendReliable(m.From, w.letter(i, j, 0, 0))
		require.ErrorIs(w.t, err, transport.ErrNoLink, "peer %d: the link to %d is down, and another has not been told of", i, j)
	default:
		require.True(w.t, w.up[i][j], "peer %d: a %v outside a link from %d", i, m.Kind, j)
		from, to := binary.LittleEndian.Uint64(m.Data), binary.LittleEndian.Uint64(m.Data[8:])
		require.Equal(w.t, [2]uint64{uint64(j), uint64(i)}, [2]uint64{from, to})
		of, n := binary.LittleEndian.Uint64(m.Data[16:]), binary.LittleEndian.Uint64(m.Data[24:])
		if w.of[i][j] == 0 {
			w.of[i][j] = of
		}
		require.Equal(w.t, w.of[i][j], of, "peer %d: a %v from %d of another link", i, m.Kind, j)
		if m.Kind == transport.Reliable {
			require.Equal(w.t, w.received[i][j], n, "peer %d: a reliable message from %d", i, j)
			w.received[i][j]++
		} else {
			require.False(w.t, w.seen[[4]uint64{from, to, of, n}], "a datagram twice, although no link repeats any")
			w.seen[[4]uint64{from, to, of, n}] = true
		}
	}
}

// letter is a message from i to j of the link that is up.
func (w *world) letter(i, j int, n uint64, size int) []byte {
	b := make([]byte, 0, size)
	for _, x := range []uint64{uint64(i), uint64(j), w.ups[i][j], n} {
		b = binary.LittleEndian.AppendUint64(b, x)
	}
	return b[:max(size, len(b))]
}

func (w *world) sendReliably(i, j, size, messages int) {
	for range messages {
		err := w.all[i].SendReliable(driftback.Peer(j), w.letter(i, j, w.sent[i][j], size))
		switch {
		case err == nil:
			require.True(w.t, w.up[i][j])
			w.sent[i][j]++
		case !w.up[i][j]:
			require.ErrorIs(w.t, err, transport.ErrNoLink)
		}
	}
}

func TestWhateverLinksDoEveryPairIsLinkedThatCanBe(t *testing.T) {
	runs, detours, downs := 0, 0, 0
	rapid.Check(t, func(t *rapid.T) {
		w := &world{t: t, net: loopback.New(rapid.Uint64().Draw(t, "seed")), seen: map[[4]uint64]bool{}}
		datagrams := uint64(0)
		for i := range w.ends {
			w.open(i)
		}
		w.advance(ms, 5)
		peer := rapid.IntRange(0, crowd-1)
		two := func(t *rapid.T) (i, j int) {
			i = peer.Draw(t, "from")
			return i, (i + 1 + rapid.IntRange(0, crowd-2).Draw(t, "to")) % crowd
		}
		t.Repeat(map[string]func(*rapid.T){
			"open": func(t *rapid.T) { w.open(peer.Draw(t, "peer")) },
			"close": func(t *rapid.T) {
				if rapid.IntRange(0, 2).Draw(t, "really") == 0 {
					w.close(peer.Draw(t, "peer"))
				}
			},
			"crash": func(t *rapid.T) {
				if i := peer.Draw(t, "peer"); w.all[i] != nil && rapid.IntRange(0, 2).Draw(t, "really") == 0 {
					w.ends[i].Crash()
					w.forget(i)
				}
			},
			"send": func(t *rapid.T) {
				if i, j := two(t); w.all[i] != nil {
					for range rapid.SampledFrom([]int{1, 20}).Draw(t, "datagrams") {
						datagrams++
						w.all[i].Send(driftback.Peer(j), w.letter(i, j, datagrams, 0))
					}
				}
			},
			"send reliably": func(t *rapid.T) {
				if i, j := two(t); w.all[i] != nil {
					size := rapid.SampledFrom([]int{32, 3000, transport.MaxReliable}).Draw(t, "size")
					w.sendReliably(i, j, size, rapid.SampledFrom([]int{1, 5, 200}).Draw(t, "messages"))
				}
			},
			"impair": func(t *rapid.T) {
				i, j := two(t)
				require.NoError(t, w.net.Impair(driftback.Peer(i), driftback.Peer(j), loopback.Impairment{
					Latency:        time.Duration(rapid.IntRange(0, 50).Draw(t, "latency")) * ms,
					Jitter:         time.Duration(rapid.IntRange(0, 50).Draw(t, "jitter")) * ms,
					Loss:           rapid.SampledFrom([]float64{0, 0.1, 0.9}).Draw(t, "loss"),
					BytesPerSecond: rapid.SampledFrom([]int{0, 0, 100_000}).Draw(t, "rate"),
					Blocked:        rapid.IntRange(0, 3).Draw(t, "blocked") == 0,
				}))
			},
			"take down": func(t *rapid.T) {
				i, j := two(t)
				require.NoError(t, w.net.TakeDown(driftback.Peer(i), driftback.Peer(j)))
			},
			"bring up": func(t *rapid.T) {
				i, j := two(t)
				require.NoError(t, w.net.BringUp(driftback.Peer(i), driftback.Peer(j)))
			},
			"advance": func(t *rapid.T) { w.advance(ms, rapid.IntRange(1, 60).Draw(t, "time")) },
		})
		w.settle(t)
		runs++
		detours += w.detours
		downs += w.downs
	})
	require.Greater(t, detours, runs/2, "hardly any link was by a detour")
	require.Greater(t, downs, runs/2, "hardly any link went down")
}

// talk has every end of a link send a datagram over it.
func (w *world) talk(n uint64) {
	for i, l := range w.all {
		for j, up := range w.up[i] {
			if up {
				l.Send(driftback.Peer(j), w.letter(i, j, n, 0))
			}
		}
	}
}

// settle heals the links but a few, and checks that every pair is linked that can be, and
// that over the links that are up everything has arrived.
func (w *world) settle(t *rapid.T) {
	var direct [crowd][crowd]bool
	for i := range crowd {
		for j := range i {
			a, b := driftback.Peer(i), driftback.Peer(j)
			require.NoError(w.t, w.net.Impair(a, b, loopback.Impairment{}))
			require.NoError(w.t, w.net.Impair(b, a, loopback.Impairment{}))
			gone := w.all[i] == nil || w.all[j] == nil // of one that crashed this network says nothing, as others do in time
			if rapid.IntRange(0, 2).Draw(t, "stays down") == 0 || gone {
				require.NoError(w.t, w.net.TakeDown(a, b))
				continue
			}
			require.NoError(w.t, w.net.BringUp(a, b))
			direct[i][j], direct[j][i] = true, true
		}
	}
	w.advance(time.Minute, 5)
	for n := range uint64(1 << 5) {
		// Where a Bye found no room, an end finds out by what it sends that the other has no link.
		w.talk(1<<32 + n)
		w.advance(ms, 20)
	}
	before := w.sent
	for i := range crowd {
		for j := range crowd {
			if i == j || w.all[i] == nil || w.all[j] == nil {
				continue
			}
			reaches := direct[i][j]
			for k := range crowd {
				reaches = reaches || direct[i][k] && direct[k][j]
			}
			require.Equal(w.t, reaches, w.up[i][j], "peers %d and %d", i, j)
			_, by := w.all[i].Via(driftback.Peer(j))
			require.Equal(w.t, reaches && !direct[i][j], by, "peers %d and %d", i, j)
			if reaches {
				require.Equal(w.t, w.sent[i][j], w.received[j][i], "reliable messages from peer %d to peer %d", i, j)
				for try := 0; w.sent[i][j] == before[i][j] && try < 64; try++ { // one that is stingy may refuse it
					w.sendReliably(i, j, 100, 1)
				}
			}
		}
	}
	w.advance(ms, 20)
	for i := range crowd {
		for j := range crowd {
			if i != j && w.all[i] != nil && w.all[j] != nil && w.up[i][j] {
				require.NotZero(w.t, w.sent[i][j])
				require.Equal(w.t, w.sent[i][j], w.received[j][i], "from peer %d to peer %d once all is well", i, j)
			}
		}
	}
}
