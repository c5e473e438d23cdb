package arena

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/examples/internal/page"
	"github.com/driftback/driftback/internal/carry"
	"github.com/driftback/driftback/relay"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/loopback"
)

func TestWhatARelayDoesNotBearIsRefusedInASentence(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no direct links":   {[]string{"-relay", "-players", "4", "-block", "1-2"}, "-relay and -block: through a relay no two players have a direct link, so there is none to be without"},
		"a way back":        {[]string{"-back", "-relay"}, "-relay and -back: through a relay nobody comes back to a match yet"},
		"something to pick": {[]string{"-relay"}, "flag provided but not defined: -relay; -help lists the flags"},
	} {
		g := tallying()
		if name == "something to pick" {
			g = picking()
		}
		_, err := g.parse("all", c.args, io.Discard)
		require.EqualError(t, err, c.want, name)
	}
	for _, command := range []string{"host", "join"} {
		_, err := tallying().parse(command, []string{"-relay"}, io.Discard)
		require.EqualError(t, err, "flag provided but not defined: -relay; -help lists the flags")
	}
}

func TestThroughARelayTheWindowIsWiderAndNobodyComesBack(t *testing.T) {
	for window, args := range map[int][]string{
		relayWindow: {"-relay", "-back=false"}, 12: {"-relay", "-window", "12"},
	} {
		o, err := tallying().parse("all", args, io.Discard)
		require.NoError(t, err)
		require.Equal(t, window, o.window)
		require.Equal(t, carry.Peer, o.relay)
		require.False(t, o.back)
	}
	o, err := tallying().parse("all", nil, io.Discard)
	require.NoError(t, err)
	require.Zero(t, o.relay)
	require.True(t, o.back)
	require.Equal(t, session.DefaultWindow, o.window)
}

// Of three that play through a relay the second stops without a word. Nobody stalls; the others
// find at the same tick that it is gone, and their pages and lines say so.
func TestTheOthersPlayOnThroughARelayWithoutOneThatIsLost(t *testing.T) {
	net := loopback.New(1)
	var carrier *relay.Relay
	sides, ends, lines, run := threeShown(t, net, options{window: relayWindow, ticks: 600, relay: carry.Peer}, func() { _ = carrier.Poll(net.Now()) })
	carrier, err := relay.New(relay.Config{
		Transport: net.Open(carry.Peer), Self: carry.Peer, Players: sides[0].o.everybody(), Match: tallying().Match, Nonce: 1,
	})
	require.NoError(t, err)
	run(100, 0, 1, 2)
	for _, p := range sides {
		require.Len(t, p.frame.Peers, 2)
		for _, other := range p.frame.Peers {
			require.Equal(t, page.Relay, other.Through)
			require.False(t, other.Gone, "the control")
		}
	}
	run(800, 0, 2)
	outcomes := map[outcome]bool{}
	for _, i := range []int{0, 2} {
		p := sides[i]
		require.ErrorIs(t, ends[i], session.ErrFinished)
		require.Equal(t, []bool{i == 0, i == 2}, []bool{p.frame.Peers[0].Gone, p.frame.Peers[1].Gone}, "%v", p.frame.Peers)
		require.Equal(t, 1, lines[i].Gone)
		require.Zero(t, lines[i].Stalls, "nobody waits for it")
		end, err := p.outcome(p.frame.Tick)
		require.NoError(t, err)
		require.Regexp(t, `^without the second from tick [1-9]\d* on$`, end.Without)
		outcomes[end] = true
		f := p.flow(net.Now())
		require.Equal(t, []driftback.Peer{carry.Peer}, f.To)
		require.Positive(t, f.Bytes)
	}
	require.Len(t, outcomes, 1, "they have found it at the same tick")
}

func TestThoseWhoMissSomebodyFromAnotherTickOnAreInDifferentWorlds(t *testing.T) {
	var out bytes.Buffer
	players := []*player{
		{name: "first", gone: true, ended: &outcome{Tick: 10, Sum: 1, Without: "without the third from tick 7 on"}},
		{name: "second", gone: true, ended: &outcome{Tick: 10, Sum: 1, Without: "without the third from tick 7 on"}},
		{name: "third", gone: true, failed: "it has had enough"},
	}
	require.EqualError(t, judge(players, &out), "not everybody finished: the third: it has had enough")
	require.Contains(t, out.String(), "They went on without the third from tick 7 on.\n")
	out.Reset()
	players[1].ended.Without = "without the third from tick 8 on"
	require.EqualError(t, judge(players, &out), "the players have finished in different worlds")
	require.NotContains(t, out.String(), "went on")
}

func TestWhatEachHasSentIsSaidPerSecondAndOverWhat(t *testing.T) {
	var out bytes.Buffer
	printFlows(&out, []*player{
		{name: "first", sent: &flow{To: []driftback.Peer{63}, Packets: 120, Bytes: 1700, Took: 2 * time.Second}},
		{name: "second", sent: &flow{To: []driftback.Peer{0, 2}, Packets: 240, Bytes: 3400, Took: 2 * time.Second}},
		{name: "third", sent: &flow{To: []driftback.Peer{0}}},
		{name: "fourth"},
	}, 63)
	require.Equal(t, ""+
		"first         sent 850 bytes in 60 packets a second over its one link, to the relay\n"+
		"second        sent 1700 bytes in 120 packets a second over 2 links\n", out.String(), "and nothing of who has played nothing")
}

func TestOneThatIsLeftPlaysOnOnlyWhileThereIsARelay(t *testing.T) {
	a := &parent{players: []*player{{}, {gone: true}}}
	require.False(t, a.playOn())
	a.relay = &player{}
	require.True(t, a.playOn())
	a.relay.gone = true
	require.False(t, a.playOn())
}
