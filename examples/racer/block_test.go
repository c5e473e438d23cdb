package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

const throughThird = "the kart 1 and the kart 2 have no direct link and play through the kart 3\n"

func TestTwoWithoutADirectLinkInAnotherProcessRaceThroughAThird(t *testing.T) {
	t.Parallel()
	p := start(t, "-headless", "-karts", "3", "-block", "1-2", "-ticks", "240", "-rate", "100", "-link", "latency=20ms,jitter=5ms,loss=2%")
	requireAllEnd(t, p, 3, 240)
	require.Contains(t, p.Stdout.String(), throughThird)
}

// A process that comes back has opened its links anew, and takes the detour again; and where the
// one in between is killed, another one takes its place.
func TestAKilledKartRejoinsARaceInWhichTwoHaveNoDirectLink(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		seat  int
		until string
	}{
		"one of the two":     {1, together},
		"the one in between": {2, "the kart 1 and the kart 2 have no direct link and play through the kart 4\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := start(t, "-headless", "-block", "1-2", "-ticks", "720", "-rate", "100", "-link", "latency=20ms,jitter=5ms,loss=1%")
			p.Says(throughThird + `(.*\n)*` + together)
			p.Seats(4).Kill(c.seat)
			p.Says(`killed, and another is started\n(.*\n)*` + c.until)
			requireAllEnd(t, p, 4, 720)
		})
	}
}
