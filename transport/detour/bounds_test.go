package detour_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/detour"
	"github.com/driftback/driftback/transport/loopback"
)

// Whoever asks for links without end costs a few signatures a round and no more.
func TestAFloodOfCallsCostsBoundedWork(t *testing.T) {
	p := newParty(t, 4)
	p.step(10)
	before := p.all[3].Stats().Signatures
	const rounds = 200
	for i := range rounds {
		for range 100 {
			for from := range driftback.Peer(3) {
				b := append([]byte{call, byte(from), 3, 1}, make([]byte, 32)...)
				binary.LittleEndian.PutUint64(b[5:], uint64(i))
				_ = p.ends[2].SendReliable(3, b)
			}
		}
		p.step(1)
	}
	// None of these peers is without a direct link, so nothing is answered.
	require.Equal(t, before, p.all[3].Stats().Signatures)

	// Ten callers of whom nine do not exist, and one who does and has an honest neighbour.
	var apart [][2]driftback.Peer
	for from := range driftback.Peer(10) {
		apart = append(apart, [2]driftback.Peer{from, 11})
	}
	p = newParty(t, 12, append(apart, [2]driftback.Peer{0, 1})...)
	require.NoError(t, p.net.BringUp(1, 11))
	require.NoError(t, p.net.BringUp(9, 11))
	p.change[1] = func(m *transport.Message) bool { return len(m.Data) == 0 || m.Data[0] < call }
	for i := range rounds {
		for from := range driftback.Peer(10) {
			b := append([]byte{call, byte(from), 11, 1}, make([]byte, 32)...)
			binary.LittleEndian.PutUint64(b[4:], uint64(i)+2)
			_ = p.ends[1].SendReliable(11, b)
		}
		p.step(1)
	}
	spent := p.all[11].Stats().Signatures
	require.Greater(t, spent, uint64(3*rounds), "the control: the calls were answered")
	require.LessOrEqual(t, spent, uint64(5*rounds))
	p.via(0, 11, 9)
	p.via(11, 0, 9)
}

// What the slower of the two links has no room for waits in between, and the sender is told
// to wait before that grows.
func TestWhatWaitsInBetweenIsBounded(t *testing.T) {
	p := newParty(t, 3, apart)
	p.step(30)
	p.take(1)
	p.ends[2].Send(1, nil)
	stuck := func(blocked bool) {
		im := badLink
		im.Blocked, im.Loss = blocked, 0
		require.NoError(t, p.net.Impair(2, 1, im))
	}
	stuck(true)
	sent, full := 0, 0
	b := make([]byte, 20000)
	for range 200 {
		for range 5 {
			if err := p.all[0].SendReliable(1, b); err != nil {
				require.ErrorIs(t, err, transport.ErrFull)
				full++
			} else {
				sent++
			}
		}
		// The one in between has much to say itself.
		_ = p.all[2].SendReliable(1, make([]byte, transport.MaxReliable))
		p.step(1)
	}
	require.NotZero(t, full)
	require.Equal(t, 4*transport.MaxReliable/20000, sent)
	stuck(false)
	p.step(3000)
	got := 0
	for _, line := range p.take(1) {
		if line[:10] == "reliable 0" {
			got++
		}
		require.NotContains(t, line, "down")
	}
	require.Equal(t, sent, got)
	require.Zero(t, p.all[2].Stats().NotForwarded)

	// One that does not wait is not waited for.
	stuck(true)
	for range 3000 {
		_ = p.ends[0].SendReliable(2, append([]byte{message, 0, 1}, make([]byte, 3000)...))
		p.step(1)
	}
	require.Greater(t, p.all[2].Stats().NotForwarded, uint64(2000))
}

// The other end of a link receives nothing, and the one in between sends all on.
func TestAnEndLetsABoundedNumberOfMessagesWait(t *testing.T) {
	p := newParty(t, 3, apart)
	p.step(30)
	p.take(1)
	stopped := p.all[1]
	for i := range 300 {
		p.all[1] = p.all[2] // it stands still
		err := p.all[0].SendReliable(1, []byte(fmt.Sprint(i)))
		if i < 128 {
			require.NoError(t, err)
		} else {
			require.ErrorIs(t, err, transport.ErrFull)
		}
		p.step(1)
	}
	p.all[1] = stopped
	p.step(10)
	require.Len(t, p.take(1), 128)
	require.NoError(t, p.all[0].SendReliable(1, []byte("there is room again")))
	p.step(5)
	require.Equal(t, []string{"reliable 0 there is room again"}, p.take(1))
}

func TestWhoKnowsNoLinkSaysSoOnceInARound(t *testing.T) {
	p := newParty(t, 3, apart)
	p.step(30)
	said := 0
	p.change[2] = func(m *transport.Message) bool {
		if is(m, noWay) {
			said++
		}
		return true
	}
	p.change[1] = func(m *transport.Message) bool { return !is(m, call) }
	p.ends[1].Crash()
	p.open(1)
	p.step(5)
	for range 50 {
		p.ends[2].Send(1, append([]byte{datagram, 0, 1}, make([]byte, 30)...))
	}
	p.step(3)
	require.Equal(t, 1, said)
}

// When all who could stand in between have failed, they are asked again, each time later.
func TestThoseWhoHaveFailedAreAskedAgainAndEachTimeLater(t *testing.T) {
	p := newParty(t, 4, apart)
	var asked [4]int
	drop := func(i int) func(m *transport.Message) bool {
		return func(m *transport.Message) bool {
			if is(m, call) {
				asked[i]++
			}
			return len(m.Data) == 0 || m.Data[0] < call
		}
	}
	p.change[2], p.change[3] = drop(2), drop(3)
	p.step(40 * detour.DefaultPatience)
	require.Greater(t, asked[2], 2)
	require.Greater(t, asked[3], 2)
	require.Less(t, asked[2]+asked[3], 12)
	p.change[3] = nil // one of them works now
	p.step(40 * detour.DefaultPatience)
	p.via(0, 1, 3)
}

func TestSomebodyNewIsAskedAtOnce(t *testing.T) {
	p := newParty(t, 4, apart, [2]driftback.Peer{1, 3})
	p.change[2] = func(m *transport.Message) bool { return len(m.Data) == 0 || m.Data[0] < call }
	p.step(40 * detour.DefaultPatience)
	require.NoError(t, p.net.BringUp(1, 3))
	p.step(detour.DefaultPatience * 20)
	p.via(0, 1, 3)
}

// stingy has no room about every other time it is asked.
type stingy struct {
	*loopback.Endpoint
	random *rand.PCG
}

func (s *stingy) SendReliable(to driftback.Peer, b []byte) error {
	if s.random.Uint64()%2 == 0 {
		return transport.ErrFull
	}
	return s.Endpoint.SendReliable(to, b)
}
