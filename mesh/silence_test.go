package mesh

import (
	"errors"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
)

func TestASilentPeerInterruptsThenEndsTheMatch(t *testing.T) {
	m := playing(t, 2, func(c *Config) { c.PeerTimeout, c.RejoinGrace = time.Second, 2*time.Second })
	a, b := m.seats[0], m.seats[1]
	b.closed = true
	var interrupted, lost time.Duration
	for start := m.now; lost == 0; {
		m.turn()
		for _, e := range a.mesh.Events() {
			require.Equal(t, Event{Kind: PeerInterrupted, Peer: 1}, e)
			require.Zero(t, interrupted, "it is told once")
			require.True(t, a.mesh.Blocked())
			interrupted = m.now - start
		}
		if a.mesh.Phase() == Ended {
			lost = m.now - start
		}
	}
	require.InDelta(t, float64(time.Second), float64(interrupted), 2*float64(frame))
	require.InDelta(t, float64(3*time.Second), float64(lost), 2*float64(frame))
	require.ErrorIs(t, a.mesh.Err(), ErrPeerLost)
	require.EqualError(t, a.mesh.Err(), "mesh: a peer is lost: nothing from peer 1 for 3.008s, its inputs end at tick 0")
	var gone *LostError
	require.ErrorAs(t, a.mesh.Err(), &gone)
	require.EqualValues(t, 1, gone.Peer)
	require.EqualValues(t, 0, gone.Tick)
	require.InDelta(t, float64(3*time.Second), float64(gone.Silence), 2*float64(frame))
	require.NoError(t, gone.Down)
}

func TestAPeerThatIsHeardWithinTheGraceResumes(t *testing.T) {
	m := playing(t, 2, func(c *Config) { c.PeerTimeout, c.RejoinGrace = time.Second, 2*time.Second })
	a, b := m.seats[0], m.seats[1]
	b.lose = everything
	for !a.mesh.Blocked() {
		m.turn()
	}
	b.lose = nil
	m.turns(2)
	require.Equal(t, []string{"resumed"}, a.events())
	require.False(t, a.mesh.Blocked())
	s, ok := a.mesh.Link(1)
	require.True(t, ok)
	require.Zero(t, s.Silence)
	m.goOn(10)
	require.Greater(t, a.mesh.Confirmed(), driftback.Tick(5))
}

func TestTheErrorOfALostPeerSaysWhyItsLinkWentDown(t *testing.T) {
	m := playing(t, 2, nil)
	a, b := m.seats[0], m.seats[1]
	why := errors.New("quic: the cable was cut")
	b.closed = true
	a.down(b, "")
	a.inbox[len(a.inbox)-1].Err = why
	m.turns(100)
	require.ErrorIs(t, a.mesh.Err(), ErrPeerLost)
	require.ErrorIs(t, a.mesh.Err(), why)

	m = playing(t, 2, nil)
	a, b = m.seats[0], m.seats[1]
	a.down(b, "a cable")
	a.up(b)
	b.closed = true
	m.turns(100)
	require.ErrorIs(t, a.mesh.Err(), ErrPeerLost)
	require.NotContains(t, a.mesh.Err().Error(), "a cable", "the link that fell silent is another")
}

func TestTimeInWhichNobodyPolledIsNotHeldAgainstAPeer(t *testing.T) {
	const timeout = time.Second
	for name, c := range map[string]struct {
		times []time.Duration // of the polls
		want  time.Duration   // the silence that counts
	}{
		"the first poll":                  {[]time.Duration{time.Hour}, 0},
		"two polls":                       {[]time.Duration{time.Hour, time.Hour + 16*ms}, 16 * ms},
		"a pause of an hour":              {[]time.Duration{0, time.Hour}, timeout / 4},
		"two pauses":                      {[]time.Duration{0, time.Hour, 2 * time.Hour}, timeout / 2},
		"a clock that goes back":          {[]time.Duration{time.Hour, 0}, 0},
		"and then on":                     {[]time.Duration{time.Hour, 0, 16 * ms}, 16 * ms},
		"a clock that stands still":       {[]time.Duration{5, 5, 5}, 0},
		"from the least to the most time": {[]time.Duration{math.MinInt64, math.MaxInt64}, 0},
		"from the most to the least":      {[]time.Duration{math.MaxInt64, math.MinInt64, math.MinInt64 + ms}, ms},
		"negative times":                  {[]time.Duration{-time.Hour, -time.Hour + ms}, ms},
		"from before to after the moment": {[]time.Duration{-ms, ms}, 2 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMatch(t, 2, func(c *Config) { c.PeerTimeout = timeout })
			a := m.seats[0]
			for _, now := range c.times {
				a.mesh.Poll(now)
			}
			s, ok := a.mesh.Link(1)
			require.True(t, ok)
			require.Equal(t, c.want, s.Silence)
			require.Equal(t, c.want, a.mesh.joinedFor)
		})
	}
}

func TestWithoutATimeOutNobodyIsLost(t *testing.T) {
	m := playing(t, 2, func(c *Config) { c.PeerTimeout = None })
	a, b := m.seats[0], m.seats[1]
	b.closed = true
	for range 100 {
		m.now += 24 * time.Hour
		a.turn()
		require.Empty(t, a.mesh.Events())
		require.Equal(t, Playing, a.mesh.Phase())
	}
	m = newMatch(t, 2, func(c *Config) { c.JoinTimeout = None })
	for range 1000 {
		m.now += time.Hour
		m.seats[0].turn()
		require.Equal(t, Joining, m.seats[0].mesh.Phase())
	}
}

func TestEveryTimeOutIsKept(t *testing.T) {
	for name, c := range map[string]struct {
		timeout, grace time.Duration
		lost           bool // within a minute
	}{
		"the shortest":               {1, 0, true},
		"a few nanoseconds":          {3, 3, true},
		"a grace without end":        {time.Second, math.MaxInt64, false},
		"a time-out without end":     {math.MaxInt64, 0, false},
		"both without end":           {math.MaxInt64, math.MaxInt64, false},
		"a second, then ten":         {time.Second, 10 * time.Second, true},
		"a second, then an hour":     {time.Second, time.Hour, false},
		"a time-out and no patience": {10 * time.Second, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMatch(t, 2, func(cfg *Config) { cfg.PeerTimeout, cfg.RejoinGrace = None, c.grace })
			m.begin()
			a, b := m.seats[0], m.seats[1]
			b.closed = true
			a.mesh.cfg.PeerTimeout = c.timeout
			for range int(time.Minute / frame) {
				m.turn()
			}
			require.Equal(t, c.lost, a.mesh.Phase() == Ended, "%v", a.mesh.Err())
		})
	}
}

func TestAJoinTimeOutIsKeptHoweverShortThePeersIs(t *testing.T) {
	m := newMatch(t, 2, func(c *Config) { c.PeerTimeout = 1; c.JoinTimeout = time.Microsecond })
	for range 10_000 {
		m.seats[0].turn()
		m.now += frame
	}
	require.ErrorIs(t, m.seats[0].mesh.Err(), ErrNeverJoined)
}
