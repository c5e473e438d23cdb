package session

import "github.com/driftback/driftback"

// LeaveRunAsItIs plants a fault: what ran without an entry that came late stays.
func (m *Lockstep[S, I]) LeaveRunAsItIs() { m.redo = func(driftback.Tick) error { return nil } }

// CountSlices tells count of every slice of a state that is made for a watcher.
func (m *Lockstep[S, I]) CountSlices(count func(of *S, n int)) {
	slice := m.watchers.bytes.slice
	m.watchers.bytes.slice = func(dst []byte, s *S, at int) int {
		n := slice(dst, s, at)
		count(s, n)
		return n
	}
}
