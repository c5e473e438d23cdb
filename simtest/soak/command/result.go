package command

import (
	"encoding/json"
	"fmt"

	"github.com/driftback/driftback/simtest"
	"github.com/driftback/driftback/simtest/soak"
)

// SimResult is what -json prints of many seeds, as one object on one line. Names stay;
// more may come. Lengths of time are in seconds, and whatever is called perMinute is hours
// of simulated time in one minute of wall time. Seeds and numbers that are larger than
// 2^53 are exact: a reader that holds them as floats must see to itself.
type SimResult struct {
	Command string `json:"command"` // "sim"
	Game    string `json:"game"`
	Commit  string `json:"commit"` // "1234abcd (with changes)", or "unknown": not in a git checkout
	// FirstSeed to FirstSeed+Matches−1 were played, of Seeds that were asked for. Seeds is 0
	// where there was no end but that of the time: with -minutes alone, or -seeds FIRST:.
	FirstSeed uint64 `json:"firstSeed"`
	Seeds     uint64 `json:"seeds"`
	Matches   uint64 `json:"matches"`
	// Players and Ticks are what -players and -ticks asked for, or 0.
	Players int `json:"players"`
	Ticks   int `json:"ticks"`
	// Ended is "range", "time", "failure" or "interrupt".
	Ended    soak.Ended `json:"ended"`
	Parallel int        `json:"parallel"`
	Twice    bool       `json:"twice"`

	WallSeconds float64     `json:"wallSeconds"` // without shrinking
	All         SpeedResult `json:"all"`
	TwoPeers    SpeedResult `json:"twoPeers"` // the matches between two alone

	Events      uint64        `json:"events"`
	Rollbacks   uint64        `json:"rollbacks"`
	Resimulated uint64        `json:"resimulated"` // ticks
	Deepest     int           `json:"deepest"`     // ticks
	Stalls      uint64        `json:"stalls"`
	Views       uint64        `json:"views"`       // how often survivors went on without somebody
	ViewMatches uint64        `json:"viewMatches"` // in how many matches
	Undone      uint64        `json:"undone"`      // effects
	Datagrams   uint64        `json:"datagrams"`
	Lost        uint64        `json:"lost"`
	Blocked     uint64        `json:"blocked"`
	Faults      []FaultResult `json:"faults"`

	// Forced has the rare paths of the engine that were forced, by name.
	Forced []ForcedResult `json:"forced"`

	Vacuous Vacuous `json:"vacuous"`
	// Traces is how many different matches there were among the first ComparedTraces.
	Traces         uint64 `json:"traces"`
	ComparedTraces uint64 `json:"comparedTraces"`

	Failed   uint64          `json:"failed"`   // seeds
	Failures []FailureResult `json:"failures"` // the lowest of them
	// Alone is the mistake that the step shows without a network, because of which nothing
	// was played.
	Alone *FindingResult `json:"withoutNetwork,omitempty"`
}

// SpeedResult is a soak.Speed.
type SpeedResult struct {
	Matches          uint64  `json:"matches"`
	SimulatedSeconds float64 `json:"simulatedSeconds"`
	// PlayingSeconds is the wall time of the first plays, added up over all at once.
	PlayingSeconds float64 `json:"playingSeconds"`
	HoursPerMinute float64 `json:"hoursPerMinute"`
}

// FaultResult counts the faults of one kind.
type FaultResult struct {
	Kind     simtest.Kind `json:"kind"`
	Planned  int          `json:"planned"`
	Happened int          `json:"happened"`
}

// ForcedResult says how often a rare path was forced.
type ForcedResult struct {
	Site  string `json:"site"`
	Times uint64 `json:"times"`
}

// Vacuous says which matches proved little.
type Vacuous struct {
	Matches uint64   `json:"matches"`
	Seed    uint64   `json:"seed"` // the lowest
	Why     []string `json:"why"`  // of that seed
}

// FailureResult is a seed that failed.
type FailureResult struct {
	Seed      uint64           `json:"seed"`
	Violation *ViolationResult `json:"violation"` // null: it panicked
	Panic     string           `json:"panic,omitempty"`
	Commit    string           `json:"commit"`
	Trace     string           `json:"trace"`
	Whole     string           `json:"whole"`           // the file of its scenario; "": it could not be written
	Shrunk    string           `json:"shrunk"`          // that of a smaller one, or ""
	Why       string           `json:"why,omitempty"`   // there is no smaller one
	Small     *SizeResult      `json:"small,omitempty"` // of the smaller one
	// ShrunkViolation is what the smaller one breaks.
	ShrunkViolation *ViolationResult `json:"shrunkViolation,omitempty"`
	Replay          string           `json:"replay"` // a command line
	// Alone is what the step shows in it without a network, if it shows a mistake.
	Alone *FindingResult `json:"withoutNetwork,omitempty"`
}

// FindingResult is a simtest.Finding.
type FindingResult struct {
	Mistake simtest.Mistake `json:"mistake"`
	Tick    int64           `json:"tick"`
	Text    string          `json:"text"` // all that is said of it, in lines
}

func finding(f *simtest.Finding) *FindingResult {
	if f == nil {
		return nil
	}
	return &FindingResult{Mistake: f.Mistake, Tick: int64(f.Tick), Text: f.Error()}
}

// ViolationResult is a simtest.Violation.
type ViolationResult struct {
	Rule       simtest.Rule      `json:"rule"`
	Event      int               `json:"event"`
	Seconds    float64           `json:"seconds"` // of virtual time
	Peer       int               `json:"peer"`
	Tick       int64             `json:"tick"`
	Detail     string            `json:"detail"`
	Difference *DifferenceResult `json:"difference,omitempty"`
	// InField is the field of a difference between bytes, with both values.
	InField string `json:"inField,omitempty"`
}

// DifferenceResult is the first field that differs, or "byte 17" of a state with an
// AppendBinary of its own.
type DifferenceResult struct {
	Field string `json:"field"`
	Truth string `json:"truth"`
	Here  string `json:"here"`
}

// SizeResult is how large a scenario is.
type SizeResult struct {
	Ticks  int `json:"ticks"`
	Peers  int `json:"peers"`
	Links  int `json:"links"` // that are not perfect
	Faults int `json:"faults"`
	Cuts   int `json:"cuts"` // of inputs
}

// PlayResult is what one play was, up to the rule that it broke, if it broke one.
type PlayResult struct {
	Trace            string         `json:"trace"`
	SimulatedSeconds float64        `json:"simulatedSeconds"`
	Events           int            `json:"events"`
	Confirmed        int64          `json:"confirmed"` // the first tick that the slowest peer has not
	Rollbacks        uint64         `json:"rollbacks"`
	Resimulated      uint64         `json:"resimulated"`
	Deepest          int            `json:"deepest"`
	Stalls           uint64         `json:"stalls"`
	Undone           uint64         `json:"undone"`
	Datagrams        uint64         `json:"datagrams"`
	Lost             uint64         `json:"lost"`
	Blocked          uint64         `json:"blocked"`
	Faults           []FaultResult  `json:"faults"`
	Forced           []ForcedResult `json:"forced"`
	Vacuous          []string       `json:"vacuous"`
}

// ReplayResult is what -json prints of -replay.
type ReplayResult struct {
	Command   string           `json:"command"` // "replay"
	Game      string           `json:"game"`
	Commit    string           `json:"commit"`
	File      string           `json:"file"`
	Seed      uint64           `json:"seed"`
	Size      SizeResult       `json:"size"`
	Violation *ViolationResult `json:"violation"` // null: none
	Play      PlayResult       `json:"play"`
	// Alone is what the step shows in it without a network, if it shows a mistake.
	Alone *FindingResult `json:"withoutNetwork,omitempty"`
}

// ShrinkResult is what -json prints of -shrink.
type ShrinkResult struct {
	Command   string           `json:"command"` // "shrink"
	Game      string           `json:"game"`
	Commit    string           `json:"commit"`
	File      string           `json:"file"`
	Shrunk    string           `json:"shrunk"` // the file that was written; "": no rule was broken
	Seed      uint64           `json:"seed"`
	From      SizeResult       `json:"from"`
	To        SizeResult       `json:"to"`
	Violation *ViolationResult `json:"violation"` // of the smaller one
	Replay    string           `json:"replay"`
}

func (j *job) print(result any) error {
	b, err := json.Marshal(result)
	if err != nil {
		return err
	}
	return j.say(string(b) + "\n")
}

func (j *job) simResult(s *soak.Summary) SimResult {
	r := SimResult{
		Command: "sim", Game: j.game.name, Commit: commitText(),
		FirstSeed: s.First, Seeds: s.Asked, Matches: s.Matches, Players: s.Shape.Players, Ticks: s.Shape.Ticks, Ended: s.Ended, Parallel: s.Parallel, Twice: s.Twice,
		WallSeconds: s.Wall.Seconds(), All: speed(s.All, s.Parallel), TwoPeers: speed(s.TwoPeers, s.Parallel),
		Events: s.Events, Rollbacks: s.Rollbacks, Resimulated: s.Resimulated, Deepest: s.Deepest, Stalls: s.Stalls, Views: s.Views, ViewMatches: s.ViewMatches,
		Undone: s.Undone, Datagrams: s.Datagrams, Lost: s.Lost, Blocked: s.Blocked, Faults: faults(s.Faults),
		Forced:  forced(s.Buggified),
		Vacuous: Vacuous{Matches: s.Vacuous, Seed: s.VacuousSeed, Why: list(s.VacuousWhy)},
		Traces:  s.Traces, ComparedTraces: s.Compared, Failed: s.Failed, Failures: []FailureResult{},
	}
	for i := range s.Failures {
		f := &s.Failures[i]
		result := FailureResult{
			Seed: f.Seed, Violation: violation(f.Violation), Commit: f.Commit, Trace: trace(f.Trace), Whole: f.Whole,
			Shrunk: f.Shrunk, Why: f.Why, ShrunkViolation: violation(f.Less), Alone: finding(f.Alone),
		}
		if f.Whole != "" {
			result.Replay = j.replayLine(f.File())
		}
		if f.Panic != nil {
			result.Panic = fmt.Sprint(f.Panic.Value)
		}
		if f.Small != nil {
			small := size(f.Small)
			result.Small = &small
		}
		r.Failures = append(r.Failures, result)
	}
	return r
}

func (j *job) replayResult(name string, s *simtest.Scenario, r *simtest.Report) ReplayResult {
	return ReplayResult{
		Command: "replay", Game: j.game.name, Commit: commitText(), File: name, Seed: s.Seed, Size: size(s),
		Violation: violation(r.Violation), Play: PlayResult{
			Trace: trace(r.Trace), SimulatedSeconds: r.Simulated.Seconds(), Events: r.Events, Confirmed: int64(r.Confirmed),
			Rollbacks: r.Rollbacks, Resimulated: r.Resimulated, Deepest: r.Deepest, Stalls: r.Stalls, Undone: r.Undone,
			Datagrams: r.Datagrams, Lost: r.Lost, Blocked: r.Blocked, Faults: faults(r.Faults), Forced: forced(r.Buggified), Vacuous: list(r.Vacuous),
		},
	}
}

func (j *job) shrinkResult(name, to string, s, small *simtest.Scenario, r *simtest.Report) ShrinkResult {
	result := ShrinkResult{
		Command: "shrink", Game: j.game.name, Commit: commitText(), File: name, Shrunk: to, Seed: s.Seed,
		From: size(s), To: size(small), Violation: violation(r.Violation), Replay: j.replayLine(name),
	}
	if to != "" {
		result.Replay = j.replayLine(to)
	}
	return result
}

func speed(s soak.Speed, parallel int) SpeedResult {
	return SpeedResult{
		Matches: s.Matches, SimulatedSeconds: s.Simulated.Seconds(), PlayingSeconds: s.Playing.Seconds(),
		HoursPerMinute: s.PerMinute(parallel).Hours(),
	}
}

func faults(counts []simtest.FaultCount) []FaultResult {
	results := make([]FaultResult, len(counts)) // [] and not null where there are none
	for i, c := range counts {
		results[i] = FaultResult(c)
	}
	return results
}

func forced(counts []simtest.SiteCount) []ForcedResult {
	results := make([]ForcedResult, len(counts))
	for i, c := range counts {
		results[i] = ForcedResult{Site: c.Site.String(), Times: c.Fired}
	}
	return results
}

func violation(v *simtest.Violation) *ViolationResult {
	if v == nil {
		return nil
	}
	r := &ViolationResult{
		Rule: v.Rule, Event: v.Event, Seconds: v.Time.Seconds(), Peer: int(v.Peer), Tick: int64(v.Tick), Detail: v.Detail, InField: v.Field,
	}
	if v.Different {
		r.Difference = &DifferenceResult{Field: v.Difference.Path, Truth: v.Difference.A, Here: v.Difference.B}
	}
	return r
}

func size(s *simtest.Scenario) SizeResult {
	return SizeResult{Ticks: s.Ticks, Peers: len(s.Peers), Links: len(s.Links), Faults: len(s.Faults), Cuts: len(s.Cuts)}
}

func trace(hash uint64) string { return fmt.Sprintf("%016x", hash) }

// list returns a list that is empty rather than null.
func list(texts []string) []string {
	if texts == nil {
		return []string{}
	}
	return texts
}
