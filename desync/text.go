package desync

import (
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/dispute"
	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/wire"
)

const (
	// shownFields is how many fields a sentence names, and shownTicks of how many ticks a text has the inputs at
	// most, besides those between Start and End.
	shownFields = 3
	shownTicks  = 8
	// shownRun is of how many ticks between Start and End a text has the inputs at most.
	shownRun = 64
)

// String returns one sentence: who differs from whom, at which tick and in which fields.
func (r *Report) String() string {
	text := fmt.Sprintf("%s: peers %d and %d differ as tick %d began", orUnnamed(r.Game), r.Self, r.Peer, r.Tick)
	if !r.Exact {
		text += ", or before"
	}
	for i, d := range r.Fields[:min(len(r.Fields), shownFields)] {
		text += []string{": ", ", "}[min(i, 1)] + fmt.Sprintf("%s is %s at peer %d and %s at peer %d", d.Path, d.A, r.Self, d.B, r.Peer)
	}
	if len(r.Fields) > shownFields || r.MoreFields {
		text += ", and more"
	}
	return text
}

func orUnnamed(game string) string {
	if game == "" {
		return "a game without a name"
	}
	return game
}

// Text returns all of the report that is for people, as lines. show makes text of an input's bytes; nil
// shows them in hexadecimal.
func (r *Report) Text(show func(input []byte) string) string {
	if show == nil {
		show = hex.EncodeToString
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Desync of %s: peer %d, which wrote this report, and peer %d.\n", orUnnamed(r.Game), r.Self, r.Peer)
	r.whereText(&b)
	r.fieldsText(&b)
	r.repeatsText(&b)
	r.inputsText(&b, show)
	r.rootsText(&b)
	r.whoText(&b)
	return b.String()
}

func (r *Report) whereText(b *strings.Builder) {
	b.WriteString("\nWHERE\n")
	switch {
	case r.Exact:
		fmt.Fprintf(b, "Tick %d is where they part: its end, as tick %d began, is the first that differs. All before was compared and is alike.\n", r.Tick-1, r.Tick)
	case r.Tick == r.Found:
		fmt.Fprintf(b, "They part in one of the ticks %d to %d: as tick %d began they were alike, as tick %d began they were not, and what lies between is not known of both.\n",
			r.Agreed, r.Tick-1, r.Agreed, r.Tick)
	default:
		fmt.Fprintf(b, "They part in one of the ticks %d to %d: as tick %d began they differ already, and some tick since %d could not be compared.\n",
			r.Agreed, r.Tick-1, r.Tick, r.Agreed)
	}
	fmt.Fprintf(b, "It was noticed as tick %d began, with the fingerprints %v at peer %d and %v at peer %d; those of tick %d had been alike.\n",
		r.Found, r.Ours, r.Self, r.Theirs, r.Peer, r.Agreed)
}

func (r *Report) fieldsText(b *strings.Builder) {
	b.WriteString("\nFIELDS\n")
	switch {
	case !r.Compared:
		b.WriteString("The states were not compared: one of the peers did not keep its own, or the talk was cut short.\n")
	case len(r.Fields) == 0 && r.OursSize == r.TheirsSize:
		fmt.Fprintf(b, "No field that differs as tick %d began was found: the talk was cut short, or the states are not those of the fingerprints.\n", r.At)
	default:
		fmt.Fprintf(b, "As tick %d began (%s):\n", r.At, sizes(r.OursSize, r.TheirsSize))
		table(b, r.Fields, fmt.Sprintf("peer %d", r.Self), fmt.Sprintf("peer %d", r.Peer))
		if r.MoreFields {
			b.WriteString("  and more\n")
		}
	}
}

func sizes(ours, theirs int) string {
	if ours == theirs {
		return fmt.Sprintf("the state has %d bytes", ours)
	}
	return fmt.Sprintf("the states have %d and %d bytes", ours, theirs)
}

// table writes differences in columns.
func table(b *strings.Builder, list []fingerprint.Difference, headA, headB string) {
	path, a := len("field"), len(headA)
	for _, d := range list {
		path, a = max(path, len(d.Path)), max(a, len(d.A))
	}
	const widest = 48 // a wider one moves its line's columns alone
	path, a = min(path, widest), min(a, widest)
	fmt.Fprintf(b, "  %-*s  %-*s  %s\n", path, "field", a, headA, headB)
	for _, d := range list {
		fmt.Fprintf(b, "  %-*s  %-*s  %s\n", path, d.Path, a, d.A, d.B)
	}
}

func (r *Report) repeatsText(b *strings.Builder) {
	fmt.Fprintf(b, "\nRUN AGAIN\nThe ticks %d to %d, from the state that both agree on, with the same inputs:\n", r.Agreed, r.Found-1)
	for i, peer := range []driftback.Peer{r.Self, r.Peer} {
		switch r.Repeats[i] {
		case dispute.Same:
			fmt.Fprintf(b, "  peer %d came to the same state as before.\n", peer)
		case dispute.Different:
			fmt.Fprintf(b, "  peer %d came to another state than before.\n", peer)
		case dispute.Untried:
			fmt.Fprintf(b, "  peer %d did not run them again, or its answer did not come.\n", peer)
		}
	}
	if len(r.Unrepeated) > 0 {
		fmt.Fprintf(b, "What peer %d came to as tick %d began differs from what it had:\n", r.Self, r.Found)
		table(b, r.Unrepeated, "had", "run again")
	}
	b.WriteString(r.meaning())
}

func (r *Report) inputsText(b *strings.Builder, show func(input []byte) string) {
	b.WriteString("\nINPUTS\n")
	if len(r.Inputs) == 0 {
		b.WriteString("They are not known.\n")
		return
	}
	from, to := r.Agreed, r.Found
	if r.Before != nil {
		from = r.Start
	}
	if r.After != nil {
		to = r.End
	}
	left := 0
	for _, in := range r.Inputs {
		if in.Tick < from-shownTicks || in.Tick >= max(to+shownTicks/2, r.Found) || in.Tick-from >= shownRun {
			left++
			continue
		}
		mark := " "
		if in.Tick >= from && in.Tick < to {
			mark = ">"
		}
		fmt.Fprintf(b, "%s tick %d%s\n", mark, in.Tick, tickText(&in))
		for p, g := range in.Given {
			fmt.Fprintf(b, "    participant %d: %s%s\n", p, show(g.Input), givenText(g))
		}
	}
	if left > 0 {
		fmt.Fprintf(b, "The file has those of %d more.\n", left)
	}
}

func tickText(in *Inputs) (text string) {
	if in.Paused {
		text += ", paused: the step was not called"
	}
	if in.Speed != wire.SpeedUnit {
		text += fmt.Sprintf(", at %d/%d of the speed", in.Speed, wire.SpeedUnit)
	}
	return text
}

func givenText(g Given) (text string) {
	if g.Status != driftback.Playing {
		text += ", " + g.Status.String()
	}
	if g.Entry != 0 {
		text += ", entry: " + g.Entry.String()
	}
	return text
}

func (r *Report) rootsText(b *strings.Builder) {
	if len(r.Roots) == 0 {
		return
	}
	fmt.Fprintf(b, "\nFINGERPRINTS\n  %-20s  %-16s  %s\n", "as tick began", fmt.Sprintf("peer %d", r.Self), fmt.Sprintf("peer %d", r.Peer))
	// Those around the first tick that differs, for there may be thousands.
	for _, p := range r.Roots {
		if p.Tick < r.Tick-shownTicks || p.Tick > r.Tick+shownTicks {
			continue
		}
		verdict := "not compared"
		switch {
		case p.Differ():
			verdict = "differ"
		case p.OursKnown && p.TheirsKnown:
			verdict = "alike"
		}
		fmt.Fprintf(b, "  %-20d  %-16s  %-16s  %s\n", p.Tick, sum(p.Ours, p.OursKnown), sum(p.Theirs, p.TheirsKnown), verdict)
	}
}

func sum(v uint64, known bool) string {
	if !known {
		return "not known"
	}
	return fingerprint.Sum(v).String()
}

func (r *Report) whoText(b *strings.Builder) {
	b.WriteString("\nMATCH\n")
	line := func(name, value string) {
		if value == "" {
			value = "not known"
		}
		fmt.Fprintf(b, "  %-22s  %s\n", name, value)
	}
	line("build", r.Build)
	line("platform", r.Platform)
	for p, peer := range r.Players {
		line(fmt.Sprintf("participant %d", p), fmt.Sprintf("played by peer %d", peer))
	}
	line("match", fmt.Sprintf("%016x", r.Match))
	line("seed", fmt.Sprintf("%016x", r.Seed))
	for _, s := range r.Settings {
		line(s.Name, s.Value)
	}
}
