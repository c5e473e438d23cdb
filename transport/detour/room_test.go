package detour_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
)

// What there is no room for is said once there is, without another message that asks for it.
func TestWhatThereIsNoRoomForIsSaidOnceThereIs(t *testing.T) {
	const busy = 20
	for name, c := range map[string]struct {
		end  int
		kind byte
	}{
		"whom a neighbour reaches":       {2, reach},
		"a call":                         {0, call},
		"an answer":                      {1, answer},
		"a confirmation":                 {0, confirm},
		"that the confirmation has come": {1, message},
		"what the one in between sends on of a call":  {2, call},
		"what it sends on of an answer":               {2, answer},
		"what it sends on of what is said by the two": {2, message},
	} {
		t.Run(name, func(t *testing.T) {
			p := newParty(t, 3, apart)
			refused := 0
			p.full[c.end] = func(b []byte) bool {
				if b[0] != c.kind {
					return false
				}
				refused++
				return true
			}
			p.step(busy)
			require.NotZero(t, refused, "the control")
			require.NotContains(t, p.take(0), "up 1")
			p.full[c.end] = nil
			p.step(10)
			require.Contains(t, p.take(0), "up 1")
			p.via(1, 0, 2)
		})
	}
}

func TestTheSecondHalfOfALongMessageIsSentOnceThereIsRoom(t *testing.T) {
	long := make([]byte, transport.MaxReliable)
	for name, apart := range map[string][][2]driftback.Peer{"directly": nil, "by detour": {apart}} {
		t.Run(name, func(t *testing.T) {
			p := newParty(t, 3, apart...)
			p.step(30)
			p.take(1)
			tries := 0
			p.full[0] = func([]byte) bool { tries++; return tries > 1 }
			require.NoError(t, p.all[0].SendReliable(1, long))
			p.step(20)
			require.Greater(t, tries, 10, "the control: it is tried in every round")
			require.Empty(t, p.take(1))
			p.full[0] = nil
			p.step(5)
			require.Equal(t, []string{"reliable 0 " + string(long[:40])}, p.take(1))
		})
	}
}

// The sender may say no more until it has been told that there is room.
func TestThatMessagesHaveBeenTakenIsSaidOnceThereIsRoom(t *testing.T) {
	p := newParty(t, 3, apart)
	p.step(30)
	p.take(1)
	refused := 0
	p.full[1] = func([]byte) bool { refused++; return true }
	fill := func() (n int) {
		for ; ; n++ {
			if err := p.all[0].SendReliable(1, fmt.Append(nil, n)); err != nil {
				require.ErrorIs(t, err, transport.ErrFull)
				return n
			}
		}
	}
	require.Equal(t, 128, fill())
	p.step(20)
	require.Len(t, p.take(1), 128)
	require.NotZero(t, refused, "the control")
	require.Zero(t, fill())
	p.full[1] = nil
	p.step(5)
	require.Equal(t, 128, fill())
}

// A sender that uses a quarter of its room at a time never has to wait: it is told in time what
// has been taken, counted in messages or in bytes.
func TestASteadySenderIsToldInTimeThatThereIsRoom(t *testing.T) {
	for name, size := range map[string]int{"short messages": 1, "long messages": 4 * transport.MaxReliable / 16} {
		t.Run(name, func(t *testing.T) {
			p := newParty(t, 3, apart)
			p.step(30)
			p.take(1)
			atOnce := min(128, 4*transport.MaxReliable/size) / 4
			for range 100 {
				for range atOnce {
					require.NoError(t, p.all[0].SendReliable(1, make([]byte, size)))
				}
				p.step(2)
			}
			require.Len(t, p.take(1), 100*atOnce)
		})
	}
}
