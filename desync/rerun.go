package desync

import (
	"bytes"
	"encoding"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/zeebo/xxh3"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/layout"
)

// ErrNotRun is wrapped by every error of [Rerun]: the ticks of a report could not be run, by this
// program at least. The error says why.
var ErrNotRun = errors.New("desync: the ticks cannot be run again")

const (
	// mostRuns is how often the ticks are run. A step that is not pure may come to the same by chance: what
	// ranges over a map of two keys begins with the same one most times.
	mostRuns = 64
	// leastRuns is how often they are run at least, where they are so many, or the state is so large,
	// that mostRuns were more than manyTicks or manyBytes.
	leastRuns = 4
	manyTicks = 4096
	manyBytes = 1 << 30
)

// runs returns how often the ticks are run.
func (r *Report) runs() int {
	return max(leastRuns, min(mostRuns, manyTicks/int(r.End-r.Start), manyBytes/(len(r.Before)+1)))
}

// Outcome is what this program comes to where a report's peers differ.
type Outcome struct {
	// Start and End are the report's: ticks Start to before End were run.
	Start, End driftback.Tick
	// Runs is how often they were run.
	Runs int
	// Sum is the fingerprint of what the first run came to.
	Sum fingerprint.Sum
	// Ours says that it is the state of the peer that wrote the report, and Theirs, if the other
	// one's fingerprint is known, that it is the other one's.
	Ours, TheirsKnown, Theirs bool
	// Steady says that all runs came to the same.
	Steady bool
	// Fields are those in which the state of the peer that wrote the report, A, and that of the first run, B,
	// differ; Unsteady those in which two runs do.
	Fields, Unsteady []fingerprint.Difference
}

// Rerun runs the ticks between the report's two states again, several times, with the game's
// own step. Its states and inputs must be of the same types as those of the program that wrote the report, which
// is found out by their layouts. The report is nothing to be trusted, so a step that panics is an
// error too; but a step that never returns hangs.
func Rerun[S any, I comparable](r *Report, step driftback.Step[S, I]) (*Outcome, error) {
	o, err := rerun(r, step)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotRun, err)
	}
	return o, nil
}

func rerun[S any, I comparable](r *Report, step driftback.Step[S, I]) (*Outcome, error) {
	if err := r.runnable(); err != nil {
		return nil, err
	}
	g, err := newRunner(r, step)
	if err != nil {
		return nil, err
	}
	o := &Outcome{Start: r.Start, End: r.End, Runs: r.runs(), Steady: true}
	var first []byte
	for i := range o.Runs {
		b, err := g.run()
		switch {
		case err != nil:
			return nil, err
		case i == 0:
			first = bytes.Clone(b)
		case o.Steady && !bytes.Equal(first, b):
			o.Steady, o.Unsteady = false, g.differences(first, b)
		}
	}
	o.Sum = fingerprint.Sum(xxh3.Hash(first))
	o.Ours = bytes.Equal(first, r.After)
	if theirs, ok := r.theirs(r.End); ok {
		o.TheirsKnown, o.Theirs = true, o.Sum == theirs
	}
	if !o.Ours {
		o.Fields = g.differences(r.After, first)
	}
	return o, nil
}

// theirs returns the other peer's fingerprint of the state as tick t began.
func (r *Report) theirs(t driftback.Tick) (sum fingerprint.Sum, ok bool) {
	if t == r.Found {
		return r.Theirs, true
	}
	for _, p := range r.Roots {
		if p.Tick == t && p.TheirsKnown {
			return fingerprint.Sum(p.Theirs), true
		}
	}
	return 0, false
}

// runnable returns what the report lacks for a run.
func (r *Report) runnable() error {
	switch {
	case r.Before == nil:
		return errors.New("the report has no state to begin with")
	case r.After == nil:
		return errors.New("the report has no state to compare with")
	case len(r.Inputs) == 0 || r.Inputs[0].Tick > r.Start || r.Inputs[len(r.Inputs)-1].Tick < r.End-1:
		return fmt.Errorf("the report has not the inputs of all ticks from %d to %d", r.Start, r.End-1)
	}
	return nil
}

// runner runs the ticks of one report.
type runner[S any, I comparable] struct {
	report *Report
	step   driftback.Step[S, I]
	states *layout.Layout[S] // nil: a state has bytes of its own
	inputs []I               // of all ticks from the report's Start on, those of each together
	pass   driftback.Pass
}

func newRunner[S any, I comparable](r *Report, step driftback.Step[S, I]) (*runner[S, I], error) {
	g := &runner[S, I]{report: r, step: step}
	hash := uint64(0)
	if l, err := layout.Of[S](); err == nil {
		g.states, hash = l, l.Hash()
	} else if _, ok := any((*S)(nil)).(encoding.BinaryAppender); !ok || !fingerprint.Fillable[S]() {
		return nil, fmt.Errorf("a state cannot be made of its bytes: it needs UnmarshalBinary beside AppendBinary: %w", err)
	}
	inputs, err := layout.OfInput[I]()
	switch {
	case err != nil:
		return nil, err
	case hash != r.StateLayout:
		return nil, fmt.Errorf("the state of this program has other fields: its layout is %s, and the report's %s; use the program of build %q",
			layoutText(hash), layoutText(r.StateLayout), r.Build)
	case inputs.Hash() != r.InputLayout || inputs.Size() != r.InputSize:
		return nil, fmt.Errorf("the input of this program has other fields: its layout is %s, of %d bytes, and the report's %s, of %d; use the program of build %q",
			layoutText(inputs.Hash()), inputs.Size(), layoutText(r.InputLayout), r.InputSize, r.Build)
	}
	for _, tick := range r.between() {
		for p, given := range tick.Given {
			var in I
			if err := inputs.Parse(given.Input, &in); err != nil {
				return nil, fmt.Errorf("the input of participant %d for tick %d: %w", p, tick.Tick, err)
			}
			g.inputs = append(g.inputs, in)
		}
	}
	return g, nil
}

func layoutText(hash uint64) string {
	if hash == 0 {
		return "its own bytes"
	}
	return fmt.Sprintf("%016x", hash)
}

// between returns the inputs of the ticks that are run.
func (r *Report) between() []Inputs {
	first := int(r.Start - r.Inputs[0].Tick)
	return r.Inputs[first:][:r.End-r.Start]
}

// run runs the ticks once and returns the bytes of the state that it comes to.
func (g *runner[S, I]) run() ([]byte, error) {
	s := new(S)
	if err := g.fill(s); err != nil {
		return nil, err
	}
	in, players := g.inputs, len(g.report.Players)
	for _, tick := range g.report.between() {
		// A step may write to what it is given, and must not reach the next run with it.
		now := append([]I(nil), in[:players]...)
		in = in[players:]
		if tick.Paused {
			continue
		}
		statuses := make([]driftback.Status, players)
		for p, given := range tick.Given {
			statuses[p] = given.Status
		}
		g.pass.Begin(tick.Tick, statuses)
		if err := g.guarded(tick.Tick, s, now); err != nil {
			return nil, err
		}
	}
	return g.bytes(s)
}

// fill makes the state to begin with. What its bytes do not bring back is no state to run from.
func (g *runner[S, I]) fill(s *S) error {
	before := g.report.Before
	if err := fingerprint.Fill(io.NewSectionReader(bytes.NewReader(before), 0, int64(len(before))), s); err != nil {
		return fmt.Errorf("the state of tick %d cannot be made of its bytes: %w", g.report.Start, err)
	}
	b, err := g.bytes(s)
	if err == nil && !bytes.Equal(b, before) {
		return fmt.Errorf("the state's UnmarshalBinary does not bring back what its AppendBinary writes: the state of tick %d has other bytes afterwards", g.report.Start)
	}
	return err
}

func (g *runner[S, I]) bytes(s *S) ([]byte, error) {
	if g.states != nil {
		return g.states.Append(nil, s), nil
	}
	b, err := any(s).(encoding.BinaryAppender).AppendBinary(nil)
	if err != nil {
		return nil, fmt.Errorf("the state's AppendBinary: %w", err)
	}
	return b, nil
}

// guarded calls the step.
func (g *runner[S, I]) guarded(t driftback.Tick, s *S, in []I) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the step panics in tick %d: %v", t, v)
		}
	}()
	g.step(s, in, &g.pass)
	return nil
}

// differences returns the fields in which two states differ.
func (g *runner[S, I]) differences(a, b []byte) []fingerprint.Difference {
	h, err := fingerprint.New[S]()
	if err != nil {
		return nil
	}
	return h.DiffBytes(nil, a, b)
}

// Text returns what the outcome means, as lines: r is the report of which it is.
func (o *Outcome) Text(r *Report) string {
	var b strings.Builder
	ticks := fmt.Sprintf("tick %d", o.Start)
	if o.End > o.Start+1 {
		ticks = fmt.Sprintf("ticks %d to %d", o.Start, o.End-1)
	}
	fmt.Fprintf(&b, "%s run again here (%s), %d times, from the state and the inputs of peer %d:\n", strings.ToUpper(ticks[:1])+ticks[1:], Platform(), o.Runs, r.Self)
	switch {
	case !o.Steady:
		b.WriteString("  The runs do not come to the same: the step is not pure, and here it is seen. What two runs come to:\n")
		table(&b, o.Unsteady, "one run", "another")
		b.WriteString("  Look for what the step reads besides state and inputs: detlint names most of it (docs/detlint.md).\n")
	case o.Ours:
		fmt.Fprintf(&b, "  They come to what peer %d had. So this program, on this machine, does as peer %d did, and what peer %d did is not in it: run the file of peer %d on its machine.\n",
			r.Self, r.Self, r.Peer, r.Peer)
	case o.Theirs:
		fmt.Fprintf(&b, "  They come to what peer %d had, and not to what peer %d had: what made the difference happened at peer %d, in its program, on its machine, or outside of the step.\n",
			r.Peer, r.Self, r.Self)
		table(&b, o.Fields, fmt.Sprintf("peer %d had", r.Self), "run again")
	default:
		fmt.Fprintf(&b, "  They come to neither what peer %d nor what peer %d had%s: this program is another one than theirs.\n", r.Self, r.Peer, map[bool]string{false: ", as far as is known"}[o.TheirsKnown])
		table(&b, o.Fields, fmt.Sprintf("peer %d had", r.Self), "run again")
	}
	return b.String()
}
