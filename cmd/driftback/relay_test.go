package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/simtest"
	"github.com/driftback/driftback/transport/quic"
)

type witness = session.Lockstep[simtest.WitnessState, simtest.WitnessInput]

func TestPlayersWhoMeetOnlyTheRelayEndAlikeInAnotherProcess(t *testing.T) {
	const players, ticks = 3, 120
	c := exec.CommandContext(t.Context(), os.Args[0], "relay", "-players", fmt.Sprint(players), "-addr", "127.0.0.1:0", "-match", "42")
	c.Env = append(os.Environ(), "DRIFTBACK_TEST=1")
	c.Stderr = os.Stderr
	out, err := c.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	lines := bufio.NewScanner(out)

	all := make([]*witness, players)
	for p := range all {
		require.True(t, lines.Scan())
		var number, relay int
		var addr, pin, code string
		_, err := fmt.Sscanf(lines.Text(), "player %d: relay %d %s %s %s", &number, &relay, &addr, &pin, &code)
		require.NoError(t, err, lines.Text())
		require.Equal(t, p, number)
		all[p] = join(t, driftback.Peer(p), driftback.Peer(relay), addr, pin, code)
		require.NoError(t, all[p].Finish(ticks))
	}
	began, errs := time.Now(), make([]error, players)
	for left := players; left > 0; time.Sleep(2 * time.Millisecond) {
		left = 0
		require.Less(t, time.Since(began), 30*time.Second)
		for p, s := range all {
			if errs[p] == nil {
				left++
				_, errs[p] = s.Tick(time.Since(began), simtest.WitnessInput{})
			}
		}
	}
	want, ok := all[0].Root(ticks)
	require.True(t, ok)
	for p, s := range all {
		require.ErrorIs(t, errs[p], session.ErrFinished)
		require.Equal(t, []driftback.Peer{63}, []driftback.Peer{s.Stats().Peers[0].Peer})
		got, ok := s.Root(ticks)
		require.True(t, ok)
		require.Equal(t, want, got)
	}
	require.True(t, lines.Scan())
	require.Regexp(t, `^finished: \d+ ticks$`, lines.Text())
	require.NoError(t, c.Wait())
}

// join returns a player's session, which has a link to the relay and to nobody else.
func join(t *testing.T, self, relay driftback.Peer, addr, pin, code string) *witness {
	id, err := identity.Generate()
	require.NoError(t, err)
	at := quic.Remote{Peer: relay, Addr: addr}
	at.Pin, err = identity.ParsePin(pin)
	require.NoError(t, err)
	at.Code, err = identity.ParseCode(code)
	require.NoError(t, err)
	link, err := quic.Listen(t.Context(), quic.Config{Self: self, Identity: id, Addr: "127.0.0.1:0", Peers: []quic.Remote{at}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, link.Close()) })
	g := simtest.Witness()
	s, err := session.New(session.Config[simtest.WitnessState, simtest.WitnessInput]{
		Step: g.Step, Transport: link, Self: self, Players: []driftback.Peer{0, 1, 2}, Relay: relay,
		Match: 42, Nonce: uint64(self) + 1, TickRate: 500, PredictionWindow: 60, WhenLost: session.PlayOn,
	})
	require.NoError(t, err)
	return s
}

func TestTheRelaySaysWhatIsWrongWithItsFlagsInAnotherProcess(t *testing.T) {
	for want, args := range map[string][]string{
		"driftback: -players is 17: 1 to 16 are allowed.\n":                                {"-players", "17"},
		"driftback: relay: Deadline is 1m0s: up to 10s is allowed, 0 for 50ms, or None.\n": {"-deadline", "1m"},
		"driftback: relay takes no arguments, and was given \"x\".\n":                      {"x"},
		"driftback: mesh: a peer has not joined within 50ms: peer 0 is not connected.\n":   {"-players", "1", "-join-timeout", "50ms", "-addr", "127.0.0.1:0"},
	} {
		_, _, errs := run(t, append([]string{"relay"}, args...)...)
		require.Equal(t, want, errs)
	}
}
