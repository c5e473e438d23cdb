package natpunch

import (
	"context"
	"errors"
	"net"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pion/logging"
	"github.com/pion/turn/v5"
	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/transport"
)

// passwords are those of a relay on the loopback interface, and end as those do that a signalling server
// makes, only sooner. The user's name is when.
type passwords struct {
	t      testing.TB
	url    string
	server *turn.Server
	life   time.Duration
	given  atomic.Int32
	ended  atomic.Int32 // questions that came with one that has ended
	broken atomic.Bool  // no more are given
}

const passwordLife, allocationLife = 3500 * time.Millisecond, 2 * time.Second

// newPasswords starts the relay.
func newPasswords(t testing.TB) *passwords {
	t.Helper()
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	require.NoError(t, err)
	p := &passwords{t: t, url: "turn:" + conn.LocalAddr().String(), life: passwordLife}
	quiet := logging.NewDefaultLoggerFactory()
	quiet.DefaultLogLevel = logging.LogLevelDisabled
	p.server, err = turn.NewServer(turn.ServerConfig{
		Realm: "driftback", LoggerFactory: quiet, AllocationLifetime: allocationLife,
		AuthHandler: func(a *turn.RequestAttributes) (string, []byte, bool) {
			end, err := strconv.ParseInt(a.Username, 10, 64)
			if err != nil || time.Now().After(time.UnixMilli(end)) {
				p.ended.Add(1)
				return "", nil, false
			}
			return a.Username, turn.GenerateAuthKey(a.Username, a.Realm, "secret"), true
		},
		PacketConnConfigs: []turn.PacketConnConfig{{
			PacketConn:            conn,
			RelayAddressGenerator: &turn.RelayAddressGeneratorStatic{RelayAddress: net.IPv4(127, 0, 0, 1), Address: "127.0.0.1"},
		}},
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.server.Close() })
	return p
}

var errBroken = errors.New("there are none today")

// now returns a password, as Config.Renew does.
func (p *passwords) now(context.Context) ([]Server, error) {
	if p.broken.Load() {
		return nil, errBroken
	}
	p.given.Add(1)
	ends := time.Now().Add(p.life)
	return []Server{{URL: p.url, Username: strconv.FormatInt(ends.UnixMilli(), 10), Password: "secret", Ends: ends}}, nil
}

// meet links two peers through nothing but the relay.
func (p *passwords) meet(also func(*Config)) *match {
	p.t.Helper()
	m := newMatch(p.t, 2)
	for i := range 2 {
		c := m.config(i)
		c.relayOnly, c.better = true, []time.Duration{}
		c.Servers, _ = p.now(p.t.Context())
		c.Renew = p.now
		also(&c)
		m.open(c)
	}
	m.meet()
	return m
}

func TestARelayedMatchOutlivesThePasswordsOfItsRelay(t *testing.T) {
	if testing.Short() {
		t.Skip("waits for passwords to end")
	}
	t.Run("with renewal", func(t *testing.T) {
		t.Parallel()
		const ends = 3
		p := newPasswords(t)
		m := p.meet(func(*Config) {})
		stop := m.stream()
		began := time.Now()
		until(t, "several passwords to end", func() bool { return time.Since(began) > ends*passwordLife+allocationLife })
		gap := stop()
		path := m.path(0, 1)
		t.Log("longest gap in ticks", gap, path)
		require.Less(t, gap, kept, "the old relay is used until there is a new one")
		require.True(t, path.Relayed)
		require.GreaterOrEqual(t, path.Changes, ends+1)
		require.LessOrEqual(t, path.Rounds, 3*(ends+2), "no more are begun than are needed")
		require.GreaterOrEqual(t, p.given.Load(), int32(2*(ends+1)))
		for _, end := range m.ends {
			require.Zero(t, end.Counts().Unrenewed)
		}
	})
	t.Run("and the end of the relay, when there is another", func(t *testing.T) {
		t.Parallel()
		old, next := newPasswords(t), newPasswords(t)
		old.life, next.life = time.Hour, time.Hour
		m := old.meet(func(c *Config) { c.Renew, c.IdleTimeout = next.now, patience })
		before := m.path(0, 1).Remote
		stop := m.stream()
		require.NoError(t, old.server.Close())
		until(t, "the other relay to be used", func() bool { return next.given.Load() == 2 && m.path(0, 1).Remote != before })
		require.Less(t, stop(), 1<<30, "the link has never been down")
	})
	t.Run("not without", func(t *testing.T) { // which shows that passwords do end
		t.Parallel()
		p := newPasswords(t)
		m := p.meet(func(c *Config) { c.Renew, c.IdleTimeout = nil, 2*time.Second })
		stop := m.stream()
		until(t, "the path to be lost", func() bool { return !m.path(0, 1).Remote.IsValid() })
		require.Greater(t, stop(), most)
		require.Positive(t, p.ended.Load())
	})
}

func TestServersAreAskedForAtOnceWhereThereAreNone(t *testing.T) {
	p := newPasswords(t)
	m := p.meet(func(c *Config) { c.Servers = nil })
	m.talk(0, 1)
	require.True(t, m.path(0, 1).Relayed)
}

// Whoever has no path is told that there are no servers either; and when there are, it is linked.
func TestWhatFailsIsSaidAndTriedAgain(t *testing.T) {
	p := newPasswords(t)
	p.broken.Store(true)
	m := newMatch(t, 2)
	for i := range 2 {
		c := m.config(i)
		c.relayOnly, c.Renew = true, p.now
		m.open(c)
	}
	until(t, "the reason to be known", func() bool {
		_, err := m.ends[0].Why(1)
		return errors.Is(err, errBroken)
	})
	_, err := m.ends[0].Why(1)
	require.ErrorContains(t, err, "natpunch: no path to peer 1: ")
	require.ErrorContains(t, err, ", and there are no new servers: there are none today")
	require.Positive(t, m.ends[0].Counts().Unrenewed)
	p.broken.Store(false)
	for _, end := range m.ends {
		await(t, end, transport.Up)
	}
	m.talk(0, 1)
	_, err = m.ends[0].Why(1)
	require.NoError(t, err)
}

// What is given is checked as Config.Servers is, and what is given again is not news.
func TestWhatMakesNoSenseIsNotTaken(t *testing.T) {
	for want, list := range map[string][]Server{
		`Config.Servers holds "nonsense"`: {{URL: "nonsense"}},
		"they are those that there were":  {{URL: "turn:127.0.0.1:9", Username: "a", Password: "b", Ends: time.Unix(1, 0)}},
	} {
		m := newMatch(t, 2)
		c := m.config(0)
		c.Servers = []Server{{URL: "turn:127.0.0.1:9", Username: "a", Password: "b", Ends: time.Unix(1, 0)}}
		c.Renew = func(context.Context) ([]Server, error) { return list, nil }
		tr := m.open(c)
		until(t, "it not to be taken", func() bool { return tr.Counts().Unrenewed > 0 })
		_, err := tr.Why(1)
		require.ErrorContains(t, err, want)
		require.Equal(t, c.Servers, tr.servers.Load().list)
	}
}

// A question that is not answered holds up nothing, and ends with the transport.
func TestAQuestionForServersIsNotWaitedFor(t *testing.T) {
	asked := make(chan struct{}, 2)
	m := newMatch(t, 2)
	for i := range 2 {
		c := m.config(i)
		c.Renew = func(ctx context.Context) ([]Server, error) {
			asked <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		}
		m.open(c)
	}
	<-asked
	<-asked
	m.meet()
	m.talk(0, 1)
	start := time.Now()
	for _, end := range m.ends {
		require.NoError(t, end.Close())
	}
	require.Less(t, time.Since(start), renewPatience/2)
}

func TestServersAreDueBeforeTheFirstPasswordEnds(t *testing.T) {
	now := time.Unix(1000, 0)
	relay := func(hours time.Duration) Server {
		return Server{URL: "turn:192.0.2.1", Username: "a", Password: "b", Ends: now.Add(hours * time.Hour)}
	}
	stun := Server{URL: "stun:192.0.2.1"}
	for name, c := range map[string]struct {
		list  []Server
		due   time.Time
		apart time.Duration
	}{
		"nothing ends":              {[]Server{stun}, time.Time{}, 0},
		"one ends":                  {[]Server{stun, relay(3)}, now.Add(2 * time.Hour), renewApart},
		"one ends before the other": {[]Server{relay(6), relay(3), relay(9)}, now.Add(2 * time.Hour), renewApart},
		"one has ended":             {[]Server{relay(-1)}, now, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := newServers(c.list, 7, now)
			require.NoError(t, err)
			require.Equal(t, c.due, s.due)
			require.Equal(t, c.apart, s.apart)
			require.Equal(t, !c.due.IsZero(), s.old(now.Add(4*time.Hour)))
			require.False(t, s.old(now.Add(-time.Nanosecond)))
		})
	}
}

// Peers go over to new passwords one after the other, so that a relay never holds twice as much.
func TestRoundsForNewPasswordsBeginOneAfterTheOther(t *testing.T) {
	now := time.Unix(1000, 0)
	old, err := newServers([]Server{{URL: "turn:192.0.2.1", Username: "a", Password: "b", Ends: now.Add(time.Hour)}}, 7, now)
	require.NoError(t, err)
	tr := &Transport{}
	tr.servers.Store(old)
	first, second := &round{servers: old}, &round{servers: old}
	require.False(t, tr.outlived(first, now.Add(50*time.Minute)), "there is nothing newer")
	tr.servers.Store(&servers{})
	require.False(t, tr.outlived(first, now.Add(30*time.Minute)), "they are still good")
	now = now.Add(50 * time.Minute)
	require.True(t, tr.outlived(first, now))
	require.False(t, tr.outlived(second, now.Add(renewApart-1)))
	require.True(t, tr.outlived(second, now.Add(renewApart)))
	require.False(t, tr.outlived(&round{servers: tr.servers.Load()}, now.Add(time.Hour)))
}
