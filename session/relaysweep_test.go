package session_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/relay"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/loopback"
	"github.com/driftback/driftback/wire"
)

// A sweep is one match through a relay, all of which a seed has drawn.
type sweep struct {
	*relayed
	random *rand.Rand
	ticks  driftback.Tick
	links  [][2]loopback.Impairment // of each player, up and down
	// until has, by player, the frame at which it, or its link, is well again.
	until []int
	woken int // the frame at which the relay is called again
	gone  map[driftback.Peer]string
	did   map[string]int
}

// of returns one of the values, at random.
func of[T any](random *rand.Rand, values ...T) T { return values[random.IntN(len(values))] }

func newSweep(t testingT, seed uint64, wrap func(p driftback.Peer, e *loopback.Endpoint) transport.Transport) *sweep {
	random := rand.New(rand.NewPCG(seed, 11))
	n := 2 + random.IntN(7)
	s := &sweep{
		random: random, ticks: 200 + driftback.Tick(random.IntN(100)), until: make([]int, n),
		gone: map[driftback.Peer]string{}, did: map[string]int{},
	}
	var owners []driftback.Peer
	for p := range driftback.Peer(n) {
		owners = append(owners, p)
	}
	if random.IntN(4) == 0 { // somebody plays two
		owners = append(owners, driftback.Peer(random.IntN(n)))
	}
	window, every := of(random, 4, 8, 8, 16, 24), of(random, 4, 8, 8, 20, session.None)
	s.relayed = newRelayedOf(t, relaying{
		players: n, owners: owners, seed: seed, wrap: wrap,
		relay: relay.Config{
			Deadline: of(random, 10*ms, 30*ms, 50*ms, 50*ms, 120*ms, relay.None), PeerTimeout: 1500 * ms, History: of(random, 0, 200),
		},
		session: func(c *session.Config[state, input]) {
			c.PredictionWindow, c.FingerprintEvery, c.PeerTimeout = window, every, 2*time.Second
			c.InputDelay, c.Redundancy = of(random, 0, 0, 1, 2, 5), of(random, 1, 1, session.None, 8)
			c.PublishEvery = of(random, 1, 1, 1, 2)
			c.Step = noisy
		},
	})
	s.step, s.script = noisy, play(int64(1+random.IntN(8)))
	for i, p := range s.players {
		p.phase, p.follows = random.IntN(looks), random.IntN(3) > 0
		p.times = of(random, 1, 1, 1, 1, 2)
		require.NoError(t, p.session.Finish(s.ticks))
		var link [2]loopback.Impairment
		for way := range link {
			link[way] = loopback.Impairment{
				Latency: time.Duration(random.IntN(70)) * ms, Jitter: time.Duration(random.IntN(25)) * ms,
				Loss: of(random, 0, 0, 0.02, 0.2), Reorder: of(random, 0, 0.1), Duplicate: of(random, 0, 0.05), ReorderBy: 10 * ms,
			}
		}
		s.links = append(s.links, link)
		s.heal(i)
	}
	return s
}

// impair sets what the two ways between a player and the relay do.
func (s *sweep) impair(p int, up, down loopback.Impairment) {
	require.NoError(s.t, s.net.Impair(driftback.Peer(p), relayPeer, up))
	require.NoError(s.t, s.net.Impair(relayPeer, driftback.Peer(p), down))
}

// heal makes a player and its link what they are when nothing is wrong.
func (s *sweep) heal(p int) {
	s.until[p], s.players[p].asleep = 0, s.gone[driftback.Peer(p)] != ""
	s.impair(p, s.links[p][0], s.links[p][1])
	s.down(p, true)
}

// befall lets something happen to somebody.
func (s *sweep) befall() {
	i := s.random.IntN(len(s.players))
	p, blocked := s.players[i], loopback.Impairment{Blocked: true}
	if s.until[i] > 0 || p.asleep || p.err != nil {
		return
	}
	what := of(s.random, "freeze", "freeze", "up blocked", "down blocked", "both blocked", "link down", "relay still", "leave", "crash", "pause")
	if last := len(s.gone) >= len(s.players)-1; last && (what == "leave" || what == "crash") {
		return
	}
	s.did[what]++
	s.until[i] = s.frames + 3 + s.random.IntN(50)
	switch what {
	case "freeze":
		p.asleep = true
	case "up blocked":
		s.impair(i, blocked, s.links[i][1])
	case "down blocked":
		s.impair(i, s.links[i][0], blocked)
	case "both blocked":
		s.impair(i, blocked, blocked)
	case "link down":
		s.down(i, false)
	case "relay still":
		s.until[i], s.still, s.woken = 0, true, s.until[i]
	case "leave":
		s.gone[p.self] = what
		p.session.Leave()
		p.err = session.ErrLeft
	case "crash":
		s.gone[p.self] = what
		p.asleep = true
		p.end.Crash()
	case "pause":
		if s.until[i] = 0; s.random.IntN(2) == 0 {
			_ = p.session.Pause()
		} else {
			_ = p.session.Resume()
		}
	}
}

// play plays the match to its end.
func (s *sweep) play() {
	for !s.over() {
		s.run(1)
		for p, until := range s.until {
			if until > 0 && s.frames >= until {
				s.heal(p)
			}
		}
		if s.still && s.frames >= s.woken {
			s.still = false
		}
		if s.relay.Closed() > 10 && s.relay.Closed() < s.ticks-20 && s.random.IntN(20) == 0 {
			s.befall()
		}
		if s.frames > 4000 {
			s.t.Fatalf("after %d frames tick %d of %d is closed, and the match is not over: %v, the relay has refused %v",
				s.frames, s.relay.Closed(), s.ticks, s.ends(), s.relay.Refused())
		}
	}
}

func (s *sweep) over() bool {
	for _, p := range s.players {
		if p.err == nil && s.gone[p.self] == "" {
			return false
		}
	}
	return true
}

// ends says how far everybody has come.
func (s *sweep) ends() (list []string) {
	for _, p := range s.players {
		list = append(list, fmt.Sprintf("peer %d: %s confirmed %d %v", p.self, s.gone[p.self], p.confirmed, p.err))
	}
	return list
}

// judge requires that all that are left have ended as they should.
func (s *sweep) judge() {
	t := s.t
	finished := 0
	for _, p := range s.players {
		lost := s.relay.Lost(p.self)
		silent, behind := (*mesh.LostError)(nil), (*relay.BehindError)(nil)
		switch {
		case s.gone[p.self] != "":
		case errors.Is(p.err, session.ErrFinished):
			finished++
			require.Equal(t, s.ticks, p.confirmed, "peer %d", p.self)
			s.compareEffects(p)
		case errors.As(lost, &silent):
			s.did["lost"]++
			require.GreaterOrEqual(t, silent.Silence, 1500*ms)
			if !errors.Is(p.err, session.ErrPeerLost) { // it has not heard from the relay for as long
				require.ErrorIs(t, p.err, session.ErrCutOff, "peer %d", p.self)
			}
		case errors.As(lost, &behind):
			s.did["behind"]++
			require.ErrorIs(t, p.err, session.ErrCutOff, "peer %d", p.self)
		default:
			require.NoError(t, p.err, "peer %d", p.self)
		}
	}
	if finished > 0 {
		require.ErrorIs(t, s.err, mesh.ErrFinished)
	} else {
		s.did["nobody left"]++ // whoever was left was lost
	}
}

func TestWhateverBefallsAMatchThroughARelayAllConfirmWhatOneSimulationDoes(t *testing.T) {
	seeds := uint64(200)
	if testing.Short() {
		seeds = 30
	}
	did := map[string]int{}
	var lates, rollbacks, ticks, gone uint64
	for seed := range seeds {
		s := newSweep(t, seed, nil)
		if t.Failed() || !t.Run(fmt.Sprint(seed), func(t *testing.T) {
			s.t = t
			s.play()
			s.judge()
		}) {
			return
		}
		for what, n := range s.did {
			did[what] += n
		}
		lates, gone, ticks = lates+sum(s.lates), gone+sum(s.gones), ticks+uint64(len(s.plain))
		for _, p := range s.players {
			rollbacks += p.session.Stats().Loop.Rollbacks
		}
	}
	t.Logf("%v; of %d ticks' inputs %d were late and %d gone, and there were %d rollbacks", did, ticks, lates, gone, rollbacks)
	for _, what := range []string{"freeze", "up blocked", "down blocked", "both blocked", "link down", "relay still", "leave", "crash", "pause", "lost"} {
		require.Positive(t, did[what], what)
	}
	require.Greater(t, lates, seeds*100)
	require.Greater(t, gone, seeds*30)
	require.Greater(t, rollbacks, seeds*100)
}

// bent lies between a peer and its endpoint and changes datagrams.
type bent struct {
	*loopback.Endpoint
	out func(to driftback.Peer, b []byte) []byte
	in  func(b []byte) []byte
}

func (b *bent) Send(to driftback.Peer, data []byte) {
	if b.out != nil {
		data = b.out(to, data)
	}
	b.Endpoint.Send(to, data)
}

func (b *bent) Receive() (transport.Message, bool) {
	msg, ok := b.Endpoint.Receive()
	if ok && b.in != nil && msg.Kind == transport.Datagram {
		msg.Data = b.in(msg.Data)
	}
	return msg, ok
}

// caught is a test whose failure is what is looked for.
type caught struct{ said string }

func (c *caught) Helper()                           {}
func (c *caught) Errorf(format string, args ...any) { c.said = fmt.Sprintf(format, args...) }
func (c *caught) FailNow()                          { panic(c) }
func (c *caught) Fatalf(format string, args ...any) { c.Errorf(format, args...); c.FailNow() }

// find plays a seed and returns what is wrong with it, or "".
func find(seed uint64, wrap func(p driftback.Peer, e *loopback.Endpoint) transport.Transport) (said string) {
	c := &caught{}
	defer func() {
		if r := recover(); r != nil && r != any(c) {
			panic(r)
		}
		said = c.said
	}()
	s := newSweep(c, seed, wrap)
	s.play()
	s.judge()
	return ""
}

func TestTheSweepFindsWhatIsPlanted(t *testing.T) {
	// each calls change with every input of the runs of a packet.
	each := func(b []byte, change func(p driftback.Participant, t driftback.Tick, in []byte, e *byte)) []byte {
		return rewrite(t, b, func(p *wire.Packet) {
			for i := range p.Runs {
				r := &p.Runs[i]
				if len(r.Entries) == 0 {
					r.Entries = make([]byte, r.Count)
				}
				for j := range r.Count {
					change(r.Participant, r.First+driftback.Tick(j), r.Inputs[stride*j:stride*(j+1)], &r.Entries[j])
				}
			}
		})
	}
	late := byte(wire.EntryLate)
	for name, plant := range map[string]struct {
		wrap func(p driftback.Peer, e *loopback.Endpoint) transport.Transport
		says string
	}{
		"control: nothing": {func(_ driftback.Peer, e *loopback.Endpoint) transport.Transport { return &bent{Endpoint: e} }, ""},
		"a replaced input is another for one player": {func(p driftback.Peer, e *loopback.Endpoint) transport.Transport {
			b := &bent{Endpoint: e}
			if p == relayPeer {
				b.out = func(to driftback.Peer, data []byte) []byte {
					if to != 1 {
						return data
					}
					return each(data, func(_ driftback.Participant, _ driftback.Tick, in []byte, e *byte) {
						if *e == late {
							in[0] ^= 1
						}
					})
				}
			}
			return b
		}, "the confirmed state as tick"},
		"a late input is applied by its owner": {func(p driftback.Peer, e *loopback.Endpoint) transport.Transport {
			own, seen := map[driftback.Tick][2]byte{}, map[driftback.Tick]bool{}
			b := &bent{Endpoint: e}
			if p == 1 {
				b.out = func(_ driftback.Peer, data []byte) []byte {
					return each(data, func(q driftback.Participant, t driftback.Tick, in []byte, _ *byte) {
						if q == 1 && !seen[t] {
							own[t] = [2]byte(in)
						}
					})
				}
				b.in = func(data []byte) []byte {
					return each(data, func(q driftback.Participant, t driftback.Tick, in []byte, e *byte) {
						if q == 1 {
							seen[t] = true
						}
						if meant, ok := own[t]; ok && q == 1 && *e == late {
							copy(in, meant[:])
							*e = 0
						}
					})
				}
			}
			return b
		}, "the confirmed state as tick"},
		"an input is passed twice": {func(p driftback.Peer, e *loopback.Endpoint) transport.Transport {
			own := map[driftback.Tick][2]byte{}
			b := &bent{Endpoint: e}
			if p == 1 {
				b.out = func(_ driftback.Peer, data []byte) []byte {
					return each(data, func(q driftback.Participant, t driftback.Tick, in []byte, _ *byte) {
						if _, said := own[t]; q == 1 && !said {
							own[t] = [2]byte(in)
						}
						if before, ok := own[t-1]; q == 1 && ok && t%40 == 0 {
							copy(in, before[:])
						}
					})
				}
			}
			return b
		}, "the set has"},
	} {
		t.Run(name, func(t *testing.T) {
			const tries = 12
			for seed := range uint64(tries) {
				if said := find(1000+seed, plant.wrap); said != "" {
					require.NotEmpty(t, plant.says, "seed %d: %s", 1000+seed, said)
					require.Contains(t, said, plant.says)
					t.Logf("found with seed %d: %.200s", 1000+seed, strings.TrimSpace(said))
					return
				}
			}
			require.Empty(t, plant.says, "it is not found in %d seeds", tries)
		})
	}
}
