package snapshot_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/snapshot"
)

// field is a state of many pages, of which one is cut short.
type field struct {
	Tick  int64
	Cells [300]cell
	Last  uint8
}

type cell struct {
	On     bool
	Weight float64
}

// tracked is a live state and a store by pages that knows it.
type tracked struct {
	live  *field
	store snapshot.Store[field]
	pass  driftback.Pass
}

func track(t require.TestingT, policy snapshot.Policy[field], places int) *tracked {
	store, err := policy(places)
	require.NoError(t, err)
	r := &tracked{live: new(field), store: store}
	tracker, ok := store.(snapshot.Tracker[field])
	require.True(t, ok)
	r.pass.Track(tracker.Track(r.live))
	return r
}

func (r *tracked) write(i int, weight float64) {
	w := r.live
	*driftback.Touch(&r.pass, w, &w.Tick)++
	c := driftback.Touch(&r.pass, w, &w.Cells[i])
	c.On, c.Weight = weight > 0, weight
	*driftback.Touch(&r.pass, w, &w.Last) = uint8(i)
}

func TestPagesHoldWhatWholeCopiesHold(t *testing.T) {
	for name, policy := range map[string]snapshot.Policy[field]{"pages": snapshot.Pages[field], "checked pages": snapshot.CheckedPages[field]} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				places := rapid.IntRange(1, 5).Draw(t, "places")
				r, model := track(t, policy, places), field{}
				held := map[int]field{}
				place := rapid.IntRange(0, places-1)
				same := func(i int, load func(i int, into *field) error, into *field) bool {
					was, ok := held[i]
					if err := load(i, into); !ok {
						require.ErrorIs(t, err, snapshot.ErrEmpty)
						return false
					} else {
						require.NoError(t, err)
					}
					require.Equal(t, was, *into)
					return true
				}
				t.Repeat(map[string]func(*rapid.T){
					"step": func(t *rapid.T) {
						for range rapid.IntRange(1, 3).Draw(t, "writes") {
							r.write(rapid.IntRange(0, 299).Draw(t, "cell"), rapid.Float64().Draw(t, "weight"))
						}
						model = *r.live
					},
					"write anywhere": func(t *rapid.T) {
						driftback.Touch(&r.pass, r.live, new(int))
						r.live.Cells[rapid.IntRange(0, 299).Draw(t, "cell")].Weight++
						model = *r.live
					},
					"save": func(t *rapid.T) {
						i := place.Draw(t, "place")
						require.NoError(t, r.store.Save(i, r.live))
						held[i] = model
					},
					"save another state": func(t *rapid.T) {
						i := place.Draw(t, "place")
						other := field{Tick: rapid.Int64().Draw(t, "tick"), Last: 7}
						require.NoError(t, r.store.Save(i, &other))
						held[i] = other
					},
					"load": func(t *rapid.T) {
						if same(place.Draw(t, "place"), r.store.Load, r.live) {
							model = *r.live
						}
					},
					"load into another state": func(t *rapid.T) {
						into := field{Tick: 5, Last: 5}
						same(place.Draw(t, "place"), r.store.Load, &into)
					},
					"": func(t *rapid.T) { require.Equal(t, model, *r.live) },
				})
				for i := range held {
					require.True(t, same(i, r.store.Load, new(field)), "every place holds what was saved there")
				}
			})
		})
	}
}

func TestAWriteWithoutATouchIsFoundAndNamed(t *testing.T) {
	for name, act := range map[string]func(r *tracked) error{
		"when it is saved":      func(r *tracked) error { return r.store.Save(1, r.live) },
		"when it is taken back": func(r *tracked) error { return r.store.Load(0, r.live) },
	} {
		t.Run(name, func(t *testing.T) {
			r := track(t, snapshot.CheckedPages[field], 2)
			r.write(3, 1)
			require.NoError(t, r.store.Save(0, r.live))
			r.write(4, 1)
			r.live.Cells[200].Weight = 2.5
			err := act(r)
			require.ErrorIs(t, err, snapshot.ErrUntouched)
			require.ErrorContains(t, err, "Cells[200].Weight was 0 and is 2.5")
			// The control: unchecked, it is lost.
			u := track(t, snapshot.Pages[field], 2)
			require.NoError(t, u.store.Save(0, u.live))
			u.live.Cells[200].Weight = 2.5
			require.NoError(t, u.store.Load(0, u.live))
			require.InDelta(t, 2.5, u.live.Cells[200].Weight, 0, "it is not even taken back")
		})
	}
}

func TestAWriteBesideWhatWasTouchedIsFoundToo(t *testing.T) {
	r := track(t, snapshot.CheckedPages[field], 2)
	require.NoError(t, r.store.Save(0, r.live))
	r.write(4, 1)
	r.live.Cells[5].On = true
	require.ErrorContains(t, r.store.Save(1, r.live), "Cells[5].On was false and is true")
}

func TestOnlyPagesThatWereWrittenToAreCopied(t *testing.T) {
	// What is copied shows in what another goroutine, so to speak, has written to the other pages unannounced.
	r := track(t, snapshot.Pages[field], 3)
	require.NoError(t, r.store.Save(0, r.live))
	r.write(0, 1)
	r.live.Cells[150].Weight = 9
	require.NoError(t, r.store.Save(1, r.live))
	var w field
	require.NoError(t, r.store.Load(1, &w))
	require.InDelta(t, 1, w.Cells[0].Weight, 0)
	require.Zero(t, w.Cells[150].Weight)
}

func TestAStateWithoutALayoutHasNoPages(t *testing.T) {
	_, err := snapshot.Pages[struct{ Name string }](2)
	require.ErrorContains(t, err, "only a state that has a layout can be saved by pages")
	_, err = snapshot.Pages[field](0)
	require.Error(t, err)
}

func TestPagesDoNotAllocateOnceWarm(t *testing.T) {
	r := track(t, snapshot.Pages[field], 4)
	i := 0
	round := func() {
		r.write(i%300, float64(i))
		if r.store.Save(i%4, r.live) != nil || i%3 == 0 && r.store.Load((i+3)%4, r.live) != nil {
			t.Fatal("neither fails")
		}
		i++
	}
	for range 4 {
		i = max(i, 1)
		r.write(i, 1)
		require.NoError(t, r.store.Save(i%4, r.live))
		i++
	}
	require.Zero(t, testing.AllocsPerRun(500, round))
}
