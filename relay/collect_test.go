package relay

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/wire"
)

const ms = time.Millisecond

// gives is one input of a table.
type gives struct {
	at time.Duration
	p  int
	t  driftback.Tick
	in byte
	e  wire.Entry
}

// closes is a tick as the set has it.
type closes struct {
	at    time.Duration
	in    string // one byte for each participant
	marks string // "." its own, "L" late, "G" gone
}

func TestTicksCloseWhenAllIsThereOrAtTheDeadline(t *testing.T) {
	for name, c := range map[string]struct {
		delays []int
		gives  []gives
		leaves map[time.Duration]int
		want   []closes
	}{
		"all in time": {
			gives: []gives{{10 * ms, 0, 0, 'a', 0}, {20 * ms, 1, 0, 'b', 0}},
			want:  []closes{{20 * ms, "ab", ".."}},
		},
		"one is late": {
			gives: []gives{{10 * ms, 0, 0, 'a', 0}, {20 * ms, 1, 0, 'b', 0}, {30 * ms, 0, 1, 'c', 0}, {81 * ms, 1, 1, 'd', 0}},
			want:  []closes{{20 * ms, "ab", ".."}, {80 * ms, "cb", ".L"}},
		},
		"a repeat repeats a repeat": {
			gives: []gives{{10 * ms, 0, 0, 'a', 0}, {10 * ms, 1, 0, 'b', 0}, {20 * ms, 0, 1, 'c', 0}, {40 * ms, 0, 2, 'd', 0}},
			want:  []closes{{10 * ms, "ab", ".."}, {76 * ms, "cb", ".L"}, {92 * ms, "db", ".L"}},
		},
		"nothing was there to repeat": {
			gives: []gives{{10 * ms, 0, 0, 'a', 0}},
			want:  []closes{{60 * ms, "a\x00", ".L"}},
		},
		"an entry is not repeated": {
			gives: []gives{{10 * ms, 0, 0, 'a', 0}, {10 * ms, 1, 0, 'b', wire.EntryPause}, {20 * ms, 0, 1, 'c', 0}},
			want:  []closes{{10 * ms, "ab", ".P"}, {76 * ms, "cb", ".L"}},
		},
		"who runs ahead makes nobody late": { // ticks of 16 ms start 15.75 ms apart at the least
			gives: []gives{{10 * ms, 0, 0, 'a', 0}, {10 * ms, 0, 1, 'b', 0}, {10 * ms, 0, 2, 'c', 0}, {10 * ms, 1, 0, 'x', 0}},
			want:  []closes{{10 * ms, "ax", ".."}, {76 * ms, "bx", ".L"}, {92 * ms, "cx", ".L"}},
		},
		"before their delays all are neutral": {
			delays: []int{1, 2},
			gives:  []gives{{10 * ms, 0, 1, 'a', 0}, {20 * ms, 0, 2, 'b', 0}, {30 * ms, 1, 2, 'c', 0}},
			want:   []closes{{0, "\x00\x00", ".."}, {10 * ms, "a\x00", ".."}, {30 * ms, "bc", ".."}},
		},
		"who leaves is not awaited, and what had come counts": {
			gives:  []gives{{10 * ms, 1, 0, 'x', 0}, {11 * ms, 0, 0, 'a', 0}, {12 * ms, 1, 1, 'y', 0}, {13 * ms, 1, 3, 'z', 0}, {20 * ms, 0, 1, 'b', 0}, {30 * ms, 0, 2, 'c', 0}, {40 * ms, 0, 3, 'd', 0}},
			leaves: map[time.Duration]int{15 * ms: 1},
			want:   []closes{{11 * ms, "ax", ".."}, {20 * ms, "by", ".."}, {30 * ms, "c\x00", ".G"}, {40 * ms, "d\x00", ".G"}},
		},
		"nobody gives anything": {want: nil},
	} {
		t.Run(name, func(t *testing.T) {
			if c.delays == nil {
				c.delays = []int{0, 0}
			}
			s := newCollector(&mesh.RelayTerms{Stride: 1, TickLength: 16 * ms, Window: 8}, c.delays, 100)
			var got []closes
			for now := time.Duration(0); now < 200*ms; now += ms {
				for _, g := range c.gives {
					if g.at == now {
						want := taken
						if g.t < s.next {
							want = tooOld
						}
						require.Equal(t, want, s.put(g.p, g.t, []byte{g.in}, g.e, now), "%+v", g)
					}
				}
				if p, ok := c.leaves[now]; ok {
					s.leave(p)
				}
				for len(got) < 10 && s.ready(now, 50*ms) {
					s.close(now)
					one := closes{at: now}
					for p := range c.delays {
						one.in += string(s.input(p, s.next-1))
						one.marks += map[wire.Entry]string{0: ".", wire.EntryPause: "P", wire.EntryLate: "L", wire.EntryGone: "G"}[s.entry(p, s.next-1)]
					}
					got = append(got, one)
				}
			}
			require.Equal(t, c.want, got)
		})
	}
}

func TestWhatIsRefusedOfAnInput(t *testing.T) {
	s := newCollector(&mesh.RelayTerms{Stride: 1, TickLength: 16 * ms, Window: 8}, []int{0, 0}, 100)
	require.Equal(t, taken, s.put(0, 0, []byte{1}, 0, 0))
	require.Equal(t, again, s.put(0, 0, []byte{1}, 0, 0))
	require.Equal(t, differs, s.put(0, 0, []byte{2}, 0, 0))
	require.Equal(t, differs, s.put(0, 0, []byte{1}, wire.EntryPause, 0))
	require.Equal(t, tooFar, s.put(0, s.span, []byte{1}, 0, 0))
	require.Equal(t, taken, s.put(0, s.span-1, []byte{1}, 0, 0))
	require.True(t, s.ready(50*ms, 50*ms))
	s.close(50 * ms)
	require.Equal(t, tooOld, s.put(1, 0, []byte{7}, 0, 0), "in its place is a mark, which is no evidence")
	require.Equal(t, again, s.put(0, 0, []byte{1}, 0, 0))
	require.Equal(t, differs, s.put(0, 0, []byte{2}, 0, 0), "what it gave stays what it gave")
	require.Equal(t, taken, s.put(0, s.span, []byte{1}, 0, 0))
	require.Equal(t, uint64(1), s.late[1])
}

func TestSpeedsSayHowFastTicksCanStart(t *testing.T) {
	s := newCollector(&mesh.RelayTerms{Stride: 1, TickLength: 16 * ms, Window: 8}, []int{0}, 100)
	require.Equal(t, taken, s.put(0, 0, []byte{1}, wire.EntrySpeed(16), 0))
	require.True(t, s.ready(0, 50*ms))
	s.close(0)
	require.Equal(t, 8*ms, s.length)
	require.Equal(t, taken, s.put(0, 1, []byte{1}, 0, 0))
	at, ok := s.start(1)
	require.True(t, ok)
	require.Equal(t, 7875*time.Microsecond, at)
}

// What everybody's inputs were held up for is made up for faster than ticks can be rushed.
func TestAfterAHoldUpTicksStartSooner(t *testing.T) {
	s := newCollector(&mesh.RelayTerms{Stride: 1, TickLength: 16 * ms, Window: 8}, []int{0, 0}, 100)
	closeNext := func(at time.Duration, late bool) time.Duration {
		require.Equal(t, taken, s.put(0, s.next, []byte{1}, 0, at))
		if !late {
			require.Equal(t, taken, s.put(1, s.next, []byte{1}, 0, at))
		}
		start, ok := s.start(s.next)
		require.True(t, ok)
		s.close(at)
		return start
	}
	closeNext(0, false)
	require.Equal(t, 16*ms, closeNext(16*ms, false))
	// All stands still for 20 ticks, whose inputs come then, and player 1's too late.
	start := closeNext(336*ms, true)
	require.Equal(t, 336*ms, start)
	for n := range 160 { // 250 ms by 1.75 at a time
		next := closeNext(336*ms, true)
		if n < 140 {
			require.Equal(t, 14*ms, next-start, "tick %d", s.next-1)
		}
		start = next
	}
	require.Equal(t, start+15750*time.Microsecond, closeNext(336*ms, true), "it has caught up")
	// What is complete has started, and the rest counts from there.
	now := start - 100*ms
	closeNext(now, false)
	require.Equal(t, now+15750*time.Microsecond, closeNext(now, true))
}
