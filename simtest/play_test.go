package simtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/rng"
	"github.com/driftback/driftback/simtest"
)

func TestManySeedsBreakNoRuleAndPlayTheSameAgain(t *testing.T) {
	seeds := uint64(200)
	if testing.Short() {
		seeds = 40
	}
	traces := map[uint64]uint64{}
	happened := map[simtest.Kind]int{}
	var rollbacks, stalls, undone uint64
	vacuous, deepest := 0, 0
	for seed := range seeds {
		r, err := simtest.Check(simtest.Witness(), seed)
		require.NoError(t, err)
		if r.Violation != nil {
			t.Fatalf("seed %d: %v\n%s", seed, r.Violation, simtest.Generate(seed).JSON())
		}
		other, again := traces[r.Trace]
		require.False(t, again, "seeds %d and %d play the same match", other, seed)
		traces[r.Trace] = seed
		for _, f := range r.Faults {
			happened[f.Kind] += f.Happened
		}
		if len(r.Vacuous) > 0 {
			vacuous++
		}
		rollbacks, stalls, undone = rollbacks+r.Rollbacks, stalls+r.Stalls, undone+r.Undone
		deepest = max(deepest, r.Deepest)
	}
	// That the matches were hard enough to prove something.
	for _, k := range simtest.Kinds {
		// Forty seeds are too few for the rarest.
		require.True(t, k.Hostile() || k.Comes() || happened[k] > 0 || testing.Short(), "no %s among %v", k, happened)
	}
	require.Greater(t, rollbacks, 50*seeds)
	require.Greater(t, stalls, 50*seeds)
	require.Greater(t, undone, 10*seeds)
	require.Greater(t, deepest, 15)
	require.LessOrEqual(t, vacuous, int(seeds)/5, "matches that prove little")
	t.Logf("%d rollbacks, %d stalls, %d effects undone, the deepest rollback of %d ticks, %d vacuous, %v",
		rollbacks, stalls, undone, deepest, vacuous, happened)
}

func TestTheSeedIsAllThatTellsTwoMatchesApart(t *testing.T) {
	s := two()
	s.Links[0].Jitter = 10 * simtest.Millisecond
	play := func() simtest.Report {
		r, err := simtest.Play(simtest.Witness(), s)
		require.NoError(t, err)
		require.Nil(t, r.Violation)
		return r
	}
	first := play()
	require.Equal(t, first, play())
	require.Positive(t, first.Rollbacks)
	s.Seed++
	require.NotEqual(t, first.Trace, play().Trace)
}

// Each kind of fault, alone: it is counted as having happened, and it shows.
func TestEveryKindOfFaultHappensWhereItIsPlanted(t *testing.T) {
	const ms = simtest.Millisecond
	quiet, err := simtest.Play(simtest.Witness(), two())
	require.NoError(t, err)
	require.Empty(t, quiet.Faults)
	require.Empty(t, quiet.Vacuous)
	for name, c := range map[string]struct {
		fault simtest.Fault
		shows func(t *testing.T, r simtest.Report)
	}{
		"a loss of everything in one direction": {
			simtest.Fault{Kind: simtest.Loss, From: []int{0}, To: []int{1}, Share: 1},
			func(t *testing.T, r simtest.Report) { require.Greater(t, r.Lost, uint64(40)) },
		},
		"bursts of loss": {
			simtest.Fault{Kind: simtest.Bursts, Share: 1, Every: 100 * ms},
			func(t *testing.T, r simtest.Report) { require.Greater(t, r.Lost, uint64(20)) },
		},
		"a delay in one direction": {
			simtest.Fault{Kind: simtest.Delay, From: []int{1}, By: 400 * ms},
			func(t *testing.T, r simtest.Report) { require.Greater(t, r.Stalls, quiet.Stalls) },
		},
		"reordering":  {simtest.Fault{Kind: simtest.Reorder, Share: 0.5, By: 100 * ms}, nil},
		"duplication": {simtest.Fault{Kind: simtest.Duplicate, Share: 1}, nil},
		"a one-way block": {
			simtest.Fault{Kind: simtest.Block, From: []int{0}, To: []int{1}},
			func(t *testing.T, r simtest.Report) {
				require.Greater(t, r.Blocked, uint64(40))
				require.Greater(t, r.Stalls, quiet.Stalls+50)
			},
		},
		"a partition": {
			simtest.Fault{Kind: simtest.Partition, From: []int{1}},
			func(t *testing.T, r simtest.Report) { require.Greater(t, r.Blocked, uint64(80)) },
		},
		"peers clogged one by one": {
			simtest.Fault{Kind: simtest.Clog, From: []int{1, 0}, Every: 200 * ms},
			func(t *testing.T, r simtest.Report) { require.Greater(t, r.Blocked, uint64(80)) },
		},
		"a freeze": {
			simtest.Fault{Kind: simtest.Freeze, From: []int{0}},
			func(t *testing.T, r simtest.Report) {
				require.Less(t, r.Events-quiet.Events, 200)
				require.Greater(t, r.Stalls, quiet.Stalls+30)
			},
		},
		"a line that is too thin": {
			simtest.Fault{Kind: simtest.Throttle, From: []int{0}, Rate: simtest.MinRate},
			func(t *testing.T, r simtest.Report) { require.Greater(t, r.Stalls, quiet.Stalls) },
		},
		"a link that goes down and comes up again": {
			simtest.Fault{Kind: simtest.Down, From: []int{1}},
			func(t *testing.T, r simtest.Report) {
				require.Equal(t, driftback.Tick(200), r.Confirmed, "they resume and finish")
				require.Greater(t, r.Stalls, quiet.Stalls+50)
			},
		},
		"a peer that leaves": {
			simtest.Fault{Kind: simtest.Leave, From: []int{1}},
			func(t *testing.T, r simtest.Report) {
				require.Less(t, r.Confirmed, driftback.Tick(100))
				require.Less(t, r.Simulated.Seconds(), 1.2, "the other one hears of it")
			},
		},
		"a peer that halts": {
			simtest.Fault{Kind: simtest.Halt, From: []int{1}},
			func(t *testing.T, r simtest.Report) {
				require.Less(t, r.Confirmed, driftback.Tick(100))
				require.Less(t, r.Simulated.Seconds(), 1.2)
			},
		},
		"a world that becomes another": {
			simtest.Fault{Kind: simtest.Diverge, From: []int{1}, Tick: 61},
			func(t *testing.T, r simtest.Report) {
				require.GreaterOrEqual(t, r.Confirmed, driftback.Tick(64), "the next tick that is compared")
				require.Less(t, r.Confirmed, driftback.Tick(100))
			},
		},
		"a crash": {
			simtest.Fault{Kind: simtest.Crash, From: []int{1}},
			func(t *testing.T, r simtest.Report) {
				require.Less(t, r.Confirmed, driftback.Tick(200))
				require.Greater(t, r.Simulated.Seconds(), 1.0+3, "the other one waits for its time-out")
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := two()
			s.PeerTimeout = simtest.MinPeerTimeout
			switch c.fault.Kind {
			case simtest.Diverge:
			case simtest.Crash, simtest.Leave, simtest.Halt:
				c.fault.At = simtest.Second
			default:
				c.fault.At, c.fault.For = simtest.Second, simtest.Second
			}
			s.Faults = []simtest.Fault{c.fault}
			r, err := simtest.Play(simtest.Witness(), s)
			require.NoError(t, err)
			require.Nil(t, r.Violation)
			require.Equal(t, []simtest.FaultCount{{Kind: c.fault.Kind, Planned: 1, Happened: 1}}, r.Faults)
			require.Empty(t, r.Vacuous)
			if c.shows != nil {
				c.shows(t, r)
			}

			// Control: the same fault after the end of the match has not happened.
			if s.Faults[0].At = 500 * simtest.Second; c.fault.Kind == simtest.Diverge {
				s.Faults[0].At, s.Faults[0].Tick = 0, 200
			}
			r, err = simtest.Play(simtest.Witness(), s)
			require.NoError(t, err)
			require.Nil(t, r.Violation)
			require.Equal(t, 0, r.Faults[0].Happened)
			require.Equal(t, quiet.Rollbacks, r.Rollbacks)
			require.Contains(t, r.Vacuous[0], "happened, of 1 planned")
		})
	}
}

func TestACrashEndsEveryOtherMatchAndNoneSooner(t *testing.T) {
	s := two()
	s.Peers = append(s.Peers, simtest.Peer{Plays: []int{2}}, simtest.Peer{Plays: []int{3}})
	s.Peers[3].Skew = -simtest.MaxSkew // whoever has a slow clock waits for longer
	s.PeerTimeout = 4 * simtest.Second
	for at := simtest.Micros(0); at < 4*simtest.Second; at += 130 * simtest.Millisecond {
		s.Faults = []simtest.Fault{{Kind: simtest.Crash, At: at, From: []int{2}}}
		r, err := simtest.Play(simtest.Witness(), s)
		require.NoError(t, err)
		require.Nil(t, r.Violation, "crashed at %v", at.Duration())
	}
}

func TestAMatchThatIsTooKindIsCalledVacuous(t *testing.T) {
	g := simtest.Witness()
	g.Input = func(*rng.PCG, driftback.Participant, driftback.Tick) simtest.WitnessInput {
		return simtest.WitnessInput{}
	}
	r, err := simtest.Play(g, two())
	require.NoError(t, err)
	require.Nil(t, r.Violation)
	require.Zero(t, r.Rollbacks)
	require.Len(t, r.Vacuous, 1)
	require.Contains(t, r.Vacuous[0], "does the workload press anything?")

	s := two()
	s.Links = nil // nothing needs to be guessed, so nothing is missing
	r, err = simtest.Play(g, s)
	require.NoError(t, err)
	require.Empty(t, r.Vacuous)
}

// A state with a slice: it brings its own bytes and is saved by them.
func TestAGameWithBytesOfItsOwnIsPlayedToo(t *testing.T) {
	r, err := simtest.Play(trailGame(), two())
	require.NoError(t, err)
	require.Nil(t, r.Violation)
	require.Positive(t, r.Rollbacks)

	// Control: shared memory is noticed.
	g := trailGame()
	shared := trail{Marks: make([]byte, 4)}
	g.Initial = func() trail { return shared }
	r, err = simtest.Play(g, two())
	require.NoError(t, err)
	require.NotNil(t, r.Violation)
}

type trail struct{ Marks []byte }

func (s *trail) AppendBinary(b []byte) ([]byte, error) { return append(b, s.Marks...), nil }

func (s *trail) CopyTo(into *trail) { into.Marks = append(into.Marks[:0], s.Marks...) }

func trailGame() simtest.Game[trail, simtest.WitnessInput] {
	return simtest.Game[trail, simtest.WitnessInput]{
		Name:    "trail",
		Initial: func() trail { return trail{Marks: make([]byte, 4)} },
		Input:   simtest.Witness().Input,
		Step: func(s *trail, in []simtest.WitnessInput, _ *driftback.Pass) {
			for p, i := range in {
				s.Marks[p] = s.Marks[p]*31 + byte(i.Buttons)
			}
		},
	}
}

func TestAGameThatCannotBePlayedIsRefusedInASentence(t *testing.T) {
	g := simtest.Witness()
	g.Step = nil
	_, err := simtest.Play(g, two())
	require.EqualError(t, err, "simtest: Game.Step is nil: it must be the game's step function")
	g = simtest.Witness()
	g.Input = nil
	_, err = simtest.Play(g, two())
	require.EqualError(t, err, "simtest: Game.Input is nil: somebody must press something")
	_, err = simtest.Play(simtest.Game[map[int]int, simtest.WitnessInput]{
		Step:  func(*map[int]int, []simtest.WitnessInput, *driftback.Pass) {},
		Input: simtest.Witness().Input,
	}, two())
	require.ErrorContains(t, err, "simtest: the state cannot be compared")
	g = simtest.Witness()
	g.Name = "\xff"
	_, err = simtest.Play(g, two())
	require.ErrorContains(t, err, "simtest: peer 0: session: Game")
}

// playSome plays those of the first seeds' scenarios that have something, and requires that
// they are some and that every rule holds.
func playSome(t *testing.T, has func(s *simtest.Scenario) bool) {
	t.Helper()
	some := 0
	for seed := range uint64(300) {
		s := simtest.Generate(seed)
		if !has(&s) {
			continue
		}
		some++
		r, err := simtest.Play(simtest.Witness(), s)
		require.NoError(t, err)
		require.Nil(t, r.Violation, "seed %d: %v", seed, r.Violation)
	}
	require.Greater(t, some, 20)
}
