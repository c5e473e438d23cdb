package inputlog_test

import (
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/inputlog"
)

// fault is a way to be wrong that the comparison with the model must notice.
type fault uint8

const (
	sound fault = iota
	evicts
	guessesOnReading
	keepsStaleGuesses
	guessesFromTheLastArrival
	guessesFromTheNewestOfAll
	losesTheNeutralTicks
	countsFromTickZero
	fallsBackOnForgetting
	takesTheLaterOfTwo
	callsEveryGuessWrong
	forgetsWhatIsStillToCome
)

// model is the log as one would first think of it: maps without a window's ring,
// and every answer worked out from the start.
type model struct {
	fault        fault
	participants int
	depth        driftback.Tick
	aged         bool // the predictor adds the age to the last input
	first        driftback.Tick
	oldest       driftback.Tick
	held         map[place]uint16 // everything confirmed, for ever
	guessed      map[place]uint16
	last         map[driftback.Participant]place // what arrived last
}

type place struct {
	p driftback.Participant
	t driftback.Tick
}

func newModel(c match, f fault) *model {
	m := &model{
		fault: f, participants: c.participants, depth: driftback.Tick(c.depth), aged: c.aged, first: c.first, oldest: c.first,
		held: map[place]uint16{}, guessed: map[place]uint16{}, last: map[driftback.Participant]place{},
	}
	for p, n := range c.neutral {
		for t := range driftback.Tick(n) {
			if f != losesTheNeutralTicks {
				m.held[place{driftback.Participant(p), c.first + t}] = 0
			}
		}
	}
	return m
}

func predictAged(last uint16, age int) uint16 { return last*31 + uint16(age) }

func (m *model) inside(t driftback.Tick) bool { return t >= m.oldest && t < m.oldest+m.depth }

func (m *model) confirmedOf(p driftback.Participant) driftback.Tick {
	t := m.first
	if m.fault == fallsBackOnForgetting && m.oldest > m.first {
		if _, ok := m.held[place{p, m.oldest}]; !ok {
			return m.oldest - 1
		}
	}
	for {
		if _, ok := m.held[place{p, t}]; !ok {
			return t
		}
		t++
	}
}

func (m *model) confirmed() driftback.Tick {
	least := driftback.Tick(math.MaxInt64)
	for p := range m.participants {
		least = min(least, m.confirmedOf(driftback.Participant(p)))
	}
	return least
}

// confirm returns "changed", "same", "conflict" or "outside".
func (m *model) confirm(p driftback.Participant, t driftback.Tick, in uint16) string {
	if m.fault == evicts && t >= m.oldest+m.depth {
		delete(m.held, place{p, t - m.depth})
		return "outside"
	}
	if t < 0 || t >= m.oldest+m.depth {
		return "outside"
	}
	at := place{p, t}
	if t < m.first {
		return "same" // somebody knew it, before this log was
	}
	if had, ok := m.held[at]; ok {
		if t < m.oldest || had == in {
			return "same"
		}
		if m.fault == takesTheLaterOfTwo {
			m.held[at] = in
		}
		return "conflict"
	}
	m.held[at], m.last[p] = in, at
	guess, ok := m.guessed[at]
	delete(m.guessed, at)
	if ok && (guess != in || m.fault == callsEveryGuessWrong) {
		return "changed"
	}
	return "same"
}

func (m *model) guess(p driftback.Participant, t driftback.Tick) uint16 {
	from, in := m.first-1, uint16(0)
	if m.fault == countsFromTickZero {
		from = -1
	}
	for at, held := range m.held {
		if at.p == p && at.t > from && (at.t < t || m.fault == guessesFromTheNewestOfAll) {
			from, in = at.t, held
		}
	}
	if last, ok := m.last[p]; ok && m.fault == guessesFromTheLastArrival {
		from, in = last.t, m.held[last]
	}
	if m.aged {
		return predictAged(in, int(t-from))
	}
	return in
}

func (m *model) inputs(t driftback.Tick) (in []uint16, ok bool) {
	if !m.inside(t) {
		return nil, false
	}
	for p := range driftback.Participant(m.participants) {
		at := place{p, t}
		v, held := m.held[at]
		if !held {
			v = m.guess(p, t)
			if old, had := m.guessed[at]; had && m.fault == keepsStaleGuesses {
				v = old
			}
			m.guessed[at] = v
		}
		in = append(in, v)
	}
	return in, true
}

func (m *model) peek(p driftback.Participant, t driftback.Tick) (in uint16, confirmed, ok bool) {
	if !m.inside(t) {
		return 0, false, false
	}
	at := place{p, t}
	if in, ok = m.held[at]; ok {
		return in, true, true
	}
	in, ok = m.guessed[at]
	if ok && m.fault == guessesOnReading {
		in = m.guess(p, t)
		m.guessed[at] = in
	}
	return in, false, ok
}

func (m *model) forget(before driftback.Tick) {
	if m.fault != forgetsWhatIsStillToCome {
		before = min(before, m.confirmed())
	}
	m.oldest = max(m.oldest, before)
	for at := range m.guessed {
		if at.t < m.oldest {
			delete(m.guessed, at)
		}
	}
}

// match is one thing to do with a log, from its making on.
type match struct {
	participants, depth int
	neutral             []int
	aged                bool
	first               driftback.Tick
	ops                 []op
}

type op struct {
	kind uint8 // mostly 0 to 3: confirm; 4, 5: inputs; 6: peek; 7: forget
	p    driftback.Participant
	off  driftback.Tick // from the window's oldest tick
	in   uint16
}

// firsts are ticks to begin at, up to the largest there are.
var firsts = rapid.OneOf(rapid.Just(driftback.Tick(0)), rapid.Custom(func(t *rapid.T) driftback.Tick {
	return driftback.Tick(rapid.Int64Range(0, int64(inputlog.MaxFirst)).Draw(t, "tick"))
}), rapid.Custom(func(t *rapid.T) driftback.Tick {
	return inputlog.MaxFirst - driftback.Tick(rapid.IntRange(0, 20).Draw(t, "below the largest"))
}))

var matches = rapid.Custom(func(t *rapid.T) match {
	m := match{
		participants: rapid.IntRange(1, 3).Draw(t, "participants"),
		depth:        1 << rapid.IntRange(1, 4).Draw(t, "log2 of depth"),
		aged:         rapid.Bool().Draw(t, "aged"),
	}
	if rapid.Bool().Draw(t, "delays") {
		for range m.participants {
			m.neutral = append(m.neutral, rapid.IntRange(0, min(m.depth, 3)).Draw(t, "neutral"))
		}
	}
	m.ops = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) op {
		return op{
			kind: rapid.Uint8Range(0, 7).Draw(t, "kind"),
			p:    driftback.Participant(rapid.IntRange(0, m.participants-1).Draw(t, "participant")),
			off:  driftback.Tick(rapid.IntRange(-3, m.depth+2).Draw(t, "tick")),
			in:   rapid.Uint16Range(0, 2).Draw(t, "input"),
		}
	}), 0, 80).Draw(t, "ops")
	m.first = firsts.Draw(t, "first")
	return m
})

// play does the same with a log and with a model, and returns the first difference.
func (m match) play(f fault) error {
	config := inputlog.Config[uint16]{Participants: m.participants, Depth: m.depth, Neutral: m.neutral, First: m.first}
	if m.aged {
		config.Predict = predictAged
	}
	l, err := inputlog.New(config)
	if err != nil {
		return err
	}
	model := newModel(m, f)
	for i, o := range m.ops {
		t := model.oldest + o.off
		var got, want string
		switch o.kind {
		default:
			want = model.confirm(o.p, t, o.in)
			changed, err := l.Confirm(o.p, t, o.in)
			got = outcome(changed, err)
		case 4, 5:
			in, ok := model.inputs(t)
			want = fmt.Sprint(in, ok)
			dst := make([]uint16, m.participants)
			if err := l.Inputs(t, dst); err != nil {
				dst = nil
			}
			got = fmt.Sprint(dst, dst != nil)
		case 6:
			want = fmt.Sprint(model.peek(o.p, t))
			got = fmt.Sprint(l.Peek(o.p, t))
		case 7:
			model.forget(t)
			l.Forget(t)
		}
		if got != want {
			return fmt.Errorf("op %d, %+v at tick %d: the log says %s, the model %s", i, o, t, got, want)
		}
		if err := m.compare(l, model); err != nil {
			return fmt.Errorf("after op %d, %+v at tick %d: %w", i, o, t, err)
		}
	}
	return nil
}

func outcome(changed bool, err error) string {
	switch {
	case err == nil && changed:
		return "changed"
	case err == nil:
		return "same"
	case changed:
		return "changed, and yet " + err.Error()
	}
	for _, known := range []struct {
		err  error
		word string
	}{{inputlog.ErrConflict, "conflict"}, {inputlog.ErrOutsideWindow, "outside"}} {
		if errors.Is(err, known.err) {
			return known.word
		}
	}
	return err.Error()
}

// compare looks at everything that a log shows.
func (m match) compare(l *log, model *model) error {
	oldest, end := l.Window()
	if oldest != model.oldest || end != model.oldest+model.depth {
		return fmt.Errorf("the window is [%d, %d), the model's begins at %d", oldest, end, model.oldest)
	}
	if l.Confirmed() != model.confirmed() {
		return fmt.Errorf("confirmed is %d, the model's %d", l.Confirmed(), model.confirmed())
	}
	for p := range driftback.Participant(m.participants) {
		if l.ConfirmedOf(p) != model.confirmedOf(p) {
			return fmt.Errorf("confirmed of %d is %d, the model's %d", p, l.ConfirmedOf(p), model.confirmedOf(p))
		}
		for t := oldest - 1; t <= end; t++ {
			got := fmt.Sprint(l.Peek(p, t))
			if want := fmt.Sprint(model.peek(p, t)); got != want {
				return fmt.Errorf("participant %d, tick %d: the log holds %s, the model %s", p, t, got, want)
			}
		}
	}
	return nil
}

func TestALogIsWhatOneWouldFirstThinkOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if err := matches.Draw(t, "match").play(sound); err != nil {
			t.Fatal(err)
		}
	})
}

func TestTheModelNoticesEveryPlantedFault(t *testing.T) {
	for f, name := range map[fault]string{
		evicts:                    "an input from ahead evicts one that is needed",
		guessesOnReading:          "a guess is made anew on reading",
		keepsStaleGuesses:         "a guess is kept through a re-simulation",
		guessesFromTheLastArrival: "the last arrival is repeated",
		guessesFromTheNewestOfAll: "an input is guessed from one after it",
		losesTheNeutralTicks:      "the ticks before the delay are guessed",
		countsFromTickZero:        "a guess is as old as the match and not as the log",
		fallsBackOnForgetting:     "the watermark falls when old ticks are forgotten",
		takesTheLaterOfTwo:        "a conflicting input replaces the first",
		callsEveryGuessWrong:      "a right guess is called wrong",
		forgetsWhatIsStillToCome:  "an unconfirmed tick is forgotten",
	} {
		t.Run(name, func(t *testing.T) {
			const seeds = 2000
			noticed := 0
			for seed := range seeds {
				m := matches.Example(seed)
				require.NoError(t, m.play(sound))
				if m.play(f) != nil {
					noticed++
					break
				}
			}
			require.NotZero(t, noticed, "none of %d matches noticed", seeds)
		})
	}
}
