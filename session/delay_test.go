package session_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/buggify"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/loopback"
)

// A sample is an input that says where it comes from.
type sample struct {
	Of     uint32 // the tick before which it was read, plus 1
	Filled uint16 // how often it was repeated to fill a gap
	Over   [8]uint64
}

func (s *sample) merge(of uint32) { s.Over[of/64] |= 1 << (of % 64) }

func (s *sample) has(of uint32) bool { return s.Over[of/64]>>(of%64)&1 != 0 }

// record is what one participant read and what became of it.
type record struct {
	delays    []int            // by tick that ran
	inputFor  []driftback.Tick // likewise: the word of Result.InputFor
	begin     int
	published []sample // by tick
}

// account says in a sentence what is wrong with a record: every tick has one input, each
// sample was published for the tick that is its own and its delay's, or, where that tick
// had an input already, is in the next input or nowhere; and what is between is filled.
func (r *record) account(merges bool) error {
	next := driftback.Tick(r.begin)
	var over []uint32
	check := func(t driftback.Tick, in sample) error {
		if t >= driftback.Tick(len(r.published)) {
			return nil // not run
		}
		for _, of := range over {
			in.merge(of)
		}
		over = over[:0]
		if got := r.published[t]; got != in {
			return fmt.Errorf("tick %d ran with %+v and not with %+v", t, got, in)
		}
		return nil
	}
	for t := range min(next, driftback.Tick(len(r.published))) {
		if err := check(t, sample{}); err != nil {
			return err
		}
	}
	last := sample{}
	for i, delay := range r.delays {
		t := driftback.Tick(i)
		target, of := t+driftback.Tick(delay), uint32(i)+1
		want := target
		if target < next {
			want = session.None
			if merges {
				want, over = next, append(over, of)
			}
		}
		if r.inputFor[i] != want {
			return fmt.Errorf("what was read before tick %d was used for %d and not for %d", t, r.inputFor[i], want)
		}
		for ; next < target; next++ {
			last.Filled++
			if err := check(next, last); err != nil {
				return err
			}
		}
		if next == target {
			last = sample{Of: of}
			if err := check(next, last); err != nil {
				return err
			}
			next++
		}
	}
	return nil
}

// practice plays alone, with delays that change, and returns what became of everybody's
// samples.
func practice(t testingT, begin []int, merges bool, ticks int, stalls uint64, change func(p int, tick driftback.Tick) (int, bool)) ([]record, session.Stats) {
	records := make([]record, len(begin))
	c := session.Config[state, sample]{
		Step: func(_ *state, in []sample, _ *driftback.Pass) {
			for p := range in {
				records[p].published = append(records[p].published, in[p])
			}
		},
		Players: make([]driftback.Peer, len(begin)), InputDelays: begin,
		Fill: func(last sample) sample {
			return sample{Of: last.Of, Filled: last.Filled + 1}
		},
	}
	if stalls > 0 {
		c.Buggify = buggify.Only(stalls, buggify.SpareStall)
	}
	if merges {
		c.Merge = func(into, discarded sample) sample {
			into.merge(discarded.Of)
			for i := range into.Over {
				into.Over[i] |= discarded.Over[i]
			}
			return into
		}
	}
	s, err := session.New(c)
	require.NoError(t, err)
	for p := range begin {
		records[p].begin = begin[p]
	}
	local := make([]sample, len(begin))
	for next := driftback.Tick(0); next < driftback.Tick(ticks); {
		for p := range begin {
			if ticks, ok := change(p, next); ok {
				require.NoError(t, s.SetInputDelay(driftback.Participant(p), ticks))
				require.Equal(t, ticks, s.InputDelay(driftback.Participant(p)))
			}
			local[p] = sample{Of: uint32(next) + 1}
		}
		r, err := s.Tick(frame, local...)
		require.NoError(t, err)
		if r.Phase != session.Advanced {
			require.Empty(t, r.InputFor)
			continue
		}
		for p := range begin {
			records[p].delays = append(records[p].delays, s.InputDelay(driftback.Participant(p)))
			records[p].inputFor = append(records[p].inputFor, r.InputFor[p])
		}
		next = r.Tick
	}
	return records, s.Stats()
}

func TestEverySampleIsAccountedForHoweverDelaysChange(t *testing.T) {
	var filled, discarded, merged, stalled uint64
	rapid.Check(t, func(t *rapid.T) {
		begin := rapid.SliceOfN(rapid.SampledFrom([]int{0, 0, 1, 2, 9, 60}), 1, 4).Draw(t, "delays to begin with")
		merges := rapid.Bool().Draw(t, "the game merges")
		often := rapid.IntRange(1, 40).Draw(t, "ticks between two changes")
		stalls := rapid.SampledFrom([]uint64{0, 1, 2, 3}).Draw(t, "stalls")
		delay := rapid.OneOf(rapid.IntRange(0, 3), rapid.IntRange(0, mesh.MaxDelay))
		records, stats := practice(t, begin, merges, rapid.IntRange(1, 400).Draw(t, "ticks"), stalls, func(int, driftback.Tick) (int, bool) {
			if rapid.IntRange(0, often).Draw(t, "change") > 0 {
				return 0, false
			}
			return delay.Draw(t, "delay"), true
		})
		for p := range records {
			require.NoError(t, records[p].account(merges), "participant %d", p)
		}
		none, other := 0, 0
		for p := range records {
			for i, at := range records[p].inputFor {
				switch {
				case at == session.None:
					none++
				case at != driftback.Tick(i+records[p].delays[i]):
					other++
				}
			}
		}
		require.EqualValues(t, none, stats.Discarded)
		require.EqualValues(t, other, stats.Merged)
		filled, discarded, merged, stalled = filled+stats.Filled, discarded+stats.Discarded, merged+stats.Merged, stalled+stats.Stalled
	})
	require.Greater(t, filled, uint64(200), "filled")
	require.Greater(t, discarded, uint64(50), "discarded")
	require.Greater(t, merged, uint64(50), "merged")
	require.Greater(t, stalled, uint64(50), "calls that used no input")
}

func TestASampleThatIsLostOrUsedTwiceIsNoticed(t *testing.T) {
	for name, c := range map[string]struct {
		merges bool
		harm   func(r *record)
		want   string
	}{
		"nothing":                  {harm: func(*record) {}},
		"nothing of what merges":   {merges: true, harm: func(*record) {}},
		"a gap":                    {harm: func(r *record) { r.published[15] = sample{} }, want: "tick 15"},
		"a tick later":             {harm: func(r *record) { copy(r.published[31:], r.published[30:]) }, want: "tick 31"},
		"a wrong word":             {harm: func(r *record) { r.inputFor[30] = session.None }, want: "before tick 30"},
		"a word about the spare":   {harm: func(r *record) { r.inputFor[21] = 26 }, want: "before tick 21"},
		"a spare one that is kept": {harm: func(r *record) { r.published[28].Of = 22 }, want: "tick 28"},
		"one merged twice":         {merges: true, harm: func(r *record) { r.published[29].merge(22) }, want: "tick 29"},
		"one that is not merged":   {merges: true, harm: func(r *record) { r.published[28].Over = [8]uint64{} }, want: "tick 28"},
	} {
		t.Run(name, func(t *testing.T) {
			records, _ := practice(t, []int{2}, c.merges, 50, 0, func(_ int, t driftback.Tick) (int, bool) {
				return map[driftback.Tick]int{12: 8, 20: 3}[t], t == 12 || t == 20
			})
			require.Equal(t, c.merges, records[0].published[28].has(22))
			c.harm(&records[0])
			err := records[0].account(c.merges)
			if c.want == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.want)
		})
	}
}

// published follows what every peer's participants published while delays change, from the
// word of Result.InputFor alone, for the oracle.
type published struct {
	inputs [][]input // by participant and tick
	over   [][]input
	spare  int
	filled int
}

func mergeButtons(into, discarded input) input {
	into.Buttons |= discarded.Buttons & 0xf0
	return into
}

func fillButtons(last input) input { return input{Buttons: last.Buttons &^ 0xf0} }

// followDelays makes a match whose delays change know what is published.
func followDelays(m *match, merges bool) *published {
	f := &published{inputs: make([][]input, len(m.oracle.delays)), over: make([][]input, len(m.oracle.delays))}
	for q, delay := range m.oracle.delays {
		f.inputs[q] = make([]input, delay)
		m.oracle.delays[q] = 0
	}
	m.changing = true
	m.oracle.inputs = func(p int, t driftback.Tick) input { return f.inputs[p][t] }
	m.used = func(p *peer, r session.Result) {
		i := 0
		for q, owner := range p.config.Players {
			if owner != p.self {
				continue
			}
			f.take(m, q, r.InputFor[i], p.wants[i], p.local[i], merges)
			i++
		}
	}
	return f
}

func (f *published) take(m *match, q int, said, target driftback.Tick, in input, merges bool) {
	next := driftback.Tick(len(f.inputs[q]))
	if target < next {
		f.spare++
		want := driftback.Tick(session.None)
		if merges {
			want = next
			f.over[q] = append(f.over[q], in)
		}
		if said != want {
			m.t.Fatalf("participant %d's input for tick %d, of which one is published, was used for %d", q, target, said)
		}
		return
	}
	if said != target {
		m.t.Fatalf("participant %d's input for tick %d was published for tick %d", q, target, said)
	}
	publish := func(in input) {
		if n := len(f.over[q]); n > 0 {
			over := f.over[q][0]
			for _, o := range f.over[q][1:] {
				over = mergeButtons(o, over)
			}
			in = mergeButtons(in, over)
			f.over[q] = f.over[q][:0]
		}
		f.inputs[q] = append(f.inputs[q], in)
	}
	for ; next < target; next++ {
		last := input{}
		if next > 0 {
			last = f.inputs[q][next-1]
		}
		f.filled++
		if merges {
			last = fillButtons(last)
		}
		publish(last)
	}
	publish(in)
}

func TestDelaysThatChangeUpAndDownOnEveryPeerPlayWhatTheOraclePlays(t *testing.T) {
	for name, c := range map[string]struct {
		players   []driftback.Peer
		window    int
		merges    bool
		most      int
		rollbacks uint64
	}{
		"two peers":                             {players: []driftback.Peer{0, 1}, most: 6, rollbacks: 100},
		"two peers with two participants each":  {players: []driftback.Peer{0, 1, 0, 1}, most: 6, merges: true, rollbacks: 100},
		"three with one and one with three":     {players: []driftback.Peer{0, 1, 2, 1, 3, 1}, most: 9, rollbacks: 100},
		"from none to the longest":              {players: []driftback.Peer{0, 1, 1}, most: mesh.MaxDelay, merges: true, rollbacks: 10},
		"the longest delay and window":          {players: []driftback.Peer{0, 1}, most: mesh.MaxDelay, window: mesh.MaxWindow, rollbacks: 5},
		"without predictions":                   {players: []driftback.Peer{0, 0, 1}, most: 8, window: session.None},
		"with the smallest window, and merging": {players: []driftback.Peer{0, 1}, most: 5, window: 1, merges: true, rollbacks: 100},
	} {
		t.Run(name, func(t *testing.T) {
			m := newEmptyMatch(t)
			m.script = play(3)
			seed := uint64(99)
			draw := func(n int) int {
				seed = seed*6364136223846793005 + 1442695040888963407
				return int(seed >> 33 % uint64(n))
			}
			least := 0
			if c.window == session.None {
				least = 1
			}
			for self := range driftback.Peer(4) {
				var delays []int
				for _, owner := range c.players {
					if owner == self {
						delays = append(delays, least+draw(4))
					}
				}
				if delays == nil {
					continue
				}
				m.add(m.config(0, 0, func(s *session.Config[state, input]) {
					s.Self, s.Players, s.Nonce, s.PredictionWindow = self, c.players, uint64(self)+1, c.window
					s.Step, s.InputDelays = wide(step), delays
					if c.merges {
						s.Merge, s.Fill = mergeButtons, fillButtons
					}
				}))
			}
			m.oracle.step = wide(step)
			f := followDelays(m, c.merges)
			m.impair(loopback.Impairment{Latency: 50 * ms, Jitter: 30 * ms, Loss: 0.15, Reorder: 0.2, Duplicate: 0.1})
			changes := map[driftback.Participant]int{}
			m.check = func(p *peer, r session.Result) {
				for _, e := range r.Events {
					if e.Kind == session.DelayChanged {
						require.Equal(t, p.self, e.Peer)
						require.Equal(t, r.Tick, e.Tick+1)
						require.Equal(t, p.self, c.players[e.Participant])
						changes[e.Participant]++
					}
				}
				for q, owner := range c.players {
					if q := driftback.Participant(q); owner == p.self && draw(30) == 0 {
						require.NoError(t, p.session.SetInputDelay(q, least+draw(c.most+1-least)))
					}
				}
			}
			m.runUntil(1500)
			var rollbacks, filled, spare uint64
			for _, p := range m.peers {
				s := p.session.Stats()
				require.Zero(t, s.Refused)
				require.Greater(t, s.Agreed, driftback.Tick(1200))
				rollbacks, filled, spare = rollbacks+s.Loop.Rollbacks, filled+s.Filled, spare+s.Discarded+s.Merged
			}
			for q := range c.players {
				require.Greater(t, changes[driftback.Participant(q)], 20, "changes of participant %d", q)
			}
			require.EqualValues(t, f.filled, filled)
			require.EqualValues(t, f.spare, spare)
			require.Greater(t, filled, uint64(50))
			require.Greater(t, spare, uint64(50))
			require.GreaterOrEqual(t, rollbacks, c.rollbacks)
			require.Equal(t, c.window == session.None, rollbacks == 0)
			m.finish(m.peers[0].tick() + 200)
			m.runWhile(4000, "not finished", func() bool { return !m.ended() })
			for _, p := range m.peers {
				require.ErrorIs(t, p.err, session.ErrFinished)
			}
		})
	}
}

// wide is a step for more participants than the game of these tests has places for.
func wide(step driftback.Step[state, input]) driftback.Step[state, input] {
	return func(s *state, in []input, pass *driftback.Pass) {
		for from := 0; from < len(in); from += 4 {
			step(s, in[from:min(from+4, len(in))], pass)
		}
	}
}

func TestAnOracleThatDoesNotKnowOfAChangeNotices(t *testing.T) {
	m := newMatch(t, 2, func(c *session.Config[state, input]) { c.InputDelay = 2 })
	m.script = play(1)
	f := followDelays(m, false)
	for _, p := range m.peers {
		p.maybeDiffers = true
	}
	m.runUntil(100)
	require.NoError(t, m.peers[0].session.SetInputDelay(0, 5))
	m.runUntil(200)
	require.Zero(t, m.peers[1].wrong)
	require.NoError(t, m.peers[0].session.SetInputDelay(0, 2))
	used, harmed := m.used, false
	m.used = func(p *peer, r session.Result) {
		if p.self == 0 && r.InputFor[0] == session.None && !harmed {
			f.inputs[0][len(f.inputs[0])-1] = p.local[0] // as if the discarded one had taken a place
			harmed = true
		}
		used(p, r)
	}
	m.runUntil(300)
	require.NotZero(t, m.peers[0].wrong)
	require.NotZero(t, m.peers[1].wrong)
}

func TestSettingADelayIsRefusedByName(t *testing.T) {
	m := newMatch(t, 2, func(c *session.Config[state, input]) { c.PredictionWindow, c.InputDelay = session.None, 2 })
	s := m.peers[0].session
	require.ErrorContains(t, s.SetInputDelay(1, 2), "participant 1 is not this peer's to set: it plays [0]")
	require.ErrorContains(t, s.SetInputDelay(9, 2), "participant 9")
	require.ErrorContains(t, s.SetInputDelay(0, 61), "participant 0 is 61 ticks: 0 to 60 are allowed")
	require.ErrorContains(t, s.SetInputDelay(0, -1), "is -1 ticks", "nothing adapts it")
	require.ErrorContains(t, s.SetInputDelay(0, 0), "at least 1")
	require.Equal(t, 2, s.InputDelay(0), "nothing of that has changed it")
	require.Equal(t, session.None, s.InputDelay(1))
	require.NoError(t, s.SetInputDelay(0, 60))
	require.Equal(t, 60, s.InputDelay(0))
}

func TestADelaySetBeforeTheFirstTickCountsFromThere(t *testing.T) {
	for _, to := range []int{0, 7} {
		m := newMatch(t, 2, func(c *session.Config[state, input]) { c.InputDelay = 3 })
		f := followDelays(m, false)
		require.NoError(t, m.peers[0].session.SetInputDelay(0, to))
		m.runUntil(50)
		for at := range driftback.Tick(to) {
			require.Zero(t, f.inputs[0][at], "no key has been pressed for tick %d", at)
		}
	}
}

func TestWhatTheGameMakesForAGapMustBeValid(t *testing.T) {
	for name, c := range map[string]struct {
		ticks  int
		change func(c *session.Config[state, input])
	}{
		"filled": {9, func(c *session.Config[state, input]) {
			c.Fill = func(input) input { return input{Buttons: 1 << 15} }
		}},
		"merged": {1, func(c *session.Config[state, input]) {
			c.Merge = func(input, input) input { return input{Buttons: 1 << 15} }
		}},
		"as it comes": {9, func(*session.Config[state, input]) {}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMatch(t, 2, func(c2 *session.Config[state, input]) {
				c2.InputDelay, c2.Valid = 4, func(in input) bool { return in.Buttons < 1<<15 }
				c.change(c2)
			})
			followDelays(m, false)
			m.script = func(int, driftback.Tick) input { return input{Buttons: 7} }
			m.runUntil(50)
			if name != "as it comes" {
				m.used = nil
			}
			for _, p := range m.peers {
				p.maybeDiffers = true
			}
			require.NoError(t, m.peers[0].session.SetInputDelay(0, c.ticks))
			m.run(20)
			if name == "as it comes" {
				m.requireLive()
				return
			}
			require.ErrorContains(t, m.peers[0].err, "session: Config.Valid refuses {Buttons:32768}, which Config.Fill or Config.Merge made for participant 0 and tick")
			require.ErrorIs(t, m.peers[1].err, session.ErrHalted)
			require.ErrorContains(t, m.peers[1].err, "Config.Valid refuses")
		})
	}
}
