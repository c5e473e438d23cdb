package session_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/loopback"
	"github.com/driftback/driftback/wire"
)

// deed is one thing that somebody does to the match.
type deed struct {
	pause, resume bool
	speed         session.Speed
}

// deeds are what every participant has really done, by tick, and what one simulation makes
// of it that knows all of it in time.
type deeds struct {
	m *match
	// asked is what a peer has asked for and not yet published: a pause or a resume, and a
	// speed.
	asked [4][2]deed
	done  map[driftback.Tick]map[int]deed
	// begins[t] is the control state as tick t begins.
	begins []session.Control
	late   int // ticks that ran although, or were left out although not
	count  [3]int
}

// follow has the match's oracle heed what peers do to the match.
func follow(m *match) *deeds {
	d := &deeds{m: m, done: map[driftback.Tick]map[int]deed{}, begins: []session.Control{{Speed: 8}}}
	game := m.oracle.step
	m.oracle.step = func(s *state, in []input, pass *driftback.Pass) {
		if !d.paused(pass.Tick()) {
			game(s, in, pass)
		}
	}
	m.used = func(p *peer, r session.Result) {
		asked := &d.asked[p.self]
		for kind, a := range asked {
			if a == (deed{}) {
				continue
			}
			asked[kind] = deed{}
			who := 0
			for p.config.Players[who] != p.self {
				who++
			}
			if d.done[r.InputFor[0]] == nil {
				d.done[r.InputFor[0]] = map[int]deed{}
			}
			d.done[r.InputFor[0]][who] = a
			break
		}
	}
	return d
}

// at returns the control state as tick t begins.
func (d *deeds) at(t driftback.Tick) session.Control {
	for driftback.Tick(len(d.begins)) <= t {
		c := d.begins[len(d.begins)-1]
		did := d.done[driftback.Tick(len(d.begins)-1)]
		for p := range 4 {
			switch a := did[p]; {
			case a.pause:
				c.Paused = true
			case a.resume:
				c.Paused = false
			case a.speed > 0:
				c.Speed = a.speed
			}
		}
		d.begins = append(d.begins, c)
	}
	return d.begins[t]
}

func (d *deeds) paused(t driftback.Tick) bool { return d.at(t + 1).Paused }

func (d *deeds) do(p *peer, a deed) {
	d.m.t.Helper()
	var err error
	switch {
	case a.pause:
		err, d.asked[p.self][0] = p.session.Pause(), a
		d.count[0]++
	case a.resume:
		err, d.asked[p.self][0] = p.session.Resume(), a
		d.count[1]++
	default:
		err, d.asked[p.self][1] = p.session.SetSpeed(a.speed), a
		d.count[2]++
	}
	require.NoError(d.m.t, err)
}

// check holds what a peer says of the match against the deeds.
func (d *deeds) check(p *peer, r session.Result) {
	paused, confirmed := p.session.Paused()
	speed, also := p.session.Speed()
	if confirmed != also || confirmed != (r.Tick <= r.Confirmed) {
		d.m.t.Fatalf("tick %d is said to be confirmed: %v and %v, and %d is", r.Tick, confirmed, also, r.Confirmed)
	}
	if now, ok := p.session.ControlAt(r.Tick); !ok || now != (session.Control{Paused: paused, Speed: speed}) {
		d.m.t.Fatalf("two answers about tick %d: %v", r.Tick, now)
	}
	final := min(r.Tick, r.Confirmed)
	if c, ok := p.session.ControlAt(final); !ok || c != d.at(final) {
		d.m.t.Fatalf("peer %d: as tick %d begins %+v is confirmed, and it is %+v", p.self, final, c, d.at(final))
	}
	if want := d.at(min(r.Tick, driftback.Tick(len(d.begins)-1))); want.Paused != paused {
		d.late++
	}
	if _, ok := p.session.ControlAt(r.Tick + 1); ok {
		d.m.t.Fatalf("peer %d knows how tick %d begins, which has not been reached", p.self, r.Tick+1)
	}
}

// events are those that every peer must have been told below a tick.
func (d *deeds) events(players []driftback.Peer, end driftback.Tick) (list []session.Event) {
	for t := range end {
		before, after := d.at(t), d.at(t+1)
		e := session.Event{Tick: t, Speed: int(after.Speed)}
		highest := func(of func(a deed) bool) {
			for p := range 4 {
				if of(d.done[t][p]) {
					e.Participant, e.Peer = driftback.Participant(p), players[p]
				}
			}
			list = append(list, e)
		}
		if before.Paused != after.Paused {
			e.Kind = session.Resumed
			if after.Paused {
				e.Kind = session.Paused
			}
			highest(func(a deed) bool { return a.pause || a.resume })
		}
		if before.Speed != after.Speed {
			e.Kind = session.SpeedChanged
			highest(func(a deed) bool { return a.speed > 0 })
		}
	}
	return list
}

// requireTold holds the events that each peer was told against the deeds.
func (d *deeds) requireTold() {
	d.m.t.Helper()
	for _, p := range d.m.peers {
		var told []session.Event
		for _, e := range p.events {
			if e.Kind == session.Paused || e.Kind == session.Resumed || e.Kind == session.SpeedChanged {
				told = append(told, e)
			}
		}
		want := d.events(p.config.Players, p.confirmed)
		if dropped := int(p.session.Stats().EventsDropped); dropped > 0 && len(told) < len(want) {
			// More than one Tick has room for was confirmed at once: the newest were told, and it says so.
			require.LessOrEqual(d.m.t, len(want)-len(told), dropped, "peer %d", p.self)
			rest := want
			for _, e := range told {
				i := slices.Index(rest, e)
				require.GreaterOrEqual(d.m.t, i, 0, "peer %d was told %+v, which is not the next of what happened", p.self, e)
				rest = rest[i+1:]
			}
			require.Empty(d.m.t, rest, "peer %d was not told the last", p.self)
			continue
		}
		require.Equal(d.m.t, want, told, "peer %d", p.self)
	}
}

func randomDeed(r *rand.Rand, c session.Control) deed {
	switch n := r.IntN(10); {
	case n < 2:
		return deed{speed: session.Speed(1 + r.IntN(32))}
	case n < 4 == c.Paused: // mostly what changes something
		return deed{pause: true}
	}
	return deed{resume: true}
}

func TestWhoeverPausesWheneverThePeersPlayWhatTheOraclePlays(t *testing.T) {
	var count [3]int
	late, reruns := 0, uint64(0)
	rapid.Check(t, func(t *rapid.T) {
		players := rapid.SampledFrom([][]driftback.Peer{{0, 1}, {0, 1}, {0, 1, 2}, {1, 0, 0}, {0, 1, 2, 1}}).Draw(t, "players")
		peers := int(max(players[0], players[1], players[len(players)-1], 1)) + 1
		if len(players) == 4 {
			peers = 3
		}
		m := newEmptyMatch(t)
		m.script = play(rapid.Int64Range(1, 12).Draw(t, "hold"))
		m.oracle.step = noisy
		window := rapid.SampledFrom([]int{session.None, 1, 8, 8, 20, 100}).Draw(t, "window")
		every := rapid.SampledFrom([]int{session.None, 1, 8}).Draw(t, "fingerprint interval")
		for i := range peers {
			m.add(m.config(i, peers, func(c *session.Config[state, input]) {
				c.Players, c.PeerTimeout, c.Step = players, session.None, noisy
				c.PredictionWindow, c.FingerprintEvery = window, every
				c.InputDelay = rapid.SampledFrom([]int{0, 0, 1, 3, 60}).Draw(t, "delay")
				if window == session.None {
					c.InputDelay = max(c.InputDelay, 1)
				}
			}))
		}
		d := follow(m)
		reports := map[driftback.Peer][]session.Report{}
		m.check = func(p *peer, r session.Result) {
			d.check(p, r)
			reports[p.self] = append(reports[p.self], r.Effects...)
		}
		m.impair(drawImpairment(t, "link"))
		busy := rapid.IntRange(2, 60).Draw(t, "a deed in so many frames")
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		for frames := rapid.IntRange(100, 600).Draw(t, "frames"); m.frames < frames; m.run(1) {
			if m.frames%100 == 0 {
				m.impair(drawImpairment(t, "link"))
			}
			for _, p := range m.peers {
				if r.IntN(busy) == 0 {
					paused, _ := p.session.Paused()
					d.do(p, randomDeed(r, session.Control{Paused: paused}))
				}
			}
		}
		m.requireLive()
		m.impair(loopback.Impairment{Latency: 20 * ms})
		m.requireProgress(200)
		at := driftback.Tick(0)
		for _, p := range m.peers {
			at = max(at, p.tick())
		}
		m.finish(at + 10)
		m.runWhile(1000, "not finished", func() bool { return !m.ended() })
		truth := m.cast(at + 10)
		for i, p := range m.peers {
			if p.confirmed != at+10 {
				t.Fatalf("peer %d ended at tick %d with %v", p.self, p.confirmed, p.err)
			}
			require.NoError(t, checkReports(reports[p.self], truth, at+10))
			reruns += m.peers[i].session.Stats().Loop.Resimulated
		}
		d.requireTold()
		late += d.late
		for i, n := range d.count {
			count[i] += n
		}
	})
	require.Greater(t, min(count[0], count[1], count[2]), 50, "each was done")
	require.Greater(t, late, 100, "a peer was wrong about the match for a while")
	require.Greater(t, reruns, uint64(100))
}

// newStill returns a match in which every input is guessed rightly, so that whatever is
// run again is run again because of entries.
func newStill(t testingT, change func(c *session.Config[state, input])) (*match, *deeds) {
	m := newMatch(t, 2, change)
	m.script = func(int, driftback.Tick) input { return input{} }
	m.impair(loopback.Impairment{Latency: 60 * ms, Jitter: 20 * ms, Loss: 0.1, Reorder: 0.1})
	d := follow(m)
	m.check = d.check
	m.runUntil(100)
	return m, d
}

func TestAPauseThatComesLateIsTakenIntoAccountAlthoughNoInputWasGuessedWrongly(t *testing.T) {
	for name, c := range map[string]struct {
		first, then deed
		after       int
		reruns      bool
	}{
		"a pause":                      {first: deed{pause: true}, then: deed{resume: true}, after: 60, reruns: true},
		"a pause for one tick":         {first: deed{pause: true}, then: deed{resume: true}, after: 1, reruns: true},
		"a speed changes no tick":      {first: deed{speed: 4}, then: deed{speed: 8}, after: 60},
		"to resume what is not paused": {first: deed{resume: true}, then: deed{resume: true}, after: 60},
		"the control: nothing":         {after: 60},
	} {
		t.Run(name, func(t *testing.T) {
			m, d := newStill(t, nil)
			// The tick at which each peer first says that the match is paused.
			var saw [2]driftback.Tick
			m.check = func(p *peer, r session.Result) {
				d.check(p, r)
				if paused, _ := p.session.Paused(); paused && saw[p.self] == 0 {
					saw[p.self] = r.Tick
				}
			}
			if c.first != (deed{}) {
				d.do(m.peers[0], c.first)
			}
			m.run(c.after)
			if c.then != (deed{}) {
				d.do(m.peers[0], c.then)
			}
			m.run(100)
			m.requireLive()
			require.Zero(t, m.peers[0].session.Stats().Loop.Resimulated, "who gives it knows it in time")
			require.Equal(t, c.reruns, m.peers[1].session.Stats().Loop.Resimulated > 0)
			if c.reruns {
				require.NotZero(t, saw[0])
				require.True(t, saw[1] > saw[0] || c.after == 1, "it was known at another tick there: %d and %d", saw[0], saw[1])
				require.Len(t, d.events(m.peers[0].config.Players, m.peers[0].confirmed), 2)
			}
			d.requireTold()
		})
	}
}

func TestTheWorldStandsStillWhileTheMatchIsPausedAndTicksGoOn(t *testing.T) {
	m := newMatch(t, 2, nil)
	d := follow(m)
	m.check = d.check
	m.impair(loopback.Impairment{Latency: 40 * ms, Jitter: 20 * ms, Loss: 0.1})
	m.runUntil(100)
	d.do(m.peers[0], deed{pause: true})
	m.run(30)
	paused, _ := m.peers[1].session.Paused()
	require.True(t, paused)
	was, tick, agreed := *m.peers[1].session.State(), m.peers[1].tick(), m.peers[1].session.Stats().Agreed
	m.run(200)
	require.Equal(t, was, *m.peers[1].session.State())
	require.Greater(t, m.peers[1].tick(), tick+150)
	require.Greater(t, m.peers[1].session.Stats().Agreed, agreed+100, "states are compared as ever")
	d.do(m.peers[1], deed{resume: true}) // whoever it is
	m.run(30)
	require.Greater(t, m.peers[0].session.State().Ticks, was.Ticks+20)
	d.requireTold()
	require.Equal(t, "match paused by 0, match resumed by 1", told(m.peers[0]))
}

func told(p *peer) (text string) {
	for _, e := range p.events {
		if e.Kind >= session.Paused {
			if text != "" {
				text += ", "
			}
			text += e.Kind.String() + " by " + string('0'+rune(e.Participant))
		}
	}
	return text
}

func TestOfSeveralWhoPauseAndResumeInOneTickTheHighestHasTheLastWord(t *testing.T) {
	for name, c := range map[string]struct {
		deeds  [2]deed
		paused bool
		told   string
	}{
		"both pause":                  {[2]deed{{pause: true}, {pause: true}}, true, "match paused by 1"},
		"the higher pauses":           {[2]deed{{resume: true}, {pause: true}}, true, "match paused by 1"},
		"the lower pauses":            {[2]deed{{pause: true}, {resume: true}}, false, ""},
		"one pauses, and a speed too": {[2]deed{{pause: true}, {speed: 16}}, true, "match paused by 0, speed changed by 1"},
	} {
		t.Run(name, func(t *testing.T) {
			m, d := newStill(t, nil)
			m.align()
			for i, p := range m.peers {
				p.asleep = false
				d.do(p, c.deeds[i])
			}
			m.run(40)
			m.requireLive()
			require.Len(t, d.done, 1, "in one tick")
			for _, p := range m.peers {
				paused, _ := p.session.Paused()
				require.Equal(t, c.paused, paused)
				require.Equal(t, c.told, told(p))
			}
		})
	}
}

func TestWhatHasNotBeenPublishedIsReplacedAndAPauseGoesBeforeASpeed(t *testing.T) {
	m, d := newStill(t, nil)
	p := m.peers[0]
	for _, a := range []deed{{pause: true}, {speed: 3}, {resume: true}, {speed: 4}, {pause: true}} {
		d.do(p, a)
	}
	m.run(60)
	require.Len(t, d.done, 2)
	require.Equal(t, "match paused by 0, speed changed by 0", told(p))
	speed, _ := p.session.Speed()
	require.EqualValues(t, 4, speed)
	require.InDelta(t, 0.5, speed.Rate(), 0)
}

// The faults that the tests above are to find.
func TestAnEntryThatIsLostOrThatNothingIsRunAgainForIsFound(t *testing.T) {
	t.Run("an entry is left out where a packet says more than one thing", func(t *testing.T) {
		m, taps := newTappedMatch(t, 2, nil)
		left := 0
		taps[0].datagram = func(_ driftback.Peer, b []byte, pass func([]byte)) {
			pass(rewrite(t, b, func(p *wire.Packet) {
				for i := range p.Runs {
					if len(p.Runs[i].Entries) > 0 {
						p.Runs[i].Entries = nil
						left++
					}
				}
			}))
		}
		requireFound(t, m)
		require.Positive(t, left)
	})
	t.Run("what ran without it stays", func(t *testing.T) {
		m := newMatch(t, 2, nil)
		m.peers[1].session.LeaveRunAsItIs()
		requireFound(t, m)
	})
}

// requireFound has peer 0 pause, and requires that peer 1's world departs from the
// oracle's and that the peers find it out.
func requireFound(t *testing.T, m *match) {
	t.Helper()
	m.impair(loopback.Impairment{Latency: 60 * ms})
	m.script = func(int, driftback.Tick) input { return input{Buttons: 2} }
	d := follow(m)
	m.peers[1].maybeDiffers = true
	m.runUntil(100)
	d.do(m.peers[0], deed{pause: true})
	m.runWhile(200, "not found", func() bool { return !m.ended() })
	require.NotZero(t, m.peers[1].wrong)
	for _, p := range m.peers {
		var desync *session.DesyncError
		require.ErrorAs(t, p.err, &desync)
	}
}

func TestAPeerThatGivesAnotherEntryForATickIsNamedByBothSides(t *testing.T) {
	m, taps := newTappedMatch(t, 2, nil)
	m.impair(loopback.Impairment{Latency: 40 * ms})
	lies := 0
	taps[1].datagram = func(_ driftback.Peer, b []byte, pass func([]byte)) {
		pass(b)
		p := parse(t, b)
		if m.peers[1].confirmed < 100 || len(p.Runs) == 0 || lies > 0 {
			return
		}
		lies++
		pass(rewrite(t, b, func(p *wire.Packet) {
			p.Runs[0].Entries = make([]byte, p.Runs[0].Count)
			p.Runs[0].Entries[0] = byte(wire.EntryPause)
		}))
	}
	m.runWhile(500, "not halted", func() bool { return !m.ended() })
	var conflict *session.ConflictError
	require.ErrorAs(t, m.peers[0].err, &conflict)
	require.EqualValues(t, 1, conflict.Peer)
	require.Equal(t, [2]wire.Entry{0, wire.EntryPause}, [2]wire.Entry{conflict.HadEntry, conflict.GotEntry})
	require.ErrorContains(t, m.peers[0].err, "with entry none and")
	require.ErrorContains(t, m.peers[0].err, "with entry pause on tick")
	require.ErrorIs(t, m.peers[1].err, session.ErrHalted)
	require.ErrorContains(t, m.peers[1].err, "sent two inputs of participant 1")
}

func TestWhoMayNotPauseDoesNot(t *testing.T) {
	m, taps := newTappedMatch(t, 2, func(c *session.Config[state, input]) { c.MayPause, c.PeerTimeout = 0b01, time.Second })
	d := follow(m)
	m.check = d.check
	m.runUntil(50)
	require.ErrorIs(t, m.peers[1].session.Pause(), session.ErrMayNotPause)
	require.ErrorIs(t, m.peers[1].session.Resume(), session.ErrMayNotPause)
	require.ErrorIs(t, m.peers[1].session.SetSpeed(4), session.ErrMayNotPause)
	d.do(m.peers[0], deed{pause: true})
	m.run(30)
	paused, _ := m.peers[1].session.Paused()
	require.True(t, paused, "the control: who may does")
	m.requireLive()

	from := m.peers[1].tick() + 5
	taps[1].datagram = func(_ driftback.Peer, b []byte, pass func([]byte)) {
		pass(rewrite(t, b, func(p *wire.Packet) {
			for i := range p.Runs {
				if at := int(from - p.Runs[i].First); at >= 0 && at < p.Runs[i].Count {
					p.Runs[i].Entries = make([]byte, p.Runs[i].Count)
					p.Runs[i].Entries[at] = byte(wire.EntryResume)
				}
			}
		}))
	}
	m.runWhile(500, "not ended", func() bool { return !m.ended() })
	require.ErrorIs(t, m.peers[0].err, session.ErrRefused)
	require.ErrorContains(t, m.peers[0].err, "or entries that it may not give")
	require.Positive(t, m.peers[0].refused(mesh.BadInput))
	require.Equal(t, from, m.peers[0].session.Stats().Confirmed)
}

func TestAPauseIsRefusedWhereItMakesNoSense(t *testing.T) {
	c := session.Config[state, input]{Step: step, Self: 0, Players: []driftback.Peer{0, 0}}
	for _, bad := range []int{-2, 0b100} {
		c.MayPause = bad
		_, err := session.New(c)
		require.ErrorContains(t, err, "session: MayPause is ")
	}
	c.MayPause = session.None
	s, err := session.New(c)
	require.NoError(t, err)
	require.ErrorIs(t, s.Pause(), session.ErrMayNotPause)
	for _, speed := range []session.Speed{0, session.MaxSpeed + 1} {
		require.ErrorContains(t, s.SetSpeed(speed), "eighths: 1 to 32 are allowed, and 8 is normal")
	}
	s.Leave()
	require.ErrorIs(t, s.Pause(), session.ErrLeft)
	_, ok := s.ControlAt(-1)
	require.False(t, ok)
}

func TestTrainingPausesToo(t *testing.T) {
	c := session.Config[state, input]{Step: step, Self: 0, Players: []driftback.Peer{0, 0}, MayPause: 0b10}
	s, err := session.New(c)
	require.NoError(t, err)
	tick := func() {
		t.Helper()
		r, err := s.Tick(0, input{1}, input{2})
		require.NoError(t, err)
		require.Equal(t, session.Advanced, r.Phase)
	}
	tick()
	was := *s.State()
	require.NoError(t, s.Pause())
	tick()
	tick()
	require.Equal(t, was, *s.State())
	require.NoError(t, s.Resume())
	tick()
	require.EqualValues(t, 2, s.State().Ticks)
	_, ok := s.ControlAt(4)
	require.True(t, ok)
}

func TestAWarmFrameInWhichPeersPauseAllocatesNothing(t *testing.T) {
	d := newDuo(t, 7, step, nil)
	frames := 0
	deed := func() {
		frames++
		s := d.peer[frames/20%2]
		switch frames % 40 {
		case 0, 20:
			require.NoError(t, s.Pause())
		case 10, 30:
			require.NoError(t, s.Resume())
		case 15, 35:
			require.NoError(t, s.SetSpeed(session.Speed(1+frames/20%8)))
		}
		d.frame()
	}
	for range 3000 {
		deed()
	}
	before := d.peer[0].Stats().Loop.Rollbacks
	require.Zero(t, testing.AllocsPerRun(4, func() {
		for range 400 {
			deed()
		}
	}))
	require.Greater(t, d.peer[0].Stats().Loop.Rollbacks, before+100)
}
