package simtest_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/simtest"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

// three is a scenario in which peer 0 does one hostile thing.
func three(f simtest.Fault) simtest.Scenario {
	s := two()
	s.Peers = append(s.Peers, simtest.Peer{Plays: []int{2}})
	s.Links = append(s.Links, simtest.Link{From: 0, To: 2, Latency: 30 * simtest.Millisecond})
	f.From, f.At = []int{0}, simtest.Second
	if f.Kind != simtest.Equivocate && f.Kind != simtest.Misreport {
		f.For = simtest.Second
	}
	s.Faults = []simtest.Fault{f}
	return s
}

func hostileScenario(f simtest.Fault) *simtest.Scenario {
	s := three(f)
	return &s
}

// hostilities has every kind, and what shows that it happened.
var hostilities = map[string]struct {
	fault   simtest.Fault
	refused []mesh.Refusal // there are some of each of these, and none of the others
	ends    bool           // the match is not played to its end
}{
	"bits are flipped":                {simtest.Fault{Kind: simtest.Corrupt, Share: 0.9}, []mesh.Refusal{mesh.Malformed, mesh.OtherMatch}, false},
	"datagrams are cut":               {simtest.Fault{Kind: simtest.Truncate, Share: 0.5}, []mesh.Refusal{mesh.Malformed}, false},
	"another match is heard":          {simtest.Fault{Kind: simtest.Stray, Share: 1}, []mesh.Refusal{mesh.Malformed, mesh.OtherMatch}, false},
	"other's inputs are sent":         {simtest.Fault{Kind: simtest.Forge, Share: 1}, []mesh.Refusal{mesh.NotOwner, mesh.BadAck}, false},
	"an input is changed":             {simtest.Fault{Kind: simtest.Change}, nil, true},
	"an input is changed for one":     {simtest.Fault{Kind: simtest.Change, To: []int{2}}, nil, true},
	"all are told another input":      {simtest.Fault{Kind: simtest.Equivocate}, nil, true},
	"one of two is told another":      {simtest.Fault{Kind: simtest.Equivocate, To: []int{1}}, nil, true},
	"all are told a fingerprint":      {simtest.Fault{Kind: simtest.Misreport}, nil, true},
	"one is told a fingerprint":       {simtest.Fault{Kind: simtest.Misreport, To: []int{2}}, nil, true},
	"there is much that has no sense": {simtest.Fault{Kind: simtest.Flood, Share: 1}, []mesh.Refusal{mesh.Malformed, mesh.OtherMatch, mesh.FarAhead, mesh.BadAck, mesh.FarFingerprint}, false},
}

func TestEveryHostileKindHappensWhereItIsPlantedAndShowsInTheCounters(t *testing.T) {
	kinds := map[simtest.Kind]bool{}
	for name, c := range hostilities {
		kinds[c.fault.Kind] = true
		t.Run(name, func(t *testing.T) {
			s := three(c.fault)
			r, err := simtest.Play(simtest.Witness(), s)
			require.NoError(t, err)
			require.Nil(t, r.Violation)
			require.Equal(t, []simtest.FaultCount{{Kind: c.fault.Kind, Planned: 1, Happened: 1}}, r.Faults)
			require.Empty(t, r.Vacuous)
			want := [mesh.Refusals]bool{mesh.Early: r.Refused[mesh.Early] > 0}
			for _, why := range c.refused {
				want[why] = true
			}
			for why, n := range r.Refused {
				require.Equal(t, want[why], n > 0, "%v", mesh.Refusal(why))
			}
			require.Equal(t, c.ends, int(r.Confirmed) < s.Ticks)

			// Control: against nobody who still plays, nothing happens.
			s.Faults[0].At = 500 * simtest.Second
			r, err = simtest.Play(simtest.Witness(), s)
			require.NoError(t, err)
			require.Nil(t, r.Violation)
			require.Equal(t, 0, r.Faults[0].Happened)
			require.Equal(t, s.Ticks, int(r.Confirmed))
		})
	}
	for _, k := range simtest.Kinds {
		require.Equal(t, k.Hostile(), kinds[k], "%s", k)
	}
}

// What a hostile peer sends is refused, but not what its own session has to say, and the
// others notice nothing: with all of it in every frame the match is played to its end.
func TestAMatchIsPlayedToItsEndWithAPeerThatIsHostileAllTheTime(t *testing.T) {
	s := three(simtest.Fault{})
	s.Ticks, s.Faults = 600, nil
	for _, k := range []simtest.Kind{simtest.Corrupt, simtest.Truncate, simtest.Stray, simtest.Forge, simtest.Flood} {
		s.Faults = append(s.Faults, simtest.Fault{Kind: k, For: simtest.MaxFaultFor, From: []int{0}, Share: 0.5})
	}
	r, err := simtest.Play(simtest.Witness(), s)
	require.NoError(t, err)
	require.Nil(t, r.Violation)
	require.Equal(t, driftback.Tick(600), r.Confirmed)
	require.Less(t, r.Simulated.Seconds(), 15.0)
	sum := uint64(0)
	for _, n := range r.Refused {
		sum += n
	}
	require.Greater(t, sum, uint64(100_000))
}

// With fingerprints off nobody can notice that two have been told different things; what
// each has been told is what it plays.
func TestAnEquivocationIsOnlyFoundByFingerprints(t *testing.T) {
	s := three(simtest.Fault{Kind: simtest.Equivocate, To: []int{1}})
	s.FingerprintEvery = simtest.None
	r, err := simtest.Play(simtest.Witness(), s)
	require.NoError(t, err)
	require.Nil(t, r.Violation)
	require.Equal(t, 1, r.Faults[0].Happened)
	require.Equal(t, s.Ticks, int(r.Confirmed))
}

func TestManyHostileSeedsBreakNoRuleAndPlayTheSameAgain(t *testing.T) {
	seeds := uint64(120)
	if testing.Short() {
		seeds = 15
	}
	planned, happened := map[simtest.Kind]int{}, map[simtest.Kind]int{}
	for seed := range seeds {
		s := simtest.GenerateHostile(seed)
		r, err := simtest.Play(simtest.Witness(), s)
		require.NoError(t, err)
		if r.Violation != nil {
			t.Fatalf("seed %d: %v\n%s", seed, r.Violation, s.JSON())
		}
		again, err := simtest.Play(simtest.Witness(), s)
		require.NoError(t, err)
		require.Equal(t, r, again)
		for _, f := range r.Faults {
			planned[f.Kind] += f.Planned
			happened[f.Kind] += f.Happened
		}
	}
	for _, k := range simtest.Kinds {
		// So few seeds are too few for the rarest.
		require.True(t, !k.Hostile() || happened[k] > 0 || testing.Short(), "no %s among %v", k, happened)
	}
	t.Logf("planned %v, happened %v", planned, happened)
}

func TestAboutOneSeedOfTenIsHostileAndTheOthersStayAsTheyAre(t *testing.T) {
	hostile := 0
	for seed := range uint64(1000) {
		s := simtest.Generate(seed)
		for _, f := range s.Faults {
			if f.Kind.Hostile() {
				hostile++
				break
			}
		}
	}
	require.InDelta(t, 100, hostile, 40)
}

// deaf is a transport at a victim that changes what arrives; returning nil drops it.
type deaf struct {
	transport.Transport
	hears func(m transport.Message) *transport.Message
}

func (d deaf) Receive() (transport.Message, bool) {
	for {
		m, ok := d.Transport.Receive()
		if !ok {
			return m, false
		}
		if m := d.hears(m); m != nil {
			return *m, true
		}
	}
}

// at plants transports at peer 1, or everywhere, that change what they hear.
func at(hears func(m transport.Message) *transport.Message, everywhere ...bool) func() game {
	return func() game {
		return simtest.Witness().Plant(func(self driftback.Peer, c *config) {
			if (self == 1 || len(everywhere) > 0) && c.Transport != nil {
				c.Transport = deaf{c.Transport, hears}
			}
		})
	}
}

// packet gives every datagram that is a packet to a function.
func packet(hears func(m transport.Message, p *wire.Packet) *transport.Message) func(m transport.Message) *transport.Message {
	return func(m transport.Message) *transport.Message {
		var p wire.Packet
		if m.Kind != transport.Datagram || p.Parse(m.Data, stride) != nil {
			return &m
		}
		return hears(m, &p)
	}
}

// gullible are victims that do not do as they must, and the rule that each breaks.
var gullible = map[string]struct {
	game  func() game
	fault simtest.Fault
	rule  simtest.Rule
	says  string
}{
	"junk that is dropped and not counted": {
		at(func(m transport.Message) *transport.Message {
			if _, ok := wire.TagOf(m.Data); m.Kind == transport.Datagram && !ok {
				return nil
			}
			return &m
		}),
		simtest.Fault{Kind: simtest.Flood, Share: 0.1}, simtest.RuleHostile, "fewer are counted",
	},
	"a packet of another match that is taken for one of this": {
		func() game {
			tags := map[driftback.Peer][]byte{}
			return at(func(m transport.Message) *transport.Message {
				if _, ok := wire.TagOf(m.Data); m.Kind == transport.Datagram && ok {
					m.Data = bytes.Clone(m.Data)
					if tags[m.From] == nil {
						tags[m.From] = m.Data[1:3]
					}
					copy(m.Data[1:3], tags[m.From])
				}
				return &m
			})()
		},
		simtest.Fault{Kind: simtest.Stray, Share: 1}, simtest.RuleHostile, "of another match, and 1 fewer are counted",
	},
	"inputs that are taken from anybody": {
		at(packet(func(m transport.Message, p *wire.Packet) *transport.Message {
			for _, r := range p.Runs {
				if m.From == 0 && r.Participant == 2 {
					m.From = 2
				}
			}
			return &m
		})),
		simtest.Fault{Kind: simtest.Forge, Share: 1}, simtest.RuleEnd, "peer 2 sent two inputs of participant 2", // who is honest
	},
	"something honest that is refused": {
		at(packet(func(m transport.Message, p *wire.Packet) *transport.Message {
			m.Data = m.Data[:len(m.Data)-1]
			return &m
		})),
		simtest.Fault{Kind: simtest.Forge, Share: 1}, simtest.RuleHonest, "malformed",
	},
	"a contradiction that is overlooked": {
		at(packet(func(m transport.Message, p *wire.Packet) *transport.Message {
			if len(p.Runs) == 1 && len(p.Acks) == 0 {
				return nil
			}
			return &m
		})),
		simtest.Fault{Kind: simtest.Change, To: []int{1}}, simtest.RuleHostile, "it plays on, and has been shown another input",
	},
	"evidence that is not what was sent": {
		at(packet(func(m transport.Message, p *wire.Packet) *transport.Message {
			if len(p.Runs) == 1 && len(p.Acks) == 0 {
				last := bytes.Clone(m.Data)
				last[len(last)-1] ^= 0xff
				m.Data = last
			}
			return &m
		})),
		simtest.Fault{Kind: simtest.Change, To: []int{1}}, simtest.RuleEnd, "sent two inputs of participant 0",
	},
	"a false fingerprint that is overlooked": {
		func() game {
			sound := map[uint64]uint64{} // what peer 2 has said, by index
			return at(packet(func(m transport.Message, p *wire.Packet) *transport.Message {
				for i := range p.Sums.List {
					sum, known := sound[p.Sums.First+uint64(i)]
					switch {
					case m.From == 2:
						sound[p.Sums.First+uint64(i)] = p.Sums.List[i]
					case known:
						p.Sums.List[i] = sum
					default:
						return nil
					}
				}
				m.Data, _ = p.Append(nil, stride)
				return &m
			}))()
		},
		simtest.Fault{Kind: simtest.Misreport, To: []int{1}}, simtest.RuleHostile, "has told it another fingerprint",
	},
	"fingerprints that nobody compares": {
		at(packet(func(m transport.Message, p *wire.Packet) *transport.Message {
			p.Sums.List = nil
			b, err := p.Append(nil, stride)
			if err != nil {
				return nil
			}
			m.Data = b
			return &m
		}), true),
		simtest.Fault{Kind: simtest.Equivocate, To: []int{1}}, simtest.RuleProgress, "it has confirmed nothing", // the last states differ
	},
}

func TestAVictimThatIsTakenInIsNoticed(t *testing.T) {
	for name, c := range gullible {
		t.Run(name, func(t *testing.T) {
			s := three(c.fault)
			r, err := simtest.Play(simtest.Witness(), s)
			require.NoError(t, err)
			require.Nil(t, r.Violation, "control: the session that ships is not")
			r, err = simtest.Play(c.game(), s)
			require.NoError(t, err)
			require.NotNil(t, r.Violation)
			require.Equal(t, c.rule, r.Violation.Rule, "%v", r.Violation)
			require.ErrorContains(t, r.Violation, c.says)
			t.Log(r.Violation)
		})
	}
}

// tooLong is a transport that cannot carry the word that a match is finished.
type tooLong struct{ transport.Transport }

func (l tooLong) SendReliable(to driftback.Peer, b []byte) error {
	if c, err := wire.ParseControl(b); err == nil {
		if _, ok := c.(wire.Finish); ok {
			return transport.ErrTooLong
		}
	}
	return l.Transport.SendReliable(to, b)
}
