package detour_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/detour"
)

// onlyDirect keeps nothing but what is between neighbours.
func onlyDirect(m *transport.Message) bool { return len(m.Data) == 0 || m.Data[0] < call }

// Whoever was asked to stand in between and reaches the other no more is not waited for.
func TestACallThroughOneThatReachesThePeerNoMoreIsGivenUpAtOnce(t *testing.T) {
	for name, of := range map[string]driftback.Peer{"its link to the caller is lost": 0, "its link to the other is lost": 1} {
		t.Run(name, func(t *testing.T) {
			p := newParty(t, 4, apart)
			p.change[2] = onlyDirect
			p.step(30)
			require.NotContains(t, p.take(0), "up 1", "the control: it waits for an answer")
			require.NoError(t, p.net.TakeDown(2, of))
			p.step(20)
			p.via(0, 1, 3)
			p.via(1, 0, 3)
		})
	}
}

// The confirmation was on its way when the one in between lost its link to the caller.
func TestAnAnswerThroughOneThatReachesTheCallerNoMoreIsForgotten(t *testing.T) {
	p := newParty(t, 3, apart)
	var kept []byte
	p.change[2] = func(m *transport.Message) bool {
		if is(m, confirm) {
			kept = bytes.Clone(m.Data)
		}
		return !is(m, confirm)
	}
	p.step(20)
	require.NotNil(t, kept)
	require.NoError(t, p.net.TakeDown(0, 2))
	p.step(5)
	require.Equal(t, []string{"up 2"}, p.take(1))
	before := p.all[1].Stats().Refused
	require.NoError(t, p.ends[2].SendReliable(1, kept))
	p.step(5)
	require.Empty(t, p.take(1))
	require.Equal(t, before+1, p.all[1].Stats().Refused)
}

// What was found out about those in between, and how long they were waited for, is forgotten
// when a direct link has been up.
func TestAfterADirectLinkTheWayRoundIsLookedForAnew(t *testing.T) {
	direct := func(p *party) {
		require.NoError(t, p.net.BringUp(0, 1))
		p.step(5)
		require.Contains(t, p.take(0), "up 1")
		require.NoError(t, p.net.TakeDown(0, 1))
	}
	t.Run("the call that waited", func(t *testing.T) {
		p := newParty(t, 3, apart)
		p.change[2] = onlyDirect
		p.step(30)
		require.NotContains(t, p.take(0), "up 1")
		p.change[2] = nil
		direct(p)
		p.step(20)
		p.via(0, 1, 2)
	})
	t.Run("who failed", func(t *testing.T) {
		p := newParty(t, 4, apart)
		p.change[2] = onlyDirect
		p.step(3 * detour.DefaultPatience)
		p.via(0, 1, 3)
		p.change[2] = nil
		direct(p)
		p.step(20)
		p.via(0, 1, 2)
	})
	// calls counts those that reach the one in between, who drops them.
	calls := func(p *party) *int {
		n := new(int)
		p.change[2] = func(m *transport.Message) bool {
			if is(m, call) {
				*n++
			}
			return onlyDirect(m)
		}
		return n
	}
	const alone = 4 * detour.DefaultPatience // for how long the only one who could be asked is waited for
	t.Run("the pause", func(t *testing.T) {
		p := newParty(t, 3, apart)
		n := calls(p)
		p.step(alone + 30)
		require.Equal(t, 1, *n)
		direct(p)
		p.step(20)
		require.Equal(t, 2, *n)
	})
	t.Run("how long the next pause is", func(t *testing.T) {
		p := newParty(t, 3, apart)
		n := calls(p)
		again := alone + detour.DefaultPatience + 30 // the first time
		p.step(again)
		require.Equal(t, 2, *n)
		p.step(again)
		require.Equal(t, 2, *n, "the control: the second pause is longer")
		direct(p)
		*n = 0
		p.step(again)
		require.Equal(t, 2, *n)
	})
}

// Two links of one peer come up in the same round: whoever is above has been told of the older
// one alone when it can already not be sent over any more.
func TestNothingIsSentThroughANewerLinkThanTheOneThatIsKnownOf(t *testing.T) {
	p := newParty(t, 4, apart)
	kept := map[int][]byte{}
	for via := 2; via <= 3; via++ {
		p.change[via] = func(m *transport.Message) bool {
			if is(m, confirm) {
				kept[via] = bytes.Clone(m.Data)
			}
			return !is(m, confirm)
		}
	}
	p.step(2 * detour.DefaultPatience)
	require.Len(t, kept, 2, "the control: the caller has been answered through both")
	p.take(1)
	for via, b := range kept {
		require.NoError(t, p.ends[via].SendReliable(1, b))
	}
	one := p.all[1]
	p.all[1] = p.all[2] // what it receives is looked at here
	p.step(1)
	var got []transport.Kind
	var sent []error
	for m, ok := one.Receive(); ok; m, ok = one.Receive() {
		got = append(got, m.Kind)
		sent = append(sent, one.SendReliable(0, []byte("to whom?")))
	}
	require.Equal(t, []transport.Kind{transport.Up, transport.Down, transport.Up}, got)
	require.ErrorIs(t, sent[0], transport.ErrNoLink)
	require.ErrorIs(t, sent[1], transport.ErrNoLink)
	require.NoError(t, sent[2])
	p.all[1] = one
	p.step(5)
	require.Contains(t, p.take(0), "reliable 1 to whom?")
}

// That the transport below gives up is not the end while somebody reaches the peer, and is once
// nobody does.
func TestNothingIsFinalWhileANeighbourReachesThePeer(t *testing.T) {
	refused := errors.New("refused")
	p := newParty(t, 3, apart)
	p.change[2] = onlyDirect
	d := over(t, explaining{p.ends[0], refused}, 0)
	p.all[0] = d
	p.step(20)
	final, err := d.Why(1)
	require.ErrorIs(t, err, refused)
	require.False(t, final)
	require.NoError(t, p.net.TakeDown(1, 2))
	p.step(5)
	final, err = d.Why(1)
	require.ErrorIs(t, err, refused)
	require.True(t, final)
}
