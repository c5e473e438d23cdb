package main

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/examples/internal/arenatest"
)

func TestTwoWithoutADirectLinkInAnotherProcessRaceThroughAThird(t *testing.T) {
	t.Parallel()
	p := start(t, "-headless", "-karts", "3", "-block", "1-2", "-ticks", "240", "-rate", "100", "-link", "latency=20ms,jitter=5ms,loss=2%")
	arenatest.RequireAllEnd(t, p, 3, 240)
	require.Contains(t, p.Stdout.String(), "the kart 1 and the kart 2 have no direct link and play through the kart 3\n")
}

// A process that comes back has opened its links anew, and is played with through a third again;
// and where the one in between is killed, another one takes its place.
func TestAKilledKartRejoinsARaceInWhichTwoHaveNoDirectLink(t *testing.T) {
	t.Parallel()
	for _, between := range []bool{false, true} {
		t.Run("the one in between: "+strconv.FormatBool(between), func(t *testing.T) {
			t.Parallel()
			p := start(t, "-headless", "-block", "1-2", "-ticks", "720", "-rate", "100", "-link", "latency=20ms,jitter=5ms,loss=1%")
			const through = `the kart 1 and the kart 2 have no direct link and play through the kart `
			// It is the third or the fourth, whose links came up first.
			via := p.Says(through + `([34])\n`)
			p.Says(arenatest.Played)
			seat, again := 1, arenatest.Together
			if between {
				third, err := strconv.Atoi(via)
				require.NoError(t, err)
				seat, again = third-1, through+strconv.Itoa(3+4-third)
			}
			p.Seats(4).Kill(seat)
			p.Says(`killed, and another is started\n(.*\n)*` + again)
			arenatest.RequireAllEnd(t, p, 4, 720)
		})
	}
}
