package desync

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/zeebo/xxh3"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/dispute"
	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/wire"
)

const (
	// magic is what a file begins with.
	magic = "driftback desync"
	// A file's head is the magic, the version and the length of the whole file; at its end is
	// the sum of all before.
	headSize = len(magic) + 1 + 8
	sumSize  = 8
)

// ErrMalformed is wrapped by every error about bytes that are no whole report of this version.
var ErrMalformed = errors.New("desync: no report")

// Append appends the report's file to b and returns the longer slice, or an error that names the
// field that is beyond its bound, and b as it was.
func (r *Report) Append(b []byte) ([]byte, error) {
	if err := r.check(); err != nil {
		return b, fmt.Errorf("desync: the report cannot be written: %w", err)
	}
	start := len(b)
	b = append(b, magic...)
	b = append(b, Version)
	b = append(b, make([]byte, 8)...)
	b = r.appendWho(b)
	b = r.appendWhere(b)
	b = r.appendFields(b)
	b = r.appendInputs(b)
	b = r.appendStates(b)
	binary.LittleEndian.PutUint64(b[start+headSize-8:], uint64(len(b)+sumSize-start))
	return binary.LittleEndian.AppendUint64(b, xxh3.Hash(b[start:])), nil
}

// Parse returns the report that a file holds. The report's slices are its own. An error wraps
// [ErrMalformed].
func Parse(file []byte) (*Report, error) {
	body, err := open(file)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	var r Report
	in := reader{b: body}
	r.parseWho(&in)
	r.parseWhere(&in)
	r.parseFields(&in)
	r.parseInputs(&in)
	r.parseStates(&in)
	if in.err == nil && in.left() > 0 {
		in.refuse("%d bytes follow the end", in.left())
	}
	if in.err == nil {
		in.err = r.check()
	}
	if in.err != nil {
		return nil, fmt.Errorf("%w: %w", ErrMalformed, in.err)
	}
	return &r, nil
}

// open returns what is between a file's head and its sum, if it is whole.
func open(file []byte) ([]byte, error) {
	n := uint64(len(file))
	switch {
	case n < uint64(headSize+sumSize) || string(file[:len(magic)]) != magic:
		if n > 0 && string(file[:min(len(file), len(magic))]) == magic[:min(len(file), len(magic))] {
			return nil, fmt.Errorf("the file is cut short: it has only %d bytes", n)
		}
		return nil, errors.New("the file is something else: it does not begin as a report does")
	case file[len(magic)] != Version:
		return nil, fmt.Errorf("the file is of version %d, and this program reads version %d: open it with the driftback of the program that wrote it",
			file[len(magic)], Version)
	}
	whole := binary.LittleEndian.Uint64(file[headSize-8:])
	switch body := file[:n-sumSize]; {
	case whole > n:
		return nil, fmt.Errorf("the file is cut short, or damaged: it has %d bytes, and says that it had %d", n, whole)
	case whole < n:
		return nil, fmt.Errorf("something follows the file's end, or it is damaged: it has %d bytes, and says that it had %d", n, whole)
	case xxh3.Hash(body) != binary.LittleEndian.Uint64(file[n-sumSize:]):
		return nil, errors.New("the file is damaged: its checksum is not that of its bytes")
	default:
		return body[headSize:], nil
	}
}

func (r *Report) appendWho(b []byte) []byte {
	b = appendText(appendText(appendText(b, r.Game), r.Build), r.Platform)
	b = appendNumber(b, len(r.Settings))
	for _, s := range r.Settings {
		b = appendText(appendText(b, s.Name), s.Value)
	}
	b = binary.LittleEndian.AppendUint64(b, r.Match)
	b = binary.LittleEndian.AppendUint64(b, r.Seed)
	b = appendNumber(appendNumber(b, r.Self), r.Peer)
	b = appendNumber(b, len(r.Players))
	for _, p := range r.Players {
		b = appendNumber(b, p)
	}
	return b
}

func (r *Report) parseWho(in *reader) {
	r.Game, r.Build, r.Platform = in.text("the game", MaxText), in.text("the build", MaxText), in.text("the platform", MaxText)
	for range in.count("settings", wire.MaxSettings, 2) {
		r.Settings = append(r.Settings, wire.Setting{
			Name: in.text("the name of a setting", wire.MaxName), Value: in.text("the value of a setting", wire.MaxValue),
		})
	}
	r.Match, r.Seed = in.uint64(), in.uint64()
	r.Self, r.Peer = in.peer("this peer"), in.peer("the other peer")
	for range in.count("participants", driftback.MaxParticipants, 1) {
		r.Players = append(r.Players, in.peer("a participant's peer"))
	}
}

// The flags of a report, and of one tick's fingerprints.
const (
	flagExact      = 1 << 0
	flagCompared   = 1 << 1
	flagMoreFields = 1 << 2

	flagOurs   = 1 << 0
	flagTheirs = 1 << 1
)

func bit(set bool, flag byte) byte {
	if set {
		return flag
	}
	return 0
}

func (r *Report) appendWhere(b []byte) []byte {
	b = append(b, bit(r.Exact, flagExact)|bit(r.Compared, flagCompared)|bit(r.MoreFields, flagMoreFields))
	b = appendNumber(appendNumber(appendNumber(b, r.Agreed), r.Found), r.Tick)
	b = binary.LittleEndian.AppendUint64(b, uint64(r.Ours))
	b = binary.LittleEndian.AppendUint64(b, uint64(r.Theirs))
	b = append(b, byte(r.Repeats[0]), byte(r.Repeats[1]))
	b = appendNumber(b, len(r.Roots))
	for _, p := range r.Roots {
		b = append(b, bit(p.OursKnown, flagOurs)|bit(p.TheirsKnown, flagTheirs))
		b = appendNumber(b, p.Tick-r.Agreed)
		if p.OursKnown {
			b = binary.LittleEndian.AppendUint64(b, p.Ours)
		}
		if p.TheirsKnown {
			b = binary.LittleEndian.AppendUint64(b, p.Theirs)
		}
	}
	return b
}

func (r *Report) parseWhere(in *reader) {
	flags := in.flags("the report", flagExact|flagCompared|flagMoreFields)
	r.Exact, r.Compared, r.MoreFields = flags&flagExact != 0, flags&flagCompared != 0, flags&flagMoreFields != 0
	r.Agreed, r.Found, r.Tick = in.tick("the tick agreed on"), in.tick("the tick found to differ"), in.tick("the first tick that differs")
	r.Ours, r.Theirs = fingerprint.Sum(in.uint64()), fingerprint.Sum(in.uint64())
	r.Repeats = [2]dispute.Repeats{dispute.Repeats(in.byte()), dispute.Repeats(in.byte())}
	n := in.count("fingerprints", dispute.MaxRoots, 2+8)
	r.Roots = slices.Grow(r.Roots, n)
	for range n {
		known := in.flags("a fingerprint", flagOurs|flagTheirs)
		p := dispute.RootPair{Tick: r.Agreed + in.tick("a fingerprint's tick"), OursKnown: known&flagOurs != 0, TheirsKnown: known&flagTheirs != 0}
		if p.OursKnown {
			p.Ours = in.uint64()
		}
		if p.TheirsKnown {
			p.Theirs = in.uint64()
		}
		r.Roots = append(r.Roots, p)
	}
}

func (r *Report) appendFields(b []byte) []byte {
	b = appendDifferences(b, r.Unrepeated)
	b = appendNumber(appendNumber(appendNumber(b, r.At), r.OursSize), r.TheirsSize)
	return appendDifferences(b, r.Fields)
}

func (r *Report) parseFields(in *reader) {
	r.Unrepeated = in.differences("fields that do not repeat")
	r.At = in.tick("the tick whose states were compared")
	r.OursSize = int(in.number("the length of this peer's state", dispute.MaxState))
	r.TheirsSize = int(in.number("the length of the other peer's state", dispute.MaxState))
	r.Fields = in.differences("fields")
}

func (r *Report) appendInputs(b []byte) []byte {
	b = appendNumber(b, r.InputSize)
	b = binary.LittleEndian.AppendUint64(b, r.InputLayout)
	b = binary.LittleEndian.AppendUint64(b, r.StateLayout)
	b = appendNumber(b, len(r.Inputs))
	for i, in := range r.Inputs {
		if i == 0 {
			b = appendNumber(b, in.Tick)
		}
		b = append(b, bit(in.Paused, 1), byte(in.Speed))
		for _, g := range in.Given {
			b = append(b, g.Input...)
			b = append(b, byte(g.Entry), byte(g.Status))
		}
	}
	return b
}

func (r *Report) parseInputs(in *reader) {
	r.InputSize = int(in.number("the length of an input", wire.MaxStride))
	r.InputLayout, r.StateLayout = in.uint64(), in.uint64()
	players := len(r.Players)
	n := in.count("ticks of inputs", MaxInputs, 2+players*(r.InputSize+2))
	if n == 0 {
		return
	}
	first := in.tick("the first tick of the inputs")
	r.Inputs = make([]Inputs, n)
	given := make([]Given, n*players)
	for i := range r.Inputs {
		t := &r.Inputs[i]
		t.Tick = first + driftback.Tick(i)
		t.Paused, t.Speed = in.flags("a tick", 1) != 0, int(in.byte())
		t.Given, given = given[:players:players], given[players:]
		for p := range t.Given {
			input := slices.Clone(in.take(r.InputSize))
			t.Given[p] = Given{Input: input, Entry: wire.Entry(in.byte()), Status: driftback.Status(in.byte())}
		}
	}
}

func (r *Report) appendStates(b []byte) []byte {
	b = append(b, bit(r.Before != nil, 1)|bit(r.After != nil, 2))
	b = appendNumber(appendNumber(b, r.Start), r.End)
	for _, state := range [][]byte{r.Before, r.After} {
		if state != nil {
			b = append(appendNumber(b, len(state)), state...)
		}
	}
	return b
}

func (r *Report) parseStates(in *reader) {
	has := in.flags("the states", 1|2)
	r.Start, r.End = in.tick("the tick before"), in.tick("the tick after")
	if has&1 != 0 {
		r.Before = in.bytes("the state before", dispute.MaxState)
	}
	if has&2 != 0 {
		r.After = in.bytes("the state after", dispute.MaxState)
	}
}
