package simtest_test

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/examples/fighter/sim"
	"github.com/driftback/driftback/rng"
	"github.com/driftback/driftback/simtest"
	"github.com/driftback/driftback/snapshot"
)

// mistaken is a game with a mistake, and what SyncTest says about it.
type mistaken struct {
	sync    func(s simtest.Scenario) (simtest.SyncReport, error)
	run     func(t testing.TB)
	mistake simtest.Mistake
	field   string // the first that differs; empty: there is none
	says    []string
}

func plantedIn[S any, I comparable](g simtest.Game[S, I], m simtest.Mistake, field string, says ...string) mistaken {
	return mistaken{
		sync:    func(s simtest.Scenario) (simtest.SyncReport, error) { return simtest.SyncTest(g, s) },
		run:     func(t testing.TB) { simtest.Run(t, g, simtest.Options{Seeds: 1}) },
		mistake: m, field: field, says: says,
	}
}

// ring is a state with memory of its own, a hidden field, and more than one way to be
// copied wrongly.
type ring struct {
	Marks []uint16
	Total int32
	speed int32
}

func (r *ring) AppendBinary(b []byte) ([]byte, error) {
	for _, m := range r.Marks {
		b = append(b, byte(m), byte(m>>8))
	}
	return append(b, byte(r.Total), byte(r.Total>>8)), nil
}

func (r *ring) step(in []input, _ *driftback.Pass) {
	r.speed = (r.speed + int32(in[0].Buttons)) % 1000
	r.Total += r.speed
	for p, i := range in {
		r.Marks[p] += i.Buttons
	}
}

// Each has another CopyTo.
type (
	soundRing     struct{ Ring ring }
	sharingRing   struct{ Ring ring }
	forgetfulRing struct{ Ring ring }
	hidingRing    struct{ Ring ring }
)

func (r *soundRing) CopyTo(to *soundRing) {
	to.Ring.Marks = append(to.Ring.Marks[:0], r.Ring.Marks...)
	to.Ring.Total, to.Ring.speed = r.Ring.Total, r.Ring.speed
}

func (r *sharingRing) CopyTo(to *sharingRing) { *to = *r }

func (r *forgetfulRing) CopyTo(to *forgetfulRing) {
	to.Ring.Marks, to.Ring.speed = append(to.Ring.Marks[:0], r.Ring.Marks...), r.Ring.speed
}

func (r *hidingRing) CopyTo(to *hidingRing) {
	to.Ring.Marks, to.Ring.Total = append(to.Ring.Marks[:0], r.Ring.Marks...), r.Ring.Total
}

func (r *soundRing) AppendBinary(b []byte) ([]byte, error)     { return r.Ring.AppendBinary(b) }
func (r *sharingRing) AppendBinary(b []byte) ([]byte, error)   { return r.Ring.AppendBinary(b) }
func (r *forgetfulRing) AppendBinary(b []byte) ([]byte, error) { return r.Ring.AppendBinary(b) }
func (r *hidingRing) AppendBinary(b []byte) ([]byte, error)    { return r.Ring.AppendBinary(b) }

func (r *carelessRing) UnmarshalBinary(b []byte) error {
	r.Ring.Marks = r.Ring.Marks[:0]
	for ; len(b) > 2; b = b[2:] {
		r.Ring.Marks = append(r.Ring.Marks, uint16(b[0])|uint16(b[1])<<8)
	}
	return nil
}

// carelessRing has a sound CopyTo and an UnmarshalBinary that forgets the total.
type carelessRing struct{ Ring ring }

func (r *carelessRing) CopyTo(to *carelessRing) {
	(*soundRing)(r).CopyTo((*soundRing)(to))
}

func (r *carelessRing) AppendBinary(b []byte) ([]byte, error) { return r.Ring.AppendBinary(b) }

func ringGame[S any](of func(*S) *ring) simtest.Game[S, input] {
	return simtest.Game[S, input]{
		Name: "ring",
		Initial: func() (s S) {
			of(&s).Marks = make([]uint16, driftback.MaxParticipants)
			return s
		},
		Step:  func(s *S, in []input, pass *driftback.Pass) { of(s).step(in, pass) },
		Input: simtest.Witness().Input,
	}
}

// keeping copies what it saves, and hands out its own memory.
type keeping []soundRing

func (k keeping) Save(i int, from *soundRing) error {
	k[i] = *from
	k[i].Ring.Marks = append([]uint16(nil), from.Ring.Marks...)
	return nil
}

func (k keeping) Load(i int, into *soundRing) error { *into = k[i]; return nil }

// lateRing makes its marks on the first tick. Its bytes are the same without them.
type lateRing struct{ Ring ring }

func (r *lateRing) CopyTo(to *lateRing) { (*soundRing)(r).CopyTo((*soundRing)(to)) }

func (r *lateRing) AppendBinary(b []byte) ([]byte, error) {
	whole := r.Ring
	whole.Marks = make([]uint16, driftback.MaxParticipants)
	copy(whole.Marks, r.Ring.Marks)
	return whole.AppendBinary(b)
}

// cramped loads the marks into the memory that is there.
type cramped struct{ snapshot.Store[lateRing] }

func (c cramped) Load(i int, into *lateRing) error {
	marks := into.Ring.Marks
	into.Ring.Marks = nil
	err := c.Store.Load(i, into)
	clear(marks)
	copy(marks, into.Ring.Marks)
	into.Ring.Marks = marks
	return err
}

// levelRing has something that never changes, which its CopyTo leaves out.
type levelRing struct {
	Ring  ring
	Level byte
}

func (r *levelRing) CopyTo(to *levelRing) {
	to.Ring.Marks = append(to.Ring.Marks[:0], r.Ring.Marks...)
	to.Ring.Total, to.Ring.speed = r.Ring.Total, r.Ring.speed
}

func (r *levelRing) AppendBinary(b []byte) ([]byte, error) {
	b, err := r.Ring.AppendBinary(b)
	return append(b, r.Level), err
}

// buffered loads into one buffer, whoever asks.
type buffered struct {
	snapshot.Store[soundRing]
	one soundRing
}

func (b *buffered) Load(i int, into *soundRing) error {
	defer func() { *into = b.one }()
	return b.Store.Load(i, &b.one)
}

// movingRing hands over its memory and makes new one.
type movingRing struct{ Ring ring }

func (r *movingRing) AppendBinary(b []byte) ([]byte, error) { return r.Ring.AppendBinary(b) }

func (r *movingRing) CopyTo(to *movingRing) {
	*to = *r
	r.Ring.Marks = []uint16{1, 2, 3}
}

// eight is a map with as many orders as a small map can have, each as likely as the others.
func eight() map[uint64]bool {
	return map[uint64]bool{1: true, 2: true, 3: true, 4: true, 5: true, 6: true, 7: true, 8: true}
}

var mistakes = map[string]func() mistaken{
	"a step that panics": func() mistaken {
		return plantedIn(stepping(func(s *state, in []input, _ *driftback.Pass) {
			if s.Ticks == 60 {
				s.Count[0] += int64(in[s.Ticks].Buttons)
			}
		}), simtest.MistakePanics, "", "participants it panicked at ", ", sync_test.go:", "index out of range", "in[p] of a participant that the match does not have")
	},
	"a loop over a map": func() mistaken {
		set := eight()
		return plantedIn(stepping(func(s *state, _ []input, _ *driftback.Pass) {
			for k := range set {
				s.Digest = s.Digest*31 + k
			}
		}), simtest.MistakeImpure, "Digest", "tick 0: 32 runs came to", "look for: a loop over a map")
	},
	"a loop over a map after a while": func() mistaken {
		set := eight()
		return plantedIn(stepping(func(s *state, _ []input, _ *driftback.Pass) {
			for k := range set {
				if s.Ticks >= 60 {
					s.Count[1] = int64(k)
				}
			}
		}), simtest.MistakeImpure, "Count[1]", "32 runs came to", "look for: a loop over a map")
	},
	"effects in the order of a map": func() mistaken {
		set := eight()
		return plantedIn(stepping(func(_ *state, _ []input, pass *driftback.Pass) {
			for k := range set {
				pass.Raise(driftback.Effect{Kind: 9, Args: [3]int32{int32(k)}})
			}
		}), simtest.MistakeImpure, "", "the same state and raises other effects; it raised [{", "and run again [", "a loop over a map")
	},
	"a forgotten generator that the step has captured": func() mistaken {
		dice := rng.New(1, 2)
		return plantedIn(stepping(func(s *state, _ []input, _ *driftback.Pass) { s.Count[0] += int64(dice.Uint64() >> 8) }),
			simtest.MistakeImpure, "Count[0]", "32 runs came to 32 different states", "look for: a generator that is not in the state")
	},
	"a forgotten generator that a new match seeds": func() mistaken {
		var dice rng.PCG
		g := stepping(func(s *state, _ []input, _ *driftback.Pass) { s.Count[0] += int64(dice.Uint64() >> 8) })
		start := g.Start
		g.Start = func(seed uint64, s *state) {
			start(seed, s)
			dice.Seed(seed, 3)
		}
		return plantedIn(g, simtest.MistakeOutside, "Count[0]", "tick 0", "saved by snapshot.For", "look for: a generator, counter or cache in a package variable or captured")
	},
	"a counter in a closure": func() mistaken {
		runs := int64(0)
		return plantedIn(stepping(func(s *state, _ []input, _ *driftback.Pass) { runs++; s.Count[2] = runs }),
			simtest.MistakeImpure, "Count[2]", "a counter, cache or another variable outside the state")
	},
	"a package variable that remembers the tick before": func() mistaken {
		last := int64(0)
		g := stepping(func(s *state, in []input, _ *driftback.Pass) {
			s.Count[2] += last
			last = int64(in[0].Buttons)
		})
		start := g.Start
		g.Start = func(seed uint64, s *state) { start(seed, s); last = 0 }
		return plantedIn(g, simtest.MistakeOutside, "Count[2]")
	},
	"the process's generator": func() mistaken {
		return plantedIn(stepping(func(s *state, _ []input, _ *driftback.Pass) { s.Count[3] = rand.Int64() }),
			simtest.MistakeImpure, "Count[3]", "look for: a generator that is not in the state (math/rand,")
	},
	"the time": func() mistaken {
		return plantedIn(stepping(func(s *state, _ []input, _ *driftback.Pass) { s.Count[3] = time.Now().UnixNano() }),
			simtest.MistakeImpure, "Count[3]", "time.Now")
	},
	"a start that draws": func() mistaken {
		dice := rng.New(1, 2)
		g := simtest.Witness()
		g.Start = func(seed uint64, s *state) { s.Rand.Seed(seed, dice.Uint64()) }
		return plantedIn(g, simtest.MistakeImpure, "Rand.Lo", "Initial and Start do not make the same world")
	},
	"effects of the run and not of the tick": func() mistaken {
		newest := driftback.Tick(-1)
		g := stepping(func(_ *state, _ []input, pass *driftback.Pass) {
			if pass.Tick() > newest || pass.Tick() == 0 {
				newest = pass.Tick()
				pass.Raise(driftback.Effect{Kind: 77})
			}
		})
		return plantedIn(g, simtest.MistakeOutside, "", "it raised [{77 [0 0 0]}", "and run again []", "look for: a step that raises by what it remembers outside the state")
	},
	"a saving policy that forgets a field": func() mistaken {
		g := simtest.Witness()
		g.Save = forgetful
		return plantedIn(g, simtest.MistakeUnsaved, "Count[0]", "saved by Game.Save", "saved and loaded again at once")
	},
	"a CopyTo that forgets a field": func() mistaken {
		return plantedIn(ringGame(func(s *forgetfulRing) *ring { return &s.Ring }), simtest.MistakeUnsaved, "Ring.Total", "saved by snapshot.For", "CopyTo")
	},
	"a policy that leaves out what changes once": func() mistaken {
		return plantedIn(mazeGame(func(m *maze) {
			if m.Ticks == 100 {
				m.Walls[40]++
			}
		}), simtest.MistakeUnsaved, "Walls[40]", "tick 100: it was saved and loaded again at once", "saved by Game.Save")
	},
	"a load that needs memory which a world that has just begun has not": func() mistaken {
		g := ringGame(func(s *lateRing) *ring { return &s.Ring })
		g.Initial = nil
		step := g.Step
		g.Step = func(s *lateRing, in []input, pass *driftback.Pass) {
			if s.Ring.Marks == nil {
				s.Ring.Marks = make([]uint16, driftback.MaxParticipants)
			}
			step(s, in, pass)
		}
		g.Save = func(places int) (snapshot.Store[lateRing], error) {
			s, err := snapshot.For[lateRing](places)
			return cramped{s}, err
		}
		return plantedIn(g, simtest.MistakeUnsaved, "Ring.Marks (its length)", "tick 1: it was saved and loaded at once into a world that has just begun", "saved by Game.Save")
	},
	"a CopyTo that leaves out what never changes": func() mistaken {
		g := ringGame(func(s *levelRing) *ring { return &s.Ring })
		initial := g.Initial
		g.Initial = func() levelRing {
			s := initial()
			s.Level = 7
			return s
		}
		return plantedIn(g, simtest.MistakeUnsaved, "Level", "loaded at once into an empty world, as a session does to fingerprint it", "saved by snapshot.For")
	},
	"an UnmarshalBinary that forgets a field": func() mistaken {
		return plantedIn(ringGame(func(s *carelessRing) *ring { return &s.Ring }), simtest.MistakeUnsaved, "Ring.Total", "saved by AppendBinary and UnmarshalBinary")
	},
	"a CopyTo and an AppendBinary that forget the same field": func() mistaken {
		return plantedIn(ringGame(func(s *hidingRing) *ring { return &s.Ring }), simtest.MistakeOutside, "byte 32",
			"a load does not bring back Ring.speed: ", "a field that the snapshot and AppendBinary both leave out")
	},
	"a CopyTo that shares a slice": func() mistaken {
		return plantedIn(ringGame(func(s *sharingRing) *ring { return &s.Ring }), simtest.MistakeShared, "byte 0",
			"has changed while the world ran on to tick 1; both have the same memory in Ring.Marks", "the first byte of AppendBinary that differs is byte 0", "; the first field is Ring.Marks[0], ", "a slice, map or pointer that CopyTo")
	},
	"a CopyTo that shares a slice that is made anew in every tick": func() mistaken {
		g := ringGame(func(s *sharingRing) *ring { return &s.Ring })
		step := g.Step
		g.Step = func(s *sharingRing, in []input, pass *driftback.Pass) {
			step(s, in, pass)
			s.Ring.Marks = append([]uint16(nil), s.Ring.Marks...)
		}
		return plantedIn(g, simtest.MistakeShared, "byte 0", "both have the same memory in Ring.Marks")
	},
	"a load that shares a slice": func() mistaken {
		g := ringGame(func(s *soundRing) *ring { return &s.Ring })
		g.Save = func(places int) (snapshot.Store[soundRing], error) { return make(keeping, places), nil }
		return plantedIn(g, simtest.MistakeShared, "byte 0", "while what was loaded from it ran on", "both have the same memory in Ring.Marks", "saved by Game.Save")
	},
	"a load that uses one buffer for all": func() mistaken {
		g := ringGame(func(s *soundRing) *ring { return &s.Ring })
		g.Save = func(places int) (snapshot.Store[soundRing], error) {
			s, err := snapshot.For[soundRing](places)
			return &buffered{Store: s}, err
		}
		return plantedIn(g, simtest.MistakeShared, "byte 0", "a world changes while a snapshot of tick 0 is loaded into another one", "both have the same memory in Ring.Marks")
	},
	"a CopyTo that moves": func() mistaken {
		return plantedIn(ringGame(func(s *movingRing) *ring { return &s.Ring }), simtest.MistakeShared, "byte 0", "tick 0: saving a world changes it")
	},
	"an Initial that shares a slice between peers": func() mistaken {
		g := trailGame()
		shared := trail{Marks: make([]byte, driftback.MaxParticipants)}
		g.Initial = func() trail { return shared }
		return plantedIn(g, simtest.MistakeShared, "byte 0", "a world that has just begun changes while another one runs", "in Marks", "Game.Initial")
	},
	"a step that keeps its inputs": func() mistaken {
		var last []input
		g := stepping(func(s *state, in []input, pass *driftback.Pass) {
			if pass.Tick() > 0 {
				s.Count[4] += int64(last[0].Buttons)
			}
			last = in
		})
		return plantedIn(g, simtest.MistakeKept, "Count[4]", "copy what is needed")
	},
	"a step that keeps its pass": func() mistaken {
		var last *driftback.Pass
		g := stepping(func(s *state, _ []input, pass *driftback.Pass) {
			if pass.Tick() > 0 && s.Ticks%5 == 0 {
				last.Raise(driftback.Effect{Kind: 9})
			}
			last = pass
		})
		return plantedIn(g, simtest.MistakeKept, "")
	},
	"a workload with a generator of its own": func() mistaken {
		dice := rng.New(1, 2)
		g := simtest.Witness()
		g.Input = func(*rng.PCG, driftback.Participant, driftback.Tick) input {
			return input{Buttons: uint16(dice.Uint64())}
		}
		return plantedIn(g, simtest.MistakeInput, "", "participant 0 presses {Buttons:", "and asked again {Buttons:")
	},
}

func TestEveryMistakeIsFoundAndNamedWithItsField(t *testing.T) {
	named := map[simtest.Mistake]bool{}
	for name, plant := range mistakes {
		named[plant().mistake] = true
		t.Run(name, func(t *testing.T) {
			c := plant()
			r, err := c.sync(two())
			require.NoError(t, err)
			f := r.Finding
			require.NotNil(t, f)
			t.Log(f)
			require.Equal(t, c.mistake, f.Mistake, "%v", f)
			require.ErrorContains(t, f, "simtest: "+string(c.mistake)+"\n  tick ")
			for _, says := range c.says {
				require.ErrorContains(t, f, says)
			}
			require.Equal(t, c.field != "", f.Different, "%v", f)
			if c.field != "" {
				require.Equal(t, c.field, f.Difference.Path, "%v", f)
				require.NotEqual(t, f.Difference.A, f.Difference.B)
				require.Regexp(t, "the first (field|byte of AppendBinary) that differs is "+regexp.QuoteMeta(c.field+": "+f.Difference.A+" and then "+f.Difference.B), f.Error())
			}

			// Run says so before it plays anything.
			rec := record(t, plant().run)
			require.True(t, rec.failed)
			require.Contains(t, rec.log.String(), "simtest: "+string(c.mistake))
			require.Contains(t, rec.log.String(), "nothing of it needs a network")
		})
	}
	for _, m := range simtest.Mistakes {
		require.True(t, named[m], "nothing shows that this is found: %s", m)
	}
}

// State that a rewind does not take back: a part that the snapshot was never told of, a slice that it shares with
// the world, and where a generator stands.
func TestStateOutsideTheSnapshotIsFoundAndItsFieldNamed(t *testing.T) {
	for name, names := range map[string]string{
		"a saving policy that forgets a field":                    "Count[0]",
		"a CopyTo that forgets a field":                           "Ring.Total",
		"a CopyTo and an AppendBinary that forget the same field": "Ring.speed",
		"a CopyTo that shares a slice":                            "Ring.Marks[0]",
		"a forgotten generator that a new match seeds":            "Count[0]",
	} {
		t.Run(name, func(t *testing.T) {
			r, err := mistakes[name]().sync(two())
			require.NoError(t, err)
			require.ErrorContains(t, errorOf(r.Finding), names)
		})
	}
	r, err := simtest.SyncTest(simtest.Witness(), two())
	require.NoError(t, err)
	require.NoError(t, errorOf(r.Finding), "a state that is whole")
}

// fight is the fighting game with fists that move.
func fight() simtest.Game[sim.State, sim.Input] {
	return simtest.Game[sim.State, sim.Input]{
		Name: "fighter", Step: sim.Step, Start: sim.Start, Valid: sim.Input.Valid,
		Input: func(r *rng.PCG, _ driftback.Participant, _ driftback.Tick) sim.Input {
			return sim.Input{Buttons: uint16(r.Uint64()) & sim.Buttons}
		},
	}
}

func TestASoundGameIsRewoundOftenAndNothingIsFound(t *testing.T) {
	for name, sync := range map[string]func(s simtest.Scenario) (simtest.SyncReport, error){
		"the witness": func(s simtest.Scenario) (simtest.SyncReport, error) { return simtest.SyncTest(simtest.Witness(), s) },
		"the fighter": func(s simtest.Scenario) (simtest.SyncReport, error) { return simtest.SyncTest(fight(), s) },
		"a trail":     func(s simtest.Scenario) (simtest.SyncReport, error) { return simtest.SyncTest(trailGame(), s) },
		"a ring with a hidden field that is saved": func(s simtest.Scenario) (simtest.SyncReport, error) {
			return simtest.SyncTest(ringGame(func(s *soundRing) *ring { return &s.Ring }), s)
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, window := range []int{0, 1, 30, simtest.None} {
				s := two()
				s.Window = window
				s.Peers[0].InputDelay, s.Peers[1].InputDelay = 1, 3
				r, err := sync(s)
				require.NoError(t, err)
				require.NoError(t, errorOf(r.Finding))
				require.Equal(t, s.Ticks, r.Ticks)
				require.Equal(t, s.Ticks, r.Rewinds)
				require.Greater(t, r.Changed, s.Ticks/2)
				require.GreaterOrEqual(t, r.Resimulated, r.Rewinds)
				if window == 30 {
					require.Greater(t, r.Resimulated, 10*r.Rewinds)
				}
			}
		})
	}
}

func errorOf(f *simtest.Finding) error {
	if f == nil {
		return nil
	}
	return f
}

func TestSyncSaysThatNothingWasFoundAndHowOftenItLooked(t *testing.T) {
	r := record(t, func(t testing.TB) { simtest.Sync(t, simtest.Witness()) })
	require.False(t, r.failed, "%s", r.log.String())
	require.Contains(t, r.log.String(), "simtest: the step can be rewound: 720 times over ")
	require.Contains(t, r.log.String(), "saved by snapshot.For")

	g := simtest.Witness()
	g.Step = func(*state, []input, *driftback.Pass) {}
	r = record(t, func(t testing.TB) { simtest.Sync(t, g) })
	require.True(t, r.failed)
	require.Contains(t, r.log.String(), "simtest: none of 720 ticks changed the state: does the workload press anything?")
}

// What comes up later than Sync looks is found in whole matches, and then explained.
func TestRunAddsWhatARehearsalOfABrokenMatchFinds(t *testing.T) {
	runs := uint64(0)
	g := stepping(func(s *state, _ []input, _ *driftback.Pass) {
		if s.Ticks >= 300 {
			runs++
			s.Digest ^= runs
		}
	})
	dir := t.TempDir()
	r := record(t, func(t testing.TB) { simtest.Run(t, g, simtest.Options{Seeds: 20, Dir: dir, Budget: 20}) })
	require.True(t, r.failed)
	for range 2 {
		said := r.log.String()
		require.Contains(t, said, "simtest: broken: "+string(simtest.RulePure))
		require.Contains(t, said, "without a network: simtest: "+string(simtest.MistakeImpure))
		require.Contains(t, said, "look for: a generator that is not in the state")

		// And so is the file that is kept, when it is played again.
		kept, err := filepath.Glob(filepath.Join(dir, "simtest-*.json"))
		require.NoError(t, err)
		require.Len(t, kept, 1)
		r = record(t, func(t testing.TB) { simtest.Run(t, g, simtest.Options{Dir: dir}) })
	}

	// Control: what is not the game's fault is not explained by the game.
	r = record(t, func(t testing.TB) { simtest.Run(t, broken(), simtest.Options{Seeds: 5, Dir: t.TempDir(), Budget: 20}) })
	require.Contains(t, r.log.String(), string(simtest.RuleState))
	require.NotContains(t, r.log.String(), "without a network")
}

func TestAGameThatCannotBeRehearsedIsRefusedInASentence(t *testing.T) {
	refused := func(want string, change func(g *game, s *simtest.Scenario)) {
		g, s := simtest.Witness(), two()
		change(&g, &s)
		r, err := simtest.SyncTest(g, s)
		require.ErrorContains(t, err, want)
		require.Zero(t, r)
		rec := record(t, func(t testing.TB) { simtest.Sync(t, g) })
		require.Equal(t, s.Ticks > 0, rec.failed)
	}
	refused("simtest: Game.Step is nil", func(g *game, _ *simtest.Scenario) { g.Step = nil })
	refused("simtest: Game.Input is nil", func(g *game, _ *simtest.Scenario) { g.Input = nil })
	refused("simtest: ticks is 0", func(_ *game, s *simtest.Scenario) { s.Ticks = 0 })
	refused("simtest: no place left", func(g *game, _ *simtest.Scenario) {
		g.Save = func(int) (snapshot.Store[state], error) { return nil, errors.New("no place left") }
	})
	refused("simtest: tick 0 cannot be saved by Game.Save: too wide", func(g *game, _ *simtest.Scenario) {
		g.Save = func(int) (snapshot.Store[state], error) { return refusing{errors.New("too wide"), nil}, nil }
	})
	refused("simtest: tick 0 cannot be loaded by Game.Save: gone", func(g *game, _ *simtest.Scenario) {
		g.Save = func(int) (snapshot.Store[state], error) { return refusing{nil, errors.New("gone")}, nil }
	})
	g := ringGame(func(s *mute) *ring { return &s.Ring })
	_, err := simtest.SyncTest(g, two())
	require.ErrorContains(t, err, "simtest: fingerprint: the state's AppendBinary: it has no words")
}

// refusing is a store that refuses.
type refusing struct{ save, load error }

func (r refusing) Save(int, *state) error { return r.save }
func (r refusing) Load(int, *state) error { return r.load }

// mute is a state whose bytes cannot be had.
type mute struct{ Ring ring }

func (*mute) AppendBinary([]byte) ([]byte, error) { return nil, errors.New("it has no words") }
func (m *mute) CopyTo(to *mute)                   { (*soundRing)(m).CopyTo((*soundRing)(to)) }
