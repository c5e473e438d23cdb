package command

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A shell makes a copy of itself for what stands in brackets, as Go does before it starts a
// program: a test that takes it for the second child kills the wrong one, or none.
func TestACopyOfTheProcessIsNoChildUntilItIsAnotherProgram(t *testing.T) {
	t.Parallel()
	p := Start(t, "/bin/sh", "-c", "sleep 5 & (echo copied; sleep 5; true) & wait")
	p.Says("copied")
	require.Eventually(t, func() bool { return len(p.Children()) == 1 }, 10*time.Second, time.Millisecond)
	require.Never(t, func() bool { return len(p.Children()) != 1 }, 50*time.Millisecond, 10*time.Millisecond)
}

func TestAChildThatHasEndedIsNoneThoughNobodyHasWaitedForIt(t *testing.T) {
	t.Parallel()
	p := Start(t, "/bin/sh", "-c", "true & echo $!; exec sleep 50")
	p.Says(`(\d+)`)
	require.Eventually(t, func() bool { return len(p.Children()) == 0 }, 10*time.Second, time.Millisecond)
}
