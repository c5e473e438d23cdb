package relay_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/relay"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/loopback"
	"github.com/driftback/driftback/wire"
)

// A pair is a relay and two players that say what a test has them say.
type pair struct {
	t     testing.TB
	net   *loopback.Network
	relay *relay.Relay
	ends  [2]*loopback.Endpoint
	tag   uint16
}

const self driftback.Peer = 9

func terms(stride int) string {
	return fmt.Sprintf("peer 9: inputs of %d bytes, ticks of 16000000 ns, window 8, fingerprints each 4, plays on true", stride)
}

func hello(p int, relayTerms string) wire.Hello {
	h := mesh.OutsideHello(5, uint64(p+1), []wire.Setting{{Name: "game", Value: "g"}, {Name: "relay", Value: relayTerms}}, []driftback.Peer{0, 1})
	h.Delays = []wire.Delay{{Participant: driftback.Participant(p)}}
	return h
}

func newPair(t testing.TB) *pair {
	p := &pair{t: t, net: loopback.New(3)}
	var err error
	p.relay, err = relay.New(relay.Config{Transport: p.net.Open(self), Self: self, Players: []driftback.Peer{0, 1}, Match: 5, Nonce: 77})
	require.NoError(t, err)
	for i := range p.ends {
		p.ends[i] = p.net.Open(driftback.Peer(i))
	}
	p.poll(time.Millisecond)
	return p
}

// playing is a pair whose match has begun.
func playing(t testing.TB) *pair {
	p := newPair(t)
	for i := range p.ends {
		p.say(i, hello(i, terms(1)))
	}
	p.poll(time.Millisecond)
	welcome := wire.Welcome{}
	for _, c := range p.heard(0) {
		if w, ok := c.(wire.Welcome); ok {
			welcome = w
		}
	}
	p.tag = welcome.Tag
	require.Len(t, welcome.Delays, 2)
	require.Len(t, welcome.Nonces, 3)
	for i := range p.ends {
		p.say(i, wire.Start{Digest: welcome.Digest, Seed: welcome.Seed})
	}
	p.poll(time.Millisecond)
	require.Equal(t, mesh.Playing, p.relay.Phase())
	return p
}

func (p *pair) poll(d time.Duration) {
	p.net.Advance(d)
	_ = p.relay.Poll(p.net.Now())
	p.net.Advance(0)
}

func (p *pair) say(i int, c wire.Control) {
	b, err := wire.AppendControl(nil, c)
	require.NoError(p.t, err)
	for { // the link comes up first
		if p.ends[i].SendReliable(self, b) == nil {
			return
		}
		_, ok := p.ends[i].Receive()
		require.True(p.t, ok)
	}
}

func (p *pair) send(i int, packet wire.Packet) {
	packet.Tag = p.tag
	b, err := packet.Append(nil, 1)
	require.NoError(p.t, err)
	p.ends[i].Send(self, b)
}

// heard returns the control messages that have come to a player.
func (p *pair) heard(i int) (list []wire.Control) {
	for {
		msg, ok := p.ends[i].Receive()
		if !ok {
			return list
		}
		if msg.Kind == transport.Reliable {
			c, err := wire.ParseControl(msg.Data)
			require.NoError(p.t, err)
			list = append(list, c)
		}
	}
}

func run(q driftback.Participant, first driftback.Tick, in ...byte) wire.Run {
	return wire.Run{Participant: q, First: first, Count: len(in), Inputs: in}
}

func TestWhatARelayRefuses(t *testing.T) {
	marked := run(0, 0, 1)
	marked.Entries = []byte{byte(wire.EntryLate)}
	for name, c := range map[string]struct {
		does func(p *pair)
		want mesh.Refusal
	}{
		"bytes that are no packet":          {func(p *pair) { p.ends[0].Send(self, []byte{1, 2, 3}) }, mesh.Malformed},
		"a packet that ends":                {func(p *pair) { p.ends[0].Send(self, []byte{0x82, byte(p.tag), byte(p.tag >> 8), 0, 0}) }, mesh.Malformed},
		"a packet of another match":         {func(p *pair) { p.tag++; p.send(0, wire.Packet{}) }, mesh.OtherMatch},
		"another's inputs":                  {func(p *pair) { p.send(0, wire.Packet{Runs: []wire.Run{run(1, 0, 1)}}) }, mesh.NotOwner},
		"inputs of nobody":                  {func(p *pair) { p.send(0, wire.Packet{Runs: []wire.Run{run(7, 0, 1)}}) }, mesh.NotOwner},
		"inputs far ahead":                  {func(p *pair) { p.send(0, wire.Packet{Runs: []wire.Run{run(0, 4000, 1)}}) }, mesh.FarAhead},
		"a mark, which only a relay gives":  {func(p *pair) { p.send(0, wire.Packet{Runs: []wire.Run{marked}}) }, mesh.BadInput},
		"an acknowledgement of the future":  {func(p *pair) { p.send(0, wire.Packet{Acks: []wire.Ack{{Next: 1000}}}) }, mesh.BadAck},
		"an acknowledgement of another's":   {func(p *pair) { p.send(0, wire.Packet{Acks: []wire.Ack{{Participant: 1}}}) }, mesh.BadAck},
		"fingerprints never sent":           {func(p *pair) { p.send(0, wire.Packet{SumAck: wire.SumAck{Set: true, Next: 3}}) }, mesh.BadAck},
		"a message that is none":            {func(p *pair) { require.NoError(t, p.ends[0].SendReliable(self, []byte{0x7f})) }, mesh.Malformed},
		"a game's message":                  {func(p *pair) { p.say(0, wire.Message{Data: []byte("hi")}) }, mesh.Malformed},
		"a second hello":                    {func(p *pair) { p.say(0, hello(0, terms(1))) }, mesh.Malformed},
		"a finish at a tick nobody ran yet": {func(p *pair) { p.say(0, wire.Finish{At: 10}) }, mesh.Early},
		"a stranger": {func(p *pair) {
			end := p.net.Open(30)
			p.poll(0)
			for { // its link comes up
				if _, ok := end.Receive(); ok {
					break
				}
				p.poll(time.Millisecond)
			}
			end.Send(self, []byte{1})
		}, mesh.Stranger},
	} {
		t.Run(name, func(t *testing.T) {
			p := playing(t)
			before := p.relay.Refused()
			c.does(p)
			p.poll(time.Millisecond)
			after := p.relay.Refused()
			require.Equal(t, before[c.want]+1, after[c.want], "%v", after)
			require.NoError(t, p.relay.Err())
			// The match goes on.
			if name == "a packet of another match" {
				p.tag--
			}
			p.send(0, wire.Packet{Runs: []wire.Run{run(0, 0, 1)}})
			p.send(1, wire.Packet{Runs: []wire.Run{run(1, 0, 2)}})
			p.poll(time.Millisecond)
			require.Equal(t, driftback.Tick(1), p.relay.Closed())
		})
	}
}

func TestTwoInputsForOneTickEndTheMatchForAll(t *testing.T) {
	p := playing(t)
	p.send(0, wire.Packet{Runs: []wire.Run{run(0, 0, 1, 2)}})
	p.send(0, wire.Packet{Runs: []wire.Run{run(0, 1, 3)}})
	p.poll(time.Millisecond)
	var conflict *mesh.ConflictError
	require.ErrorAs(t, p.relay.Err(), &conflict)
	require.Equal(t, driftback.Tick(1), conflict.Tick)
	for i := range p.ends {
		list := p.heard(i)
		require.NotEmpty(t, list)
		leave, ok := list[len(list)-1].(wire.Leave)
		require.True(t, ok)
		require.Equal(t, mesh.LeaveHalted, leave.Reason)
		require.Equal(t, "peer 0 sent two inputs of participant 0 for tick 1", leave.Text)
	}
}

func TestTheHandshakeNamesWhatIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		hello wire.Hello
		want  string
	}{
		"no relay":               {mesh.OutsideHello(5, 1, nil, []driftback.Peer{0, 1}), `its hello has no setting "relay": it knows of no relay`},
		"terms that are none":    {hello(0, "something"), `its setting "relay" is "something", which no relay can go by`},
		"terms written longer":   {hello(0, terms(1)+" "), "which no relay can go by"},
		"an absurd input":        {hello(0, terms(4000)), "which no relay can go by"},
		"other terms than peers": {hello(0, terms(2)), `relay is "` + terms(2) + `" at peer 0 and "` + terms(1) + `" here`},
		"another match":          {func() wire.Hello { h := hello(0, terms(1)); h.Match = 6; return h }(), `match is "0000000000000006" at peer 0`},
		"somebody else's seat":   {func() wire.Hello { h := hello(0, terms(1)); h.Delays[0].Participant = 1; return h }(), "who plays whom"},
		"a delay that is absurd": {func() wire.Hello { h := hello(0, terms(1)); h.Delays[0].Ticks = 500; return h }(), "is 500 ticks at peer 0, and at most 60 is allowed"},
		"the other's nonce":      {func() wire.Hello { h := hello(0, terms(1)); h.Nonce = 2; return h }(), "peers 1 and 0 have the same nonce"},
		"the relay's nonce":      {func() wire.Hello { h := hello(0, terms(1)); h.Nonce = 77; return h }(), "peer 0 has the relay's nonce"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t)
			p.say(1, hello(1, terms(1)))
			p.poll(time.Millisecond)
			require.NoError(t, p.relay.Err())
			p.say(0, c.hello)
			p.poll(time.Millisecond)
			require.ErrorIs(t, p.relay.Err(), mesh.ErrRefused)
			require.ErrorContains(t, p.relay.Err(), c.want)
		})
	}
}

func TestConfigIsRefusedByName(t *testing.T) {
	good := relay.Config{Transport: loopback.New(1).Open(self), Self: self, Players: []driftback.Peer{0, 1}, Nonce: 1}
	_, err := relay.New(good)
	require.NoError(t, err)
	for want, change := range map[string]func(c *relay.Config){
		"relay: Transport is nil":                          func(c *relay.Config) { c.Transport = nil },
		"relay: Players has 0":                             func(c *relay.Config) { c.Players = nil },
		"relay: Self is peer 0":                            func(c *relay.Config) { c.Self = 0 },
		"relay: Self is peer 1, which plays a participant": func(c *relay.Config) { c.Self = 1 },
		"relay: Nonce is 0":                                func(c *relay.Config) { c.Nonce = 0 },
		"relay: Deadline is 1m0s":                          func(c *relay.Config) { c.Deadline = time.Minute },
		"relay: PeerTimeout is -5ns":                       func(c *relay.Config) { c.PeerTimeout = -5 },
		"relay: JoinTimeout is -5ns":                       func(c *relay.Config) { c.JoinTimeout = -5 },
		"relay: History is -4 ticks":                       func(c *relay.Config) { c.History = -4 },
		"relay: Players has peer 200":                      func(c *relay.Config) { c.Players = []driftback.Peer{200} },
	} {
		c := good
		change(&c)
		_, err := relay.New(c)
		require.ErrorContains(t, err, want)
	}
}

// FuzzRelay feeds a relay whose match has begun with whatever bytes there are.
func FuzzRelay(f *testing.F) {
	f.Add([]byte{0x80, 0, 0, 0, 0}, false)
	f.Add([]byte{0x82, 0, 0, 0, 0, 0x20, 0, 7}, false)
	f.Add([]byte{4, 0, 0, 0}, true)
	f.Add([]byte{5, 4, 1, 2, 3, 4, 5, 6, 7, 8}, true)
	f.Fuzz(func(t *testing.T, b []byte, reliable bool) {
		p := playing(t)
		if reliable && len(b) > 0 && len(b) <= transport.MaxReliable {
			require.NoError(t, p.ends[0].SendReliable(self, b))
		} else if len(b) > 5 {
			b[1], b[2] = byte(p.tag), byte(p.tag>>8)
			p.ends[0].Send(self, b)
		}
		for range 40 {
			p.poll(5 * time.Millisecond)
		}
		require.Less(t, p.relay.Closed(), driftback.Tick(200), "it closes ticks for which nobody can have given inputs")
		require.NotErrorIs(t, p.relay.Err(), mesh.ErrInternal)
	})
}
