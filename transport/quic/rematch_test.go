package quic

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
)

// sums is a game that adds up what is pressed.
type sums struct{ Of [2]int64 }

type press struct{ N uint8 }

func add(s *sums, in []press, _ *driftback.Pass) {
	for p := range in {
		s.Of[p] = s.Of[p]*31 + int64(in[p].N)
	}
}

func pressOf(p, match, tick int) press { return press{N: uint8(tick/7*13 + p*5 + match)} }

func TestRematchesAndMessagesOverOneConnection(t *testing.T) {
	virtually(t, 30*time.Millisecond, nil, func(t *testing.T, a, b *Transport) {
		const frame, ticks, matches = 16 * time.Millisecond, 90, 4
		start := time.Now()
		var peers [2]*session.Lockstep[sums, press]
		config := func(i, match int) session.Config[sums, press] {
			return session.Config[sums, press]{
				Step: add, Transport: []*Transport{a, b}[i], Self: driftback.Peer(i), Players: []driftback.Peer{0, 1},
				Match: uint64(match), Nonce: uint64(1 + i + 10*match),
			}
		}
		for i := range peers {
			var err error
			peers[i], err = session.New(config(i, 0))
			require.NoError(t, err)
			require.NoError(t, peers[i].Finish(ticks))
		}
		var match, heard, said [2]int
		for n := 0; match[0] < matches || match[1] < matches; n++ {
			require.Less(t, n, 5000)
			time.Sleep(frame) // of the bubble's own clock
			for i, p := range peers {
				if p.Send(driftback.Peer(1-i), []byte{byte(said[i])}) == nil {
					said[i]++
				}
				r, err := p.Tick(time.Since(start), pressOf(i, match[i], int(p.Stats().Tick)))
				for _, m := range r.Messages {
					require.Equal(t, byte(heard[i]), m.Data[0], "once and in order, across all matches")
					heard[i]++
				}
				switch {
				case errors.Is(err, session.ErrFinished) && match[i] < matches && n%20 == 10*i:
					var want sums
					for tick := range ticks {
						add(&want, []press{pressOf(0, match[i], tick), pressOf(1, match[i], tick)}, nil)
					}
					require.Equal(t, want, *p.State(), "match %d at peer %d", match[i], i)
					match[i]++
					peers[i], err = p.Rematch(config(i, match[i]))
					require.NoError(t, err)
					require.NoError(t, peers[i].Finish(ticks))
				case errors.Is(err, session.ErrFinished):
				default:
					require.NoError(t, err)
				}
			}
		}
		for i := range peers {
			require.Greater(t, heard[i], 100)
			s, ok := []*Transport{a, b}[i].Stats(driftback.Peer(1 - i))
			require.True(t, ok)
			require.Equal(t, 1, s.Ups, "over one connection")
		}
	})
}
