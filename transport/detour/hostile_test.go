package detour_test

import (
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/detour"
	"github.com/driftback/driftback/transport/loopback"
)

// What the first byte of a message below says.
const (
	data, half, reach             = 1, 2, 3
	call, answer, confirm         = 4, 5, 6
	noWay, message, datagram byte = 7, 8, 9
)

func is(m *transport.Message, kind byte) bool {
	return len(m.Data) > 0 && m.Data[0] == kind
}

func TestADatagramThatIsAlteredIsDroppedAndCounted(t *testing.T) {
	p := newParty(t, 3, apart)
	p.step(30)
	p.take(1)
	at := 3 // what comes before is refused in between
	p.change[2] = func(m *transport.Message) bool {
		if is(m, datagram) && at < len(m.Data) {
			m.Data[at] ^= 1
		}
		return true
	}
	n := 0
	for ; at < 11+5+16; at++ {
		p.all[0].Send(1, []byte("hello"))
		p.step(3)
		n++
	}
	require.Empty(t, p.take(1))
	s := p.all[1].Stats()
	require.EqualValues(t, n, s.Altered)
	p.change[2] = nil
	p.all[0].Send(1, []byte("hello"))
	p.step(3)
	require.Equal(t, []string{"datagram 0 hello"}, p.take(1), "the control: unaltered it arrives")
}

func TestADatagramThatComesAgainIsDroppedAndCounted(t *testing.T) {
	p := newParty(t, 3, apart)
	p.step(30)
	p.take(1)
	var kept [][]byte
	p.change[2] = func(m *transport.Message) bool {
		if is(m, datagram) {
			kept = append(kept, append([]byte(nil), m.Data...))
		}
		return true
	}
	for range 300 {
		p.all[0].Send(1, []byte("hello"))
		p.step(1)
	}
	p.step(2)
	require.Len(t, p.take(1), 300)
	for _, b := range kept {
		p.ends[2].Send(1, b)
		p.step(2)
	}
	require.Empty(t, p.take(1))
	require.EqualValues(t, 300, p.all[1].Stats().Repeated)
}

func TestAReliableMessageThatIsNotWhatWasSentBreaksTheLink(t *testing.T) {
	for name, plant := range map[string]func(p *party) func(m *transport.Message) bool{
		"altered": func(*party) func(m *transport.Message) bool {
			return func(m *transport.Message) bool { m.Data[len(m.Data)-1] ^= 1; return true }
		},
		"cut short": func(*party) func(m *transport.Message) bool {
			return func(m *transport.Message) bool { m.Data = m.Data[:len(m.Data)-1]; return true }
		},
		"left out": func(*party) func(m *transport.Message) bool {
			return func(*transport.Message) bool { return false }
		},
		"repeated": func(p *party) func(m *transport.Message) bool {
			return func(m *transport.Message) bool {
				require.NoError(p.t, p.ends[2].SendReliable(1-m.From, m.Data))
				return true
			}
		},
		"in another order": func(p *party) func(m *transport.Message) bool {
			var first []byte
			return func(m *transport.Message) bool {
				if first == nil {
					first = append(first, m.Data...)
					return false
				}
				require.NoError(p.t, p.ends[2].SendReliable(1-m.From, m.Data))
				m.Data = first
				return true
			}
		},
	} {
		for from := range 2 {
			t.Run(fmt.Sprintf("%s, from peer %d", name, from), func(t *testing.T) {
				to := 1 - from
				p := newParty(t, 4, apart)
				p.step(30)
				p.via(0, 1, 2)
				p.take(0)
				p.take(1)
				done := false
				f := plant(p)
				p.change[2] = func(m *transport.Message) bool {
					if !is(m, message) || int(m.From) != from || done {
						return true
					}
					done = name != "in another order"
					return f(m)
				}
				for i := range 3 {
					require.NoError(t, p.all[from].SendReliable(driftback.Peer(to), fmt.Append(nil, i)))
				}
				p.step(30)
				got := p.take(to)
				require.GreaterOrEqual(t, len(got), 2)
				for i, line := range got[:len(got)-2] {
					require.Equal(t, fmt.Sprintf("reliable %d %d", from, i), line)
				}
				require.Equal(t, []string{fmt.Sprintf("down %d %v", from, detour.ErrBroken), fmt.Sprintf("up %d", from)}, got[len(got)-2:])
				require.Equal(t, []string{fmt.Sprintf("down %d %v", to, detour.ErrBroken), fmt.Sprintf("up %d", to)}, p.take(from))
				require.EqualValues(t, 1, p.all[to].Stats().Broken)
				p.via(0, 1, 3)
				p.via(1, 0, 3)
			})
		}
	}
}

// The first of these drops everything, the second all but the making of a link, the third
// says that it reaches somebody whom it does not reach.
func TestOneThatDoesNotSendOnIsReplaced(t *testing.T) {
	for name, drops := range map[string]func(m *transport.Message) bool{
		"from the first":   func(m *transport.Message) bool { return len(m.Data) > 0 && m.Data[0] >= call },
		"from the link on": func(m *transport.Message) bool { return is(m, message) || is(m, datagram) },
		"what is sealed one way": func(m *transport.Message) bool {
			return m.From == 1 && (is(m, message) && len(m.Data) != 24 || is(m, datagram))
		},
		"the confirmations": func(m *transport.Message) bool { return is(m, confirm) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newParty(t, 4, apart)
			p.change[2] = func(m *transport.Message) bool { return !drops(m) }
			for range 4 * detour.DefaultPatience {
				p.all[0].Send(1, []byte("hello"))
				p.all[1].Send(0, []byte("hello"))
				p.step(1)
			}
			p.via(0, 1, 3)
			p.via(1, 0, 3)
			require.Contains(t, p.take(0), "datagram 1 hello")
			require.Contains(t, p.take(1), "datagram 0 hello")
		})
	}
	t.Run("because it does not reach the other", func(t *testing.T) {
		p := newParty(t, 4, apart, [2]driftback.Peer{1, 2})
		p.step(3)
		lie := binary.LittleEndian.AppendUint64([]byte{reach}, 1<<1|1<<3)
		require.NoError(t, p.ends[2].SendReliable(0, lie))
		require.NoError(t, p.net.TakeDown(1, 3))
		require.NoError(t, p.net.BringUp(1, 3))
		p.step(3 * detour.DefaultPatience)
		p.via(0, 1, 3)
		require.NotZero(t, p.all[2].Stats().NotForwarded, "the control: it was asked first")
	})
}

// With nobody else to turn to the link stays: the network may only be slow.
func TestASilentLinkStaysWhereThereIsNoOtherWay(t *testing.T) {
	p := newParty(t, 3, apart)
	p.step(30)
	p.take(0)
	block := func(blocked bool) {
		require.NoError(t, p.net.Impair(2, 0, loopback.Impairment{Blocked: blocked}))
	}
	block(true)
	for range 5 * detour.DefaultPatience {
		p.all[0].Send(1, []byte("hello"))
		p.step(1)
	}
	block(false)
	p.all[1].Send(0, []byte("hello"))
	p.step(3)
	require.Equal(t, []string{"datagram 1 hello"}, p.take(0))
}

// One that only listens, and is asked for a word now and then.
func TestALinkThatIsUsedOneWayStays(t *testing.T) {
	p := newParty(t, 4, apart)
	p.step(30)
	p.take(0)
	for range 5 * detour.DefaultPatience {
		p.all[0].Send(1, []byte("hello"))
		p.step(1)
	}
	require.Empty(t, p.take(0))
	p.via(0, 1, 2)
}

func TestTheOneInBetweenCannotStandInForAnEnd(t *testing.T) {
	for name, end := range map[string]driftback.Peer{"for the one that answers": 1, "for the one that calls": 0} {
		t.Run(name, func(t *testing.T) {
			p := newParty(t, 3, apart)
			// It plays the other end itself, with the numbers of that end and a key of its own.
			forger := &between{party: p, as: end}
			p.change[2] = forger.change
			c := config(end)
			c.Identity = people()[2]
			var err error
			forger.fake, err = detour.New(forger, c)
			require.NoError(t, err)
			p.extra[2] = forger.run
			p.step(1000)
			other := 1 - end
			require.NotContains(t, p.take(int(other)), fmt.Sprintf("up %d", end))
			require.NotZero(t, p.all[other].Stats().Forged)
			require.Less(t, p.all[other].Stats().Forged, uint64(20), "who is found out is not asked without end")

			p = newParty(t, 3, apart)
			forger = &between{party: p, as: end}
			p.change[2], p.extra[2] = forger.change, forger.run
			c.Identity = people()[end]
			forger.fake, err = detour.New(forger, c)
			require.NoError(t, err)
			p.step(1000)
			require.Contains(t, p.take(int(other)), fmt.Sprintf("up %d", end), "the control: with the right key the same comes up")
		})
	}
}

// between is what peer 2 has in place of a link for the end that it stands in for.
type between struct {
	party *party
	as    driftback.Peer
	fake  *detour.Transport
	inbox []transport.Message
	begun bool
}

func (b *between) change(m *transport.Message) bool {
	if len(m.Data) > 2 && m.Data[0] >= call {
		if m.From != b.as {
			b.inbox = append(b.inbox, transport.Message{Kind: m.Kind, From: 2, Data: append([]byte(nil), m.Data...)})
		}
		return false
	}
	return true
}

// run lets the one that stands in for an end do what it does.
func (b *between) run() {
	for _, ok := b.fake.Receive(); ok; _, ok = b.fake.Receive() {
	}
}

func (b *between) Receive() (transport.Message, bool) {
	if !b.begun {
		b.begun = true
		b.inbox = append(b.inbox,
			transport.Message{Kind: transport.Up, From: 2},
			transport.Message{Kind: transport.Reliable, From: 2, Data: []byte{reach, 3, 0, 0, 0, 0, 0, 0, 0}})
	}
	if len(b.inbox) == 0 {
		return transport.Message{}, false
	}
	m := b.inbox[0]
	b.inbox = b.inbox[1:]
	return m, true
}

func (b *between) Send(_ driftback.Peer, data []byte) { b.party.ends[2].Send(1-b.as, data) }
func (b *between) SendReliable(_ driftback.Peer, data []byte) error {
	if data[0] < call {
		return nil
	}
	return b.party.ends[2].SendReliable(1-b.as, data)
}
func (b *between) MaxDatagram() int { return 1200 }
func (b *between) Close() error     { return nil }

func TestTwoThatDoNotAgreeAreNotLinked(t *testing.T) {
	for name, change := range map[string]func(c *detour.Config){
		"on the label": func(c *detour.Config) { c.Label = "another match" },
		"on a pin": func(c *detour.Config) {
			c.Pin = func(driftback.Peer) (identity.Pin, bool) { return people()[9].Pin(), true }
		},
		"on any pin": func(c *detour.Config) {
			c.Pin = func(driftback.Peer) (identity.Pin, bool) { return identity.Pin{}, true }
		},
		"on whom they know": func(c *detour.Config) {
			c.Pin = func(driftback.Peer) (identity.Pin, bool) { return identity.Pin{}, false }
		},
	} {
		for end := range 2 {
			t.Run(fmt.Sprintf("%s, of peer %d", name, end), func(t *testing.T) {
				p := newParty(t, 3, apart)
				c := config(driftback.Peer(end))
				change(&c)
				var err error
				p.all[end], err = detour.New(p.ends[end], c)
				require.NoError(t, err)
				p.step(1000)
				require.Equal(t, []string{"up 2"}, p.take(0))
				require.Equal(t, []string{"up 2"}, p.take(1))
			})
		}
	}
}

// A neighbour that asks for links in another's name does not keep the links through others
// from coming up, nor take them down.
func TestFalseCallsThroughOneDoNotSpoilLinksThroughAnother(t *testing.T) {
	p := newParty(t, 4, apart)
	p.change[2] = func(m *transport.Message) bool { return len(m.Data) == 0 || m.Data[0] < call }
	p.extra[2] = func() {
		for i := range 20 {
			b := append([]byte{call, 0, 1, 1}, make([]byte, 32)...)
			b[6] = byte(i)
			_ = p.ends[2].SendReliable(1, b)
		}
	}
	p.step(3 * detour.DefaultPatience)
	p.via(0, 1, 3)
	p.take(0)
	p.take(1)
	p.step(300)
	require.Empty(t, p.take(0))
	require.Empty(t, p.take(1))
}

func TestWhatIsNotForTheOneInBetweenToSendOnIsRefused(t *testing.T) {
	p := newParty(t, 4, apart)
	p.step(30)
	for name, b := range map[string][]byte{
		"in another's name":      {noWay, 1, 3},
		"back to the sender":     {noWay, 2, 0},
		"to itself":              {noWay, 0, 0},
		"its own":                {noWay, 0, 2},
		"from who receives it":   {noWay, 2, 1},
		"to nobody":              {noWay, 0, 64},
		"too long":               {noWay, 0, 1, 0},
		"of another kind":        {77, 0, 1},
		"half an envelope":       {noWay, 0},
		"nothing":                {},
		"a call too short":       {call, 0, 1, 1},
		"a call of a later kind": append([]byte{call, 0, 1, 2}, make([]byte, 32)...),
		"a set too short":        {reach, 1},
	} {
		t.Run(name, func(t *testing.T) {
			before := p.all[2].Stats()
			require.NoError(t, p.ends[0].SendReliable(2, b))
			p.step(3)
			after := p.all[2].Stats()
			require.Equal(t, before.Refused+1, after.Refused)
			require.Equal(t, before.Forwarded, after.Forwarded)
		})
	}
	t.Run("to somebody who is not there", func(t *testing.T) {
		before := p.all[2].Stats()
		require.NoError(t, p.ends[0].SendReliable(2, []byte{noWay, 0, 9}))
		p.ends[0].Send(2, append([]byte{datagram, 0, 9}, make([]byte, 30)...))
		p.step(3)
		require.Equal(t, before.NotForwarded+2, p.all[2].Stats().NotForwarded)
	})
}
