package rewind_test

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/inputlog"
	"github.com/driftback/driftback/rewind"
	"github.com/driftback/driftback/snapshot"
)

// world is a state that remembers: whatever was ever done differently shows in it.
// It can be saved in every way there is.
type world struct {
	Tick  uint64
	Mixed uint64
	Seen  [4]uint16
}

func step(w *world, in []uint16, pass *driftback.Pass) {
	*driftback.Touch(pass, w, &w.Tick)++
	mixed := driftback.Touch(pass, w, &w.Mixed)
	for p, v := range in {
		*mixed = (*mixed ^ uint64(v)) * 0x100000001b3
		*driftback.Touch(pass, w, &w.Seen[p%len(w.Seen)]) = v
	}
}

func (w *world) CopyTo(to *world) { *to = *w }

func (w *world) AppendBinary(b []byte) ([]byte, error) {
	b = binary.LittleEndian.AppendUint64(b, w.Tick)
	b = binary.LittleEndian.AppendUint64(b, w.Mixed)
	for _, v := range w.Seen {
		b = binary.LittleEndian.AppendUint16(b, v)
	}
	return b, nil
}

func (w *world) UnmarshalBinary(b []byte) error {
	if len(b) != 24 {
		return errors.New("a world is 24 bytes long")
	}
	w.Tick, w.Mixed = binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])
	for i := range w.Seen {
		w.Seen[i] = binary.LittleEndian.Uint16(b[16+2*i:])
	}
	return nil
}

// policies are the ways of saving that every match is played under.
var policies = map[string]snapshot.Policy[world]{
	"picked":        nil,
	"assignment":    snapshot.Assign[world],
	"copying":       snapshot.Copy[world],
	"own bytes":     snapshot.Encode[world],
	"pages":         snapshot.Pages[world],
	"checked pages": snapshot.CheckedPages[world],
	"joined parts": snapshot.Join(
		snapshot.Part(func(w *world) *uint64 { return &w.Tick }, snapshot.Assign[uint64]),
		snapshot.Part(func(w *world) *uint64 { return &w.Mixed }, snapshot.For[uint64]),
		snapshot.Part(func(w *world) *[4]uint16 { return &w.Seen }, snapshot.Assign[[4]uint16]),
	),
}

// oracle returns the world as every tick begins, when each input is there in time.
func oracle(table [][]uint16) []world {
	var w world
	all := []world{w}
	for _, in := range table {
		step(&w, in, nil)
		all = append(all, w)
	}
	return all
}

type loop = rewind.Loop[world, uint16]

// newLoop returns a loop and its log, with whatever set changes of the config.
func newLoop(t *testing.T, participants, depth int, set ...func(c *rewind.Config[world, uint16])) (*loop, *inputlog.Log[uint16]) {
	t.Helper()
	log, err := inputlog.New(inputlog.Config[uint16]{Participants: participants, Depth: 32})
	require.NoError(t, err)
	c := rewind.Config[world, uint16]{Step: step, Inputs: log, Depth: depth}
	for _, s := range set {
		s(&c)
	}
	l, err := rewind.New(c)
	require.NoError(t, err)
	return l, log
}

// advance runs n ticks that need not go back.
func advance(t *testing.T, l *loop, n int) {
	t.Helper()
	for range n {
		again, err := l.Advance()
		require.NoError(t, err)
		require.Zero(t, again)
	}
}

// snapshotOf returns the world as a tick began.
func snapshotOf(t *testing.T, l *loop, tick driftback.Tick) world {
	t.Helper()
	var w world
	require.NoError(t, l.Snapshot(tick, &w))
	return w
}
