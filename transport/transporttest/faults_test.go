package transporttest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
)

const (
	upFirst    = "Up comes before any other message of its link, and once"
	linkless   = "without a link a datagram is lost and SendReliable returns ErrNoLink"
	copied     = "a datagram is copied when it is sent and arrives unaltered"
	sizes      = "a datagram of MaxDatagram bytes passes and a longer one is lost alone"
	copiedToo  = "a reliable message is copied when it is sent"
	inOrder    = "reliable messages of every size arrive once, in order and unaltered"
	limited    = "a reliable message longer than MaxReliable is refused with ErrTooLong"
	fills      = "a flood of reliable messages is refused with ErrFull and loses none it took"
	floods     = "a flood of datagrams does not block"
	idles      = "Receive returns false where nothing has arrived"
	lent       = "data stays as it is until the next Receive"
	named      = "From is the peer that sent, whatever the data claims"
	beforeDown = "what was queued reliably is delivered before Down"
	downs      = "Close takes down the links of the peer that closed and no other"
	closesOnce = "a closed transport refuses to send, and closing it again does nothing"
)

// fault is a transport that breaks one promise; clause is the one that must
// notice, want a part of what it must say.
type fault struct {
	name, clause, want string
	plant              func(b *broken)
}

var faults = []fault{
	{"a link that never comes up", upFirst, "waited 300 steps", func(b *broken) {
		b.held(func(q []transport.Message) []transport.Message { return nil })
	}},
	{"an Up that comes after the first message", upFirst, "outside a link", func(b *broken) {
		late := false
		b.held(func(q []transport.Message) []transport.Message {
			if len(q) > 0 && q[0].Kind == transport.Up && !late {
				late = true
				return slices.Insert(q, 0, transport.Message{Kind: transport.Datagram, From: q[0].From})
			}
			return q
		})
	}},
	{"an Up that comes twice", upFirst, "twice", func(b *broken) {
		b.held(func(q []transport.Message) []transport.Message {
			if len(q) > 0 && q[0].Kind == transport.Up && len(q) < 50 {
				return append([]transport.Message{q[0]}, q...)
			}
			return q
		})
	}},
	{"an Up with data", upFirst, "Up has neither", func(b *broken) {
		b.each(transport.Up, func(m *transport.Message) { m.Data = []byte("hello") })
	}},
	{"a Down out of nowhere", upFirst, "went down although nobody closed it", func(b *broken) {
		b.each(transport.Reliable, func(m *transport.Message) {
			*m = transport.Message{Kind: transport.Down, From: m.From, Err: errors.New("bored")}
		})
	}},
	{"an unknown kind", upFirst, "want one of the four kinds", func(b *broken) {
		b.each(transport.Datagram, func(m *transport.Message) { m.Kind = 9 })
	}},
	{"a datagram with an error", upFirst, "only Down has one", func(b *broken) {
		b.each(transport.Datagram, func(m *transport.Message) { m.Err = errors.New("odd") })
	}},

	{"a reliable message to nobody is taken", linkless, "peer 63, who is not in the match, returned \"nil\"", func(b *broken) {
		b.sendReliable = func(to driftback.Peer, data []byte) error {
			if to == nobody {
				return nil
			}
			return b.Transport.SendReliable(to, data)
		}
	}},
	{"a peer number beyond every match is taken", linkless, "peer 255, who is not in the match, returned \"nil\"", func(b *broken) {
		b.sendReliable = func(to driftback.Peer, data []byte) error {
			if to == 255 {
				return nil
			}
			return b.Transport.SendReliable(to, data)
		}
	}},
	{"a reliable message after Down is taken", linkless, `SendReliable after Down returned "nil"`, func(b *broken) {
		linked := false
		b.each(transport.Up, func(*transport.Message) { linked = true })
		b.sendReliable = func(to driftback.Peer, data []byte) error {
			if err := b.Transport.SendReliable(to, data); to > 2 || !linked || !errors.Is(err, transport.ErrNoLink) {
				return err
			}
			return nil
		}
	}},

	{"a datagram that is not copied", copied, "altered", func(b *broken) {
		var to driftback.Peer
		var kept []byte
		b.send = func(peer driftback.Peer, data []byte) { to, kept = peer, data }
		b.step = func() { b.Transport.Send(to, kept) }
	}},
	{"a datagram that is cut short", copied, "altered", func(b *broken) {
		b.each(transport.Datagram, func(m *transport.Message) { m.Data = m.Data[:len(m.Data)/2] })
	}},
	{"a datagram that is padded", copied, "bytes: want", func(b *broken) {
		b.each(transport.Datagram, func(m *transport.Message) {
			number, _ := numberOf(m.Data)
			m.Data = letter(nil, number, 1200)
		})
	}},
	{"a datagram with one bit flipped", copied, "its byte 9 of", func(b *broken) {
		b.each(transport.Datagram, func(m *transport.Message) {
			if len(m.Data) > 9 {
				m.Data[9] ^= 1
			}
		})
	}},
	{"a datagram that nobody sent", copied, "was never sent", func(b *broken) {
		b.each(transport.Datagram, func(m *transport.Message) { m.Data = letter(nil, 12345, 20) })
	}},
	{"a datagram that claims to be reliable", copied, "arrived as \"reliable\"", func(b *broken) {
		b.each(transport.Datagram, func(m *transport.Message) { m.Kind = transport.Reliable })
	}},
	{"no datagram arrives", copied, "waited 300 steps for 50 datagrams", func(b *broken) {
		b.send = func(driftback.Peer, []byte) {}
	}},

	{"a largest datagram of nothing", sizes, "MaxDatagram returned 0", func(b *broken) {
		b.maxDatagram = func() int { return 0 }
	}},
	{"a largest datagram that changes", sizes, "must not change", func(b *broken) {
		size := 1000
		b.maxDatagram = func() int { size++; return size }
	}},
	{"a largest datagram that is too large", sizes, "waited 300 steps for datagrams of MaxDatagram bytes", func(b *broken) {
		b.maxDatagram = func() int { return 1300 }
	}},
	{"a long datagram is cut to fit", sizes, "only datagrams of 1200 bytes may", func(b *broken) {
		b.send = func(to driftback.Peer, data []byte) { b.Transport.Send(to, data[:min(len(data), 1200)]) }
	}},
	{"a long datagram is sent", sizes, "only datagrams of 1000 bytes may", func(b *broken) {
		b.maxDatagram = func() int { return 1000 }
	}},
	{"a long datagram ends the link", sizes, `a "down" of 0 bytes arrived`, func(b *broken) {
		b.send = func(to driftback.Peer, data []byte) {
			if len(data) > 1200 {
				_ = b.Transport.Close()
			}
			b.Transport.Send(to, data)
		}
	}},

	{"a reliable message that is not copied", copiedToo, "altered", func(b *broken) {
		type kept struct {
			to   driftback.Peer
			data []byte
		}
		var queue []kept
		b.sendReliable = func(to driftback.Peer, data []byte) error {
			queue = append(queue, kept{to, data})
			return nil
		}
		b.step = func() {
			for _, k := range queue {
				_ = b.Transport.SendReliable(k.to, k.data)
			}
			queue = nil
		}
	}},

	{"two reliable messages change places", inOrder, "out of order", func(b *broken) {
		b.held(func(q []transport.Message) []transport.Message {
			if len(q) == 1 && q[0].Kind == transport.Reliable {
				return q
			}
			if len(q) > 1 && q[0].Kind == transport.Reliable {
				q[0], q[1] = q[1], q[0]
			}
			return q
		})
	}},
	{"a reliable message is lost", inOrder, "out of order", func(b *broken) {
		n := 0
		b.sendReliable = func(to driftback.Peer, data []byte) error {
			if n++; n == 9 {
				return nil
			}
			return b.Transport.SendReliable(to, data)
		}
	}},
	{"the last reliable message is lost", inOrder, "35 of 36 reliable messages arrived", func(b *broken) {
		n := 0
		b.sendReliable = func(to driftback.Peer, data []byte) error {
			if n++; n == 36 {
				return nil
			}
			return b.Transport.SendReliable(to, data)
		}
	}},
	{"a reliable message comes twice", inOrder, "again", func(b *broken) {
		n := 0
		b.sendReliable = func(to driftback.Peer, data []byte) error {
			if n++; n == 9 {
				_ = b.Transport.SendReliable(to, data)
			}
			return b.Transport.SendReliable(to, data)
		}
	}},
	{"the last reliable message comes twice", inOrder, "after the last that was sent", func(b *broken) {
		n := 0
		b.sendReliable = func(to driftback.Peer, data []byte) error {
			if n++; n == 36 {
				_ = b.Transport.SendReliable(to, data)
			}
			return b.Transport.SendReliable(to, data)
		}
	}},
	{"the largest reliable message is cut", inOrder, "65535 bytes", func(b *broken) {
		b.each(transport.Reliable, func(m *transport.Message) { m.Data = m.Data[:min(len(m.Data), 65535)] })
	}},
	{"the largest reliable message is refused", inOrder, "too long", func(b *broken) {
		b.sendReliable = func(to driftback.Peer, data []byte) error {
			if len(data) == transport.MaxReliable {
				return transport.ErrTooLong
			}
			return b.Transport.SendReliable(to, data)
		}
	}},
	{"an empty reliable message is swallowed", inOrder, "out of order", func(b *broken) {
		b.sendReliable = func(to driftback.Peer, data []byte) error {
			if len(data) == 0 {
				return nil
			}
			return b.Transport.SendReliable(to, data)
		}
	}},
	{"reliable messages arrive as datagrams", inOrder, "arrived as \"datagram\"", func(b *broken) {
		b.each(transport.Reliable, func(m *transport.Message) { m.Kind = transport.Datagram })
	}},

	{"a long reliable message is taken", limited, `returned "nil": want "transport: the message is too long"`, func(b *broken) {
		b.sendReliable = func(to driftback.Peer, data []byte) error {
			return b.Transport.SendReliable(to, data[:min(len(data), transport.MaxReliable)])
		}
	}},
	{"a long reliable message is refused and sent all the same", limited, "arrived altered", func(b *broken) {
		b.sendReliable = func(to driftback.Peer, data []byte) error {
			if len(data) > transport.MaxReliable {
				_ = b.Transport.SendReliable(to, data[:100])
			}
			return b.Transport.SendReliable(to, data)
		}
	}},

	{"a queue without a bound", fills, "the queue has no bound", func(b *broken) {
		b.sendReliable = func(driftback.Peer, []byte) error { return nil }
	}},
	{"a full queue that has another name", fills, "want ErrFull", func(b *broken) {
		b.sendReliable = func(to driftback.Peer, data []byte) error {
			err := b.Transport.SendReliable(to, data)
			if errors.Is(err, transport.ErrFull) {
				return errors.New("come back later")
			}
			return err
		}
	}},
	{"a full queue that blocks", fills, "blocked", func(b *broken) {
		b.sendReliable = func(to driftback.Peer, data []byte) error {
			err := b.Transport.SendReliable(to, data)
			if errors.Is(err, transport.ErrFull) {
				b.block()
			}
			return err
		}
	}},
	{"a queue that refuses everything", fills, "refused the first message", func(b *broken) {
		b.sendReliable = func(driftback.Peer, []byte) error { return transport.ErrFull }
	}},
	{"a refused message is queued after all", fills, "where", func(b *broken) {
		var late []byte
		b.sendReliable = func(to driftback.Peer, data []byte) error {
			err := b.Transport.SendReliable(to, data)
			if errors.Is(err, transport.ErrFull) {
				late = slices.Clone(data)
			}
			return err
		}
		b.step = func() {
			if late != nil && b.Transport.SendReliable(1, late) == nil {
				late = nil
			}
		}
	}},
	{"a queue that drops what it took", fills, "arrived where", func(b *broken) {
		n := 0
		b.sendReliable = func(to driftback.Peer, data []byte) error {
			if n++; n%10 == 0 {
				return nil
			}
			return b.Transport.SendReliable(to, data)
		}
	}},
	{"a queue that stays full for ever", fills, "waited 300 steps for room", func(b *broken) {
		wasFull := false
		b.sendReliable = func(to driftback.Peer, data []byte) error {
			err := b.Transport.SendReliable(to, data)
			wasFull = wasFull || errors.Is(err, transport.ErrFull)
			if wasFull {
				return transport.ErrFull
			}
			return err
		}
	}},

	{"a Send that blocks", floods, "a flood of Send blocked", func(b *broken) {
		n := 0
		b.send = func(to driftback.Peer, data []byte) {
			if n++; n == 33 {
				b.block()
			}
			b.Transport.Send(to, data)
		}
	}},
	{"a flood that stops the link", floods, "waited 300 steps for a datagram", func(b *broken) {
		n := 0
		b.send = func(to driftback.Peer, data []byte) {
			if n++; n < 1000 {
				b.Transport.Send(to, data)
			}
		}
	}},
	{"a flood that mixes datagrams up", floods, "want what was sent", func(b *broken) {
		b.each(transport.Datagram, func(m *transport.Message) { m.Data = m.Data[1:] })
	}},

	{"a Receive that blocks", idles, "Receive blocked", func(b *broken) {
		b.receive = func() (transport.Message, bool) {
			m, ok := b.Transport.Receive()
			if !ok {
				b.block()
			}
			return m, ok
		}
	}},
	{"a Receive that makes things up", idles, "which has sent nothing", func(b *broken) {
		linked := 0
		b.receive = func() (transport.Message, bool) {
			m, ok := b.Transport.Receive()
			if linked > 0 {
				linked++
			}
			if ok {
				linked = 1
			}
			if linked == 10 {
				return transport.Message{Kind: transport.Datagram, From: 1 - b.self}, true
			}
			return m, ok
		}
	}},
	{"a Receive that never says that there is no more", upFirst, "does not run out", func(b *broken) {
		linked := false
		b.receive = func() (transport.Message, bool) {
			m, ok := b.Transport.Receive()
			if linked = linked || ok; linked && !ok {
				return transport.Message{Kind: transport.Datagram, From: 1 - b.self}, true
			}
			return m, ok
		}
	}},

	{"a buffer that is used again at once", lent, "changed before the next Receive", func(b *broken) {
		var last []byte
		b.receive = func() (transport.Message, bool) {
			m, ok := b.Transport.Receive()
			last = m.Data
			return m, ok
		}
		b.step = func() { clear(last) }
	}},

	{"a sender that is believed", named, "arrived as from peer", func(b *broken) {
		b.each(transport.Datagram, func(m *transport.Message) { m.From = driftback.Peer(m.Data[1]) })
	}},
	{"a reliable sender that is believed", named, "arrived as from peer", func(b *broken) {
		b.each(transport.Reliable, func(m *transport.Message) { m.From = driftback.Peer(m.Data[1]) })
	}},
	{"a sender that is nobody", named, "which it has no link to", func(b *broken) {
		b.each(transport.Reliable, func(m *transport.Message) { m.From = 7 })
	}},

	{"a Close that throws the queue away", beforeDown, "the link went down after 0 of the 16", func(b *broken) {
		b.sendReliable = func(driftback.Peer, []byte) error { return nil }
	}},
	{"a Down that overtakes the queue", beforeDown, "outside a link", func(b *broken) {
		b.held(func(q []transport.Message) []transport.Message {
			if last := len(q) - 1; last > 0 && q[last].Kind == transport.Down {
				return slices.Insert(q[:last], 0, q[last])
			}
			return q
		})
	}},
	{"a Close that blocks", beforeDown, "Close blocked", func(b *broken) {
		b.close = func() error { b.block(); return b.Transport.Close() }
	}},
	{"a Close that fails", beforeDown, "Close: no", func(b *broken) {
		b.close = func() error { _ = b.Transport.Close(); return errors.New("no") }
	}},

	{"a Down that never comes", downs, "waited 300 steps for Down", func(b *broken) {
		b.held(func(q []transport.Message) []transport.Message {
			return slices.DeleteFunc(q, func(m transport.Message) bool { return m.Kind == transport.Down })
		})
	}},
	{"a Down without a reason", downs, "without an error", func(b *broken) {
		b.each(transport.Down, func(m *transport.Message) { m.Err = nil })
	}},
	{"a Down with data", downs, "Down has none", func(b *broken) {
		b.each(transport.Down, func(m *transport.Message) { m.Data = []byte("bye") })
	}},
	{"a Down that comes twice", downs, "without a link that was up", func(b *broken) {
		b.held(func(q []transport.Message) []transport.Message {
			if len(q) == 1 && q[0].Kind == transport.Down {
				return append(q, q[0], transport.Message{})[:2]
			}
			return q
		})
	}},
	{"one Close that takes everybody down", downs, "want Down from peer 2", func(b *broken) {
		b.held(func(q []transport.Message) []transport.Message {
			if len(q) == 1 && q[0].Kind == transport.Down && b.self < 2 {
				return append(q, transport.Message{Kind: transport.Down, From: 1 - b.self, Err: q[0].Err})
			}
			return q
		})
	}},

	{"a second Close that fails", closesOnce, "the second Close returned", func(b *broken) {
		n := 0
		b.close = func() error {
			if n++; n == 2 {
				return errors.New("already closed")
			}
			return b.Transport.Close()
		}
	}},
	{"a closed transport that takes messages", closesOnce, `want "transport: closed"`, func(b *broken) {
		b.sendReliable = func(driftback.Peer, []byte) error { return nil }
	}},
	{"a closed transport that sends", closesOnce, "sent after Close", func(b *broken) {
		b.close = func() error { return nil }
		b.sendReliable = func(driftback.Peer, []byte) error { return transport.ErrClosed }
	}},
	{"a closed transport that never runs dry", closesOnce, "does not run out", func(b *broken) {
		b.close = func() error {
			b.receive = func() (transport.Message, bool) { return transport.Message{Kind: transport.Up}, true }
			return b.Transport.Close()
		}
	}},
}

func TestEveryPlantedFaultIsNoticedByItsClause(t *testing.T) {
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			at := slices.IndexFunc(clauses, func(c clause) bool { return c.name == f.clause })
			require.NotEqual(t, -1, at, "no clause is called %q", f.clause)
			c := clauses[at]
			require.NoError(t, c.run(openBroken(t, c.peers, func(*broken) {})), "the control, without the fault")
			m := openBroken(t, c.peers, f.plant)
			if strings.HasSuffix(f.want, "blocked") {
				m.Patience = 50 * time.Millisecond
			}
			require.ErrorContains(t, c.run(m), f.want)
		})
	}
}

func TestEveryClauseHasAFaultThatItNotices(t *testing.T) {
	for _, c := range clauses {
		require.True(t, slices.ContainsFunc(faults, func(f fault) bool { return f.clause == c.name }),
			"nothing is planted for %q", c.name)
	}
}

func TestAnOpenerThatOpensTooFewIsNamed(t *testing.T) {
	m := openBroken(t, 1, func(*broken) {})
	require.EqualError(t, clauses[0].run(m), "the opener opened 1 transports where 2 were asked for")
}
