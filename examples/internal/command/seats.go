package command

import (
	"os"
	"slices"
	"time"

	"github.com/stretchr/testify/require"
)

// Seats are a process's children, of which one that has died has another started in its place.
type Seats struct {
	p    *Process
	pids []int
}

// Seats waits until the process has so many children, which it starts one after the other.
func (p *Process) Seats(n int) *Seats {
	p.t.Helper()
	s := &Seats{p: p}
	require.Eventually(p.t, func() bool {
		s.pids = p.Children()
		return len(s.pids) == n
	}, 30*time.Second, time.Millisecond, "it has not started %d children", n)
	return s
}

// Kill kills the child in a seat, as no program can prevent.
func (s *Seats) Kill(seat int) {
	s.p.t.Helper()
	child, err := os.FindProcess(s.pids[seat])
	require.NoError(s.p.t, err)
	require.NoError(s.p.t, child.Kill())
}

// Again waits until there is another child in a seat whose child was killed.
func (s *Seats) Again(seat int) {
	s.p.t.Helper()
	require.Eventually(s.p.t, func() bool {
		for _, pid := range s.p.Children() {
			if !slices.Contains(s.pids, pid) {
				s.pids[seat] = pid
				return true
			}
		}
		return false
	}, 30*time.Second, time.Millisecond, "no other has been started")
}

// KillEach kills the child in a seat, and those that come in its place when they have come
// further and further.
func (s *Seats) KillEach(seat int) {
	s.p.t.Helper()
	for _, later := range []time.Duration{0, 100 * time.Millisecond, 400 * time.Millisecond} {
		time.Sleep(later)
		s.Kill(seat)
		s.Again(seat)
	}
}
