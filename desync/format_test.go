package desync_test

import (
	"bytes"
	"encoding/binary"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/desync"
	"github.com/driftback/driftback/dispute"
	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/layout"
	"github.com/driftback/driftback/wire"
)

var rewrite = flag.Bool("rewrite", false, "write testdata anew")

// drawn returns some report that may be written.
func drawn(t *rapid.T) *desync.Report {
	text := rapid.StringN(0, 40, desync.MaxText).Filter(func(s string) bool {
		return !strings.ContainsFunc(s, func(c rune) bool { return c < 0x20 || c >= 0x7f && c <= 0x9f })
	})
	tick := func(name string, from, to driftback.Tick) driftback.Tick {
		return driftback.Tick(rapid.Int64Range(int64(from), int64(to)).Draw(t, name))
	}
	differences := func(name string) (list []fingerprint.Difference) {
		for range rapid.IntRange(0, 5).Draw(t, name) {
			list = append(list, fingerprint.Difference{Path: text.Draw(t, "path"), A: text.Draw(t, "a"), B: text.Draw(t, "b")})
		}
		return list
	}
	r := &desync.Report{
		Game: text.Draw(t, "game"), Build: text.Draw(t, "build"), Platform: text.Draw(t, "platform"),
		Match: rapid.Uint64().Draw(t, "match"), Seed: rapid.Uint64().Draw(t, "seed"),
		Self: driftback.Peer(rapid.IntRange(0, 31).Draw(t, "self")), Peer: driftback.Peer(rapid.IntRange(32, 63).Draw(t, "peer")),
		Agreed: tick("agreed", 0, wire.MaxTick-3000),
		Ours:   fingerprint.Sum(rapid.Uint64().Draw(t, "ours")), Theirs: fingerprint.Sum(rapid.Uint64().Draw(t, "theirs")),
		Exact: rapid.Bool().Draw(t, "exact"), MoreFields: rapid.Bool().Draw(t, "more"),
		Unrepeated: differences("unrepeated"), Fields: differences("fields"),
		OursSize: rapid.IntRange(0, dispute.MaxState).Draw(t, "our size"), TheirsSize: rapid.IntRange(0, dispute.MaxState).Draw(t, "their size"),
		InputSize: rapid.IntRange(0, 20).Draw(t, "input size"), InputLayout: rapid.Uint64().Draw(t, "inputs"), StateLayout: rapid.Uint64().Draw(t, "states"),
	}
	for i := range rapid.IntRange(0, 4).Draw(t, "settings") {
		r.Settings = append(r.Settings, wire.Setting{Name: string(rune('a' + i)), Value: text.Draw(t, "value")})
	}
	for range rapid.IntRange(0, driftback.MaxParticipants).Draw(t, "players") {
		r.Players = append(r.Players, driftback.Peer(rapid.IntRange(0, 63).Draw(t, "player")))
	}
	r.Found = tick("found", r.Agreed+1, r.Agreed+2500)
	r.Tick = tick("tick", r.Agreed+1, r.Found)
	for i := range r.Repeats {
		r.Repeats[i] = dispute.Repeats(rapid.IntRange(0, 2).Draw(t, "repeats"))
	}
	if r.Compared = rapid.Bool().Draw(t, "compared"); r.Compared {
		r.At = tick("at", r.Agreed+1, r.Found)
	}
	for at := r.Agreed + 1; at <= r.Found && len(r.Roots) < 10; at += 1 + driftback.Tick(rapid.IntRange(0, 3).Draw(t, "gap")) {
		p := dispute.RootPair{Tick: at, OursKnown: true, Ours: rapid.Uint64().Draw(t, "root")}
		switch rapid.IntRange(0, 2).Draw(t, "whose") {
		case 0:
			p.TheirsKnown, p.Theirs = true, rapid.Uint64().Draw(t, "their root")
		case 1:
			p = dispute.RootPair{Tick: at, TheirsKnown: true, Theirs: p.Ours}
		}
		r.Roots = append(r.Roots, p)
	}
	r.Inputs = drawnInputs(t, r)
	if rapid.Bool().Draw(t, "before") {
		r.Before, r.Start = append([]byte{}, rapid.SliceOfN(rapid.Byte(), 0, 50).Draw(t, "state before")...), tick("start", r.Agreed, r.Found-1)
	}
	if rapid.Bool().Draw(t, "after") {
		r.After, r.End = append([]byte{}, rapid.SliceOfN(rapid.Byte(), 0, 50).Draw(t, "state after")...), r.Found
	}
	return r
}

func drawnInputs(t *rapid.T, r *desync.Report) (list []desync.Inputs) {
	for i := range rapid.IntRange(0, 5).Draw(t, "inputs") {
		in := desync.Inputs{
			Tick: r.Agreed + driftback.Tick(i), Paused: rapid.Bool().Draw(t, "paused"),
			Speed: rapid.IntRange(1, wire.MaxSpeed).Draw(t, "speed"), Given: make([]desync.Given, len(r.Players)),
		}
		for p := range in.Given {
			in.Given[p] = desync.Given{
				Input: rapid.SliceOfN(rapid.Byte(), r.InputSize, r.InputSize).Draw(t, "input"),
				Entry: wire.Entry(rapid.IntRange(0, int(wire.EntryGone)).Draw(t, "entry")), Status: driftback.Status(rapid.IntRange(0, 2).Draw(t, "status")),
			}
			if r.InputSize == 0 {
				in.Given[p].Input = nil
			}
		}
		list = append(list, in)
	}
	return list
}

func TestEveryReportIsReadAsItWasWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawn(t)
		b, err := r.Append([]byte("before"))
		require.NoError(t, err)
		require.Equal(t, "before", string(b[:6]))
		again, err := desync.Parse(b[6:])
		require.NoError(t, err)
		for i := range again.Inputs {
			for p := range again.Inputs[i].Given {
				if g := &again.Inputs[i].Given[p]; len(g.Input) == 0 {
					g.Input = nil
				}
			}
		}
		require.Equal(t, r, again)
		require.Equal(t, b[6:], file(t, again))
		_ = again.Text(nil)
		_ = again.String()
	})
}

func TestEveryTruncationAndEveryBitThatFlipsIsAnErrorInASentence(t *testing.T) {
	b := file(t, reported(t, play(t, step, nil), play(t, step, spoilt)))
	check := func(b []byte) {
		t.Helper()
		r, err := desync.Parse(b)
		require.ErrorIs(t, err, desync.ErrMalformed)
		require.Nil(t, r)
		require.Regexp(t, `^desync: no report: .{20,}`, err.Error())
	}
	for n := range b {
		check(b[:n])
	}
	for i := range 8 * len(b) {
		flipped := bytes.Clone(b)
		flipped[i/8] ^= 1 << (i % 8)
		check(flipped)
	}
	check(append(bytes.Clone(b), 0))
	_, err := desync.Parse(b)
	require.NoError(t, err, "the control")
}

func TestAFileThatIsNoReportIsNamed(t *testing.T) {
	b := file(t, reported(t, play(t, step, nil), play(t, step, spoilt)))
	other := bytes.Clone(b)
	other[16] = 2
	for says, b := range map[string][]byte{
		"the file is something else: it does not begin as a report does":                                                      []byte("%PDF-1.7"),
		"the file is cut short: it has only 9 bytes":                                                                          b[:9],
		"the file is cut short, or damaged: it has 100 bytes, and says that it had":                                           b[:100],
		"something follows the file's end, or it is damaged":                                                                  append(bytes.Clone(b), 1),
		"the file is damaged: its checksum is not that of its bytes":                                                          append(bytes.Clone(b[:len(b)-1]), b[len(b)-1]^1),
		"the file is of version 2, and this program reads version 1: open it with the driftback of the program that wrote it": other,
	} {
		_, err := desync.Parse(b)
		require.ErrorContains(t, err, "desync: no report: "+says)
	}
	_, err := desync.Parse(nil)
	require.ErrorContains(t, err, "something else")
}

// sealed makes a body a file, as whoever forges one does.
func sealed(body []byte) []byte {
	b := append([]byte("driftback desync"), desync.Version)
	b = binary.LittleEndian.AppendUint64(b, uint64(len(b)+8+len(body)+8))
	b = append(b, body...)
	return binary.LittleEndian.AppendUint64(b, xxh3.Hash(b))
}

// A body that is forged has a sum that is right, so that the reader itself must refuse it.
func TestAForgedBodyIsReadOrRefused(t *testing.T) {
	b := file(t, reported(t, play(t, step, nil), play(t, step, spoilt)))
	body := b[25 : len(b)-8]
	require.Equal(t, b, sealed(body))
	refused := 0
	for i := range 8 * len(body) {
		forged := bytes.Clone(body)
		forged[i/8] ^= 1 << (i % 8)
		r, err := desync.Parse(sealed(forged))
		if err != nil {
			require.ErrorIs(t, err, desync.ErrMalformed)
			refused++
			continue
		}
		require.Equal(t, sealed(forged), file(t, r), "there is one encoding of each report")
	}
	require.Greater(t, refused, len(body)/2)
	for n := range body {
		_, err := desync.Parse(sealed(body[:n]))
		require.ErrorIs(t, err, desync.ErrMalformed)
	}
	_, err := desync.Parse(sealed(append(bytes.Clone(body), 0)))
	require.ErrorContains(t, err, "1 bytes follow the end")
}

func TestReadingAllocatesNoMoreThanAFewTimesTheFile(t *testing.T) {
	// It says that there is as much of everything as may be.
	huge := func(n int) []byte {
		b := []byte{0, 0, 0} // no texts
		b = binary.AppendUvarint(b, uint64(n))
		return sealed(append(b, 0xff, 0xff, 0x7f))
	}
	r := &desync.Report{Peer: 1, Found: 1, Tick: 1}
	empty := file(t, r)
	states := bytes.Clone(empty[25 : len(empty)-8])
	states[len(states)-3] = 3 // both states
	states = binary.AppendUvarint(states, dispute.MaxState)
	r.Players, r.InputSize = make([]driftback.Peer, driftback.MaxParticipants), wire.MaxStride
	crowd := file(t, r)
	inputs := bytes.Clone(crowd[25 : len(crowd)-8-4]) // up to the number of ticks
	inputs = append(binary.AppendUvarint(inputs, desync.MaxInputs), make([]byte, 2000)...)
	for name, b := range map[string][]byte{"settings": huge(wire.MaxSettings), "a state": sealed(states), "inputs": sealed(inputs)} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := desync.Parse(b)
		runtime.ReadMemStats(&after)
		require.ErrorIs(t, err, desync.ErrMalformed, name)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(64<<10), name)
	}

	// And of what there is: many participants who give nothing.
	r.InputSize = 0
	for at := range driftback.Tick(desync.MaxInputs) {
		r.Inputs = append(r.Inputs, desync.Inputs{Tick: at, Speed: 1, Given: make([]desync.Given, len(r.Players))})
	}
	b := file(t, r)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := desync.Parse(b)
	runtime.ReadMemStats(&after)
	require.NoError(t, err)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(32*len(b)))
}

func TestTheLargestReportIsNoLongerThanItSays(t *testing.T) {
	text := strings.Repeat("x", 1000)
	field := fingerprint.Difference{Path: text, A: text, B: text}
	r := &desync.Report{
		Game: text, Build: text, Platform: text, Peer: 1, Players: make([]driftback.Peer, driftback.MaxParticipants),
		Found: wire.MaxTick, Agreed: wire.MaxTick - 3000, Tick: wire.MaxTick, InputSize: wire.MaxStride,
		Start: wire.MaxTick - 3000, End: wire.MaxTick, Before: make([]byte, dispute.MaxState), After: make([]byte, dispute.MaxState),
	}
	for range desync.MaxFields {
		r.Fields, r.Unrepeated = append(r.Fields, field), append(r.Unrepeated, field)
	}
	for i := range dispute.MaxRoots {
		r.Roots = append(r.Roots, dispute.RootPair{Tick: r.Agreed + 1 + driftback.Tick(i), OursKnown: true, TheirsKnown: true})
	}
	for i := range desync.MaxInputs {
		in := desync.Inputs{Tick: r.Agreed - 1500 + driftback.Tick(i), Speed: 8, Given: make([]desync.Given, len(r.Players))}
		for p := range in.Given {
			in.Given[p].Input = make([]byte, wire.MaxStride)
		}
		r.Inputs = append(r.Inputs, in)
	}
	b := file(t, r)
	require.LessOrEqual(t, len(b), desync.MaxFile)
	again, err := desync.Parse(b)
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("x", desync.MaxText-3)+"…", again.Game, "what is too long is cut")
	require.Len(t, again.Fields[63].B, desync.MaxText)
}

func TestATextIsCutBetweenCharacters(t *testing.T) {
	r := reported(t, play(t, step, nil), play(t, step, spoilt))
	r.Game = strings.Repeat("ж", 200)
	again, err := desync.Parse(file(t, r))
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("ж", 126)+"…", again.Game)
}

func TestThereIsRoomForTheLargestStateAndInput(t *testing.T) {
	require.Equal(t, layout.MaxSize, dispute.MaxState)
	require.Equal(t, layout.MaxInputSize, wire.MaxStride)
}

func TestAReportThatContradictsItselfIsNotWritten(t *testing.T) {
	type change = func(r *desync.Report)
	for says, c := range map[string]change{
		"the game holds the control character U+000A":                                    func(r *desync.Report) { r.Game = "a\n" },
		"the platform is not valid UTF-8":                                                func(r *desync.Report) { r.Platform = "\xff" },
		"there are 129 settings, and at most 128 are allowed":                            func(r *desync.Report) { r.Settings = make([]wire.Setting, 129) },
		`setting "" is "x": 1 to 64 bytes and at most 256 are allowed`:                   func(r *desync.Report) { r.Settings = []wire.Setting{{Value: "x"}} },
		`setting "a" follows "b": they must ascend`:                                      func(r *desync.Report) { r.Settings = []wire.Setting{{Name: "b"}, {Name: "a"}} },
		`setting "a" holds the control character U+0007`:                                 func(r *desync.Report) { r.Settings = []wire.Setting{{Name: "a", Value: "\a"}} },
		"it is of peer 0 and peer 0: two different ones below 64 are allowed":            func(r *desync.Report) { r.Peer = 0 },
		"it is of peer 0 and peer 64":                                                    func(r *desync.Report) { r.Peer = 64 },
		"there are 17 participants, and at most 16 are allowed":                          func(r *desync.Report) { r.Players = make([]driftback.Peer, 17) },
		"peer 99 plays participant 1, and peers are below 64":                            func(r *desync.Report) { r.Players[1] = 99 },
		"tick 8 was agreed on and tick 8 found to differ":                                func(r *desync.Report) { r.Agreed = 8 },
		"tick -1 was agreed on":                                                          func(r *desync.Report) { r.Agreed = -1 },
		"the first tick that differs is 9, and it must be after 0 and at most 8":         func(r *desync.Report) { r.Tick = 9 },
		"the states of tick 9 were compared, and it must be after 0 and at most 8":       func(r *desync.Report) { r.At = 9 },
		"the states of tick 6 were compared, and it must be after 0 and at most 8, or 0": func(r *desync.Report) { r.Compared = false },
		"whether ticks repeat is 3 and 2, and at most 2 is allowed":                      func(r *desync.Report) { r.Repeats[0] = 3 },
		"there are fingerprints of 2049 ticks":                                           func(r *desync.Report) { r.Roots = make([]dispute.RootPair, 2049) },
		"the fingerprints of tick 1 follow those of tick 1: they must ascend":            func(r *desync.Report) { r.Roots[1].Tick = 1 },
		"no fingerprint of tick 2 is known, or one that is not known is not 0":           func(r *desync.Report) { r.Roots[1].OursKnown = false },
		"there are 65 fields, and at most 64 are allowed":                                func(r *desync.Report) { r.Unrepeated = make([]fingerprint.Difference, 65) },
		`the field "\x00", which is "" or "", holds the control character U+0000`:        func(r *desync.Report) { r.Fields[0] = fingerprint.Difference{Path: "\x00"} },
		"the states have -1 and 22 bytes":                                                func(r *desync.Report) { r.OursSize = -1 },
		"the states have 22 and 67108865 bytes: 0 to 67108864 are allowed":               func(r *desync.Report) { r.TheirsSize = dispute.MaxState + 1 },
		"an input has 257 bytes: 0 to 256 are allowed":                                   func(r *desync.Report) { r.InputSize = 257 },
		"there are the inputs of 4097 ticks, and at most 4096 are allowed":               func(r *desync.Report) { r.Inputs = make([]desync.Inputs, 4097) },
		"the inputs begin with tick -3":                                                  func(r *desync.Report) { r.Inputs[0].Tick = -3 },
		"the inputs of tick 3 follow those of tick 1: no tick may be left out":           func(r *desync.Report) { r.Inputs = append(r.Inputs[:2], r.Inputs[3:]...) },
		"the speed of tick 2 is 33 eighths: 1 to 32 are allowed":                         func(r *desync.Report) { r.Inputs[2].Speed = 33 },
		"the speed of tick 2 is 0 eighths":                                               func(r *desync.Report) { r.Inputs[2].Speed = 0 },
		"there are 1 inputs for tick 2, and 2 participants":                              func(r *desync.Report) { r.Inputs[2].Given = r.Inputs[2].Given[:1] },
		"the input of participant 1 for tick 2 has 1 bytes, and one has 2":               func(r *desync.Report) { r.Inputs[2].Given[1].Input = []byte{1} },
		"the entry of participant 1 for tick 2 is 37 and its status 0":                   func(r *desync.Report) { r.Inputs[2].Given[1].Entry = 37 },
		"the entry of participant 0 for tick 2 is 0 and its status 3":                    func(r *desync.Report) { r.Inputs[2].Given[0].Status = 3 },
		"a tick is given of a state that is not known":                                   func(r *desync.Report) { r.Before = nil },
		"a state has 67108865 bytes, and at most 67108864 are allowed":                   func(r *desync.Report) { r.After = make([]byte, dispute.MaxState+1) },
		"the states are those of tick 6 and tick 6: they must lie between 0 and 8":       func(r *desync.Report) { r.Start = 6 },
		"the states are those of tick 5 and tick 9":                                      func(r *desync.Report) { r.End = 9 },
	} {
		r := reported(t, play(t, step, nil), play(t, step, spoilt))
		c(r)
		b, err := r.Append([]byte("kept"))
		require.ErrorContains(t, err, "desync: the report cannot be written: "+says)
		require.Equal(t, "kept", string(b))
	}
}

// TestTheGoldenFileIsRead reads a file that was written down; -rewrite writes it anew.
func TestTheGoldenFileIsRead(t *testing.T) {
	want := reported(t, play(t, step, nil), play(t, step, spoilt))
	want.Unrepeated = []fingerprint.Difference{{Path: "Odd", A: "1", B: "2"}}
	name := filepath.Join("testdata", "race.desync")
	if *rewrite {
		require.NoError(t, os.WriteFile(name, file(t, want), 0o644))
	}
	b, err := os.ReadFile(name)
	require.NoError(t, err)
	require.Equal(t, file(t, want), b, "the format has changed: files that people have are of the one before, so raise Version")
	r, err := desync.Parse(b)
	require.NoError(t, err)
	require.Equal(t, want, r)
	o, err := desync.Rerun(r, step)
	require.NoError(t, err)
	require.True(t, o.Ours)
}

func FuzzParse(f *testing.F) {
	r := reported(f, play(f, step, nil), play(f, step, spoilt))
	b := file(f, r)
	f.Add(b[25:len(b)-8], true)
	f.Add(b, false)
	f.Fuzz(func(t *testing.T, b []byte, seal bool) {
		if seal {
			b = sealed(b)
		}
		r, err := desync.Parse(b)
		if err != nil {
			require.ErrorIs(t, err, desync.ErrMalformed)
			return
		}
		require.Equal(t, b, file(t, r))
		_ = r.String()
		_ = r.Text(nil)
		_, err = desync.Rerun(r, func(*State, []Input, *driftback.Pass) {})
		_ = err
	})
}
