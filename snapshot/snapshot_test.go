package snapshot_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/driftback/driftback/layout"
	"github.com/driftback/driftback/snapshot"
)

// World can be saved in every way there is.
type World struct {
	tick  int64
	Units [4]Unit
	Score [2]uint32
}

type Unit struct {
	Alive  bool
	Health int16
	X      float64
}

func (w *World) CopyTo(to *World) { *to = *w }

var worldLayout, _ = layout.Of[World]()

func (w *World) AppendBinary(b []byte) ([]byte, error) { return worldLayout.Append(b, w), nil }
func (w *World) UnmarshalBinary(b []byte) error        { return worldLayout.Parse(b, w) }

func (s *scores) AppendBinary(b []byte) ([]byte, error) {
	return binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(b, s[0]), s[1]), nil
}

func (s *scores) UnmarshalBinary(b []byte) error {
	if len(b) != 8 {
		return errors.New("scores take 8 bytes")
	}
	s[0], s[1] = binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])
	return nil
}

type scores [2]uint32

// partly saves a World as three parts, each under another policy.
var partly = snapshot.Join(
	snapshot.Part(func(w *World) *int64 { return &w.tick }, snapshot.For[int64]),
	snapshot.Part(func(w *World) *[4]Unit { return &w.Units }, snapshot.Assign[[4]Unit]),
	snapshot.Part(func(w *World) *scores { return (*scores)(&w.Score) }, snapshot.Encode[scores]),
)

var policies = map[string]snapshot.Policy[World]{
	"assign": snapshot.Assign[World],
	"copy":   snapshot.Copy[World],
	"encode": snapshot.Encode[World],
	"for":    snapshot.For[World],
	"parts":  partly,
	"parts in parts": snapshot.Join(
		snapshot.Part(func(w *World) *World { return w }, partly),
		snapshot.Part(func(w *World) *[4]Unit { return &w.Units }, snapshot.For[[4]Unit]),
	),
}

func TestUnderEveryPolicyTheSameOperationsGiveTheSameBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		places := rapid.IntRange(1, 4).Draw(t, "places")
		type run struct {
			store snapshot.Store[World]
			live  World
		}
		runs := map[string]*run{}
		for name, p := range policies {
			store, err := p(places)
			require.NoError(t, err)
			runs[name] = &run{store: store}
		}
		// The model holds whole worlds and knows nothing of stores.
		model, held := World{}, map[int]World{}
		loads := 0
		t.Repeat(map[string]func(*rapid.T){
			"step": func(t *rapid.T) {
				unit, health := rapid.IntRange(0, 3).Draw(t, "unit"), rapid.Int16().Draw(t, "health")
				step := func(w *World) {
					w.tick++
					w.Units[unit] = Unit{Alive: health > 0, Health: health, X: w.Units[unit].X + math.Copysign(0.1, float64(health))}
					w.Score[unit%2] += uint32(unit)
				}
				step(&model)
				for _, r := range runs {
					step(&r.live)
				}
			},
			"save": func(t *rapid.T) {
				i := rapid.IntRange(0, places-1).Draw(t, "place")
				held[i] = model
				for name, r := range runs {
					require.NoError(t, r.store.Save(i, &r.live), name)
				}
			},
			"load": func(t *rapid.T) {
				i := rapid.IntRange(0, places-1).Draw(t, "place")
				was, ok := held[i]
				for name, r := range runs {
					if err := r.store.Load(i, &r.live); !ok {
						require.ErrorIs(t, err, snapshot.ErrEmpty, name)
					} else {
						require.NoError(t, err, name)
					}
				}
				if ok {
					model = was
					loads++
				}
			},
			"": func(t *rapid.T) {
				want := worldLayout.Append(nil, &model)
				for name, r := range runs {
					require.True(t, bytes.Equal(want, worldLayout.Append(nil, &r.live)), "%s parted from the model after %d loads", name, loads)
				}
			},
		})
	})
}

func TestAPlaceIsCheckedUnderEveryPolicy(t *testing.T) {
	for name, p := range policies {
		t.Run(name, func(t *testing.T) {
			for _, places := range []int{-1, 0, snapshot.MaxPlaces + 1} {
				_, err := p(places)
				require.ErrorContains(t, err, "from 1 to 65536 are possible")
			}
			store, err := p(2)
			require.NoError(t, err)
			w := World{tick: 5}
			for _, i := range []int{-1, 2, math.MaxInt} {
				require.ErrorIs(t, store.Save(i, &w), snapshot.ErrNoPlace)
				require.ErrorIs(t, store.Load(i, &w), snapshot.ErrNoPlace)
			}
			require.ErrorIs(t, store.Load(1, &w), snapshot.ErrEmpty)
			require.Equal(t, World{tick: 5}, w, "an empty place changed the state")
		})
	}
}

func TestAStoreThatWouldFillMemoryIsRefused(t *testing.T) {
	type huge [1 << 20]byte
	_, err := snapshot.For[huge](1025)
	require.EqualError(t, err, "snapshot: 1025 places of 1048576 bytes; together they may take 1073741824")
	_, err = snapshot.For[struct{}](snapshot.MaxPlaces)
	require.NoError(t, err)
}

func TestASavedStateIsNotTheLiveOne(t *testing.T) {
	for name, p := range policies {
		t.Run(name, func(t *testing.T) {
			store, err := p(2)
			require.NoError(t, err)
			w := World{tick: 1, Units: [4]Unit{{Health: 10}}}
			require.NoError(t, store.Save(0, &w))
			w.tick, w.Units[0].Health, w.Score[1] = 2, 20, 3
			require.NoError(t, store.Save(1, &w))
			var back World
			for range 2 {
				require.NoError(t, store.Load(0, &back))
				require.Equal(t, World{tick: 1, Units: [4]Unit{{Health: 10}}}, back)
				back.Units[0].Health = 99 // must not reach the store
			}
			require.NoError(t, store.Load(1, &back))
			require.Equal(t, w, back)
		})
	}
}

func TestSavingAndLoadingAllocateNothingOnceWarm(t *testing.T) {
	for name, p := range policies {
		t.Run(name, func(t *testing.T) {
			store, err := p(3)
			require.NoError(t, err)
			w := new(World)
			i := 0
			turn := func() {
				if err := errors.Join(store.Save(i, w), store.Load(i, w)); err != nil {
					panic(err)
				}
				i = (i + 1) % 3
			}
			for range 3 {
				turn()
			}
			require.Zero(t, testing.AllocsPerRun(100, turn))
		})
	}
}

// Which policy For picks shows in what it does to a state.
type (
	copies struct {
		List []int
		by   string
	}
	plain struct {
		Name  string
		Value int
	}
	encodes struct {
		List []byte
		by   string
	}
	shares struct{ Deep struct{ List []int } }
	clock  struct{ left byte }
	hollow struct {
		clock
		List []int
	}
)

func (c *copies) CopyTo(to *copies) {
	to.List, to.by = append(to.List[:0], c.List...), "CopyTo"
}
func (c *copies) AppendBinary(b []byte) ([]byte, error) { return b, errors.New("not asked for") }
func (c *copies) UnmarshalBinary([]byte) error          { return errors.New("not asked for") }

func (p *plain) AppendBinary(b []byte) ([]byte, error) { return b, errors.New("not asked for") }
func (p *plain) UnmarshalBinary([]byte) error          { return errors.New("not asked for") }

func (e *encodes) AppendBinary(b []byte) ([]byte, error) { return append(b, e.List...), nil }
func (e *encodes) UnmarshalBinary(b []byte) error {
	e.List, e.by = append(e.List[:0], b...), "UnmarshalBinary"
	return nil
}

func (c *clock) AppendBinary(b []byte) ([]byte, error) { return append(b, c.left), nil }
func (c *clock) UnmarshalBinary(b []byte) error        { c.left = b[0]; return nil }

// misshapen has methods that look right, and one that is.
type misshapen struct{ List []byte }

func (*misshapen) CopyTo(misshapen)               {}
func (m *misshapen) AppendBinary(b []byte) []byte { return append(b, m.List...) }
func (*misshapen) UnmarshalBinary([]byte) error   { return nil }

func through[S any](t *testing.T, s S) S {
	t.Helper()
	store, err := snapshot.For[S](1)
	require.NoError(t, err)
	require.NoError(t, store.Save(0, &s))
	var back S
	require.NoError(t, store.Load(0, &back))
	return back
}

func TestForPicksCopyToThenAssignmentThenBytes(t *testing.T) {
	require.Equal(t, copies{List: []int{1, 2}, by: "CopyTo"}, through(t, copies{List: []int{1, 2}}))
	require.Equal(t, plain{Name: "a", Value: 3}, through(t, plain{Name: "a", Value: 3}))
	require.Equal(t, encodes{List: []byte{1, 2}, by: "UnmarshalBinary"}, through(t, encodes{List: []byte{1, 2}}))

	_, err := snapshot.For[shares](1)
	require.EqualError(t, err, "snapshot: a copy of shares.Deep.List would share its memory: use a fixed array, "+
		"or give the state func (s *shares) CopyTo(to *shares), or both func (s *shares) AppendBinary(b []byte) ([]byte, error) "+
		"and func (s *shares) UnmarshalBinary(b []byte) error")
	_, err = snapshot.For[misshapen](1)
	require.ErrorContains(t, err, "; the CopyTo that it has is func(snapshot_test.misshapen)"+
		"; the AppendBinary that it has is func([]uint8) []uint8")
	_, err = snapshot.For[hollow](1)
	require.EqualError(t, err, "snapshot: the embedded hollow.clock has AppendBinary and UnmarshalBinary itself, "+
		"and would be saved in place of the whole state: give the field a name")
	_, err = snapshot.Assign[shares](1)
	require.EqualError(t, err, "snapshot: a copy of shares.Deep.List would share its memory, so assignment cannot save it")
}

// fragile is a state whose own methods fail when told to.
type fragile struct {
	body            []byte
	refuse, corrupt bool
}

var errRefused, errCorrupt = errors.New("refused"), errors.New("corrupt")

func (f *fragile) AppendBinary(b []byte) ([]byte, error) {
	if f.refuse {
		return append(b, 0xbd), errRefused
	}
	return append(b, f.body...), nil
}

func (f *fragile) UnmarshalBinary(b []byte) error {
	if f.corrupt {
		return errCorrupt
	}
	f.body = append(f.body[:0], b...)
	return nil
}

func TestAnErrorOfTheStatesOwnMethodsComesThrough(t *testing.T) {
	joined := snapshot.Join(
		snapshot.Part(func(f *fragile) *bool { return &f.refuse }, snapshot.Assign[bool]),
		snapshot.Part(func(f *fragile) *fragile { return f }, snapshot.Encode[fragile]),
	)
	for name, c := range map[string]struct {
		policy snapshot.Policy[fragile]
		suffix string
	}{
		"alone":     {snapshot.Encode[fragile], ""},
		"in a join": {joined, " (part 1 of 2)"},
	} {
		t.Run(name, func(t *testing.T) {
			store, err := c.policy(1)
			require.NoError(t, err)
			require.NoError(t, store.Save(0, &fragile{body: []byte("first")}))
			err = store.Load(0, &fragile{corrupt: true})
			require.ErrorIs(t, err, errCorrupt)
			require.EqualError(t, err, "snapshot: the state's UnmarshalBinary, for place 0: corrupt"+c.suffix)

			err = store.Save(0, &fragile{refuse: true})
			require.ErrorIs(t, err, errRefused)
			require.EqualError(t, err, "snapshot: the state's AppendBinary, for place 0: refused"+c.suffix)
			var back fragile
			require.ErrorIs(t, store.Load(0, &back), snapshot.ErrEmpty, "half a state was kept")
			require.False(t, back.refuse, "and half a state is not loaded")

			require.NoError(t, store.Save(0, &fragile{body: []byte("second")}))
			require.NoError(t, store.Load(0, &back))
			require.Equal(t, "second", string(back.body))
		})
	}
}

func TestAPartOrAJoinThatCannotWorkIsRefused(t *testing.T) {
	tick := func(w *World) *int64 { return &w.tick }
	for name, c := range map[string]struct {
		policy snapshot.Policy[World]
		want   string
	}{
		"a join of nothing":         {snapshot.Join[World](), "snapshot: a join of no parts would save nothing"},
		"a join with a missing one": {snapshot.Join(snapshot.For[World], nil), "snapshot: part 1 of 2 has no policy"},
		"a part from nowhere":       {snapshot.Part[World, int64](nil, snapshot.For[int64]), "snapshot: a part needs a function that finds it and a policy that saves it"},
		"a part without a policy":   {snapshot.Part(tick, nil), "snapshot: a part needs a function that finds it and a policy that saves it"},
		"a part that shares": {
			snapshot.Join(snapshot.Part(tick, snapshot.For[int64]), snapshot.Part(func(*World) *shares { return nil }, snapshot.Assign[shares])),
			"snapshot: a copy of shares.Deep.List would share its memory, so assignment cannot save it (part 1 of 2)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.policy(1)
			require.EqualError(t, err, c.want)
		})
	}
}

func TestAJoinSavesThePartsThatItNamesAndNoOther(t *testing.T) {
	store, err := snapshot.Join(snapshot.Part(func(w *World) *int64 { return &w.tick }, snapshot.For[int64]))(1)
	require.NoError(t, err)
	w := World{tick: 1, Score: [2]uint32{1}}
	require.NoError(t, store.Save(0, &w))
	w.tick, w.Score[0] = 2, 2
	require.NoError(t, store.Load(0, &w))
	require.Equal(t, World{tick: 1, Score: [2]uint32{2}}, w)
}
