package loopback_test

import (
	"encoding/binary"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/loopback"
)

const people = 3

// world does anything at all to three peers, and keeps beside them what must
// have become of it. Every peer receives whatever has arrived after each move, so
// that it knows of its links what its endpoint knows.
type world struct {
	t    *rapid.T
	net  *loopback.Network
	ends [people]*loopback.Endpoint // nil: not open
	up   [people][people]bool       // up[i][j]: i has received Up from j
	// sent[i][j] are the reliable messages i has sent to j since Up, received[i][j]
	// those that j has received from i since Up.
	sent, received [people][people]uint64
	unlinked       [people][people]uint64 // datagrams sent without a link
	deepest        int
}

func (w *world) receiveAll() {
	w.deepest = max(w.deepest, w.net.OnTheirWay())
	for i, e := range w.ends {
		if e == nil {
			continue
		}
		for m, ok := e.Receive(); ok; m, ok = e.Receive() {
			w.receive(i, int(m.From), m)
		}
	}
}

func (w *world) receive(i, j int, m transport.Message) {
	switch m.Kind {
	case transport.Up:
		require.False(w.t, w.up[i][j], "peer %d: Up twice from %d", i, j)
		w.up[i][j], w.sent[i][j], w.received[j][i] = true, 0, 0
	case transport.Down:
		require.True(w.t, w.up[i][j], "peer %d: Down without Up from %d", i, j)
		require.Error(w.t, m.Err)
		w.up[i][j] = false
	case transport.Reliable:
		require.True(w.t, w.up[i][j], "peer %d: a reliable message before Up from %d", i, j)
		require.Equal(w.t, w.received[j][i], binary.LittleEndian.Uint64(m.Data))
		w.received[j][i]++
	case transport.Datagram:
		require.True(w.t, w.up[i][j], "peer %d: a datagram before Up from %d", i, j)
		require.Equal(w.t, []byte{byte(j), byte(i)}, m.Data)
	}
}

func (w *world) forget(i int) {
	w.ends[i] = nil
	w.up[i] = [people]bool{}
}

func TestAnythingMayHappenToAnybody(t *testing.T) {
	var downs, fulls, deepest int
	rapid.Check(t, func(t *rapid.T) {
		w := &world{t: t, net: loopback.New(rapid.Uint64().Draw(t, "seed"))}
		for i := range w.ends {
			w.ends[i] = w.net.Open(driftback.Peer(i))
		}
		w.net.Advance(0)
		sendReliably := func(i, j, size, messages int) {
			b := make([]byte, size)
			for range messages {
				binary.LittleEndian.PutUint64(b, w.sent[i][j])
				switch err := w.ends[i].SendReliable(driftback.Peer(j), b); {
				case !w.up[i][j]:
					require.ErrorIs(w.t, err, transport.ErrNoLink)
				case err != nil:
					require.ErrorIs(w.t, err, transport.ErrFull)
					fulls++
				default:
					w.sent[i][j]++
				}
			}
		}
		if rapid.Bool().Draw(t, "begins with a full queue") {
			w.receiveAll()
			require.True(t, w.up[0][1])
			sendReliably(0, 1, 8, loopback.MaxReliableMessages+1)
		}
		peer := rapid.IntRange(0, people-1)
		way := func(t *rapid.T) (i, j int) {
			i = peer.Draw(t, "from")
			return i, (i + 1 + rapid.IntRange(0, people-2).Draw(t, "to")) % people
		}
		t.Repeat(map[string]func(*rapid.T){
			"": func(*rapid.T) { w.receiveAll() },
			"open": func(t *rapid.T) {
				i := peer.Draw(t, "peer")
				w.forget(i)
				w.ends[i] = w.net.Open(driftback.Peer(i))
			},
			"close": func(t *rapid.T) {
				if i := peer.Draw(t, "peer"); w.ends[i] != nil {
					downs++
					require.NoError(t, w.ends[i].Close())
					w.forget(i)
				}
			},
			"crash": func(t *rapid.T) {
				if i := peer.Draw(t, "peer"); w.ends[i] != nil {
					w.ends[i].Crash()
					w.forget(i)
				}
			},
			"send": func(t *rapid.T) {
				i, j := way(t)
				if w.ends[i] == nil {
					return
				}
				for range rapid.SampledFrom([]int{1, 20}).Draw(t, "datagrams") {
					w.ends[i].Send(driftback.Peer(j), []byte{byte(i), byte(j)})
					if !w.up[i][j] {
						w.unlinked[i][j]++
					}
				}
			},
			"send reliably": func(t *rapid.T) {
				i, j := way(t)
				if w.ends[i] == nil {
					return
				}
				size := rapid.SampledFrom([]int{8, transport.MaxReliable}).Draw(t, "size")
				sendReliably(i, j, size, rapid.SampledFrom([]int{1, 20}).Draw(t, "messages"))
			},
			"impair": func(t *rapid.T) {
				i, j := way(t)
				delay := rapid.Int64Range(0, int64(200*ms))
				share := rapid.Float64Range(0, 1)
				require.NoError(t, w.net.Impair(driftback.Peer(i), driftback.Peer(j), loopback.Impairment{
					Latency: time.Duration(delay.Draw(t, "latency")), Jitter: time.Duration(delay.Draw(t, "jitter")),
					Loss: share.Draw(t, "loss"), Reorder: share.Draw(t, "reorder"), Duplicate: share.Draw(t, "duplicate"),
					BytesPerSecond: rapid.SampledFrom([]int{0, 0, 1000, 100_000}).Draw(t, "rate"),
					Blocked:        rapid.IntRange(0, 3).Draw(t, "blocked") == 0,
				}))
			},
			"take down": func(t *rapid.T) {
				i, j := way(t)
				require.NoError(t, w.net.TakeDown(driftback.Peer(i), driftback.Peer(j)))
			},
			"bring up": func(t *rapid.T) {
				i, j := way(t)
				require.NoError(t, w.net.BringUp(driftback.Peer(i), driftback.Peer(j)))
			},
			"advance": func(t *rapid.T) {
				w.net.Advance(time.Duration(rapid.Int64Range(0, int64(300*ms)).Draw(t, "time")))
			},
		})
		w.settle()
		deepest = max(deepest, w.deepest)
	})
	require.NotZero(t, downs, "nobody ever closed")
	require.NotZero(t, fulls, "no reliable queue was ever full")
	require.Greater(t, deepest, 20, "hardly anything was ever on its way")
}

// settle ends every impairment and checks that all who are open are linked, and
// that everything sent over the links that are up has arrived.
func (w *world) settle() {
	for i := range people {
		for j := range people {
			if i != j {
				require.NoError(w.t, w.net.Impair(driftback.Peer(i), driftback.Peer(j), loopback.Impairment{}))
				require.NoError(w.t, w.net.BringUp(driftback.Peer(i), driftback.Peer(j)))
			}
		}
	}
	w.net.Advance(time.Hour)
	w.receiveAll()
	require.Zero(w.t, w.net.OnTheirWay())
	for i := range people {
		for j := range people {
			if i == j {
				continue
			}
			if w.ends[i] != nil && w.ends[j] != nil {
				require.True(w.t, w.up[i][j], "peers %d and %d are open and not linked", i, j)
				require.Equal(w.t, w.sent[i][j], w.received[i][j], "reliable messages from peer %d to peer %d", i, j)
			}
			s := w.net.Stats(driftback.Peer(i), driftback.Peer(j))
			require.Equal(w.t, s.Sent-s.Lost-s.Blocked-s.Overflowed+s.Duplicated+w.unlinked[i][j], s.Received+s.Dropped,
				"datagrams from peer %d to peer %d: %+v", i, j, s)
		}
	}
}
