package rewind_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/inputlog"
	"github.com/driftback/driftback/rewind"
	"github.com/driftback/driftback/snapshot"
)

// match is a whole match as one machine sees it: what everybody presses, and when
// it gets here.
type match struct {
	policy       string
	first        driftback.Tick // where the log and the loop begin; all other ticks here count from it
	participants int
	window       int // at most so many ticks run on guesses
	spare        int // snapshots beyond those the window needs
	spacing      int // ticks from one snapshot to the next
	wanted       int // every so manieth tick has one in any case; 0: none
	neutral      []int
	table        [][]uint16 // [tick][participant]
	arrivals     []arrival  // in order
	moves        []move
}

type arrival struct {
	at int // the moment, counted in calls
	p  driftback.Participant
	t  driftback.Tick
}

// move is something the owner does besides: go back, or be told the truth.
type move struct {
	at        int
	back      driftback.Tick
	reconcile bool
	unsettled bool // before the call settles what has just arrived
}

const lasts = 40 // ticks in a match

var matches = rapid.Custom(func(t *rapid.T) match {
	m := match{
		first:        driftback.Tick(rapid.OneOf(rapid.Just(int64(0)), rapid.Int64Range(0, 1<<62), rapid.Int64Range(1<<62-lasts, 1<<62)).Draw(t, "first")),
		policy:       rapid.SampledFrom([]string{"assignment", "copying", "joined parts", "own bytes", "pages", "checked pages", "picked"}).Draw(t, "policy"),
		participants: rapid.IntRange(2, 4).Draw(t, "participants"),
		window:       rapid.IntRange(1, 8).Draw(t, "window"),
		spare:        rapid.IntRange(0, 3).Draw(t, "spare"),
	}
	m.spacing = rapid.IntRange(1, m.window+1+m.spare).Draw(t, "spacing")
	m.wanted = rapid.IntRange(0, 6).Draw(t, "wanted")
	for range m.participants {
		m.neutral = append(m.neutral, rapid.IntRange(0, 3).Draw(t, "neutral"))
	}
	latest := rapid.IntRange(0, 12).Draw(t, "latest")
	early := rapid.IntRange(0, 3).Draw(t, "early")
	held := rapid.IntRange(0, 3).Draw(t, "held") // how readily a key stays as it was
	for tick := range lasts {
		m.table = append(m.table, make([]uint16, m.participants))
		for p := range m.participants {
			if tick < m.neutral[p] {
				continue
			}
			v := uint16(rapid.IntRange(0, 2).Draw(t, "input"))
			if tick > 0 && rapid.IntRange(0, 3).Draw(t, "hold") < held {
				v = m.table[tick-1][p]
			}
			m.table[tick][p] = v
			copies := 1 + rapid.IntRange(0, 4).Draw(t, "copies")/4
			for range copies {
				m.arrivals = append(m.arrivals, arrival{
					at: max(0, tick-early) + rapid.IntRange(0, latest).Draw(t, "delay"),
					p:  driftback.Participant(p), t: driftback.Tick(tick),
				})
			}
		}
	}
	m.arrivals = rapid.Permutation(m.arrivals).Draw(t, "arrivals")
	slices.SortStableFunc(m.arrivals, func(a, b arrival) int { return a.at - b.at })
	m.moves = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) move {
		return move{
			at:        rapid.IntRange(0, lasts).Draw(t, "at"),
			back:      driftback.Tick(rapid.IntRange(0, 4).Draw(t, "back")),
			reconcile: rapid.Bool().Draw(t, "reconcile"),
			unsettled: rapid.Bool().Draw(t, "unsettled"),
		}
	}), 0, 4).Draw(t, "moves")
	return m
})

// engine is what a planted fault can change.
type engine struct {
	step   driftback.Step[world, uint16]
	save   func(snapshot.Policy[world]) snapshot.Policy[world]
	supply func(l *loop, log *inputlog.Log[uint16]) func(driftback.Participant, driftback.Tick, uint16) error
}

func soundEngine() engine {
	return engine{
		step: step,
		save: func(p snapshot.Policy[world]) snapshot.Policy[world] { return p },
		supply: func(l *loop, _ *inputlog.Log[uint16]) func(driftback.Participant, driftback.Tick, uint16) error {
			return l.Supply
		},
	}
}

// played is what happened in a match, so that tests can tell that something did.
type played struct {
	counts                    rewind.Counts
	stalls, rewound, told     int
	wholeWindow, rightGuesses int
}

// play plays the match to its end and returns the first difference from the oracle.
func (m match) play(e engine) (played, error) {
	var done played
	log, err := inputlog.New(inputlog.Config[uint16]{Participants: m.participants, Depth: 64, Neutral: m.neutral, First: m.first})
	if err != nil {
		return done, err
	}
	var misnumbered error
	l, err := rewind.New(rewind.Config[world, uint16]{
		Step: func(w *world, in []uint16, pass *driftback.Pass) {
			if misnumbered == nil && pass.Tick()-m.first != driftback.Tick(w.Tick) {
				misnumbered = fmt.Errorf("tick %d from %d on runs as tick %d", w.Tick, m.first, pass.Tick())
			}
			e.step(w, in, pass)
		},
		First: m.first, Inputs: log, Depth: m.window + 1 + m.spare, Save: e.save(policies[m.policy]),
		Spacing: m.spacing, Wanted: func(t driftback.Tick) bool { return m.wanted > 0 && int(t)%m.wanted == 0 },
	})
	if err != nil {
		return done, err
	}
	want := oracle(m.table)
	supply := e.supply(l, log)
	arrivals := m.arrivals
	last := m.first + lasts
	for now := 0; l.Next() < last || log.Confirmed() < last; now++ {
		if now > 4*lasts {
			return done, fmt.Errorf("the match is stuck: next is %d and confirmed %d", l.Next(), log.Confirmed())
		}
		for ; len(arrivals) > 0 && arrivals[0].at <= now; arrivals = arrivals[1:] {
			a := arrivals[0]
			in := m.table[a.t][a.p]
			guess, confirmed, ok := log.Peek(a.p, m.first+a.t)
			if ok && !confirmed && guess == in {
				done.rightGuesses++
			}
			if err := supply(a.p, m.first+a.t, in); err != nil {
				return done, err
			}
		}
		if err := m.move(now, true, l, log, want, &done); err != nil {
			return done, err
		}
		again, err := rewind.Span{}, error(nil)
		if l.Next() < last && l.Next() < log.Confirmed()+driftback.Tick(m.window) {
			again, err = l.Advance()
		} else {
			done.stalls++
			again, err = l.Settle()
		}
		if err != nil {
			return done, err
		}
		if misnumbered != nil {
			return done, misnumbered
		}
		if again.Len() == m.window {
			done.wholeWindow++
		}
		if err := m.compare(l, log, want); err != nil {
			return done, fmt.Errorf("after call %d: %w", now, err)
		}
		if err := m.move(now, false, l, log, want, &done); err != nil {
			return done, err
		}
		log.Forget(l.Oldest())
	}
	done.counts = l.Counts()
	return done, nil
}

// compare compares every final snapshot with the oracle, and the present with a
// plain run over what the log says was used.
func (m match) compare(l *loop, log *inputlog.Log[uint16], want []world) error {
	var w world
	for t := l.Oldest(); t <= min(l.Next(), log.Confirmed()); t++ {
		if err := l.Snapshot(t, &w); err != nil {
			return err
		}
		if w != want[t-m.first] {
			return fmt.Errorf("the world as tick %d began is %+v, the oracle's %+v", t, w, want[t-m.first])
		}
		if err := l.Lend(t, func(lent *world) { w = *lent }); err != nil {
			return err
		}
		if w != want[t-m.first] {
			return fmt.Errorf("the world that is lent as tick %d began is %+v, the oracle's %+v", t, w, want[t-m.first])
		}
	}
	if err := l.Snapshot(l.Oldest(), &w); err != nil {
		return err
	}
	in := make([]uint16, m.participants)
	for t := l.Oldest(); t < l.Next(); t++ {
		for p := range in {
			var ok bool
			if in[p], _, ok = log.Peek(driftback.Participant(p), t); !ok {
				return fmt.Errorf("tick %d was run, and the log does not say on what", t)
			}
		}
		step(&w, in, nil)
	}
	if w != *l.State() {
		return fmt.Errorf("the state is %+v, and what the log says was used leads to %+v", *l.State(), w)
	}
	return nil
}

func (m match) move(now int, unsettled bool, l *loop, log *inputlog.Log[uint16], want []world, done *played) error {
	for _, o := range m.moves {
		if o.at != now || o.unsettled != unsettled {
			continue
		}
		t := max(l.Oldest(), l.Next()-o.back)
		if o.reconcile {
			t = min(t, log.Confirmed())
			if _, err := l.Reconcile(t, &want[t-m.first]); err != nil {
				return err
			}
			done.told++
		} else {
			if err := l.RewindTo(t); err != nil {
				return err
			}
			done.rewound++
		}
		if err := m.compare(l, log, want); err != nil {
			return fmt.Errorf("after %+v: %w", o, err)
		}
	}
	return nil
}

func TestEveryConfirmedTickIsWhatInputsOnTimeWouldHaveMadeIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		if _, err := matches.Draw(t, "match").play(soundEngine()); err != nil {
			t.Fatal(err)
		}
	})
}

// Whoever comes late begins with a confirmed world and the inputs since.
func TestALoopThatBeginsLateGoesWhereTheOneThatWasThereFromTheStartGoes(t *testing.T) {
	table := make([][]uint16, lasts)
	for tick := range table {
		table[tick] = []uint16{uint16(tick), uint16(3 * tick)}
	}
	want := oracle(table)
	for _, first := range []driftback.Tick{0, 1, 17, lasts - 1} {
		for name, policy := range policies {
			t.Run(fmt.Sprint("from tick ", first, ", saved by ", name), func(t *testing.T) {
				log, err := inputlog.New(inputlog.Config[uint16]{Participants: 2, Depth: 16, First: first})
				require.NoError(t, err)
				begins := want[first]
				l, err := rewind.New(rewind.Config[world, uint16]{
					Step: step, Initial: &begins, First: first, Inputs: log, Depth: 5, Save: policy,
				})
				require.NoError(t, err)
				require.Equal(t, first, l.Next())
				require.Equal(t, first, l.Oldest())
				require.Equal(t, want[first], snapshotOf(t, l, first))
				require.ErrorIs(t, l.RewindTo(first-1), rewind.ErrOutOfReach)
				if first > 0 {
					require.NoError(t, l.Supply(1, first-1, 9), "what is in the world already changes nothing")
				}
				for tick := first; tick < lasts; tick++ {
					require.NoError(t, l.Supply(0, tick, table[tick][0]))
					if late := tick - 3; late >= first {
						require.NoError(t, l.Supply(1, late, table[late][1]))
					}
					_, err := l.Advance()
					require.NoError(t, err)
					log.Forget(l.Oldest())
				}
				for late := max(first, lasts-3); late < lasts; late++ {
					require.NoError(t, l.Supply(1, late, table[late][1]))
				}
				again, err := l.Settle()
				require.NoError(t, err)
				require.Positive(t, again.Len(), "the control: something had been guessed wrongly")
				require.Equal(t, want[lasts], *l.State())
			})
		}
	}
}

// The control of the comparison above: its matches are ones in which something
// happens.
func TestTheMatchesComparedHoldWhatTheyAreFor(t *testing.T) {
	var all played
	seen := map[string]bool{}
	for seed := range 60 {
		m := matches.Example(seed)
		done, err := m.play(soundEngine())
		require.NoError(t, err)
		seen[m.policy] = true
		all.counts.Rollbacks += done.counts.Rollbacks
		all.counts.Deepest = max(all.counts.Deepest, done.counts.Deepest)
		all.counts.Approached += done.counts.Approached
		all.stalls += done.stalls
		all.rewound += done.rewound
		all.told += done.told
		all.wholeWindow += done.wholeWindow
		all.rightGuesses += done.rightGuesses
	}
	require.Greater(t, all.counts.Rollbacks, uint64(100))
	require.Greater(t, all.counts.Deepest, 4)
	require.Positive(t, all.stalls)
	require.Positive(t, all.rewound)
	require.Positive(t, all.told)
	require.Positive(t, all.wholeWindow)
	require.Positive(t, all.rightGuesses)
	require.Positive(t, all.counts.Approached, "ticks without a snapshot are gone back to")
	require.Len(t, seen, len(policies), "every policy is played")
}

func TestTheComparisonNoticesEveryPlantedFault(t *testing.T) {
	for name, plant := range map[string]func(e *engine){
		"a re-simulated tick is not saved again": func(e *engine) {
			e.save = wrapped(func(s *faultyStore, i int, w *world) error {
				if s.saved[i] == w.Tick+1 {
					return nil
				}
				s.saved[i] = w.Tick + 1
				return s.Store.Save(i, w)
			}, nil)
		},
		"the state is taken back from one tick too late": func(e *engine) {
			e.save = wrapped(nil, func(s *faultyStore, i int, w *world) error {
				if j := (i + 1) % len(s.saved); s.Store.Load(j, w) == nil {
					return nil
				}
				return s.Store.Load(i, w)
			})
		},
		"a state outside the snapshot": func(e *engine) {
			hidden := uint64(0)
			e.step = func(w *world, in []uint16, pass *driftback.Pass) {
				hidden++
				step(w, in, pass)
				w.Mixed += hidden
			}
		},
		"a wrong guess is not repaired": func(e *engine) {
			e.supply = func(_ *loop, log *inputlog.Log[uint16]) func(driftback.Participant, driftback.Tick, uint16) error {
				return func(p driftback.Participant, t driftback.Tick, in uint16) error {
					_, err := log.Confirm(p, t, in)
					return err
				}
			}
		},
		"an input is shifted by one tick": func(e *engine) {
			e.supply = func(l *loop, _ *inputlog.Log[uint16]) func(driftback.Participant, driftback.Tick, uint16) error {
				return func(p driftback.Participant, t driftback.Tick, in uint16) error { return l.Supply(p, t+1, in) }
			}
		},
		"a step that changes its inputs' meaning when run again": func(e *engine) {
			first := map[uint64]bool{}
			e.step = func(w *world, in []uint16, pass *driftback.Pass) {
				if first[w.Tick] {
					in[0]++
				}
				first[w.Tick] = true
				step(w, in, pass)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			const seeds = 60
			for seed := range seeds {
				e := soundEngine()
				plant(&e)
				if _, err := matches.Example(seed).play(e); err != nil {
					return
				}
			}
			t.Fatalf("none of %d matches noticed", seeds)
		})
	}
}

// faultyStore is a store with a fault between it and the loop.
type faultyStore struct {
	snapshot.Store[world]
	saved      []uint64
	save, load func(s *faultyStore, i int, w *world) error
}

func wrapped(save, load func(s *faultyStore, i int, w *world) error) func(snapshot.Policy[world]) snapshot.Policy[world] {
	return func(p snapshot.Policy[world]) snapshot.Policy[world] {
		if p == nil {
			p = snapshot.For[world]
		}
		return func(places int) (snapshot.Store[world], error) {
			s, err := p(places)
			return &faultyStore{Store: s, saved: make([]uint64, places), save: save, load: load}, err
		}
	}
}

func (s *faultyStore) Save(i int, w *world) error {
	if s.save != nil {
		return s.save(s, i, w)
	}
	return s.Store.Save(i, w)
}

func (s *faultyStore) Load(i int, w *world) error {
	if s.load != nil {
		return s.load(s, i, w)
	}
	return s.Store.Load(i, w)
}
