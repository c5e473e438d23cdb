package detour_test

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/detour"
)

// Peers 0 and 1 are linked through 2; what another neighbour has got hold of, or makes up, does
// nothing to that.
func TestWhatBelongsToALinkCountsOnlyThroughTheOneInBetween(t *testing.T) {
	p := newParty(t, 4, apart)
	var kept []transport.Message
	p.change[2] = func(m *transport.Message) bool {
		if is(m, datagram) || is(m, message) {
			kept = append(kept, transport.Message{Kind: m.Kind, Data: bytes.Clone(m.Data)})
			return false
		}
		return true
	}
	p.step(3)
	p.change[2] = nil
	p = newParty(t, 4, apart)
	p.step(30)
	p.via(0, 1, 2)
	p.take(0)
	p.take(1)
	p.change[2] = func(m *transport.Message) bool {
		kept = append(kept, transport.Message{Kind: m.Kind, Data: bytes.Clone(m.Data)})
		return false
	}
	p.all[0].Send(1, []byte("a datagram"))
	require.NoError(t, p.all[0].SendReliable(1, []byte("a message")))
	p.step(1)
	p.change[2] = nil
	require.Len(t, kept, 2)
	for _, m := range kept {
		if m.Kind == transport.Datagram {
			p.ends[3].Send(1, m.Data)
		} else {
			require.NoError(t, p.ends[3].SendReliable(1, m.Data))
		}
	}
	for end := range driftback.Peer(2) {
		require.NoError(t, p.ends[3].SendReliable(end, []byte{noWay, byte(1 - end), byte(end)}))
	}
	p.step(5)
	require.Empty(t, p.take(0))
	require.Empty(t, p.take(1))
	for _, m := range kept { // the control: through the one in between both count
		if m.Kind == transport.Datagram {
			p.ends[2].Send(1, m.Data)
		} else {
			require.NoError(t, p.ends[2].SendReliable(1, m.Data))
		}
	}
	p.step(5)
	require.Equal(t, []string{"datagram 0 a datagram", "reliable 0 a message"}, p.take(1))
	require.NoError(t, p.ends[2].SendReliable(0, []byte{noWay, 1, 0}))
	p.step(30)
	require.Equal(t, []string{"down 1 " + detour.ErrRestarted.Error(), "up 1"}, p.take(0))
}

func TestWhatMakesNoSenseToAnEndIsRefused(t *testing.T) {
	p := newParty(t, 4, apart)
	// Nobody answers peer 0, so that its call stays.
	var called []byte
	p.change[2] = func(m *transport.Message) bool {
		if is(m, call) {
			called = bytes.Clone(m.Data[4:])
		}
		return len(m.Data) == 0 || m.Data[0] < call
	}
	p.step(10)
	require.Len(t, called, 32)
	long := func(head []byte, size int) []byte { return append(head, make([]byte, size-len(head))...) }
	for name, c := range map[string]struct {
		from, to driftback.Peer
		b        []byte
	}{
		"a call from one with a higher number":    {2, 1, long([]byte{call, 3, 1, 1}, 36)},
		"an answer to nobody's call":              {2, 1, long([]byte{answer, 3, 1}, 163)},
		"an answer to another call":               {2, 0, long([]byte{answer, 1, 0}, 163)},
		"an answer through somebody else":         {3, 0, long(append([]byte{answer, 1, 0}, called...), 163)},
		"a confirmation of nothing":               {2, 1, long([]byte{confirm, 0, 1}, 131)},
		"something from the one who sends it on":  {2, 1, long([]byte{datagram, 2, 1}, 40)},
		"something that this peer sent itself":    {2, 1, long([]byte{datagram, 1, 1}, 40)},
		"something from this peer to another one": {2, 1, long([]byte{datagram, 1, 3}, 40)},
	} {
		t.Run(name, func(t *testing.T) {
			before := p.all[c.to].Stats().Refused
			if c.b[0] == datagram {
				p.ends[c.from].Send(c.to, c.b)
			} else {
				require.NoError(t, p.ends[c.from].SendReliable(c.to, c.b))
			}
			p.step(3)
			require.Equal(t, before+1, p.all[c.to].Stats().Refused)
		})
	}
	t.Run("the control: an answer through the one that was asked is looked at", func(t *testing.T) {
		require.NoError(t, p.ends[2].SendReliable(0, long(append([]byte{answer, 1, 0}, called...), 163)))
		p.step(3)
		require.EqualValues(t, 1, p.all[0].Stats().Forged)
	})
	t.Run("a confirmation of another answer", func(t *testing.T) {
		p := newParty(t, 3, apart)
		p.change[2] = func(m *transport.Message) bool {
			if is(m, confirm) {
				m.Data[4] ^= 1
			}
			return true
		}
		p.step(20)
		require.EqualValues(t, 1, p.all[1].Stats().Refused)
		require.Zero(t, p.all[1].Stats().Forged)
	})
}

// What makes a link comes too late: the direct one is up.
func TestWhatComesAfterTheDirectLinkMakesNone(t *testing.T) {
	for name, late := range map[string]byte{"the confirmation": confirm, "the first sealed message": message} {
		t.Run(name, func(t *testing.T) {
			p := newParty(t, 3, apart)
			var kept *transport.Message
			p.change[2] = func(m *transport.Message) bool {
				if is(m, late) && kept == nil {
					kept = &transport.Message{From: 1 - m.From, Data: bytes.Clone(m.Data)}
					return false
				}
				return true
			}
			p.step(20)
			require.NotNil(t, kept)
			require.NoError(t, p.net.BringUp(0, 1))
			p.step(5)
			p.take(0)
			p.take(1)
			require.NoError(t, p.ends[2].SendReliable(kept.From, kept.Data))
			p.step(5)
			require.Empty(t, p.take(0))
			require.Empty(t, p.take(1))
			for end := range driftback.Peer(2) {
				_, ok := p.all[end].Via(1 - end)
				require.False(t, ok)
			}
		})
	}
}

// Neither hears from the one in between that the other was away.
func TestAnEndThatBeginsAnewUnnoticedIsDownThenUp(t *testing.T) {
	for end := range 2 {
		t.Run(fmt.Sprint("peer ", end), func(t *testing.T) {
			p := newParty(t, 3, apart)
			p.step(30)
			other := driftback.Peer(1 - end)
			p.change[other] = func(m *transport.Message) bool { return !is(m, reach) }
			p.ends[end].Crash()
			p.open(end)
			p.step(5)
			p.take(int(other))
			p.all[other].Send(driftback.Peer(end), []byte("to the old one"))
			p.step(30)
			require.Equal(t, []string{fmt.Sprintf("down %d %v", end, detour.ErrRestarted), fmt.Sprintf("up %d", end)}, p.take(int(other)))
		})
	}
}

// A confirmation that was long on its way does not take the place of a link that was made since.
func TestAConfirmationThatComesLateChangesNothing(t *testing.T) {
	p := newParty(t, 4, apart)
	var kept []byte
	p.change[2] = func(m *transport.Message) bool {
		if is(m, confirm) && kept == nil {
			kept = bytes.Clone(m.Data)
			return false
		}
		return true
	}
	p.step(3 * detour.DefaultPatience)
	p.via(0, 1, 3)
	p.via(1, 0, 3)
	require.NotNil(t, kept)
	p.take(0)
	p.take(1)
	require.NoError(t, p.ends[2].SendReliable(1, kept))
	p.step(5)
	require.Empty(t, p.take(0))
	require.Empty(t, p.take(1))
	p.via(1, 0, 3)
}

// Nor does anybody send anything, and the one in between had no room to say that the other was
// away before that was back.
func TestAnEndThatBeginsAnewIsDownThenUpHoweverLateThatIsSaid(t *testing.T) {
	for end := range 2 {
		t.Run(fmt.Sprint("peer ", end), func(t *testing.T) {
			p := newParty(t, 3, apart)
			p.step(30)
			p.take(1 - end)
			p.full[2] = func(b []byte) bool { return b[0] == reach }
			p.ends[end].Crash()
			p.open(end)
			p.step(20)
			require.Empty(t, p.take(1-end), "the control")
			p.full[2] = nil
			p.step(20)
			require.Equal(t, []string{fmt.Sprintf("down %d %v: peer 2", end, detour.ErrNoWay), fmt.Sprintf("up %d", end)}, p.take(1-end))
			p.via(end, driftback.Peer(1-end), 2)
		})
	}
}
