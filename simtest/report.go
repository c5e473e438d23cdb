package simtest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/buggify"
	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/mesh"
)

// Rule is one thing that must hold after every event, in a sentence.
type Rule string

// The rules.
const (
	RuleState       Rule = "a confirmed state is that of one simulation which is given every input on time"
	RulePure        Rule = "a step that is run again with the same inputs gives the same state"
	RuleInput       Rule = "a confirmed input is what its participant pressed for that tick"
	RuleMonotonic   Rule = "what is confirmed is never taken back, and ticks run one after the other"
	RuleWindow      Rule = "no more ticks are predicted, run again or left uncompared than the bounds allow"
	RuleEnd         Rule = "a match ends only when it is finished or for a cause that was planted"
	RuleCause       Rule = "a planted cause ends the match as it must"
	RuleFingerprint Rule = "a due fingerprint is that of the true state, and all peers agree on it soon"
	RuleEffects     Rule = "the effects that happened and were not undone are those of one simulation, each once"
	RuleConfirmed   Rule = "confirmed effects are told once, in order, as soon as their tick is confirmed"
	RuleProgress    Rule = "once faults have ended, every peer goes on to the end"
	RuleHonest      Rule = "honest peers refuse nothing of each other's"
	RuleHostile     Rule = "what a hostile peer sends is dropped and counted, or ends the match with the evidence"
	RuleInternal    Rule = "nothing that happens makes a session panic or break an invariant of its own"
	RuleRun         Rule = "a tick was last run on the inputs that are known of it"
	RuleGuess       Rule = "a missing input is guessed from the newest one that is confirmed before its tick"
	RuleThrift      Rule = "no tick waits or is run again without need, and no more is sent than the bounds allow"
	RuleWorkload    Rule = "the game's Valid knows every input of its own workload"
	RuleView        Rule = "survivors of one view cut the same participants at the same ticks, with a majority, and nobody goes on outside of it"
	RuleReturn      Rule = "who comes back sees what one simulation plays, plays from the tick on which all agree, and does so soon or ends by name"
	RuleMessage     Rule = "what a game sends arrives once, in order and unaltered, or where a link was down not at all"
	RuleWatch       Rule = "who watches sees what one simulation plays: its states, statuses, pauses and effects"
	RuleWatchEnd    Rule = "who watches goes on once faults have ended, and ends with the match, or by name for a cause"
	RuleAloof       Rule = "players play as if nobody watched"
	RuleDelay       Rule = "an input delay that adapts keeps within its bounds, moves little and seldom, and whoever plays is told of each change"
	RulePace        Rule = "the advice about a peer's pace keeps within its bounds, and where all follow it they come to predict equally many ticks"
	RuleDesync      Rule = "peers whose worlds differ say so truly: the first tick at which they do, and the fields, where nothing keeps them from that"
	RuleReplay      Rule = "the same scenario gives the same events"
)

// Rules lists every rule.
var Rules = [...]Rule{
	RuleState, RulePure, RuleInput, RuleMonotonic, RuleWindow, RuleEnd, RuleCause, RuleFingerprint,
	RuleEffects, RuleConfirmed, RuleProgress, RuleHonest, RuleHostile, RuleInternal, RuleRun, RuleGuess, RuleThrift,
	RuleWorkload, RuleView, RuleReturn, RuleMessage, RuleWatch, RuleWatchEnd, RuleAloof, RuleDelay, RulePace, RuleDesync, RuleReplay,
}

// Violation is a rule that did not hold.
type Violation struct {
	Rule Rule
	// Event is the number of the event after which it did not, Time the virtual time.
	Event int
	Time  time.Duration
	Peer  driftback.Peer
	// Tick is the one in question, or the peer's next.
	Tick driftback.Tick
	// Detail says what was found.
	Detail string
	// Difference is the first field that differs, A in the true state and B in the
	// peer's, where Different.
	Different  bool
	Difference fingerprint.Difference
	// Field says in which field of the state the first difference is, with both values, where
	// Difference is one between the bytes of its AppendBinary; it may be one that these leave out.
	Field string

	place string // where a panic began
}

func (v *Violation) Error() string {
	text := fmt.Sprintf("simtest: broken: %s: peer %d, tick %d, after event %d at %v: %s",
		v.Rule, v.Peer, v.Tick, v.Event, v.Time, v.Detail)
	if v.Different {
		text += fmt.Sprintf("; %s: %s in truth and %s here%s", firstThat(v.Difference), v.Difference.A, v.Difference.B, andField(v.Field))
	}
	return text
}

// FaultCount says how many faults of one kind a scenario had and how many of them
// really happened: lost a datagram, skipped a frame, …
type FaultCount struct {
	Kind              Kind
	Planned, Happened int
}

// SiteCount says how often a rare path was forced inside the engine, by all peers
// together.
type SiteCount struct {
	Site  buggify.Site
	Fired uint64
}

// buggified counts the rare paths that were forced.
func (m *match[S, I]) buggified() (list []SiteCount) {
	for site := range buggify.Site(buggify.Count) {
		c := SiteCount{Site: site}
		for _, p := range m.peers {
			c.Fired += p.sites.Fired(site)
		}
		if c.Fired > 0 {
			list = append(list, c)
		}
	}
	return list
}

// forced returns how often rare paths were forced altogether.
func (r *Report) forced() (n uint64) {
	for _, c := range r.Buggified {
		n += c.Fired
	}
	return n
}

// Report is what one match was.
type Report struct {
	// Trace is a hash of every event, of every byte sent and of what came of it. Equal
	// plays have equal traces.
	Trace uint64
	// Violation is the first rule that did not hold, or nil.
	Violation *Violation
	// Vacuous says, in sentences, what makes the match prove little.
	Vacuous []string
	// Faults has the kinds that the scenario has, in the order of Kinds.
	Faults []FaultCount
	// Buggified has the sites that fired, in the order of package buggify.
	Buggified []SiteCount

	Events    int
	Simulated time.Duration
	// Confirmed is the first tick that the slowest peer has not confirmed.
	Confirmed driftback.Tick
	// Rollbacks, Resimulated, Deepest and Stalls are of all peers together; Deepest is
	// the longest of all.
	Rollbacks, Resimulated, Stalls uint64
	Deepest                        int
	// Undone counts effects that were guessed and taken back, Moved those that were moved
	// by no more than is tolerated, and not told again.
	Undone, Moved uint64
	// Explained is how many peers have said exactly where, and in which fields, their worlds differ from others'.
	Explained int
	// Views is how often survivors have agreed to go on without somebody.
	Views int
	// Adaptations is how often input delays have adapted, LeftOut and RanExtra in how many frames
	// peers that keep pace ran no tick and two. Even: the match was so long and calm that all
	// who keep pace had to come to predict equally many ticks.
	Adaptations, LeftOut, RanExtra uint64
	Even                           bool
	// Refused counts what the peers have dropped, by reason.
	Refused [mesh.Refusals]uint64
	// Datagrams counts what was sent, Lost and Blocked what never arrived.
	Datagrams, Lost, Blocked uint64
	// Peers has each peer's own figures, by number.
	Peers []PeerReport
	// Watchers has what each that watches has seen.
	Watchers []WatcherReport

	players trace // of those who play alone
}

// report sums the match up.
func (m *match[S, I]) report() Report {
	r := Report{
		Trace: uint64(m.trace), players: m.trace, Violation: m.violation, Events: m.events, Simulated: m.ended,
		Confirmed: driftback.Tick(m.s.Ticks), Undone: m.undone, Moved: m.moved, Explained: m.explained,
		Views: m.newest().number, Adaptations: m.adaptations, LeftOut: m.leftOut, RanExtra: m.ranExtra, Even: m.evened,
	}
	for _, p := range m.peers {
		one := m.allOf(p)
		r.Peers = append(r.Peers, one)
		r.Rollbacks += one.Rollbacks
		r.Resimulated += one.Resimulated
		r.Deepest = max(r.Deepest, one.Depth(100))
		r.Stalls += one.Stalls
		for why, n := range p.refused {
			r.Refused[why] += n
		}
		if !p.gone && (r.Views == 0 || m.newest().members[p.self]) {
			r.Confirmed = min(r.Confirmed, p.final)
		}
		for to := range m.peers {
			l := m.net.Stats(p.self, driftback.Peer(to))
			r.Datagrams += l.Sent
			r.Lost += l.Lost
			r.Blocked += l.Blocked
		}
	}
	for _, w := range m.watchers {
		r.Watchers = append(r.Watchers, w.report())
		r.Trace ^= uint64(m.watchTrace)
	}
	r.Buggified = m.buggified()
	var begun []Kind
	r.Faults, begun = m.faultCounts()
	if m.violation != nil {
		return r // it stopped there, which proves enough
	}
	for _, c := range r.Faults {
		if c.Happened == 0 && slices.Contains(begun, c.Kind) {
			r.Vacuous = append(r.Vacuous, fmt.Sprintf("no %s happened, of %d planned", c.Kind, c.Planned))
		}
	}
	if m.starved > 0 {
		r.Vacuous = append(r.Vacuous, fmt.Sprintf("it was given up after %v in which a line that carries less than what is sent was full", m.starved.Round(time.Millisecond)))
	}
	if r.Rollbacks == 0 && m.s.needsGuesses() && !m.over {
		r.Vacuous = append(r.Vacuous, "nothing was rolled back, although the links are slow enough: does the workload press anything?")
	}
	if r.Confirmed == 0 {
		r.Vacuous = append(r.Vacuous, "no tick was confirmed")
	}
	return r
}

// faultCounts counts the scenario's faults by kind, and returns the kinds of which one had
// begun before the match was over.
func (m *match[S, I]) faultCounts() (list []FaultCount, begun []Kind) {
	for _, k := range Kinds {
		c := FaultCount{Kind: k}
		for i, f := range m.s.Faults {
			if f.Kind != k {
				continue
			}
			c.Planned++
			// What ends a match is planted, and then leaves nothing to happen to.
			if !m.over || f.At.Duration() < m.ended {
				begun = append(begun, k)
			}
			if m.happens[i] {
				c.Happened++
			}
		}
		if c.Planned > 0 {
			list = append(list, c)
		}
	}
	return list, begun
}

// String returns the report as one line of words.
func (r *Report) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v and %d events to tick %d: %d rollbacks (the deepest of %d ticks), %d stalls, %d effects undone, %d of %d datagrams lost and %d blocked",
		r.Simulated.Round(time.Millisecond), r.Events, r.Confirmed, r.Rollbacks, r.Deepest, r.Stalls, r.Undone, r.Lost, r.Datagrams, r.Blocked)
	for _, f := range r.Faults {
		fmt.Fprintf(&b, ", %s %d of %d", f.Kind, f.Happened, f.Planned)
	}
	if r.Adaptations+r.LeftOut+r.RanExtra > 0 {
		fmt.Fprintf(&b, ", delays adapted %d times, %d ticks left out and %d added for pace", r.Adaptations, r.LeftOut, r.RanExtra)
	}
	if n := r.forced(); n > 0 {
		fmt.Fprintf(&b, ", rare paths forced %d times in %d places", n, len(r.Buggified))
	}
	return b.String()
}
