package desync_test

import (
	"bytes"
	"encoding/binary"

	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/desync"
	"github.com/driftback/driftback/dispute"
	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/layout"
	"github.com/driftback/driftback/wire"
)

// The game of these tests: who holds a button is faster, and who is replaced is a bot.
type Input struct{ Buttons uint16 }

type Kart struct {
	X, Speed int32
	Bot      bool
}

type State struct {
	Karts [2]Kart
	Odd   uint32
}

func step(s *State, in []Input, pass *driftback.Pass) {
	for p := range in {
		k := &s.Karts[p]
		k.Bot = pass.Status(driftback.Participant(p)) != driftback.Playing
		k.Speed += int32(in[p].Buttons&1) * 3
		k.X += k.Speed
	}
	s.Odd += uint32(pass.Tick() & 1)
}

// given is what a tick of the tests' match is run with: participant 0 holds its button, tick 4 is paused and from
// tick 6 on participant 1 is a bot.
func given(t driftback.Tick) desync.Inputs {
	in := desync.Inputs{Tick: t, Paused: t == 4, Speed: 8, Given: make([]desync.Given, 2)}
	in.Given[0].Input = []byte{1, 0}
	in.Given[1].Input = binary.LittleEndian.AppendUint16(nil, uint16(t))
	switch {
	case t == 4:
		in.Given[0].Entry = wire.EntryPause
	case t == 5:
		in.Given[0].Entry, in.Speed = wire.EntryResume, 4
	case t > 5:
		in.Given[1].Status = driftback.Replaced
	}
	return in
}

// history is what a peer of the tests' match has, up to tick 8. spoil is called after each tick.
type history [9][]byte

func (h *history) State(t driftback.Tick) ([]byte, bool) { return h[t], true }
func (h *history) Root(t driftback.Tick) (uint64, bool)  { return xxh3.Hash(h[t]), true }

func play(t require.TestingT, step driftback.Step[State, Input], spoil func(t driftback.Tick, s *State)) *history {
	l, err := layout.Of[State]()
	require.NoError(t, err)
	var h history
	var s State
	var pass driftback.Pass
	for at := range driftback.Tick(len(h)) {
		h[at] = l.Append(nil, &s)
		in := given(at)
		if !in.Paused {
			pass.Begin(at, []driftback.Status{in.Given[0].Status, in.Given[1].Status})
			step(&s, []Input{{Buttons: 1}, {Buttons: uint16(at)}}, &pass)
		}
		if spoil != nil {
			spoil(at, &s)
		}
	}
	return &h
}

// spoilt changes a field after tick 5.
func spoilt(t driftback.Tick, s *State) {
	if t == 5 {
		s.Karts[1].Speed ^= 1 << 4
	}
}

// search returns what one of two peers finds.
func search(t require.TestingT, ours, theirs *history) dispute.Finding {
	both := [2]*dispute.Search{dispute.New(0, 8, dispute.Same, ours), dispute.New(0, 8, dispute.Different, theirs)}
	for !both[0].Done() || !both[1].Done() {
		for i, s := range both {
			for b, ok := s.Next(nil); ok; b, ok = s.Next(nil) {
				require.NoError(t, both[1-i].Take(b))
			}
		}
	}
	return both[0].Finding()
}

// reported returns the report that a peer writes of its match with another one.
func reported(t require.TestingT, ours, theirs *history) *desync.Report {
	f := search(t, ours, theirs)
	states, err := layout.Of[State]()
	require.NoError(t, err)
	inputs, err := layout.OfInput[Input]()
	require.NoError(t, err)
	h, err := fingerprint.New[State]()
	require.NoError(t, err)
	other := bytes.Clone(ours[f.At])
	for _, r := range f.Ranges {
		copy(other[r.Offset:], r.Theirs)
	}
	r := &desync.Report{
		Game: "race", Build: "example.com/race v1.2.3", Platform: "linux/amd64, go1.26.0",
		Settings: []wire.Setting{{Name: "may pause", Value: "everybody"}, {Name: "tick rate", Value: "60"}},
		Match:    0x1234, Seed: 0xfedcba9876543210, Self: 0, Peer: 1, Players: []driftback.Peer{0, 1},
		Agreed: 0, Found: 8, Ours: fingerprint.Sum(xxh3.Hash(ours[8])), Theirs: fingerprint.Sum(xxh3.Hash(theirs[8])),
		Tick: f.Tick, Exact: f.Exact, Roots: f.Roots, Repeats: f.Repeats,
		At: f.At, Compared: f.Compared, OursSize: f.OursSize, TheirsSize: f.TheirsSize,
		Fields: h.DiffBytes(nil, ours[f.At], other), MoreFields: f.More,
		InputSize: inputs.Size(), InputLayout: inputs.Hash(), StateLayout: states.Hash(),
		Start: f.Tick - 1, End: f.Tick, Before: ours[f.Tick-1], After: ours[f.Tick],
	}
	for at := range driftback.Tick(8) {
		r.Inputs = append(r.Inputs, given(at))
	}
	return r
}

func file(t require.TestingT, r *desync.Report) []byte {
	b, err := r.Append(nil)
	require.NoError(t, err)
	return b
}
