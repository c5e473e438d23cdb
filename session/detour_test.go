package session_test

import (
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/detour"
	"github.com/driftback/driftback/transport/loopback"
)

var detourKeys = sync.OnceValue(func() (list [4]*identity.Identity) {
	for i := range list {
		var err error
		if list[i], err = identity.Generate(); err != nil {
			panic(err)
		}
	}
	return list
})

// detoured is a match in which peers 0 and 1 have no direct link.
type detoured struct {
	*match
	links [4]*detour.Transport
	// spoil, if it is set, is what the one in between does to each message before it looks
	// at it.
	spoil   func(m *transport.Message)
	between driftback.Peer
	// unchecked does the same to what peer 1 opens.
	unchecked func(m *transport.Message)
}

// meddling is a transport whose owner changes what it receives.
type meddling struct {
	transport.Transport
	change func(m *transport.Message)
}

func (s meddling) Receive() (transport.Message, bool) {
	m, ok := s.Transport.Receive()
	if ok {
		s.change(&m)
	}
	return m, ok
}

func newDetoured(t *testing.T, n int, im loopback.Impairment) *detoured {
	t.Helper()
	d := &detoured{match: newEmptyMatch(t)}
	d.oracle.step = viewStep
	require.NoError(t, d.net.TakeDown(0, 1))
	d.wrap = func(e *loopback.Endpoint) transport.Transport {
		self := e.Self()
		link, err := detour.New(meddling{e, func(m *transport.Message) {
			if self == d.between && d.spoil != nil {
				d.spoil(m)
			}
		}}, detour.Config{
			Self: self, Identity: detourKeys()[self],
			Pin:      func(p driftback.Peer) (identity.Pin, bool) { return detourKeys()[p%4].Pin(), int(p) < n },
			Patience: 30, // half a second: less than the time-out
			Random:   rand.NewChaCha8([32]byte{byte(self)}),
		})
		require.NoError(t, err)
		d.links[self] = link
		return meddling{link, func(m *transport.Message) {
			if self == 1 && d.unchecked != nil {
				d.unchecked(m)
			}
		}}
	}
	for i := range n {
		d.add(d.config(i, n, func(c *session.Config[state, input]) {
			c.Step, c.WhenLost, c.PeerTimeout = viewStep, session.PlayOn, 2*time.Second
		}))
	}
	d.impair(im)
	return d
}

// findBetween notes through whom peers 0 and 1 are linked.
func (d *detoured) findBetween() {
	via, ok := d.links[0].Via(1)
	require.True(d.t, ok)
	d.between = via
}

var detourLinks = map[string]loopback.Impairment{
	"over clean links": {},
	"over bad links":   {Latency: 30 * ms, Jitter: 10 * ms, Loss: 0.1, Reorder: 0.1, Duplicate: 0.05},
}

func TestTwoWhoCannotReachEachOtherPlayThroughAThird(t *testing.T) {
	for name, im := range detourLinks {
		for _, n := range []int{3, 4} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				d := newDetoured(t, n, im)
				d.runUntil(800)
				d.findBetween()
				require.Greater(t, d.links[d.between].Stats().Forwarded, uint64(1000), "the control: it went through the third")
				for _, p := range d.peers {
					require.Greater(t, p.checked, 150)
					require.Zero(t, p.session.Stats().Refused)
					require.Empty(t, only(p.events, session.PeerCut))
				}
				for _, l := range d.links[:2] {
					require.Zero(t, l.Stats().Altered)
					require.Zero(t, l.Stats().Broken)
				}
			})
		}
	}
	t.Run("the control: without detours there is no match", func(t *testing.T) {
		m := newMatch(t, 3, nil)
		require.NoError(t, m.net.TakeDown(0, 1))
		m.run(500)
		require.Zero(t, m.peers[0].confirmed)
	})
}

func TestALostDirectLinkIsReplacedAndTakenAgainDuringAMatch(t *testing.T) {
	for name, im := range detourLinks {
		t.Run(name, func(t *testing.T) {
			d := newDetoured(t, 3, im)
			d.runUntil(100)
			for i := range 4 {
				if i%2 == 0 {
					require.NoError(t, d.net.BringUp(0, 1))
				} else {
					require.NoError(t, d.net.TakeDown(0, 1))
				}
				at := d.peers[0].confirmed
				d.runUntil(at + 150)
				_, ok := d.links[0].Via(1)
				require.Equal(t, i%2 == 1, ok)
			}
			for _, p := range d.peers {
				require.Empty(t, only(p.events, session.PeerCut))
				require.Empty(t, only(p.events, session.PeerInterrupted))
			}
			require.Len(t, only(d.peers[0].events, session.PeerDown), 4)
		})
	}
}

func TestWhenTheOneInBetweenDiesAnotherTakesItsPlaceInTheMatch(t *testing.T) {
	for name, im := range detourLinks {
		t.Run(name, func(t *testing.T) {
			d := newDetoured(t, 4, im)
			d.runUntil(200)
			d.findBetween()
			dead := d.between
			d.peers[dead].crash()
			d.requireSurvivors(300, dead)
			d.findBetween()
			require.Equal(t, 5-dead, d.between)
			require.Greater(t, d.links[d.between].Stats().Forwarded, uint64(500))
		})
	}
}

func TestAnEndThatNobodyReachesAnyMoreIsCut(t *testing.T) {
	for name, im := range detourLinks {
		t.Run(name, func(t *testing.T) {
			d := newDetoured(t, 4, im)
			require.NoError(t, d.net.TakeDown(1, 3))
			d.runUntil(200)
			for _, p := range []int{0, 3} {
				via, ok := d.links[p].Via(1)
				require.True(t, ok)
				require.EqualValues(t, 2, via, "the control: peer 1 has a link with peer 2 alone")
			}
			require.NoError(t, d.net.TakeDown(1, 2))
			alone := d.peers[1]
			d.runWhile(600, "peer 1 knows of nobody who is left", func() bool { return alone.err == nil })
			require.ErrorIs(t, alone.err, session.ErrPeerLost)
			alone.asleep = true
			d.requireSurvivors(300, 1)
		})
	}
}

func TestTheEndsOfThreeDoNotGoOnOnceTheOneInBetweenIsDead(t *testing.T) {
	for name, im := range detourLinks {
		t.Run(name, func(t *testing.T) {
			d := newDetoured(t, 3, im)
			d.runUntil(200)
			d.peers[2].crash()
			d.run(600) // each is one of three
			for _, p := range d.peers[:2] {
				require.ErrorIs(t, p.err, session.ErrPeerLost)
				require.Empty(t, only(p.events, session.PeerCut))
			}
		})
	}
}

func TestOneInBetweenThatStandsStillIsReplacedAndStaysInTheMatch(t *testing.T) {
	for name, im := range detourLinks {
		t.Run(name, func(t *testing.T) {
			d := newDetoured(t, 4, im)
			d.runUntil(200)
			d.findBetween()
			still := d.between
			d.peers[still].asleep = true
			d.run(90) // less than the time-out
			d.findBetween()
			require.Equal(t, 5-still, d.between)
			d.peers[still].asleep = false
			d.runUntil(500)
			for _, p := range d.peers {
				require.Empty(t, only(p.events, session.PeerCut))
			}
		})
	}
}

func TestAMatchThroughAThirdFinishesAtOneTick(t *testing.T) {
	for name, im := range detourLinks {
		for _, n := range []int{3, 4} {
			t.Run(name, func(t *testing.T) {
				d := newDetoured(t, n, im)
				d.finish(333)
				d.runWhile(2000, "not finished", func() bool { return !d.ended() })
				for _, p := range d.peers {
					require.ErrorIs(t, p.err, session.ErrFinished)
					require.Equal(t, *d.oracle.at(333), *p.session.State())
				}
			})
		}
	}
}

func TestWhatTheOneInBetweenAltersNeverReachesTheMatch(t *testing.T) {
	const every = 5
	for name, im := range detourLinks {
		for _, n := range []int{3, 4} {
			t.Run(name, func(t *testing.T) {
				d := newDetoured(t, n, im)
				d.runUntil(100)
				d.findBetween()
				count, altered := 0, 0
				d.spoil = func(m *transport.Message) {
					if m.Kind == transport.Datagram && len(m.Data) > 30 && m.Data[0] == 9 {
						if count++; count%every == 0 {
							m.Data[11+count%(len(m.Data)-11)] ^= 1 << (count % 8)
							altered++
						}
					}
				}
				d.runUntil(800)
				counted := 0
				for _, l := range d.links[:2] {
					counted += int(l.Stats().Altered)
				}
				require.Greater(t, altered, 100)
				require.InDelta(t, altered, counted, 0.2*float64(altered)+10, "what was altered was dropped; some of it was lost")
			})
		}
	}
	t.Run("the control: unchecked it ends the match or makes it another", func(t *testing.T) {
		d := newDetoured(t, 3, loopback.Impairment{})
		d.runUntil(100)
		count := 0
		d.unchecked = func(m *transport.Message) {
			if m.Kind == transport.Datagram && m.From == 0 {
				if count++; count%every == 0 {
					m.Data[count%len(m.Data)] ^= 1 << (count % 8)
				}
			}
		}
		for _, p := range d.peers {
			p.maybeDiffers = true
		}
		d.run(900)
		hurt := false
		for _, p := range d.peers {
			hurt = hurt || p.err != nil || p.wrong > 0
		}
		require.True(t, hurt)
	})
	t.Run("and a reliable message that is altered only costs another link", func(t *testing.T) {
		d := newDetoured(t, 4, loopback.Impairment{Latency: 20 * ms})
		d.runUntil(100)
		d.findBetween()
		d.spoil = func(m *transport.Message) {
			if len(m.Data) > 30 && m.Data[0] >= 4 {
				m.Data[len(m.Data)-1] ^= 1
			}
		}
		d.runUntil(900)
		before := d.between
		d.findBetween()
		require.NotEqual(t, before, d.between)
	})
}
