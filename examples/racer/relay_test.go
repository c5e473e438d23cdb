package main

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/examples/internal/arena"
	"github.com/driftback/driftback/examples/internal/arenatest"
	"github.com/driftback/driftback/examples/internal/command"
)

func TestKartsInAnotherProcessRaceThroughARelayAndAgree(t *testing.T) {
	t.Parallel()
	p := start(t, "-headless", "-relay", "-ticks", "420", "-rate", "120", "-seed", "3", "-link", "latency=20ms,jitter=5ms,loss=5%")
	arenatest.RequireAllEnd(t, p, 4, 420)
	require.Contains(t, p.Stdout.String(), "racing", "it was more than a countdown")
	require.Regexp(t, `rollbacks [^0]`, p.Stdout.String(), "the links were bad enough for rollbacks")
	require.Len(t, sent(t, p, "its one link, to the relay"), 4)
	require.NotContains(t, p.Stdout.String(), "went on without")
}

// A packet is as long, and there are as many, for two and for eight; in the mesh there is one for
// each of the others.
func TestWhatAKartInAnotherProcessSendsToTheRelayDoesNotGrowWithTheKarts(t *testing.T) {
	t.Parallel()
	race := func(karts int, over string, more ...string) (packets, each float64) {
		p := start(t, append([]string{"-headless", "-karts", strconv.Itoa(karts), "-ticks", "150", "-link", "latency=10ms"}, more...)...)
		arenatest.RequireAllEnd(t, p, karts, 150)
		var bytes float64
		for _, f := range sent(t, p, over) {
			packets, bytes = packets+f[1]/float64(karts), bytes+f[0]/float64(karts)
		}
		t.Logf("of %d each sends %.0f bytes in %.0f packets a second over %s", karts, bytes, packets, over)
		return packets, bytes / packets
	}
	two, twoEach := race(2, "its one link, to the relay", "-relay")
	eight, eightEach := race(8, "its one link, to the relay", "-relay")
	require.InEpsilon(t, two, eight, 0.25, "packets a second")
	require.InEpsilon(t, twoEach, eightEach, 0.25, "bytes in a packet")
	mesh, _ := race(8, "7 links")
	require.Greater(t, mesh, 4*eight, "the control")
}

// sent returns the bytes and the packets a second that each kart says to have sent. Each has
// sent them over the same.
func sent(t *testing.T, p *command.Process, over string) (all [][2]float64) {
	t.Helper()
	for _, line := range regexp.MustCompile(`(?m)^kart [1-8] +sent (\d+) bytes in (\d+) packets a second over (.*)$`).FindAllStringSubmatch(p.Stdout.String(), -1) {
		require.Equal(t, over, line[3])
		var f [2]float64
		for i := range f {
			var err error
			f[i], err = strconv.ParseFloat(line[1+i], 64)
			require.NoError(t, err)
		}
		all = append(all, f)
	}
	require.NotEmpty(t, all, p.Stdout.String())
	return all
}

// Nobody waits for who is silent; and that it is gone, all that are left have found at the same
// tick, be it only one.
func TestThoseWhoAreLeftInAnotherProcessRaceOnThroughTheRelay(t *testing.T) {
	t.Parallel()
	for _, karts := range []int{2, 3} {
		t.Run(fmt.Sprint(karts), func(t *testing.T) {
			t.Parallel()
			p := start(t, "-headless", "-relay", "-karts", strconv.Itoa(karts), "-ticks", "600", "-link", "latency=10ms")
			p.Says(arenatest.Played)
			p.Seats(karts + 1).Kill(1)
			require.Equal(t, arena.ExitFailed, p.End())
			p.OneSentence("racer", "not everybody finished: the kart 2: its process ended: signal: killed")
			ends := regexp.MustCompile(`kart [13] +finished: tick 600 is confirmed with fingerprint ([0-9a-f]{16})\n`).FindAllStringSubmatch(p.Stdout.String(), -1)
			require.Len(t, ends, karts-1, p.Stdout.String())
			for _, end := range ends {
				require.Equal(t, ends[0][1], end[1])
			}
			require.Regexp(t, `(?m)^They went on without the kart 2 from tick [1-9][0-9]* on\.$`, p.Stdout.String())
			require.Regexp(t, `(?m)^tick [^0].* \| 1 gone$`, p.Stdout.String())
			require.Len(t, sent(t, p, "its one link, to the relay"), karts-1)
		})
	}
}

func TestWithoutTheRelayInAnotherProcessNobodyRacesOn(t *testing.T) {
	t.Parallel()
	p := start(t, "-headless", "-relay", "-link", "latency=10ms")
	p.Says(arenatest.Played)
	p.Seats(5).Kill(4)
	require.Equal(t, arena.ExitFailed, p.End())
	p.OneSentence("racer", "the relay: its process ended: signal: killed; ")
	require.Contains(t, p.Stderr.String(), "a peer is lost")
	require.NotContains(t, p.Stdout.String(), "finished")
}
