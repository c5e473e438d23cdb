package natpunch

import (
	"encoding/binary"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pion/transport/v5/vnet"
	"github.com/stretchr/testify/require"
)

// wire takes whatever is sent, and counts it.
type wire struct {
	net.PacketConn
	sent int
}

func (w *wire) WriteTo(b []byte, _ net.Addr) (int, error) { w.sent++; return len(b), nil }

// question returns a question to let an address through, told from others by a number.
func question(number byte) []byte {
	b := make([]byte, stunHeader)
	binary.BigEndian.PutUint16(b, createPermission)
	b[8] = number
	return b
}

func TestAQuestionToARelayIsWaitedForAsLongAsItMayBeAnswered(t *testing.T) {
	const roundTrip = 150 * time.Millisecond
	at := func(ms time.Duration) time.Time { return time.Unix(9, 0).Add(ms * time.Millisecond) }
	c := &relayConn{}
	require.False(t, c.inVain([]byte("what the relay gives an address for"), at(0)))
	c.heard(at(0).Add(roundTrip))

	require.False(t, c.inVain(question(1), at(200)), "it has been asked just now")
	require.False(t, c.inVain(question(1), at(400)), "the answer is on its way")
	require.True(t, c.inVain(question(1), at(800)), "there has been time for two")
	require.True(t, c.inVain(question(2), at(801)), "it is known not to answer")
	require.False(t, c.inVain([]byte("what is sent through the relay to somebody"), at(802)))

	c.heard(at(900))
	require.False(t, c.inVain(question(3), at(901)), "it answers after all")
	require.False(t, c.inVain(question(3), at(3501)), "nobody waits so late")
	require.Equal(t, roundTrip, c.roundTrip, "the first answer tells")
}

func TestAQuestionThatIsInVainIsSentAllTheSame(t *testing.T) {
	w := &wire{}
	c := &relayConn{PacketConn: w}
	n, err := c.WriteTo(question(1), nil)
	require.NoError(t, err)
	require.Equal(t, stunHeader, n)
	_, err = c.WriteTo(question(1), nil)
	require.ErrorIs(t, err, errRelaySilent)
	require.Equal(t, 2, w.sent)
}

// Neither a slow relay nor one to which questions are lost is taken for one that does
// not answer, for longer than a moment.
func TestPeersMeetThroughARelayThatIsSlowOrMissesQuestions(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for a relay for some seconds")
	}
	for name, c := range map[string]struct {
		latency time.Duration
		lost    int32
	}{
		"it is slow":     {110 * time.Millisecond, 0},
		"it misses some": {10 * time.Millisecond, 3},
	} {
		t.Run(name, func(t *testing.T) {
			var questions atomic.Int32
			w := newInternet(t, nats[3].kind, nats[3].kind, c.latency, func(chunk vnet.Chunk) bool {
				b := chunk.UserData()
				return len(b) >= stunHeader && binary.BigEndian.Uint16(b) == createPermission && questions.Add(1) <= c.lost
			})
			start := time.Now()
			m := w.meet()
			t.Log("linked after", time.Since(start), "and rounds:", m.path(0, 1).Rounds)
			require.True(t, m.path(0, 1).Relayed)
			require.Greater(t, questions.Load(), c.lost)
			m.talk(0, 1)
		})
	}
}
