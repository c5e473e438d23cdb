package command

import (
	"fmt"
	"strings"
	"time"

	"github.com/driftback/driftback/simtest"
	"github.com/driftback/driftback/simtest/soak"
)

// simText says what many seeds were.
func (j *job) simText(s *soak.Summary) string {
	var b strings.Builder
	times := "once"
	if s.Twice {
		times = "twice"
	}
	fmt.Fprintf(&b, "%s of %s%s, each played %s, %d at once, commit %s: %s.\n",
		count(s.Matches, "match"), j.game.name, shapeText(s.Shape), times, s.Parallel, commitText(), ended(s))
	if s.Matches == 0 {
		return b.String()
	}
	fmt.Fprintf(&b, "They are %s of play, simulated in %s. One minute of first plays simulates %s, and of those between two peers %s.\n",
		span(s.All.Simulated), span(s.Wall), span(s.All.PerMinute(s.Parallel)), span(s.TwoPeers.PerMinute(s.Parallel)))
	fmt.Fprintf(&b, "There were %d events, %d rollbacks (the deepest of %d ticks), %d stalls and %d effects undone; of %d datagrams %d were lost and %d blocked.\n",
		s.Events, s.Rollbacks, s.Deepest, s.Stalls, s.Undone, s.Datagrams, s.Lost, s.Blocked)
	if s.Views > 0 {
		fmt.Fprintf(&b, "In %s survivors went on without somebody, %d times altogether.\n", count(s.ViewMatches, "match"), s.Views)
	}
	if s.Shape.Adapt {
		fmt.Fprintf(&b, "Input delays adapted %d times, %s were left out and %d added for pace, and in %s all had to come to predict equally many.\n",
			s.Adaptations, count(s.LeftOut, "tick"), s.RanExtra, count(s.Even, "match"))
	}
	if len(s.Faults) > 0 {
		b.WriteString("Faults that happened, of those planned: ")
		for i, f := range s.Faults {
			if i > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, "%s %d of %d", f.Kind, f.Happened, f.Planned)
		}
		b.WriteString(".\n")
	}
	if len(s.Buggified) > 0 {
		times := uint64(0)
		for _, c := range s.Buggified {
			times += c.Fired
		}
		fmt.Fprintf(&b, "Rare paths of the engine were forced %d times in %s.\n", times, count(uint64(len(s.Buggified)), "place"))
	}
	switch {
	case s.Compared < s.Matches:
		fmt.Fprintf(&b, "Among the first %d matches %d were different from all others.\n", s.Compared, s.Traces)
	case s.Traces == s.Matches:
		b.WriteString("No two matches were the same.\n")
	default:
		fmt.Fprintf(&b, "Only %d of them were different matches.\n", s.Traces)
	}
	if s.Vacuous > 0 {
		fmt.Fprintf(&b, "%s proved little; the first is that of seed %d: %s.\n",
			count(s.Vacuous, "match"), s.VacuousSeed, strings.Join(s.VacuousWhy, "; "))
	}
	if s.Failed == 0 {
		b.WriteString("No rule was broken.\n")
		return b.String()
	}
	fmt.Fprintf(&b, "%s failed.\n", count(s.Failed, "seed"))
	for i := range s.Failures {
		j.failureText(&b, &s.Failures[i], shapeFlags(s.Shape))
	}
	if more := s.Failed - uint64(len(s.Failures)); more > 0 {
		fmt.Fprintf(&b, "\nand %s more\n", count(more, "seed"))
	}
	return b.String()
}

// shapeText says what the matches were to have in common.
func shapeText(shape simtest.Shape) string {
	var list []string
	if shape.Players > 0 {
		list = append(list, count(uint64(shape.Players), "player"))
	}
	if shape.Ticks > 0 {
		list = append(list, fmt.Sprintf("at least %s", count(uint64(shape.Ticks), "tick")))
	}
	if shape.Returns {
		list = append(list, "peers that come back")
	}
	if shape.Adapt {
		list = append(list, "delays that adapt or peers that keep pace")
	}
	if len(list) == 0 {
		return ""
	}
	return " with " + strings.Join(list, " and ")
}

// shapeFlags returns the flags that ask for it.
func shapeFlags(shape simtest.Shape) (flags string) {
	if shape.Players > 0 {
		flags += fmt.Sprintf(" -players %d", shape.Players)
	}
	if shape.Ticks > 0 {
		flags += fmt.Sprintf(" -ticks %d", shape.Ticks)
	}
	if shape.Returns {
		flags += " -returns"
	}
	if shape.Adapt {
		flags += " -adapt"
	}
	return flags
}

// ended says which seeds were played and why no others.
func ended(s *soak.Summary) string {
	which := "none"
	switch {
	case s.Matches == 1:
		which = fmt.Sprintf("seed %d", s.First)
	case s.Matches > 1:
		which = fmt.Sprintf("seeds %d to %d", s.First, s.First+s.Matches-1)
	}
	rest := ""
	if s.Asked > s.Matches {
		rest = fmt.Sprintf(" of %d", s.Asked)
	}
	switch s.Ended {
	case soak.RangeDone, soak.Refused:
	case soak.TimeUp:
		return which + rest + ", then the time was used up"
	case soak.Failed:
		return which + rest + ", then a rule was broken"
	case soak.Interrupted:
		return which + rest + ", cut short by an interrupt"
	}
	return which
}

func (j *job) failureText(b *strings.Builder, f *soak.Failure, flags string) {
	fmt.Fprintf(b, "\nSeed %d, commit %s", f.Seed, f.Commit)
	if f.Violation == nil {
		fmt.Fprintf(b, " panicked: %v\n%s", f.Panic.Value, f.Panic.Stack)
	} else {
		fmt.Fprintf(b, ", trace %s, breaks a rule:\n", trace(f.Trace))
		violationText(b, f.Violation)
	}
	if f.Whole == "" {
		fmt.Fprintf(b, "  scenario:  not kept; -seeds %d%s plays it again\n", f.Seed, flags)
		return
	}
	fmt.Fprintf(b, "  scenario:  %s\n", f.Whole)
	if f.Small != nil {
		fmt.Fprintf(b, "  shrunk to: %s (%s)\n", f.Shrunk, sizeText(f.Small))
	} else {
		fmt.Fprintf(b, "  not shrunk: %s\n", f.Why)
	}
	fmt.Fprintf(b, "  replay:    %s\n", j.replayLine(f.File()))
	aloneText(b, f.Alone)
}

// aloneText says what the step shows without a network, if it shows something.
func aloneText(b *strings.Builder, f *simtest.Finding) {
	if f != nil {
		fmt.Fprintf(b, "  without a network: %v\n", f)
	}
}

// violationText says all there is to say of a violation.
func violationText(b *strings.Builder, v *simtest.Violation) {
	fmt.Fprintf(b, "  rule:      %s\n", v.Rule)
	fmt.Fprintf(b, "  at:        event %d, %v, peer %d, tick %d\n", v.Event, v.Time, v.Peer, v.Tick)
	fmt.Fprintf(b, "  found:     %s\n", v.Detail)
	if v.Different {
		fmt.Fprintf(b, "  differs:   %s, which is %s in truth and %s here\n", v.Difference.Path, v.Difference.A, v.Difference.B)
	}
	if v.Field != "" {
		fmt.Fprintf(b, "  in field:  %s\n", v.Field)
	}
}

func (j *job) replayText(name string, s *simtest.Scenario, r *simtest.Report, f *simtest.Finding) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s of seed %d), played twice as %s, commit %s, trace %s, ",
		name, sizeText(s), s.Seed, j.game.name, commitText(), trace(r.Trace))
	if r.Violation != nil {
		b.WriteString("breaks a rule:\n")
		violationText(&b, r.Violation)
		aloneText(&b, f)
	} else {
		b.WriteString("breaks no rule.\n")
		if f != nil {
			b.WriteString("But its step, alone, shows a mistake, and another play may break one:\n")
			aloneText(&b, f)
		}
	}
	fmt.Fprintf(&b, "In it: %s.\n", r)
	for _, why := range r.Vacuous {
		fmt.Fprintf(&b, "It proves little: %s.\n", why)
	}
	return b.String()
}

func (j *job) shrinkText(name, to string, s, small *simtest.Scenario, r *simtest.Report) string {
	var b strings.Builder
	if r.Violation == nil {
		fmt.Fprintf(&b, "%s (%s), played as %s, commit %s, breaks no rule, so there is nothing to shrink.\n",
			name, sizeText(s), j.game.name, commitText())
		return b.String()
	}
	fmt.Fprintf(&b, "%s was %s and is now %s, played as %s, commit %s, and still breaks its rule:\n",
		name, sizeText(s), sizeText(small), j.game.name, commitText())
	violationText(&b, r.Violation)
	fmt.Fprintf(&b, "  written:   %s\n  replay:    %s\n", to, j.replayLine(to))
	return b.String()
}

// replayLine returns the command line that replays a file.
func (j *job) replayLine(file string) string {
	return j.again + " '" + file + "'"
}

func sizeText(s *simtest.Scenario) string {
	return fmt.Sprintf("%s, %s, %s, %s, %s",
		count(uint64(s.Ticks), "tick"), count(uint64(len(s.Peers)), "peer"), count(uint64(len(s.Links)), "bad link"),
		count(uint64(len(s.Faults)), "fault"), count(uint64(len(s.Cuts)), "cut"))
}

// count returns a number and what it counts.
func count(n uint64, what string) string {
	switch {
	case n == 1:
	case strings.HasSuffix(what, "ch"):
		what += "es"
	default:
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

// span returns a length of time for a person.
func span(d time.Duration) string {
	switch {
	case d >= time.Hour:
		return fmt.Sprintf("%.1f h", d.Hours())
	case d >= time.Minute:
		return fmt.Sprintf("%.1f min", d.Minutes())
	}
	return fmt.Sprintf("%.1f s", d.Seconds())
}
