package simtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/pacing"
	"github.com/driftback/driftback/rng"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/simtest"
	"github.com/driftback/driftback/snapshot"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

type (
	state  = simtest.WitnessState
	input  = simtest.WitnessInput
	config = session.Config[state, input]
	game   = simtest.Game[state, input]
)

// stride is the size of an input in bytes.
const stride = 18

// meddler is a transport that changes what a sound peer sends. Returning nil sends nothing.
type meddler struct {
	transport.Transport
	datagram func(b []byte) []byte
	reliable func(b []byte) []byte
}

func (m meddler) Send(to driftback.Peer, b []byte) {
	if m.datagram != nil {
		b = m.datagram(b)
	}
	if b != nil {
		m.Transport.Send(to, b)
	}
}

func (m meddler) SendReliable(to driftback.Peer, b []byte) error {
	if m.reliable != nil {
		b = m.reliable(b)
	}
	if b == nil {
		return nil
	}
	return m.Transport.SendReliable(to, b)
}

// rewrite changes every packet.
func rewrite(change func(p *wire.Packet)) func(b []byte) []byte {
	return func(b []byte) []byte {
		var p wire.Packet
		if p.Parse(b, stride) != nil {
			return b
		}
		change(&p)
		out, err := p.Append(nil, stride)
		if err != nil {
			return b
		}
		return out
	}
}

// evidence changes what a peer says about a desync, or leaves it out where change says no.
func evidence(change func(e *wire.Evidence) bool) func(b []byte) []byte {
	return func(b []byte) []byte {
		c, err := wire.ParseControl(b)
		if e, is := c.(wire.Evidence); err == nil && is {
			if !change(&e) {
				return nil
			}
			b, _ = wire.AppendControl(nil, e)
		}
		return b
	}
}

// leaving changes every word with which a peer leaves.
func leaving(to *wire.Leave) func(b []byte) []byte {
	return func(b []byte) []byte {
		if c, err := wire.ParseControl(b); err == nil {
			if _, ok := c.(wire.Leave); ok && to == nil {
				return nil
			} else if ok {
				b, _ = wire.AppendControl(nil, *to)
			}
		}
		return b
	}
}

// delayed is a scenario in which inputs are there before their ticks run.
func delayed(ticks int) *simtest.Scenario {
	s := two()
	s.Peers[0].InputDelay = ticks
	return &s
}

// ending is a scenario with one fault.
func ending(f simtest.Fault) *simtest.Scenario {
	s := two()
	s.Faults = []simtest.Fault{f}
	return &s
}

// tolerant is a scenario in which effects may move, because several inputs come at once.
func tolerant(ticks int) *simtest.Scenario {
	s := two()
	s.EffectTolerance, s.Window, s.Hold = ticks, 30, 2
	for i := range s.Links {
		s.Links[i].Latency, s.Links[i].Jitter = 120*simtest.Millisecond, 50*simtest.Millisecond
		s.Links[i].Loss = 0.3
	}
	return &s
}

// limited is a scenario in which a window is used up.
func limited() *simtest.Scenario {
	s := ending(simtest.Fault{Kind: simtest.Block, At: simtest.Second, For: simtest.Second})
	s.HaltAtLimit, s.Window = true, 20
	return s
}

// absent is a scenario in which a peer is silent for some time beyond its time-out.
func absent(grace simtest.Micros) *simtest.Scenario {
	s := ending(simtest.Fault{Kind: simtest.Partition, At: simtest.Second, For: 5 * simtest.Second, From: []int{0}})
	s.PeerTimeout, s.RejoinGrace = simtest.MinPeerTimeout, grace
	return s
}

// from plants a transport that changes what peer 0 sends.
func from(m meddler) func(self driftback.Peer, c *config) {
	plant := everywhere(m)
	return func(self driftback.Peer, c *config) {
		if self == 0 {
			plant(self, c)
		}
	}
}

// everywhere plants a transport that changes what every peer sends.
func everywhere(m meddler) func(self driftback.Peer, c *config) {
	return func(_ driftback.Peer, c *config) {
		if c.Transport != nil {
			m := m
			m.Transport = c.Transport
			c.Transport = m
		}
	}
}

// echoing is a transport that says everything a hundred times.
type echoing struct{ transport.Transport }

func (e echoing) Send(to driftback.Peer, b []byte) {
	for range 100 {
		e.Transport.Send(to, b)
	}
}

// stepping is the witness with something after its step.
func stepping(after func(s *state, in []input, pass *driftback.Pass)) game {
	g := simtest.Witness()
	whole := g.Step
	g.Step = func(s *state, in []input, pass *driftback.Pass) {
		whole(s, in, pass)
		after(s, in, pass)
	}
	return g
}

// forgetful is a saving policy that loses a field that it should have kept.
func forgetful(slots int) (snapshot.Store[state], error) {
	s, err := snapshot.Assign[state](slots)
	return forgetfulStore{s}, err
}

type forgetfulStore struct{ snapshot.Store[state] }

func (f forgetfulStore) Load(slot int, into *state) error {
	kept := into.Count
	defer func() { into.Count = kept }()
	return f.Store.Load(slot, into)
}

// perfect is a match without any delay.
var perfect = simtest.Scenario{
	Version: simtest.Version, Ticks: 300, Frame: 16_667, Hold: 3,
	Peers: []simtest.Peer{{Plays: []int{0}}, {Plays: []int{1}}},
}

// planted are faults of games, of sessions and of what carries their bytes, and the rule
// that each of them breaks. scenario, if set, is used in place of seeds' own.
var planted = map[string]struct {
	game     func() game
	scenario *simtest.Scenario
	rule     simtest.Rule
	field    string // the first that differs
	says     string
	found    string // what it says before it is shrunk, if that is something else
}{
	"a step that counts how often it has run, outside the state": {
		game: func() game {
			runs := int64(0)
			return stepping(func(s *state, _ []input, _ *driftback.Pass) { runs++; s.Ticks ^= runs << 32 })
		},
		rule: simtest.RulePure, field: "Ticks", says: "one simulation that ran again",
	},
	"a step that goes through a map": {
		game: func() game {
			set := map[uint64]bool{1: true, 2: true, 3: true, 4: true, 5: true, 6: true, 7: true, 8: true}
			return stepping(func(s *state, _ []input, _ *driftback.Pass) {
				for k := range set {
					s.Digest = s.Digest*31 + k
				}
			})
		},
		rule: simtest.RulePure, field: "Digest",
	},
	"a step that differs at one peer": {
		game: func() game {
			return simtest.Witness().Plant(func(self driftback.Peer, c *config) {
				if step := c.Step; self == 1 {
					c.Step = func(s *state, in []input, pass *driftback.Pass) {
						step(s, in, pass)
						if s.Ticks == 70 {
							s.Count[1]++
						}
					}
				}
			})
		},
		rule: simtest.RuleState, field: "Count[1]", says: "in truth",
	},
	"a saving policy that forgets a field": {
		game: func() game {
			g := simtest.Witness()
			g.Save = forgetful
			return g
		},
		rule: simtest.RuleState, field: "Count[0]",
	},
	"an input that only its owner sees": {
		game: func() game {
			return simtest.Witness().Plant(from(meddler{datagram: rewrite(func(p *wire.Packet) {
				for i := range p.Runs {
					r := &p.Runs[i]
					r.Inputs = append([]byte(nil), r.Inputs...)
					if at := 40 - int(r.First); r.Participant == 0 && at >= 0 && at < r.Count {
						r.Inputs[at*stride] ^= 0x80
					}
				}
			})}))
		},
		scenario: delayed(9),
		rule:     simtest.RuleInput, says: "participant 0, who pressed",
	},
	"an input that takes effect too soon": {
		game: func() game {
			return simtest.Witness().Plant(func(_ driftback.Peer, c *config) { c.InputDelay = min(c.InputDelay, 1) })
		},
		rule: simtest.RuleMonotonic, says: "its input was taken for tick",
	},
	"a window that is larger than it says": {
		game: func() game {
			return simtest.Witness().Plant(func(_ driftback.Peer, c *config) { c.PredictionWindow = 200 })
		},
		rule: simtest.RuleWindow, says: "it predicts",
	},
	"a peer that halts": {
		game: func() game {
			return simtest.Witness().Plant(from(meddler{reliable: func(b []byte) []byte {
				if c, err := wire.ParseControl(b); err == nil {
					if _, ok := c.(wire.Start); ok {
						b, _ = wire.AppendControl(nil, wire.Leave{Reason: 2, Text: "enough"})
					}
				}
				return b
			}}))
		},
		rule: simtest.RuleEnd,
	},
	"a peer that falls silent": {
		game: func() game {
			sent := 0
			return simtest.Witness().Plant(from(meddler{datagram: func(b []byte) []byte {
				if sent++; sent > 60 {
					return nil
				}
				return b
			}}))
		},
		scenario: &simtest.Scenario{
			Version: simtest.Version, Ticks: 300, Frame: 16_667, Hold: 3, FingerprintEvery: simtest.None,
			Peers: []simtest.Peer{{Plays: []int{0}}, {Plays: []int{1}}},
		},
		rule: simtest.RuleProgress, says: "it has confirmed nothing",
	},
	"fingerprints that are never sent": {
		game: func() game {
			return simtest.Witness().Plant(from(meddler{datagram: rewrite(func(p *wire.Packet) { p.Sums.List = nil })}))
		},
		scenario: &simtest.Scenario{
			Version: simtest.Version, Ticks: 1500, Frame: 16_667, Hold: 3, Window: 60, FingerprintEvery: 32,
			Peers: []simtest.Peer{{Plays: []int{0}}, {Plays: []int{1}}},
		},
		rule: simtest.RuleFingerprint, says: "the newest on which all agree",
	},
	"an effect that is raised by the run and not by the tick": {
		game: func() game {
			newest := driftback.Tick(-1)
			return stepping(func(_ *state, _ []input, pass *driftback.Pass) {
				if pass.Tick() > newest || pass.Tick() == 0 {
					newest = pass.Tick()
					pass.Raise(driftback.Effect{Kind: 77})
				}
			})
		},
		rule: simtest.RuleEffects,
	},
	"a confirmed effect that is raised by the run and not by the tick": {
		game: func() game {
			newest := driftback.Tick(-1)
			return stepping(func(_ *state, _ []input, pass *driftback.Pass) {
				if pass.Tick() > newest || pass.Tick() == 0 {
					newest = pass.Tick()
					pass.RaiseConfirmed(driftback.Effect{Kind: 77})
				}
			})
		},
		rule: simtest.RuleConfirmed,
	},
	"a crash that nobody looks for": {
		game: func() game {
			return simtest.Witness().Plant(func(_ driftback.Peer, c *config) { c.PeerTimeout = session.None })
		},
		scenario: &simtest.Scenario{
			Version: simtest.Version, Ticks: 300, Frame: 16_667, Hold: 3, PeerTimeout: simtest.MinPeerTimeout,
			Peers:  []simtest.Peer{{Plays: []int{0}}, {Plays: []int{1}}, {Plays: []int{2}}},
			Faults: []simtest.Fault{{Kind: simtest.Crash, At: 2 * simtest.Second, From: []int{1}}},
		},
		rule: simtest.RuleCause, says: "the match is over, and for",
	},
	"a peer that halts and tells nobody": {
		game:     func() game { return simtest.Witness().Plant(from(meddler{reliable: leaving(nil)})) },
		scenario: ending(simtest.Fault{Kind: simtest.Halt, At: simtest.Second, From: []int{0}}),
		rule:     simtest.RuleCause, says: "the match is over, and for",
	},
	"a peer that leaves and says that it has halted": {
		game: func() game {
			return simtest.Witness().Plant(from(meddler{reliable: leaving(&wire.Leave{Reason: 1, Text: "enough"})}))
		},
		scenario: ending(simtest.Fault{Kind: simtest.Leave, At: simtest.Second, From: []int{0}}),
		rule:     simtest.RuleEnd, says: `of which others hear as "it left"`,
	},
	"a desync that nobody notices": {
		game: func() game {
			return simtest.Witness().Plant(everywhere(meddler{
				datagram: rewrite(func(p *wire.Packet) { p.Sums.List = nil }),
				reliable: func(b []byte) []byte {
					if c, err := wire.ParseControl(b); err == nil {
						if f, ok := c.(wire.Finish); ok {
							b, _ = wire.AppendControl(nil, wire.Finish{At: f.At})
						}
					}
					return b
				},
			}))
		},
		scenario: ending(simtest.Fault{Kind: simtest.Diverge, Tick: 50, From: []int{0}}),
		rule:     simtest.RuleCause, says: "and it has finished",
	},
	"a desync at a tick at which nothing differs": {
		game: func() game {
			return simtest.Witness().Plant(from(meddler{datagram: rewrite(func(p *wire.Packet) {
				if len(p.Sums.List) > 0 && p.Sums.First == 1 {
					p.Sums.List[0]++
				}
			})}))
		},
		scenario: ending(simtest.Fault{Kind: simtest.Diverge, Tick: 50, From: []int{0}}),
		rule:     simtest.RuleEnd, found: "its state is the same as that of peer 0", says: "session: desync",
	},
	"a desync that is named by its last tick": {
		game: func() game {
			return simtest.Witness().Plant(everywhere(meddler{datagram: rewrite(func(p *wire.Packet) { p.Sums = wire.Sums{} })}))
		},
		scenario: func() *simtest.Scenario {
			s := ending(simtest.Fault{Kind: simtest.Diverge, Tick: 50, From: []int{0}})
			s.PeerTimeout = simtest.MinPeerTimeout
			return s
		}(),
		rule: simtest.RuleEnd, found: "is not the first at which they differ", says: "session: desync",
	},
	"a desync that is not explained": {
		game: func() game {
			return simtest.Witness().Plant(everywhere(meddler{reliable: evidence(func(*wire.Evidence) bool { return false })}))
		},
		scenario: ending(simtest.Fault{Kind: simtest.Diverge, Tick: 50, From: []int{0}}),
		rule:     simtest.RuleDesync, says: "nothing kept it and peer",
	},
	"a desync that is said to be in another field": {
		game: func() game {
			return simtest.Witness().Plant(from(meddler{reliable: evidence(func(e *wire.Evidence) bool {
				if len(e.Data) > 1 && e.Data[0] == 3 { // the bytes, of a state of so few
					e.Data[1] ^= 1
				}
				return true
			})}))
		},
		scenario: ending(simtest.Fault{Kind: simtest.Diverge, Tick: 50, From: []int{0}}),
		rule:     simtest.RuleDesync, says: "it says that these fields differ from those of peer 0",
	},
	"a desync that is said to begin at another tick": {
		game: func() game {
			return simtest.Witness().Plant(from(meddler{reliable: evidence(func(e *wire.Evidence) bool {
				if len(e.Data) > 1 && e.Data[0] == 0 { // the fingerprints
					for i := 1; i < len(e.Data); i++ {
						e.Data[i] ^= byte(i) & 0x10
					}
				}
				return true
			})}))
		},
		scenario: ending(simtest.Fault{Kind: simtest.Diverge, Tick: 50, From: []int{0}}),
		rule:     simtest.RuleDesync, says: "it says that ",
	},
	"a step that is another one when its ticks are run anew": {
		game: func() game {
			return simtest.Witness().Plant(func(self driftback.Peer, c *config) {
				step, newest := c.Step, driftback.Tick(0)
				c.Step = func(s *state, in []input, pass *driftback.Pass) {
					if step(s, in, pass); pass.Tick() < newest-20 {
						s.Count[0]++
					}
					newest = max(newest, pass.Tick())
				}
			})
		},
		scenario: func() *simtest.Scenario {
			s := ending(simtest.Fault{Kind: simtest.Diverge, Tick: 50, From: []int{0}})
			s.FingerprintEvery = 150
			return s
		}(),
		rule: simtest.RuleDesync, says: "come to another state",
	},
	"an effect that moves too far without being told": {
		game: func() game {
			return simtest.Witness().Plant(func(_ driftback.Peer, c *config) { c.EffectTolerance = 30 })
		},
		scenario: tolerant(1),
		rule:     simtest.RuleEffects, found: "was taken away, and is not within 1 ticks of another",
	},
	"an effect that hardly moves and is told again": {
		game: func() game {
			return simtest.Witness().Plant(func(_ driftback.Peer, c *config) { c.EffectTolerance = 0 })
		},
		scenario: tolerant(30),
		rule:     simtest.RuleEffects, says: "and both were told",
	},
	"a window that is used up and halts nothing": {
		game: func() game {
			return simtest.Witness().Plant(func(_ driftback.Peer, c *config) { c.AtLimit = session.Stall })
		},
		scenario: limited(),
		rule:     simtest.RuleCause, says: "its window is used up, and it goes on",
	},
	"a window that halts before it is used up": {
		game: func() game {
			return simtest.Witness().Plant(func(_ driftback.Peer, c *config) { c.PredictionWindow = 3 })
		},
		scenario: limited(),
		rule:     simtest.RuleEnd, says: "its window is not used up",
	},
	"a peer that is granted no time to come back": {
		game: func() game {
			return simtest.Witness().Plant(func(_ driftback.Peer, c *config) { c.RejoinGrace = 0 })
		},
		scenario: absent(5 * simtest.Second),
		rule:     simtest.RuleEnd, says: "a peer is lost",
	},
	"a peer that is granted more time to come back than there is": {
		game: func() game {
			return simtest.Witness().Plant(func(_ driftback.Peer, c *config) { c.RejoinGrace += c.PeerTimeout })
		},
		scenario: absent(0),
		rule:     simtest.RuleCause, says: "in vain for",
	},
	"a peer that is called lost too late": {
		game: func() game {
			return simtest.Witness().Plant(func(_ driftback.Peer, c *config) { c.PeerTimeout = c.PeerTimeout * 3 / 2 })
		},
		scenario: &simtest.Scenario{
			Version: simtest.Version, Ticks: 300, Frame: 16_667, Hold: 3, PeerTimeout: simtest.MinPeerTimeout,
			Peers:  []simtest.Peer{{Plays: []int{0}}, {Plays: []int{1}}, {Plays: []int{2}}},
			Faults: []simtest.Fault{{Kind: simtest.Crash, At: 2 * simtest.Second, From: []int{1}}},
		},
		rule: simtest.RuleCause, says: "in vain for",
	},
	"a peer that is called lost too soon": {
		game: func() game {
			return simtest.Witness().Plant(func(_ driftback.Peer, c *config) { c.PeerTimeout /= 3 })
		},
		scenario: &simtest.Scenario{
			Version: simtest.Version, Ticks: 300, Frame: 16_667, Hold: 3, PeerTimeout: 2 * simtest.MinPeerTimeout,
			Peers:  []simtest.Peer{{Plays: []int{0}}, {Plays: []int{1}}, {Plays: []int{2}}},
			Faults: []simtest.Fault{{Kind: simtest.Crash, At: 2 * simtest.Second, From: []int{1}}},
		},
		rule: simtest.RuleEnd, says: "in vain for only",
	},
	"bytes that are no packet": {
		game: func() game {
			return simtest.Witness().Plant(from(meddler{datagram: func(b []byte) []byte { return append(b, 0) }}))
		},
		rule: simtest.RuleHonest, says: "malformed",
	},
	"bytes of a hostile peer that are dropped and not counted": {
		game: at(func(m transport.Message) *transport.Message {
			if _, ok := wire.TagOf(m.Data); m.Kind == transport.Datagram && !ok {
				return nil
			}
			return &m
		}),
		scenario: hostileScenario(simtest.Fault{Kind: simtest.Flood, Share: 0.1}),
		rule:     simtest.RuleHostile, says: "fewer are counted",
	},
	"a step that panics at one peer": {
		game: func() game {
			return simtest.Witness().Plant(func(self driftback.Peer, c *config) {
				if step := c.Step; self == 1 {
					c.Step = func(s *state, in []input, pass *driftback.Pass) {
						step(s, in, pass)
						if s.Ticks == 70 {
							s.Count[1] += int64(in[s.Ticks].Buttons)
						}
					}
				}
			})
		},
		rule: simtest.RuleInternal, says: "it panicked at github.com/driftback/driftback/simtest_test",
	},
	"a message that cannot be sent": {
		game: func() game {
			return simtest.Witness().Plant(func(self driftback.Peer, c *config) {
				if self == 0 && c.Transport != nil {
					c.Transport = tooLong{c.Transport}
				}
			})
		},
		rule: simtest.RuleInternal, says: "internal error",
	},
	"a workload that its own game does not know": {
		game: func() game {
			g := simtest.Witness()
			g.Valid = func(in input) bool { return in.Buttons&0xff != 0x55 }
			return g
		},
		rule: simtest.RuleWorkload,
	},
	"a step that is given another input than the one that is held": {
		game: func() game {
			return simtest.Witness().Plant(func(self driftback.Peer, c *config) {
				if step := c.Step; self == 1 {
					c.Step = func(s *state, in []input, pass *driftback.Pass) {
						if pass.Tick() == 40 {
							in = []input{in[0], {}, {}, {}, {}, {}, {}, {}}[:len(in)]
						}
						step(s, in, pass)
					}
				}
			})
		},
		rule: simtest.RuleRun, says: "was last run on",
	},
	"a guess that is another one": {
		game: func() game {
			return simtest.Witness().Plant(func(self driftback.Peer, c *config) {
				if predict := c.Predict; self == 1 {
					c.Predict = func(last input, age int) input { return predict(last, age+1) }
				}
			})
		},
		rule: simtest.RuleGuess, says: "as a guess of what participant",
	},
	"a tick that is run twice in a row": {
		game: func() game {
			return simtest.Witness().Plant(func(self driftback.Peer, c *config) {
				if step := c.Step; self == 1 {
					c.Step = func(s *state, in []input, pass *driftback.Pass) {
						before := *s
						if step(s, in, pass); pass.Tick() == 40 {
							*s = before
							step(s, in, pass)
						}
					}
				}
			})
		},
		rule: simtest.RuleThrift, says: "where 41 would be next",
	},
	// Half a second is little where links are slow, and too much where they are perfect.
	"fingerprints that are half a second late": {
		game: func() game {
			return simtest.Witness().Plant(func(self driftback.Peer, c *config) {
				sent := 0
				from(meddler{datagram: rewrite(func(p *wire.Packet) {
					if sent++; sent < 40 {
						p.Sums.List = nil
					}
				})})(self, c)
			})
		},
		scenario: &perfect, rule: simtest.RuleFingerprint, says: "over these links that takes",
	},
	"inputs that are half a second late": {
		game: func() game {
			return simtest.Witness().Plant(func(self driftback.Peer, c *config) {
				sent := 0
				from(meddler{datagram: func(b []byte) []byte {
					if sent++; sent > 60 && sent < 90 {
						return nil
					}
					return b
				}})(self, c)
			})
		},
		scenario: &perfect, rule: simtest.RuleProgress, says: "over these links a tick takes",
	},
	"a packet that is sent a hundred times": {
		game: func() game {
			return simtest.Witness().Plant(func(self driftback.Peer, c *config) {
				if self == 0 {
					c.Transport = echoing{c.Transport}
				}
			})
		},
		rule: simtest.RuleThrift, says: "datagrams of",
	},
	"a decision that is told otherwise": {
		game: func() game {
			return simtest.Witness().Plant(func(self driftback.Peer, c *config) {
				if self != 0 {
					return
				}
				c.Transport = meddler{Transport: c.Transport, reliable: func(b []byte) []byte {
					d, err := wire.ParseControl(b)
					if d, ok := d.(wire.Decide); err == nil && ok {
						d.Value.Cuts[0].Tick++
						b, _ = wire.AppendControl(nil, d)
					}
					return b
				}}
			})
		},
		scenario: &crashed, rule: simtest.RuleView, says: "and peer 0 is in it with",
	},
	"guesses that draw from outside": {
		game: func() game {
			r := rng.New(1, 1)
			g := simtest.Witness()
			g.Predict = func(input, int) input { return input{Buttons: uint16(r.Uint64())} }
			g.Input = func(r *rng.PCG, _ driftback.Participant, _ driftback.Tick) input {
				return input{Buttons: uint16(r.IntN(2))}
			}
			return g
		},
		rule: simtest.RuleReplay, says: "two plays differ",
	},
	"a step that differs for who comes back": {
		game: func() game {
			g, first := simtest.Witness(), true
			return g.Plant(func(self driftback.Peer, c *config) {
				if self == 0 {
					first = true // a match begins with it
				}
				if self != 2 || first {
					first = first && self != 2
					return
				}
				step := c.Step
				c.Step = func(s *state, in []input, pass *driftback.Pass) {
					step(s, in, pass)
					s.Count[0]++
				}
			})
		},
		scenario: scenario(returning()), rule: simtest.RuleReturn, field: "Count[0]", says: "the fingerprint as the tick begins",
	},
	"a message that is altered": {
		game: func() game {
			return simtest.Witness().Plant(letters(func(b []byte) []byte {
				b[len(b)-1]++
				return b
			}))
		},
		scenario: scenario(mailing()), rule: simtest.RuleMessage, says: "which has not sent it",
	},
	"a step that differs for who watches": {
		game: func() game {
			return simtest.Witness().PlantWatch(func(_ driftback.Peer, c *watchConfig) {
				step := c.Step
				c.Step = func(s *state, in []input, pass *driftback.Pass) {
					if step(s, in, pass); pass.Tick() >= 50 {
						s.Count[0]++
					}
				}
			})
		},
		scenario: scenario(watched()), rule: simtest.RuleWatch, field: "Count[0]", says: "the fingerprint as the tick begins",
	},
	"one who watches and hears nothing any more": {
		game: func() game {
			return simtest.Witness().PlantWatch(func(_ driftback.Peer, c *watchConfig) { c.Transport = &deafAfter{c.Transport, 30} })
		},
		scenario: scenario(watched()), rule: simtest.RuleWatchEnd,
	},
	"a player who sends more because somebody watches": {
		game: func() game {
			return simtest.Witness().Plant(func(_ driftback.Peer, c *config) {
				if c.MaxWatchers > 0 {
					c.Redundancy = 1
				}
			})
		},
		scenario: scenario(plentiful(watched())), rule: simtest.RuleAloof,
	},
	"an input delay that does not adapt": {
		game: func() game {
			return simtest.Witness().Plant(func(_ driftback.Peer, c *config) { c.AdaptDelay = session.AdaptDelay{} })
		},
		scenario: scenario(adapting()), rule: simtest.RuleDelay, says: "its links call for",
	},
	"a tick that is to be left out in every frame": {
		game: func() game {
			return simtest.Witness().PlantAdvice(func(_ driftback.Peer, a *pacing.Advice) { a.Skip = pacing.LeaveOut })
		},
		scenario: scenario(keepingPace(simtest.PacesBySkips)), rule: simtest.RulePace, says: "it is to leave out",
	},
}

func scenario(s simtest.Scenario) *simtest.Scenario { return &s }

// returning is a scenario in which a peer crashes and comes back.
func returning() simtest.Scenario {
	s := five(simtest.Fault{Kind: simtest.Restart, At: 2 * simtest.Second, For: simtest.Second, From: []int{2}})
	s.Rejoin, s.Ticks = true, 900
	return s
}

// plentiful has both peers say everything a few times.
func plentiful(s simtest.Scenario) simtest.Scenario {
	s.Peers[0].Redundancy, s.Peers[1].Redundancy = 9, 9
	return s
}

func TestEveryRuleNoticesAFaultThatIsPlantedAndShrinkKeepsIt(t *testing.T) {
	broken := map[simtest.Rule]bool{}
	for name, c := range planted {
		broken[c.rule] = true
		t.Run(name, func(t *testing.T) {
			g := c.game()
			s, r := find(t, g, c.scenario)
			require.Equal(t, c.rule, r.Violation.Rule, "%v", r.Violation)
			require.ErrorContains(t, r.Violation, c.found)

			small, shrunk, err := simtest.Shrink(g, s, 150)
			require.NoError(t, err)
			v := shrunk.Violation
			require.NotNil(t, v, "it is found again when it is played again")
			require.Equal(t, c.rule, v.Rule, "%v", v)
			require.ErrorContains(t, v, string(c.rule))
			require.ErrorContains(t, v, c.says)
			require.Equal(t, c.field != "", v.Different)
			if c.field != "" {
				require.Equal(t, c.field, v.Difference.Path, "%v", v)
				require.NotEqual(t, v.Difference.A, v.Difference.B)
			}
			require.NoError(t, small.Validate())
			require.Less(t, size(small), size(s))
			t.Logf("%v\n%d ticks, %d peers, %d links, %d faults; from %d, %d, %d, %d", v,
				small.Ticks, len(small.Peers), len(small.Links), len(small.Faults), s.Ticks, len(s.Peers), len(s.Links), len(s.Faults))
		})
	}
	for _, rule := range simtest.Rules {
		require.True(t, broken[rule], "nothing shows that this rule notices anything: %s", rule)
	}
}

// find plays the scenario, or those of seeds until one breaks a rule.
func find(t *testing.T, g game, fixed *simtest.Scenario) (simtest.Scenario, simtest.Report) {
	t.Helper()
	if fixed != nil {
		r, err := simtest.CheckScenario(g, *fixed)
		require.NoError(t, err)
		require.NotNil(t, r.Violation)
		return *fixed, r
	}
	for seed := range uint64(30) {
		r, err := simtest.Check(g, seed)
		require.NoError(t, err)
		if r.Violation != nil {
			return simtest.Generate(seed), r
		}
	}
	require.FailNow(t, "thirty seeds do not find it")
	panic("unreachable")
}

// size is how much there is in a scenario.
func size(s simtest.Scenario) int { return s.Ticks + len(s.JSON()) }
