package inputlog_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/inputlog"
)

type log = inputlog.Log[uint16]

func newLog(t *testing.T, participants, depth int, neutral ...int) *log {
	t.Helper()
	l, err := inputlog.New(inputlog.Config[uint16]{Participants: participants, Depth: depth, Neutral: neutral})
	require.NoError(t, err)
	return l
}

// confirm records an input that must be taken, and says whether it changed a guess.
func confirm(t *testing.T, l *log, p driftback.Participant, tick driftback.Tick, in uint16) bool {
	t.Helper()
	changed, err := l.Confirm(p, tick, in)
	require.NoError(t, err)
	return changed
}

// inputs asks for the inputs of a tick as a step does.
func inputs(t *testing.T, l *log, tick driftback.Tick) []uint16 {
	t.Helper()
	dst := make([]uint16, l.Participants())
	require.NoError(t, l.Inputs(tick, dst))
	return dst
}

// requirePeek looks at one input. want is "3 confirmed", "3 guessed" or "unknown".
func requirePeek(t *testing.T, l *log, p driftback.Participant, tick driftback.Tick, want string) {
	t.Helper()
	in, confirmed, ok := l.Peek(p, tick)
	got := fmt.Sprint(in, " guessed")
	if confirmed {
		got = fmt.Sprint(in, " confirmed")
	}
	if !ok {
		require.Zero(t, in)
		require.False(t, confirmed)
		got = "unknown"
	}
	require.Equal(t, want, got, "participant %d, tick %d", p, tick)
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	for name, c := range map[string]struct {
		config inputlog.Config[uint16]
		want   string
	}{
		"no participant":          {inputlog.Config[uint16]{Depth: 8}, "inputlog: Participants is 0; it must be 1 to 16"},
		"too many participants":   {inputlog.Config[uint16]{Participants: 17, Depth: 8}, "inputlog: Participants is 17; it must be 1 to 16"},
		"no depth":                {inputlog.Config[uint16]{Participants: 1}, "inputlog: Depth is 0 ticks; it must be 2 to 65536"},
		"a depth of one":          {inputlog.Config[uint16]{Participants: 1, Depth: 1}, "inputlog: Depth is 1 ticks; it must be 2 to 65536"},
		"a depth without bound":   {inputlog.Config[uint16]{Participants: 1, Depth: math.MaxInt}, fmt.Sprintf("inputlog: Depth is %d ticks; it must be 2 to 65536", math.MaxInt)},
		"a first tick below zero": {inputlog.Config[uint16]{Participants: 1, Depth: 8, First: -1}, "inputlog: First is tick -1; it must be 0 to 4611686018427387904"},
		"a first tick that leaves no room": {inputlog.Config[uint16]{Participants: 1, Depth: 8, First: inputlog.MaxFirst + 1},
			"inputlog: First is tick 4611686018427387905; it must be 0 to 4611686018427387904"},
		"neutral ticks for somebody else": {inputlog.Config[uint16]{Participants: 2, Depth: 8, Neutral: []int{1}},
			"inputlog: Neutral has 1 entries; it must have one for each of 2 participants, or be nil"},
		"a negative delay": {inputlog.Config[uint16]{Participants: 2, Depth: 8, Neutral: []int{0, -1}},
			"inputlog: Neutral[1] is -1 ticks; it must be 0 to the window's length of 8"},
		"a delay longer than the window": {inputlog.Config[uint16]{Participants: 2, Depth: 8, Neutral: []int{9, 0}},
			"inputlog: Neutral[0] is 9 ticks; it must be 0 to the window's length of 8"},
	} {
		t.Run(name, func(t *testing.T) {
			l, err := inputlog.New(c.config)
			require.EqualError(t, err, c.want)
			require.Nil(t, l)
		})
	}
}

func TestADepthIsRoundedUpToAPowerOfTwo(t *testing.T) {
	for depth, want := range map[int]driftback.Tick{2: 2, 3: 4, 4: 4, 5: 8, 17: 32, 1024: 1024, inputlog.MaxDepth: inputlog.MaxDepth} {
		oldest, end := newLog(t, 1, depth).Window()
		require.Zero(t, oldest)
		require.Equal(t, want, end, "depth %d", depth)
	}
}

// An input from ahead must never push out one that is still needed: the two would
// share a place in the ring.
func TestTheWindowIsExplicit(t *testing.T) {
	l := newLog(t, 2, 4)
	for tick := range driftback.Tick(4) {
		confirm(t, l, 0, tick, uint16(10+tick))
	}
	for _, ahead := range []driftback.Tick{4, 5, 7, 8, 1 << 20} {
		_, err := l.Confirm(0, ahead, 99)
		require.ErrorIs(t, err, inputlog.ErrOutsideWindow)
		require.ErrorIs(t, l.Inputs(ahead, make([]uint16, 2)), inputlog.ErrOutsideWindow)
		requirePeek(t, l, 0, ahead, "unknown")
	}
	for tick := range driftback.Tick(4) {
		requirePeek(t, l, 0, tick, fmt.Sprint(10+tick, " confirmed"))
	}
	require.Equal(t, driftback.Tick(4), l.ConfirmedOf(0))

	// The control: the same tick is taken as soon as the window has moved, and then
	// it does use the place of one that nobody needs any more.
	confirm(t, l, 1, 0, 20)
	l.Forget(1)
	confirm(t, l, 0, 4, 99)
	requirePeek(t, l, 0, 4, "99 confirmed")
	requirePeek(t, l, 0, 0, "unknown")
	requirePeek(t, l, 0, 1, "11 confirmed")
}

func TestAnInputAbsurdlyFarAheadIsRefused(t *testing.T) {
	l := newLog(t, 2, 8)
	confirm(t, l, 1, 7, 1) // the control: the last tick of the window is taken
	for _, tick := range []driftback.Tick{8, math.MaxInt32, math.MaxInt32 + 1, math.MaxUint32 + 1, math.MaxInt64 - 1, math.MaxInt64, -1, math.MinInt64} {
		changed, err := l.Confirm(1, tick, 7)
		require.ErrorIs(t, err, inputlog.ErrOutsideWindow)
		require.EqualError(t, err, fmt.Sprintf("inputlog: outside the window: tick %d is not in [0, 8)", tick))
		require.False(t, changed)
		require.ErrorIs(t, l.Inputs(tick, make([]uint16, 2)), inputlog.ErrOutsideWindow)
		requirePeek(t, l, 1, tick, "unknown")
	}
	_, end := l.Window()
	require.Equal(t, driftback.Tick(8), end, "nothing grew")
	l.Forget(math.MaxInt64)
	oldest, _ := l.Window()
	require.Zero(t, oldest, "nothing is confirmed, so nothing can be forgotten")
	require.Zero(t, testing.AllocsPerRun(100, func() { _, _, _ = l.Peek(1, math.MaxInt64) }))
}

func TestAGuessIsStoredUntilItsTickIsRunAgain(t *testing.T) {
	l := newLog(t, 2, 8)
	confirm(t, l, 1, 0, 5)
	requirePeek(t, l, 1, 3, "unknown") // looking makes no guess
	require.Equal(t, []uint16{0, 5}, inputs(t, l, 3))
	requirePeek(t, l, 1, 3, "5 guessed")

	// A newer input that a guess made now would repeat: the stored one stays, and
	// looking does not renew it.
	confirm(t, l, 1, 1, 6)
	for range 3 {
		requirePeek(t, l, 1, 3, "5 guessed")
	}
	requirePeek(t, l, 1, 2, "unknown")
	// Running the tick again guesses anew, and from here on the new guess counts.
	require.Equal(t, []uint16{0, 6}, inputs(t, l, 3))
	requirePeek(t, l, 1, 3, "6 guessed")
	require.False(t, confirm(t, l, 1, 3, 6), "the guess in use was right")

	// The control: an input that differs from the guess in use does change.
	require.Equal(t, []uint16{0, 6}, inputs(t, l, 4))
	require.True(t, confirm(t, l, 1, 4, 5))
	// And one that no step has asked for is a surprise to nobody.
	require.False(t, confirm(t, l, 1, 5, 77))
}

func TestPeekChangesNothing(t *testing.T) {
	guesses := 0
	newGuessing := func() *log {
		l, err := inputlog.New(inputlog.Config[uint16]{Participants: 2, Depth: 8, Predict: func(last uint16, age int) uint16 {
			guesses++
			return last + uint16(age)
		}})
		require.NoError(t, err)
		return l
	}
	looked, left := newGuessing(), newGuessing()
	look := func() {
		for tick := driftback.Tick(-2); tick < 12; tick++ {
			for p := range driftback.Participant(4) {
				_, _, _ = looked.Peek(p, tick)
			}
		}
	}
	play := func(l *log, look func()) (seen []uint16) {
		for tick := range driftback.Tick(6) {
			look()
			_, err := l.Confirm(0, tick, uint16(tick))
			require.NoError(t, err)
			look()
			seen = append(seen, inputs(t, l, tick)...)
			look()
			if tick%2 == 1 {
				changed, err := l.Confirm(1, tick-1, uint16(tick*7))
				require.NoError(t, err)
				seen = append(seen, map[bool]uint16{true: 1000, false: 2000}[changed])
			}
		}
		return append(seen, uint16(l.Confirmed()))
	}
	want := play(left, func() {})
	once := guesses
	require.Positive(t, once, "the match must hold guesses, else looking cannot spoil one")
	require.Equal(t, want, play(looked, look))
	require.Equal(t, 2*once, guesses, "looking asked the predictor")
}

func TestAGuessComesFromTheNewestInputBeforeIt(t *testing.T) {
	l := newLog(t, 1, 16)
	confirm(t, l, 0, 2, 2)
	confirm(t, l, 0, 9, 9)
	confirm(t, l, 0, 5, 5) // the last to arrive, and not the newest
	for tick, want := range []uint16{0, 0, 2, 2, 2, 5, 5, 5, 5, 9, 9, 9} {
		require.Equal(t, []uint16{want}, inputs(t, l, driftback.Tick(tick)), "tick %d", tick)
	}
	// The control: after 5 has really arrived last, repeating the last arrival or the
	// newest of all would both have been another guess for tick 3.
	requirePeek(t, l, 0, 3, "2 guessed")
	require.True(t, confirm(t, l, 0, 3, 9))
	require.Equal(t, []uint16{9}, inputs(t, l, 4))
}

func TestThePredictorSeesHowOldTheInputIs(t *testing.T) {
	type asked struct {
		last uint16
		age  int
	}
	var got []asked
	l, err := inputlog.New(inputlog.Config[uint16]{Participants: 2, Depth: 4, Predict: func(last uint16, age int) uint16 {
		got = append(got, asked{last, age})
		return 100*last + uint16(age)
	}})
	require.NoError(t, err)
	for tick := range driftback.Tick(4) {
		confirm(t, l, 0, tick, 1)
	}
	require.Equal(t, []uint16{1, 3}, inputs(t, l, 2), "before anything is confirmed the newest is the zero input of tick -1")
	confirm(t, l, 1, 0, 8)
	require.Equal(t, []uint16{1, 802}, inputs(t, l, 2))
	confirm(t, l, 1, 3, 9)
	confirm(t, l, 1, 1, 7)
	require.Equal(t, []uint16{1, 701}, inputs(t, l, 2))
	l.Forget(2)
	require.Equal(t, []uint16{1, 701}, inputs(t, l, 2), "what has been forgotten still guides the guess at the window's edge")
	require.Equal(t, []asked{{0, 3}, {8, 2}, {7, 1}, {7, 1}}, got)
}

// A key held from the first tick on must not part the worlds: the ticks before an
// input delay are neutral for everybody, so nobody guesses them.
func TestTicksBeforeTheInputDelayAreConfirmedNeutral(t *testing.T) {
	l := newLog(t, 2, 8, 2, 3)
	require.Equal(t, driftback.Tick(2), l.ConfirmedOf(0))
	require.Equal(t, driftback.Tick(3), l.ConfirmedOf(1))
	require.Equal(t, driftback.Tick(2), l.Confirmed())
	requirePeek(t, l, 0, 1, "0 confirmed")
	requirePeek(t, l, 0, 2, "unknown")
	require.False(t, confirm(t, l, 0, 2, 9), "the held key begins after the delay")
	require.Equal(t, []uint16{0, 0}, inputs(t, l, 0))
	require.Equal(t, []uint16{9, 0}, inputs(t, l, 2))
	require.Equal(t, driftback.Tick(3), l.Confirmed())

	// The control: an input before the delay is not taken for a late one.
	_, err := l.Confirm(0, 1, 9)
	require.ErrorIs(t, err, inputlog.ErrConflict)
	// And without neutral ticks the same key is guessed back to tick 0.
	bare := newLog(t, 2, 8)
	confirm(t, bare, 1, 0, 9)
	require.Equal(t, []uint16{0, 9}, inputs(t, bare, 1))
	require.Zero(t, bare.Confirmed())

	whole := newLog(t, 2, 8, 8, 8)
	require.Equal(t, driftback.Tick(8), whole.Confirmed(), "as long as the window is allowed")
	whole.Forget(8)
	require.Equal(t, []uint16{0, 0}, inputs(t, whole, 8))
}

func TestConfirmedNeverFalls(t *testing.T) {
	l := newLog(t, 2, 4)
	was := l.Confirmed()
	require.Zero(t, was)
	for tick := range driftback.Tick(40) {
		confirm(t, l, 1, tick, uint16(tick))
		confirm(t, l, 0, tick, uint16(tick))
		require.Equal(t, tick+1, l.Confirmed())
		l.Forget(tick - 1)
		require.Equal(t, tick+1, l.Confirmed(), "forgetting is not un-confirming")
		l.Forget(tick + 100)
		require.Equal(t, tick+1, l.Confirmed())
		oldest, _ := l.Window()
		require.Equal(t, tick+1, oldest, "the window stops where something is still to come")
		l.Forget(0)
		again, _ := l.Window()
		require.Equal(t, oldest, again, "it never moves back")
	}
	require.Equal(t, driftback.Tick(40), l.ConfirmedOf(0))
	// The control: an input still missing holds it back.
	confirm(t, l, 0, 40, 1)
	confirm(t, l, 1, 41, 1)
	require.Equal(t, driftback.Tick(40), l.Confirmed())
	require.Equal(t, driftback.Tick(40), l.ConfirmedOf(1))
	confirm(t, l, 1, 40, 1)
	require.Equal(t, driftback.Tick(41), l.Confirmed())
	require.Equal(t, driftback.Tick(42), l.ConfirmedOf(1), "the one that had come early counts now")
}

// A link that repeats itself sends inputs again long after they have been used and
// forgotten. None of that may stop the match.
func TestARedundantCopyOfAnAppliedInputIsIgnored(t *testing.T) {
	l := newLog(t, 1, 4)
	for tick := range driftback.Tick(10) {
		inputs(t, l, tick)
		confirm(t, l, 0, tick, uint16(tick))
		l.Forget(tick - 1)
	}
	for tick := range driftback.Tick(10) {
		require.False(t, confirm(t, l, 0, tick, uint16(tick)), "tick %d", tick)
	}
	require.False(t, confirm(t, l, 0, 3, 999), "forgotten, so there is nothing left to compare it with")
	require.Equal(t, driftback.Tick(10), l.Confirmed())

	// The control: a copy of one that is held is compared.
	_, err := l.Confirm(0, 9, 999)
	require.ErrorIs(t, err, inputlog.ErrConflict)
	requirePeek(t, l, 0, 9, "9 confirmed")
}

func TestTwoDifferentInputsForOneTickAreAConflict(t *testing.T) {
	l := newLog(t, 2, 4)
	confirm(t, l, 1, 2, 7)
	changed, err := l.Confirm(1, 2, 8)
	require.False(t, changed)
	var conflict *inputlog.ConflictError[uint16]
	require.True(t, errors.As(err, &conflict))
	require.Equal(t, inputlog.ConflictError[uint16]{Participant: 1, Tick: 2, Had: 7, Got: 8}, *conflict)
	require.ErrorIs(t, err, inputlog.ErrConflict)
	require.EqualError(t, err, "inputlog: two different inputs for one tick: participant 1 gave 8 for tick 2, where 7 is confirmed; the first one stays")
	requirePeek(t, l, 1, 2, "7 confirmed")
	require.False(t, confirm(t, l, 1, 2, 7), "the same again is no conflict")
}

func TestAnUnknownParticipantIsRefused(t *testing.T) {
	l := newLog(t, 2, 4)
	for _, p := range []driftback.Participant{2, 15, 16, 255} {
		_, err := l.Confirm(p, 0, 1)
		require.ErrorIs(t, err, inputlog.ErrNoParticipant)
		require.EqualError(t, err, fmt.Sprintf("inputlog: no such participant: participant %d of 2, counted from 0", p))
		require.Zero(t, l.ConfirmedOf(p))
		requirePeek(t, l, p, 0, "unknown")
	}
	require.Equal(t, []uint16{0, 0}, inputs(t, l, 0))
}

func TestInputsWantsOneElementForEachParticipant(t *testing.T) {
	l := newLog(t, 2, 4)
	for _, n := range []int{0, 1, 3} {
		err := l.Inputs(0, make([]uint16, n))
		require.EqualError(t, err, fmt.Sprintf("inputlog: dst has room for %d inputs; it must have one for each of 2 participants", n))
	}
	requirePeek(t, l, 0, 0, "unknown") // no guess was stored on the way
}

func TestAllSixteenParticipantsAreHeld(t *testing.T) {
	l := newLog(t, driftback.MaxParticipants, 4)
	for p := range driftback.Participant(driftback.MaxParticipants) {
		require.Zero(t, l.Confirmed())
		confirm(t, l, p, 0, uint16(p)+1)
	}
	require.Equal(t, driftback.Tick(1), l.Confirmed())
	require.Equal(t, []uint16{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}, inputs(t, l, 0))
	require.Equal(t, inputs(t, l, 0), inputs(t, l, 1))
}

func TestAWarmLogDoesNotAllocate(t *testing.T) {
	l, err := inputlog.New(inputlog.Config[[4]uint16]{Participants: 2, Depth: 8})
	require.NoError(t, err)
	dst := make([][4]uint16, 2)
	tick, failed := driftback.Tick(0), 0
	play := func() {
		_, err := l.Confirm(0, tick, [4]uint16{uint16(tick)})
		if err != nil || l.Inputs(tick, dst) != nil {
			failed++
		}
		if late := tick - 3; late >= 0 {
			if _, err = l.Confirm(1, late, [4]uint16{uint16(tick)}); err != nil || l.Inputs(late, dst) != nil {
				failed++
			}
		}
		tick++
		l.Forget(l.Confirmed())
	}
	require.Zero(t, testing.AllocsPerRun(1000, play))
	require.Zero(t, failed)
	require.Equal(t, driftback.Tick(1001-3), l.Confirmed(), "the inputs went in, late ones and all")
}
