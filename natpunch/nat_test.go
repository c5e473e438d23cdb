package natpunch

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pion/transport/v5/vnet"
	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/quic"
)

func TestEveryPairOfNATsIsLinked(t *testing.T) {
	const symmetric, portRestricted = 3, 2
	for i, a := range nats {
		for j, b := range nats[i:] {
			j += i
			t.Run(a.name+" and "+b.name, func(t *testing.T) {
				w := newInternet(t, a.kind, b.kind, 10*time.Millisecond, nil)
				start := time.Now()
				m := w.meet()
				took := time.Since(start)
				m.talk(0, 1)
				p := m.path(0, 1)
				t.Logf("linked after %v: %+v", took.Round(time.Millisecond), p)
				relayed := j == symmetric && i >= portRestricted
				require.Equal(t, relayed, p.Relayed)
				require.Equal(t, relayed, m.path(1, 0).Relayed)
				require.Equal(t, relayed, w.direct.Load() == 0 || p.Relayed)
			})
		}
	}
}

func TestALostQuestionToTheServerIsAskedAgain(t *testing.T) {
	var lost atomic.Int32
	w := newInternet(t, nats[2].kind, nats[2].kind, 10*time.Millisecond, func(c vnet.Chunk) bool {
		typ, _, _, ok := parseSTUN(c.UserData())
		return ok && typ == stunRequest && lost.Add(1) <= 2
	})
	m := w.meet()
	m.talk(0, 1)
	require.GreaterOrEqual(t, lost.Load(), int32(3), "the first two were lost, and others followed")
	until(t, "the direct path to be found", func() bool { return !m.path(0, 1).Relayed && !m.path(1, 0).Relayed })
}

// stream sends a datagram every tick both ways, until stop, which returns for how many
// ticks either end heard nothing, at most. Ticks that the machine had no time for do not count.
func (m *match) stream() (stop func() int) {
	quit, done := make(chan struct{}), make(chan int)
	go func() {
		tick := time.NewTicker(time.Second / 60)
		defer tick.Stop()
		var silent [2]int
		var gap int
		for {
			for i, end := range m.ends {
				silent[i]++
				end.Send(driftback.Peer(1-i), []byte("input"))
				for got, ok := end.Receive(); ok; got, ok = end.Receive() {
					switch got.Kind {
					case transport.Datagram:
						silent[i] = 0
					case transport.Down:
						gap = 1 << 30
					default:
					}
				}
				gap = max(gap, silent[i])
			}
			select {
			case <-tick.C:
			case <-quit:
				done <- gap
				return
			}
		}
	}()
	return func() int { close(quit); return <-done }
}

// Gaps in ticks: the longest that a lost path may make, and that of one that is kept
// until there is another.
const most, kept = 60, 20

func TestAMatchGoesOnWhenItsPathIsLost(t *testing.T) {
	if testing.Short() {
		t.Skip("waits until something better than a relay is looked for")
	}
	w := newInternet(t, nats[2].kind, nats[2].kind, 10*time.Millisecond, nil)
	m := w.meet()
	require.False(t, m.path(0, 1).Relayed)
	stop := m.stream()
	time.Sleep(time.Second) // of play

	w.blocked.Store(true)
	until(t, "a relay to be used", func() bool { return m.path(0, 1).Relayed && m.path(1, 0).Relayed })
	time.Sleep(time.Second / 2)
	gap := stop()
	t.Log("longest gap in ticks", gap)
	require.Less(t, gap, most)

	stop = m.stream()
	w.blocked.Store(false)
	until(t, "the direct path to be used again", func() bool { return !m.path(0, 1).Relayed && !m.path(1, 0).Relayed })
	time.Sleep(time.Second / 2)
	gap = stop()
	t.Log("longest gap in ticks", gap)
	require.Less(t, gap, kept, "the relay is used until there is something better")
	for i := range 2 {
		s, _ := m.ends[i].Stats(driftback.Peer(1 - i))
		require.Equal(t, 1, s.Ups, "QUIC noticed nothing")
	}
}

func TestARelayIsUsedWhileSomethingBetterIsLookedFor(t *testing.T) {
	if testing.Short() {
		t.Skip("waits until something better than a relay is looked for")
	}
	w := newInternet(t, nats[3].kind, nats[3].kind, 10*time.Millisecond, nil)
	m := w.meet()
	stop := m.stream()
	until(t, "nothing better to be found", func() bool { return m.path(0, 1).Changes == 2 && m.path(1, 0).Changes == 2 })
	time.Sleep(overlap + 500*time.Millisecond) // until the old relay is given back
	gap := stop()
	t.Log("longest gap in ticks", gap)
	require.Less(t, gap, kept)
	rounds := m.path(0, 1).Rounds
	require.GreaterOrEqual(t, rounds, 2)
	require.LessOrEqual(t, rounds, 4, "it is looked for three times at the most")
}

// And when it dies while a round is under way that has it among its addresses.
func TestAMatchGoesOnWhenItsRelayDies(t *testing.T) {
	if testing.Short() {
		t.Skip("plays for two seconds")
	}
	w := newInternet(t, nats[2].kind, nats[2].kind, 10*time.Millisecond, nil)
	w.blocked.Store(true)
	m := w.meet()
	require.True(t, m.path(0, 1).Relayed)
	stop := m.stream()
	until(t, "something better to be looked for", func() bool { return m.path(0, 1).Rounds == 2 }) // which needs the relay too

	w.blocked.Store(false)
	require.NoError(t, w.relay.Close())
	until(t, "the direct path to be used", func() bool { return !m.path(0, 1).Relayed && !m.path(1, 0).Relayed })
	time.Sleep(time.Second / 2)
	gap := stop()
	t.Log("longest gap in ticks", gap)
	require.Less(t, gap, most)
}

func TestAMatchGoesOnWhenARouterForgetsIt(t *testing.T) {
	if testing.Short() {
		t.Skip("plays for two seconds")
	}
	w := newInternet(t, nats[2].kind, nats[2].kind, 10*time.Millisecond, nil)
	m := newMatch(t, 2)
	home := w.open(m, func(*Config) {})
	m.meet()
	old := m.path(1, 0).Remote
	stop := m.stream()
	time.Sleep(time.Second) // of play
	w.move(home)
	until(t, "the new port to be used", func() bool { return m.path(1, 0).Remote != old })
	time.Sleep(time.Second / 2)
	gap := stop()
	t.Log("longest gap in ticks", gap, m.path(1, 0))
	require.Less(t, gap, most)
	require.False(t, m.path(0, 1).Relayed)
}

// Rounds that were begun without a network are given up for ones that have it.
func TestALinkComesBackWhenTheNetworkDoes(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for idle time-outs")
	}
	w := newInternet(t, nats[2].kind, nats[2].kind, 10*time.Millisecond, nil)
	m := newMatch(t, 2)
	home := w.open(m, func(c *Config) { c.IdleTimeout = time.Second })
	m.meet()
	w.dark.Store(true)
	for i, end := range m.ends {
		require.ErrorIs(t, await(t, end, transport.Down).Err, quic.ErrSilent)
		until(t, "the path to be given up", func() bool { return !m.path(i, 1-i).Remote.IsValid() })
		_, err := end.Why(driftback.Peer(1 - i))
		require.ErrorIs(t, err, ErrNoPath)
		require.ErrorContains(t, err, fmt.Sprintf("natpunch: no path to peer %d: no path to it works", 1-i))
	}
	w.move(home) // so that the old path will not do
	until(t, "rounds to fail in the dark", func() bool { return m.path(0, 1).Rounds >= 3 })
	w.dark.Store(false)
	start := time.Now()
	m.meet()
	t.Log("linked after", time.Since(start))
	m.talk(0, 1)
}

// ICE would wait for a relay that still gives addresses and answers nothing else.
func TestAMatchGoesOnWhenItsRelayIsHalfDead(t *testing.T) {
	if testing.Short() {
		t.Skip("plays for two seconds")
	}
	const allocate, answers = 0x0003, 0xfeef // the request, and the bits of a type that say whether it is one
	var half atomic.Bool
	w := newInternet(t, nats[2].kind, nats[2].kind, 10*time.Millisecond, func(c vnet.Chunk) bool {
		ofRelay := isRelay(c.SourceAddr()) || isRelay(c.DestinationAddr())
		b := c.UserData()
		return half.Load() && ofRelay && (len(b) < 2 || binary.BigEndian.Uint16(b)&answers != allocate)
	})
	w.blocked.Store(true)
	m := w.meet()
	require.True(t, m.path(0, 1).Relayed)
	stop := m.stream()
	time.Sleep(time.Second / 2) // of play
	half.Store(true)
	w.blocked.Store(false)
	until(t, "the direct path to be used", func() bool { return !m.path(0, 1).Relayed && !m.path(1, 0).Relayed })
	time.Sleep(time.Second / 2)
	gap := stop()
	t.Log("longest gap in ticks", gap, m.path(0, 1))
	require.Less(t, gap, most)
}
