package command

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/driftback/driftback/desync"
	"github.com/driftback/driftback/fingerprint"
)

// answer is all that there is to say of one file.
type answer struct {
	file    string
	report  *desync.Report
	game    *Game // nil: not known
	games   []Game
	outcome *desync.Outcome
	err     error // why there is no outcome, of a game that is known
}

// text says it to people.
func (a *answer) text() (string, error) {
	var show func(input []byte) string
	if a.game != nil {
		show = a.game.show
	}
	text := a.report.Text(show) + "\nHERE\n"
	switch {
	case a.outcome != nil:
		return text + a.outcome.Text(a.report), nil
	case a.game != nil:
		return text + "The ticks were not run again; why not is said below.\n", nil
	}
	return text + a.stranger(), nil
}

// stranger says how a game plugs in.
func (a *answer) stranger() string {
	known := "it knows none"
	if len(a.games) > 0 {
		known = "it knows " + names(a.games, "and")
	}
	name, _, _ := strings.Cut(a.report.Game, ",")
	return fmt.Sprintf(`The ticks were not run again: this program does not know the game %q (%s). A main of three
lines, in the game's own module, does:

	func main() {
		os.Exit(command.Main(command.Of(%q, sim.Step)))
	}

where sim.Step is the game's step, and command is github.com/driftback/driftback/desync/command.
docs/desync.md has the whole file.
`, a.report.Game, known, name)
}

// Result is what -json prints, as one object on one line. Names stay; more may come. A fingerprint, a layout,
// and the match and seed are 16 hexadecimal digits, and bytes are hexadecimal too.
type Result struct {
	Command  string `json:"command"` // "desync"
	File     string `json:"file"`
	Game     string `json:"game"`
	Build    string `json:"build"`
	Platform string `json:"platform"`
	Match    string `json:"match"`
	Seed     string `json:"seed"`
	// Settings are by name.
	Settings map[string]string `json:"settings"`
	Self     int               `json:"self"`
	Peer     int               `json:"peer"`
	Players  []int             `json:"players"` // by participant

	Agreed int64  `json:"agreed"`
	Found  int64  `json:"found"`
	Tick   int64  `json:"tick"`
	Exact  bool   `json:"exact"`
	Ours   string `json:"ours"`
	Theirs string `json:"theirs"`
	// OursRepeats and TheirsRepeats are "untried", "same" or "different".
	OursRepeats   string        `json:"oursRepeats"`
	TheirsRepeats string        `json:"theirsRepeats"`
	Unrepeated    []FieldResult `json:"unrepeated"` // a: had, b: run again
	Roots         []RootResult  `json:"roots"`

	Compared   bool          `json:"compared"`
	At         int64         `json:"at"`     // the tick whose states were compared
	Fields     []FieldResult `json:"fields"` // a: ours, b: theirs
	MoreFields bool          `json:"moreFields"`

	Inputs []InputsResult `json:"inputs"`
	// Start and End are null where the state before, or after, is not in the file. The states are not here: they are
	// in the file.
	Start *int64 `json:"start"`
	End   *int64 `json:"end"`

	// Here is what the ticks came to when they were run again, and null if they were not; NotRun then says why.
	Here   *HereResult `json:"here"`
	NotRun string      `json:"notRun"`
}

// FieldResult is one field and its two values.
type FieldResult struct {
	Path string `json:"path"`
	A    string `json:"a"`
	B    string `json:"b"`
}

// RootResult is both fingerprints of the state as one tick began; one that is not known is empty.
type RootResult struct {
	Tick   int64  `json:"tick"`
	Ours   string `json:"ours"`
	Theirs string `json:"theirs"`
}

// InputsResult is what one tick was run with.
type InputsResult struct {
	Tick   int64         `json:"tick"`
	Paused bool          `json:"paused"`
	Speed  int           `json:"speed"` // eighths
	Given  []GivenResult `json:"given"` // by participant
}

// GivenResult is what one participant gave to one tick.
type GivenResult struct {
	Input  string `json:"input"`
	Shown  string `json:"shown"` // the input as the game's type shows it, if the game is known
	Entry  string `json:"entry"` // "none", "pause", "resume", "speed 4/8", …
	Status string `json:"status"`
}

// HereResult is what this program comes to.
type HereResult struct {
	Platform string `json:"platform"`
	Game     string `json:"game"` // whose step it was
	Runs     int    `json:"runs"`
	Sum      string `json:"sum"`  // of what the first run came to
	Ours     bool   `json:"ours"` // it is what the report's peer had
	// Theirs says whether it is what the other peer had, and is null where that is not known.
	Theirs   *bool         `json:"theirs"`
	Steady   bool          `json:"steady"`
	Fields   []FieldResult `json:"fields"`   // a: the report's peer had, b: run again
	Unsteady []FieldResult `json:"unsteady"` // a: one run, b: another
}

// json says it to programs.
func (a *answer) json() (string, error) {
	b, err := json.Marshal(a.result())
	return string(b) + "\n", err
}

func (a *answer) result() Result {
	r := a.report
	result := Result{
		Command: "desync", File: a.file, Game: r.Game, Build: r.Build, Platform: r.Platform, Match: digits(r.Match), Seed: digits(r.Seed),
		Settings: map[string]string{}, Self: int(r.Self), Peer: int(r.Peer), Players: []int{},
		Agreed: int64(r.Agreed), Found: int64(r.Found), Tick: int64(r.Tick), Exact: r.Exact, Ours: r.Ours.String(), Theirs: r.Theirs.String(),
		OursRepeats: r.Repeats[0].String(), TheirsRepeats: r.Repeats[1].String(), Unrepeated: fields(r.Unrepeated), Roots: []RootResult{},
		Compared: r.Compared, At: int64(r.At), Fields: fields(r.Fields), MoreFields: r.MoreFields, Inputs: []InputsResult{},
	}
	for _, s := range r.Settings {
		result.Settings[s.Name] = s.Value
	}
	for _, p := range r.Players {
		result.Players = append(result.Players, int(p))
	}
	for _, p := range r.Roots {
		root := RootResult{Tick: int64(p.Tick)}
		if p.OursKnown {
			root.Ours = digits(p.Ours)
		}
		if p.TheirsKnown {
			root.Theirs = digits(p.Theirs)
		}
		result.Roots = append(result.Roots, root)
	}
	for _, in := range r.Inputs {
		result.Inputs = append(result.Inputs, a.inputs(in))
	}
	if r.Before != nil {
		start := int64(r.Start)
		result.Start = &start
	}
	if r.After != nil {
		end := int64(r.End)
		result.End = &end
	}
	result.Here, result.NotRun = a.here()
	return result
}

func (a *answer) inputs(in desync.Inputs) InputsResult {
	result := InputsResult{Tick: int64(in.Tick), Paused: in.Paused, Speed: in.Speed, Given: []GivenResult{}}
	for _, g := range in.Given {
		given := GivenResult{Input: hex.EncodeToString(g.Input), Entry: g.Entry.String(), Status: g.Status.String()}
		if a.game != nil {
			given.Shown = a.game.show(g.Input)
		}
		result.Given = append(result.Given, given)
	}
	return result
}

func (a *answer) here() (*HereResult, string) {
	switch o := a.outcome; {
	case a.err != nil:
		return nil, a.err.Error()
	case o == nil:
		return nil, "this program does not know the game"
	default:
		here := &HereResult{
			Platform: desync.Platform(), Game: a.game.name, Runs: o.Runs, Sum: o.Sum.String(), Ours: o.Ours, Steady: o.Steady,
			Fields: fields(o.Fields), Unsteady: fields(o.Unsteady),
		}
		if o.TheirsKnown {
			here.Theirs = &o.Theirs
		}
		return here, ""
	}
}

func digits(v uint64) string { return fmt.Sprintf("%016x", v) }

func fields(list []fingerprint.Difference) []FieldResult {
	results := make([]FieldResult, len(list)) // [] and not null where there are none
	for i, d := range list {
		results[i] = FieldResult(d)
	}
	return results
}
