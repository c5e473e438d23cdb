package loopback_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/loopback"
)

func TestCloseDeliversWhatWasQueuedThenDown(t *testing.T) {
	net, a, b := pair(t, 1)
	require.NoError(t, net.Impair(0, 1, loopback.Impairment{Latency: 50 * ms, Jitter: 40 * ms, Loss: 0.3}))
	var want []string
	for i := range 50 {
		require.NoError(t, a.SendReliable(1, fmt.Append(nil, i)))
		want = append(want, fmt.Sprintf("reliable 0 %d", i))
	}
	require.NoError(t, a.Close())
	require.NoError(t, a.Close())
	require.ErrorIs(t, a.SendReliable(1, nil), transport.ErrClosed)
	a.Send(1, []byte("x"))
	require.NoError(t, b.SendReliable(0, []byte("to nobody")), "b cannot know yet")
	net.Advance(time.Minute)
	require.Equal(t, append(want, "down 0 "+loopback.ErrPeerClosed.Error()), drain(b))
	require.ErrorIs(t, b.SendReliable(0, nil), transport.ErrNoLink)
	require.Empty(t, drain(a))
}

func TestAPeerThatOpensAgainIsDownThenUp(t *testing.T) {
	net, a, b := pair(t, 1)
	require.NoError(t, a.SendReliable(1, []byte("old")))
	require.NoError(t, b.SendReliable(0, []byte("to the old one")))
	again := net.Open(0) // closes the one that is open
	net.Advance(0)
	require.NoError(t, again.SendReliable(1, []byte("new")))
	a.Send(1, []byte("from a closed endpoint"))
	net.Advance(0)
	require.Equal(t, []string{
		"reliable 0 old", "down 0 loopback: the peer closed its endpoint", "up 0", "reliable 0 new",
	}, drain(b))
	require.Equal(t, []string{"up 1"}, drain(again), "what was for the old endpoint does not reach the new one")
	require.Empty(t, drain(a))
}

func TestACrashIsNoticedWhenThePeerComesBack(t *testing.T) {
	net, a, b := pair(t, 1)
	require.NoError(t, net.Impair(0, 1, loopback.Impairment{Latency: 10 * ms}))
	a.Send(1, []byte("on its way"))
	require.NoError(t, a.SendReliable(1, []byte("lost with its sender")))
	a.Crash()
	a.Crash()
	require.ErrorIs(t, a.SendReliable(1, nil), transport.ErrClosed)
	net.Advance(time.Minute)
	require.Equal(t, []string{"datagram 0 on its way"}, drain(b))
	require.NoError(t, b.SendReliable(0, []byte("nobody hears")))

	again := net.Open(0)
	net.Advance(time.Second)
	require.Equal(t, []string{"down 0 loopback: the peer came back after a crash", "up 0"}, drain(b))
	require.Equal(t, []string{"up 1"}, drain(again))
}

func TestBothEndsMayOpenAtOnceAgain(t *testing.T) {
	net, a, b := pair(t, 1)
	require.NoError(t, net.Impair(0, 1, loopback.Impairment{Latency: 10 * ms}))
	require.NoError(t, net.Impair(1, 0, loopback.Impairment{Latency: 20 * ms}))
	a.Crash()
	a = net.Open(0) // its hello crosses
	net.Advance(5 * ms)
	b.Crash()
	b = net.Open(1) // this one
	var atA, atB []string
	for range 100 {
		net.Advance(ms)
		atA, atB = append(atA, drain(a)...), append(atB, drain(b)...)
	}
	require.Equal(t, []string{"up 1"}, atA)
	require.Equal(t, []string{"up 0"}, atB)
	require.NoError(t, a.SendReliable(1, []byte("x")))
	net.Advance(10 * ms)
	require.Equal(t, []string{"reliable 0 x"}, drain(b))
}

func TestALinkComesUpAsLateAsItsMessages(t *testing.T) {
	net := loopback.New(1)
	require.NoError(t, net.Impair(0, 1, loopback.Impairment{Latency: 10 * ms}))
	require.NoError(t, net.Impair(1, 0, loopback.Impairment{Latency: 10 * ms}))
	a, b := net.Open(0), net.Open(1)
	net.Advance(29 * ms) // all at once: what an arrival causes starts when it arrives
	require.Equal(t, []string{"up 0"}, drain(b), "it opened last, so it said hello")
	require.Empty(t, drain(a))
	net.Advance(ms)
	require.Equal(t, []string{"up 1"}, drain(a))
}

func TestADatagramOfAnEarlierEndpointIsDropped(t *testing.T) {
	net, a, b := pair(t, 1)
	require.NoError(t, net.Impair(0, 1, loopback.Impairment{Latency: time.Second}))
	a.Send(1, []byte("late"))
	require.NoError(t, net.Impair(0, 1, loopback.Impairment{}))
	a = net.Open(0)
	net.Advance(0)
	require.Equal(t, []string{"up 1"}, drain(a))
	require.Equal(t, []string{"down 0 loopback: the peer closed its endpoint", "up 0"}, drain(b))
	net.Advance(time.Second)
	require.Empty(t, drain(b))
	require.EqualValues(t, 1, net.Stats(0, 1).Dropped)
}

func TestAPeerThatLeavesChangesNoArrivalOfOthers(t *testing.T) {
	run := func(leaves bool) (trace []string) {
		net := loopback.New(1)
		a, b, c := net.Open(0), net.Open(1), net.Open(2)
		net.Advance(0)
		drain(c)
		for _, to := range []driftback.Peer{1, 2} {
			require.NoError(t, net.Impair(0, to, loopback.Impairment{Latency: 100 * ms, Jitter: 100 * ms}))
			for i := range 100 {
				a.Send(to, fmt.Append(nil, i))
			}
		}
		if leaves {
			b.Crash() // the messages to it are taken out from among the others
		}
		for range 200 {
			net.Advance(ms)
			for _, line := range drain(c) {
				trace = append(trace, fmt.Sprint(net.Now(), " ", line))
			}
		}
		return trace
	}
	require.Len(t, run(true), 100)
	require.Equal(t, run(false), run(true))
}

// A peer that comes and goes while nobody receives must not fill memory.
func TestLinksThatNobodySawAreForgotten(t *testing.T) {
	net, a, b := pair(t, 1)
	for range 1000 {
		require.NoError(t, a.Close())
		a = net.Open(0)
		net.Advance(0)
		require.NoError(t, a.SendReliable(1, []byte("x")))
		net.Advance(0)
	}
	require.Equal(t, []string{"down 0 loopback: the peer closed its endpoint", "up 0", "reliable 0 x"}, drain(b))
	for range loopback.MaxReliableMessages {
		require.NoError(t, a.SendReliable(1, nil), "what was forgotten takes no room")
	}
}

func TestOpeningBehindABlockTakesBoundedRoom(t *testing.T) {
	net, a, b := pair(t, 1)
	require.NoError(t, net.Impair(0, 1, loopback.Impairment{Blocked: true}))
	require.NoError(t, net.Impair(1, 0, loopback.Impairment{Latency: time.Minute}))
	for range 1000 {
		require.NoError(t, a.Close())
		a = net.Open(0)
		net.Advance(ms)
	}
	require.LessOrEqual(t, net.OnTheirWay(), 4)
	require.NoError(t, net.Impair(0, 1, loopback.Impairment{}))
	net.Advance(time.Hour)
	require.Equal(t, []string{"down 0 loopback: the peer closed its endpoint", "up 0"}, drain(b))
	require.Equal(t, []string{"up 1"}, drain(a))
}

func TestDataIsBorrowedEvenWhenTheEndpointCloses(t *testing.T) {
	net, a, b := pair(t, 1)
	a.Send(1, []byte("kept"))
	net.Advance(0)
	m, ok := b.Receive()
	require.True(t, ok)
	require.NoError(t, b.Close())
	b = net.Open(1)
	net.Advance(0)
	for range 10 {
		a.Send(1, []byte("else"))
	}
	net.Advance(0)
	require.Len(t, drain(b), 11)
	require.Equal(t, "kept", string(m.Data))
	for range loopback.MaxDatagrams {
		a.Send(1, nil)
	}
	net.Advance(0)
	require.Len(t, drain(b), loopback.MaxDatagrams, "the borrowed one takes no room")
}
