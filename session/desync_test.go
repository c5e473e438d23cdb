package session_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/desync"
	"github.com/driftback/driftback/dispute"
	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/layout"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/snapshot"
	"github.com/driftback/driftback/transport/loopback"
	"github.com/driftback/driftback/wire"
)

// requireDesync requires that peers a and b, which found at a compared tick that they differ, have halted
// and tell the same story from both sides: that their states differ from the first tick on, in the field that
// diverging changes; and that each still has the state in question.
func requireDesync(t *testing.T, m *match, a, b *peer, first, found driftback.Tick) {
	t.Helper()
	h := newHasher(t)
	var errs [2]*session.DesyncError
	for i, p := range []*peer{a, b} {
		require.ErrorAs(t, p.err, &errs[i], "peer %d", p.self)
		require.Equal(t, first, errs[i].Tick)
		require.Equal(t, found, errs[i].Found)
		require.True(t, errs[i].Exact)
		require.Equal(t, [2]dispute.Repeats{dispute.Same, dispute.Same}, errs[i].Repeats)
		for _, part := range []string{
			fmt.Sprintf("tick %d", first), errs[i].Ours.String(), errs[i].Theirs.String(), "one tick before they were alike", "Pos[3] was ",
		} {
			require.ErrorContains(t, p.err, part)
		}
		s := m.start
		at, ok := p.session.DesyncState(&s)
		require.True(t, ok, "peer %d still has the state", p.self)
		require.Equal(t, first, at)
		require.Equal(t, int64(first), s.Ticks)
		require.Equal(t, errs[i].Ours, h.Sum(&s))
		requireReport(t, p, errs[i], []*peer{b, a}[i].config.Step)
		next, err := p.session.ConfirmedState(&s)
		require.NoError(t, err)
		require.EqualValues(t, next, s.Ticks, "the world itself is as it was")
	}
	require.NotEqual(t, errs[0].Ours, errs[0].Theirs)
	require.Equal(t, errs[0].Ours, errs[1].Theirs)
	require.Equal(t, errs[0].Theirs, errs[1].Ours)
	require.Equal(t, b.self, errs[0].Peer)
	require.Equal(t, a.self, errs[1].Peer)
	require.Len(t, errs[0].Fields, 1)
	require.Equal(t, "Pos[3]", errs[0].Fields[0].Path)
	require.Equal(t, []fingerprint.Difference{{Path: "Pos[3]", A: errs[0].Fields[0].B, B: errs[0].Fields[0].A}}, errs[1].Fields)
	if !a.maybeDiffers {
		require.Equal(t, h.Sum(m.oracle.at(first)), errs[0].Ours, "the sound peer's state is the oracle's")
	}
}

// requireReport requires that a peer's report says what its error does, and that the one tick, run with what
// the report has, turns the one state into the other; with the other peer's step, unless that is nil, into the
// other peer's.
func requireReport(t *testing.T, p *peer, e *session.DesyncError, other driftback.Step[state, input]) *desync.Report {
	t.Helper()
	r, ok := p.session.Report()
	require.True(t, ok)
	require.Equal(t, []driftback.Tick{e.Agreed, e.Found, e.Tick, e.FieldsAt}, []driftback.Tick{r.Agreed, r.Found, r.Tick, r.At})
	require.Equal(t, e.Fields, r.Fields)
	require.Equal(t, e.Exact, r.Exact)
	require.Equal(t, e.Repeats, r.Repeats)
	require.Equal(t, []driftback.Peer{p.self, e.Peer}, []driftback.Peer{r.Self, r.Peer})
	require.Equal(t, p.config.Players, r.Players)
	require.Equal(t, "test", r.Game)
	require.NotEqual(t, r.Ours, r.Theirs)
	require.EqualValues(t, 77, r.Match)
	require.NotZero(t, r.Seed)
	l, err := layout.Of[state]()
	require.NoError(t, err)
	require.Equal(t, l.Hash(), r.StateLayout)
	require.Equal(t, stride, r.InputSize)
	file, err := r.Append(nil)
	require.NoError(t, err)
	read, err := desync.Parse(file)
	require.NoError(t, err)
	require.Equal(t, r, read)
	if r.Before == nil || r.After == nil {
		return r
	}
	if e.Repeats[0] == dispute.Same {
		require.Equal(t, []driftback.Tick{e.Tick - 1, e.Tick}, []driftback.Tick{r.Start, r.End})
		for _, runs := range []struct {
			step driftback.Step[state, input]
			ours bool
		}{{p.config.Step, true}, {other, false}} {
			if runs.step == nil {
				continue
			}
			o, err := desync.Rerun(r, runs.step)
			require.NoError(t, err)
			require.True(t, o.Steady)
			require.Equal(t, []bool{runs.ours, true, !runs.ours}, []bool{o.Ours, o.TheirsKnown, o.Theirs})
		}
	}
	return r
}

// untilHalted runs a match until none of its peers plays.
func (m *match) untilHalted() {
	m.t.Helper()
	m.runWhile(2000, "not halted", func() bool { return !m.ended() })
}

// desyncOf returns the error that a peer ended with.
func desyncOf(t *testing.T, p *peer) *session.DesyncError {
	t.Helper()
	var e *session.DesyncError
	require.ErrorAs(t, p.err, &e, "peer %d", p.self)
	return e
}

func TestAStepThatIsNotPureIsNamedOnBothSides(t *testing.T) {
	m := newMatch(t, 2, func(c *session.Config[state, input]) {
		runs := int32(0)
		if c.Self == 1 {
			c.Step = func(s *state, in []input, pass *driftback.Pass) {
				step(s, in, pass)
				if runs++; pass.Tick() >= 100 {
					s.Level[3] = runs
				}
			}
		}
	})
	m.peers[1].maybeDiffers = true
	m.impair(loopback.Impairment{Latency: 40 * ms})
	m.untilHalted()
	sound, impure := desyncOf(t, m.peers[0]), desyncOf(t, m.peers[1])
	require.Equal(t, [2]dispute.Repeats{dispute.Same, dispute.Different}, sound.Repeats)
	require.Equal(t, [2]dispute.Repeats{dispute.Different, dispute.Same}, impure.Repeats)
	require.ErrorContains(t, sound, "the step is not pure at peer 1, which ran the ticks since tick 96 again")
	require.ErrorContains(t, impure, "the step is not pure here: the ticks since tick 96, run again with the same inputs, came to another state; Level[3] was ")
	require.Len(t, impure.Unrepeated, 1)
	require.Equal(t, "Level[3]", impure.Unrepeated[0].Path)
	for _, e := range []*session.DesyncError{sound, impure} {
		require.EqualValues(t, 104, e.Tick, "nothing between is known of the other")
		require.False(t, e.Exact)
		require.Len(t, e.Fields, 1)
		require.Equal(t, "Level[3]", e.Fields[0].Path)
	}
	r := requireReport(t, m.peers[1], impure, nil)
	require.Equal(t, []driftback.Tick{96, 104}, []driftback.Tick{r.Start, r.End})
	require.NotNil(t, r.Before)
	require.NotNil(t, r.After)
	requireReport(t, m.peers[0], sound, nil)
}

func TestWhatWasPausedIsNotRunWhenTicksAreRunAnew(t *testing.T) {
	m := newMatch(t, 2, plant(150, func(c *session.Config[state, input]) { c.FingerprintEvery = 64 }))
	m.peers[1].maybeDiffers = true
	m.impair(loopback.Impairment{Latency: 40 * ms})
	d := follow(m)
	m.runUntil(120)
	d.do(m.peers[0], deed{pause: true})
	m.run(20)
	d.do(m.peers[1], deed{resume: true})
	m.untilHalted()
	for _, p := range m.peers {
		e := desyncOf(t, p)
		require.Equal(t, [2]dispute.Repeats{dispute.Same, dispute.Same}, e.Repeats)
		require.EqualValues(t, 151, e.Tick)
		require.True(t, e.Exact)
		r := requireReport(t, p, e, nil)
		paused := 0
		for _, in := range r.Inputs {
			if in.Paused {
				paused++
			}
		}
		require.Positive(t, paused, "the control: some ticks were")
	}
}

func TestTicksAreRunAnewWithThoseWhoWereReplaced(t *testing.T) {
	m := newViewMatch(t, 3, func(c *session.Config[state, input]) {
		if c.FingerprintEvery = 512; c.Self == 1 {
			plain := c.Step
			c.Step = func(s *state, in []input, pass *driftback.Pass) {
				plain(s, in, pass)
				if pass.Tick() == 500 {
					s.Pos[3]++
				}
			}
		}
	})
	m.peers[1].maybeDiffers = true
	m.runUntil(100)
	m.peers[2].crash()
	m.runWhile(3000, "not halted", func() bool { return m.peers[0].err == nil || m.peers[1].err == nil })
	_, cut := m.peers[0].session.Cut(2)
	require.True(t, cut, "the control: somebody was")
	for _, p := range m.peers[:2] {
		e := desyncOf(t, p)
		require.Equal(t, [2]dispute.Repeats{dispute.Same, dispute.Same}, e.Repeats)
		require.EqualValues(t, 501, e.Tick)
		require.True(t, e.Exact)
		requireReport(t, p, e, nil)
	}
}

func TestWhoHasComeBackRunsAnewFromWhereItBegan(t *testing.T) {
	m := newReturnMatch(t, 3, func(c *session.Config[state, input]) { c.FingerprintEvery = 256 })
	m.runUntil(270)
	m.peers[2].crash()
	m.runWhile(1500, "not cut", func() bool {
		_, cut := m.peers[0].session.Cut(2)
		return !cut
	})
	at := driftback.Tick(1 << 40)
	p := m.comeBack(2, func(c *session.JoinConfig[state, input]) {
		plain := c.Step
		c.Step = func(s *state, in []input, pass *driftback.Pass) {
			if plain(s, in, pass); pass.Tick() == at {
				s.Pos[3]++
			}
		}
	})
	p.maybeDiffers = true
	at = m.runIn(p) + 20
	require.NotZero(t, at%256)
	m.runWhile(2000, "not found", func() bool { return p.err == nil })
	e := desyncOf(t, p)
	require.Equal(t, at+1, e.Tick)
	require.False(t, e.Exact, "of the ticks before it began this peer knows nothing")
	require.Equal(t, [2]dispute.Repeats{dispute.Same, dispute.Same}, e.Repeats)
	require.Len(t, e.Fields, 1)
	require.Equal(t, "Pos[3]", e.Fields[0].Path)
	r := requireReport(t, p, e, nil)
	require.Greater(t, r.Inputs[0].Tick, e.Agreed, "the control: it begins later")
}

func TestAPeerThatTellsNothingKeepsTheOtherFromNoMoreThanItHas(t *testing.T) {
	m, taps := newTappedMatch(t, 2, plant(100, nil))
	m.peers[1].maybeDiffers = true
	taps[1].reliable = func(_ driftback.Peer, b []byte, pass func([]byte)) {
		if c, err := wire.ParseControl(b); err == nil {
			if _, is := c.(wire.Evidence); is {
				return
			}
		}
		pass(b)
	}
	m.runUntil(95)
	since := m.net.Now()
	m.untilHalted()
	require.InDelta(t, float64(5*time.Second), float64(m.net.Now()-since), float64(time.Second))
	e := desyncOf(t, m.peers[0])
	require.EqualValues(t, 104, e.Tick)
	require.False(t, e.Exact)
	require.Equal(t, [2]dispute.Repeats{dispute.Same, dispute.Untried}, e.Repeats)
	require.Empty(t, e.Fields)
	require.ErrorContains(t, e, "they were last seen alike as tick 96 began")
	r := requireReport(t, m.peers[0], e, nil)
	require.NotNil(t, r.Before)
	require.EqualValues(t, 101, desyncOf(t, m.peers[1]).Tick, "whoever was told knows")
}

func TestEvidenceThatIsJunkHarmsNobody(t *testing.T) {
	for seed := range byte(20) {
		m, taps := newTappedMatch(t, 2, plant(100, nil))
		m.peers[1].maybeDiffers = true
		draw, spoilt := uint32(seed)+1, 0
		taps[1].reliable = func(_ driftback.Peer, b []byte, pass func([]byte)) {
			c, err := wire.ParseControl(b)
			require.NoError(t, err)
			if e, is := c.(wire.Evidence); is && len(e.Data) > 0 {
				draw = draw*1664525 + 1013904223
				switch at := int(draw>>8) % len(e.Data); draw >> 28 % 4 {
				case 0:
					e.Data[at] ^= byte(draw>>16) | 1
				case 1:
					e.Data = e.Data[:at]
				case 2:
					pass(b)
				default:
				}
				spoilt++
				b, err = wire.AppendControl(nil, e)
				require.NoError(t, err)
			}
			pass(b)
		}
		m.runUntil(95)
		since := m.net.Now()
		m.untilHalted()
		require.Positive(t, spoilt)
		require.Less(t, m.net.Now()-since, 6*time.Second)
		for _, p := range m.peers {
			e := desyncOf(t, p)
			require.EqualValues(t, 104, e.Found)
			require.True(t, e.Tick > 96 && e.Tick <= 104)
			require.NotEmpty(t, p.err.Error())
			requireReport(t, p, e, nil)
		}
	}
}

func TestALinkThatComesBackLetsThemFindOutYet(t *testing.T) {
	m, taps := newTappedMatch(t, 2, plant(100, nil))
	m.peers[1].maybeDiffers = true
	m.impair(loopback.Impairment{Latency: 40 * ms})
	said := 0
	taps[0].reliable = func(_ driftback.Peer, b []byte, pass func([]byte)) {
		if pass(b); b[0] == 0x18 {
			said++
		}
	}
	m.runWhile(2000, "nothing is said", func() bool { return said == 0 })
	require.NoError(t, m.net.TakeDown(0, 1))
	m.run(30)
	m.requireLive()
	require.NoError(t, m.net.BringUp(0, 1))
	m.untilHalted()
	require.Greater(t, said, 1, "it began anew")
	requireDesync(t, m, m.peers[0], m.peers[1], 101, 104)
}

func TestOfThreeAllThatDifferFindOutInWhat(t *testing.T) {
	m := newMatch(t, 3, plant(100, nil))
	m.peers[1].maybeDiffers = true
	m.impair(loopback.Impairment{Latency: 30 * ms})
	m.untilHalted()
	for _, p := range m.peers {
		e := desyncOf(t, p)
		require.EqualValues(t, 101, e.Tick)
		require.True(t, e.Exact)
		require.Len(t, e.Fields, 1)
		require.Equal(t, "Pos[3]", e.Fields[0].Path)
		if p.self != 1 {
			require.EqualValues(t, 1, e.Peer)
		}
		requireReport(t, p, e, nil)
	}
}

func TestNobodyRetracesUnlessStatesDiffer(t *testing.T) {
	retraced := [2]int{}
	var m *match
	m = newMatch(t, 2, func(c *session.Config[state, input]) {
		plain, self := diverging(100), c.Self
		c.Step = func(s *state, in []input, pass *driftback.Pass) {
			if m != nil && m.peers[self].session.Retracing() {
				retraced[self]++
				pass.Raise(driftback.Effect{Kind: 99})
			}
			if step(s, in, pass); self == 1 {
				s.Ticks--
				plain(s, nil, pass)
			}
		}
	})
	m.peers[1].maybeDiffers = true
	m.runUntil(96)
	require.Zero(t, retraced)
	m.untilHalted()
	for _, n := range retraced {
		require.Equal(t, 8+5+4+5, n, "to 104, to 101 for its bytes, to 100 for those before it, and to 101 for DesyncState")
	}
	for _, p := range m.peers {
		require.False(t, p.session.Retracing())
		for report := range p.effects {
			require.NotEqualValues(t, 99, report.Effect.Kind, "what is raised then goes nowhere")
		}
	}
	_, ok := m.peers[0].session.Report()
	require.True(t, ok)
}

func TestWithoutADesyncThereIsNoReport(t *testing.T) {
	m := newMatch(t, 2, nil)
	m.finish(50)
	_, ok := m.peers[0].session.Report()
	require.False(t, ok)
	m.untilHalted()
	_, ok = m.peers[0].session.Report()
	require.False(t, ok)
}

// sack is a world with bytes of its own, of which there may be more or fewer.
type sack struct{ Things []byte }

func (s *sack) AppendBinary(b []byte) ([]byte, error) { return append(b, s.Things...), nil }
func (s *sack) UnmarshalBinary(b []byte) error {
	s.Things = append(s.Things[:0], b...)
	return nil
}

func TestStatesOfDifferentSizesAreComparedToo(t *testing.T) {
	net := loopback.New(1)
	var peers [2]*session.Lockstep[sack, input]
	for i := range peers {
		var err error
		peers[i], err = session.New(session.Config[sack, input]{
			Step: func(s *sack, _ []input, pass *driftback.Pass) {
				s.Things = append(s.Things, byte(pass.Tick()))
				if i == 1 && pass.Tick() == 205 {
					s.Things = append(s.Things, 77)
				}
			},
			Self: driftback.Peer(i), Players: []driftback.Peer{0, 1}, Nonce: uint64(i + 1), Transport: net.Open(driftback.Peer(i)),
			Save: snapshot.Encode[sack],
		})
		require.NoError(t, err)
	}
	var errs [2]error
	for range 500 {
		net.Advance(frame)
		for i, p := range peers {
			if errs[i] == nil {
				_, errs[i] = p.Tick(net.Now(), input{})
			}
		}
	}
	for i, err := range errs {
		var e *session.DesyncError
		require.ErrorAs(t, err, &e)
		require.EqualValues(t, 206, e.Tick)
		require.True(t, e.Exact)
		require.Len(t, e.Fields, 1)
		require.Equal(t, "byte 206", e.Fields[0].Path)
		require.Contains(t, []string{e.Fields[0].A, e.Fields[0].B}[1-i], "0x4d")
		r, ok := peers[i].Report()
		require.True(t, ok)
		require.Zero(t, r.StateLayout)
		require.Equal(t, []int{206 + i, 207 - i}, []int{r.OursSize, r.TheirsSize})
		require.Len(t, r.After, r.OursSize)
		require.Len(t, r.Before, 205)
		require.True(t, strings.Contains(err.Error(), "byte 206 was "))
	}
}

func TestWhereTooManyTicksWouldHaveToBeRunAnewThoseThatWereComparedAreAll(t *testing.T) {
	m := newMatch(t, 2, plant(500, func(c *session.Config[state, input]) { c.FingerprintEvery, c.History = 3000, 6000 }))
	m.peers[1].maybeDiffers = true
	m.runWhile(5000, "not halted", func() bool { return !m.ended() })
	for _, p := range m.peers {
		e := desyncOf(t, p)
		require.EqualValues(t, 3000, e.Tick)
		require.False(t, e.Exact)
		require.Equal(t, [2]dispute.Repeats{}, e.Repeats)
		require.Len(t, e.Fields, 1)
		require.Equal(t, "Pos[3]", e.Fields[0].Path)
		require.EqualValues(t, 3000, e.FieldsAt)
		r := requireReport(t, p, e, nil)
		require.Equal(t, []driftback.Tick{0, 3000}, []driftback.Tick{r.Start, r.End})
		require.Len(t, r.Inputs, 3001)
	}
}
