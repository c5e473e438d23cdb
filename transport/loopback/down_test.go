package loopback_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/loopback"
	"github.com/driftback/driftback/transport/transporttest"
)

func TestALinkThatIsTakenDownLosesWhatHadNotArrivedAndComesUpAgain(t *testing.T) {
	net, a, b := pair(t, 1)
	require.NoError(t, net.Impair(0, 1, loopback.Impairment{Latency: 10 * ms}))
	require.NoError(t, net.Impair(1, 0, loopback.Impairment{Blocked: true}))
	require.NoError(t, a.SendReliable(1, []byte("arrived")))
	net.Advance(10 * ms)
	a.Send(1, []byte("on its way"))
	require.NoError(t, a.SendReliable(1, []byte("on its way")))
	require.NoError(t, b.SendReliable(0, []byte("behind the block")))
	require.NoError(t, net.TakeDown(1, 0))
	require.NoError(t, net.TakeDown(0, 1), "twice is once")
	require.ErrorIs(t, a.SendReliable(1, nil), transport.ErrNoLink)
	require.NoError(t, net.Impair(1, 0, loopback.Impairment{}))
	net.Advance(time.Hour)
	require.Equal(t, []string{"reliable 0 arrived", "down 0 " + loopback.ErrTakenDown.Error()}, drain(b))
	require.Equal(t, []string{"down 1 " + loopback.ErrTakenDown.Error()}, drain(a))
	require.EqualValues(t, 1, net.Stats(0, 1).Downs)
	require.EqualValues(t, 1, net.Stats(1, 0).Downs)
	require.Zero(t, net.OnTheirWay())

	require.NoError(t, net.BringUp(0, 1))
	require.NoError(t, net.BringUp(0, 1))
	net.Advance(9 * ms)
	require.Empty(t, drain(a))
	require.Empty(t, drain(b), "it comes up as late as its messages")
	net.Advance(11 * ms)
	require.Equal(t, []string{"up 1"}, drain(a))
	require.Equal(t, []string{"up 0"}, drain(b))
	require.NoError(t, a.SendReliable(1, []byte("new")))
	net.Advance(10 * ms)
	require.Equal(t, []string{"reliable 0 new"}, drain(b), "the old ones do not follow")
}

func TestALinkThatIsDownStaysSoForWhoeverOpens(t *testing.T) {
	net, a, b := pair(t, 1)
	require.NoError(t, net.TakeDown(0, 1))
	require.NoError(t, a.Close())
	a = net.Open(0)
	c := net.Open(2)
	net.Advance(time.Minute)
	require.Equal(t, []string{"down 0 " + loopback.ErrTakenDown.Error(), "up 2"}, drain(b))
	require.Equal(t, []string{"up 2"}, drain(a), "other links are not concerned")
	require.Equal(t, []string{"up 0", "up 1"}, drain(c))
	require.NoError(t, net.BringUp(1, 0))
	net.Advance(0)
	require.Equal(t, []string{"up 1"}, drain(a))
	require.Equal(t, []string{"up 0"}, drain(b))

	b.Crash()
	require.NoError(t, net.TakeDown(0, 1))
	require.NoError(t, net.BringUp(0, 1))
	net.Advance(time.Minute)
	require.Equal(t, []string{"down 1 " + loopback.ErrTakenDown.Error()}, drain(a), "nobody is there")
	require.EqualValues(t, 1, net.Stats(0, 1).Downs, "a crashed end sees nothing")
}

func TestALinkThatGoesDownWhileItComesUpIsNotSeen(t *testing.T) {
	for at := range 4 {
		t.Run(fmt.Sprintf("after %d messages of the handshake", at), func(t *testing.T) {
			net := loopback.New(1)
			require.NoError(t, net.Impair(0, 1, loopback.Impairment{Latency: 10 * ms}))
			require.NoError(t, net.Impair(1, 0, loopback.Impairment{Latency: 10 * ms}))
			a, b := net.Open(0), net.Open(1)
			net.Advance(time.Duration(at) * 10 * ms)
			require.NoError(t, net.TakeDown(0, 1))
			net.Advance(time.Second)
			require.Len(t, drain(b), []int{0, 0, 2, 2}[at], "the opener is up after two")
			require.Len(t, drain(a), []int{0, 0, 0, 2}[at], "the other after three")
			require.NoError(t, net.BringUp(0, 1))
			net.Advance(time.Second)
			require.Equal(t, []string{"up 1"}, drain(a))
			require.Equal(t, []string{"up 0"}, drain(b))
		})
	}
}

func TestALinkThatWasDownKeepsWhatTransportPromises(t *testing.T) {
	transporttest.Run(t, func(t *testing.T, peers int) transporttest.Match {
		net := loopback.New(1)
		m := transporttest.Match{Step: func() { net.Advance(ms) }}
		for i := range driftback.Peer(peers) {
			m.Ends = append(m.Ends, net.Open(i))
		}
		for i := range driftback.Peer(peers) {
			for j := range i {
				require.NoError(t, net.TakeDown(i, j))
				require.NoError(t, net.BringUp(i, j))
			}
		}
		return m
	})
}

func TestTakingDownTheWrongLinkIsRefused(t *testing.T) {
	net := loopback.New(1)
	require.EqualError(t, net.TakeDown(3, 3), "loopback: from peer 3 to peer 3: want two peers below 64")
	require.Error(t, net.BringUp(64, 3))
}
