package transporttest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
)

// nobody is a peer that no match of the suite has.
const nobody driftback.Peer = driftback.MaxPeers - 1

var clauses = []clause{
	{"Up comes before any other message of its link, and once", 2, upComesFirst},
	{"without a link a datagram is lost and SendReliable returns ErrNoLink", 2, noLink},
	{"a datagram is copied when it is sent and arrives unaltered", 2, datagramsAreCopied},
	{"a datagram of MaxDatagram bytes passes and a longer one is lost alone", 2, datagramSizes},
	{"a reliable message is copied when it is sent", 2, reliableIsCopied},
	{"reliable messages of every size arrive once, in order and unaltered", 2, reliableInOrder},
	{"a reliable message longer than MaxReliable is refused with ErrTooLong", 2, tooLong},
	{"a flood of reliable messages is refused with ErrFull and loses none it took", 2, full},
	{"a flood of datagrams does not block", 2, floodOfDatagrams},
	{"Receive returns false where nothing has arrived", 2, idle},
	{"data stays as it is until the next Receive", 2, borrowed},
	{"From is the peer that sent, whatever the data claims", 3, from},
	{"what was queued reliably is delivered before Down", 2, queuedBeforeDown},
	{"Close takes down the links of the peer that closed and no other", 3, closeTakesDown},
	{"a closed transport refuses to send, and closing it again does nothing", 2, closed},
}

// upComesFirst sends both kinds from the first moment; what a transport may not
// deliver is noticed as it is received.
func upComesFirst(m *match) error {
	type arrival struct {
		end  int
		kind transport.Kind
	}
	arrived := map[arrival]bool{}
	return m.until("datagrams and reliable messages to arrive at both ends", func() error {
		for i, e := range m.Ends {
			to := driftback.Peer(1 - i)
			e.Send(to, []byte("early"))
			if err := e.SendReliable(to, []byte("early")); err != nil && !isRefusal(err) {
				return fmt.Errorf("SendReliable while links come up: %w", err)
			}
			for got, ok := m.receive(i); ok; got, ok = m.receive(i) {
				switch got.Kind {
				case transport.Down:
					return fmt.Errorf("the link to peer %d went down although nobody closed it: %w", got.From, got.Err)
				case transport.Datagram, transport.Reliable:
					arrived[arrival{i, got.Kind}] = true
				default:
				}
			}
		}
		return nil
	}, func() bool { return m.connected() && len(arrived) == 4 })
}

func isRefusal(err error) bool {
	return errors.Is(err, transport.ErrNoLink) || errors.Is(err, transport.ErrFull)
}

func noLink(m *match) error {
	for _, to := range []driftback.Peer{nobody, 255} {
		m.Ends[0].Send(to, []byte("to nobody"))
		what := fmt.Sprintf("SendReliable to peer %d, who is not in the match,", to)
		if err := refused(what, m.Ends[0].SendReliable(to, []byte("to nobody")), transport.ErrNoLink); err != nil {
			return err
		}
	}
	if err := m.connect(); err != nil {
		return err
	}
	if err := m.Ends[1].Close(); err != nil {
		return fmt.Errorf("Close: %w", err)
	}
	err := m.until("Down at peer 0", func() error {
		for got, ok := m.receive(0); ok; got, ok = m.receive(0) {
			if got.Kind != transport.Down {
				return fmt.Errorf("peer 0 received %q from peer 1, which has only closed", got.Kind)
			}
		}
		return nil
	}, func() bool { return !m.links[0][1] })
	if err != nil {
		return err
	}
	m.Ends[0].Send(1, []byte("too late"))
	return refused("SendReliable after Down", m.Ends[0].SendReliable(1, []byte("too late")), transport.ErrNoLink)
}

// refused returns an error unless a call returned the error it should have.
func refused(what string, got, want error) error {
	if errors.Is(got, want) {
		return nil
	}
	text := "nil"
	if got != nil {
		text = got.Error()
	}
	return fmt.Errorf("%s returned %q: want %q", what, text, want.Error())
}

// letter is a message of n bytes that says which it is and fills the rest with
// bytes that follow from it, so that nothing can be altered unnoticed. Below
// eight bytes it has room for its size alone.
func letter(b []byte, number, n int) []byte {
	b = b[:0]
	if n >= 8 {
		b = binary.BigEndian.AppendUint64(b, uint64(number))
	}
	for len(b) < n {
		b = append(b, byte(number+n+len(b)*131))
	}
	return b
}

// numberOf returns which letter b is, or an error if it is none.
func numberOf(b []byte) (int, error) {
	if len(b) < 8 {
		return 0, fmt.Errorf("it has %d bytes: want at least 8", len(b))
	}
	number := int(binary.BigEndian.Uint64(b))
	if want := letter(nil, number, len(b)); !bytes.Equal(b, want) {
		at := 0
		for b[at] == want[at] {
			at++
		}
		return 0, fmt.Errorf("its byte %d of %d is %#02x: want %#02x", at, len(b), b[at], want[at])
	}
	return number, nil
}

func datagramsAreCopied(m *match) error {
	if err := m.connect(); err != nil {
		return err
	}
	const want = 50
	sent, arrived := 0, map[int]bool{}
	var b []byte
	return m.until(fmt.Sprintf("%d datagrams to arrive", want), func() error {
		// A size that varies shows a transport that cuts or pads.
		b = letter(b, sent, 8+sent*7%(m.Ends[0].MaxDatagram()-7))
		m.Ends[0].Send(1, b)
		clear(b) // a sender uses its buffer again at once
		sent++
		for got, ok := m.receive(1); ok; got, ok = m.receive(1) {
			if got.Kind != transport.Datagram {
				return fmt.Errorf("a datagram arrived as %q", got.Kind)
			}
			number, err := numberOf(got.Data)
			if err != nil {
				return fmt.Errorf("a datagram arrived altered: %w", err)
			}
			if number >= sent {
				return fmt.Errorf("datagram %d arrived and was never sent", number)
			}
			if size := 8 + number*7%(m.Ends[0].MaxDatagram()-7); len(got.Data) != size {
				return fmt.Errorf("datagram %d arrived with %d bytes: want %d", number, len(got.Data), size)
			}
			arrived[number] = true
		}
		return nil
	}, func() bool { return len(arrived) >= want })
}

func datagramSizes(m *match) error {
	largest := m.Ends[0].MaxDatagram()
	if largest < 64 {
		return fmt.Errorf("MaxDatagram returned %d: want at least 64", largest)
	}
	if err := m.connect(); err != nil {
		return err
	}
	if now := m.Ends[0].MaxDatagram(); now != largest {
		return fmt.Errorf("MaxDatagram returned %d after %d: it must not change", now, largest)
	}
	long := letter(nil, 1, largest+1)
	fits := letter(nil, 2, largest)
	passed := 0
	err := m.until("datagrams of MaxDatagram bytes to arrive", func() error {
		m.Ends[0].Send(1, long)
		m.Ends[0].Send(1, make([]byte, 1<<20))
		m.Ends[0].Send(1, fits)
		for got, ok := m.receive(1); ok; got, ok = m.receive(1) {
			if !bytes.Equal(got.Data, fits) {
				return fmt.Errorf("a %q of %d bytes arrived: only datagrams of %d bytes may", got.Kind, len(got.Data), largest)
			}
			passed++
		}
		return nil
	}, func() bool { return passed >= 10 })
	if err != nil {
		return err
	}
	return m.drain(1, func(got transport.Message) error {
		if !bytes.Equal(got.Data, fits) {
			return fmt.Errorf("a %q of %d bytes arrived: only datagrams of %d bytes may", got.Kind, len(got.Data), largest)
		}
		return nil
	})
}

func floodOfDatagrams(m *match) error {
	if err := m.connect(); err != nil {
		return err
	}
	b := letter(nil, 0, m.Ends[0].MaxDatagram())
	m.watch.within("a flood of Send", func() {
		for range 20000 {
			m.Ends[0].Send(1, b)
		}
	})
	held := 0
	err := m.drain(1, func(got transport.Message) error {
		held++
		if !bytes.Equal(got.Data, b) {
			return fmt.Errorf("a %q of %d bytes arrived: want what was sent", got.Kind, len(got.Data))
		}
		return nil
	})
	if err != nil {
		return err
	}
	// The flood may lose nearly everything, but not the link.
	arrived := false
	return m.until("a datagram to arrive after the flood", func() error {
		m.Ends[0].Send(1, b[:16])
		for got, ok := m.receive(1); ok; got, ok = m.receive(1) {
			arrived = arrived || got.Kind == transport.Datagram && len(got.Data) == 16
		}
		return nil
	}, func() bool { return arrived })
}

func idle(m *match) error {
	if err := m.connect(); err != nil {
		return err
	}
	for i := range m.Ends {
		if err := m.drain(i, func(got transport.Message) error {
			return fmt.Errorf("peer %d received %q from peer %d, which has sent nothing", i, got.Kind, got.From)
		}); err != nil {
			return err
		}
	}
	return nil
}

func borrowed(m *match) error {
	if err := m.connect(); err != nil {
		return err
	}
	for _, kind := range []transport.Kind{transport.Datagram, transport.Reliable} {
		sent, checked := 0, 0
		send := func() error {
			sent++
			if b := letter(nil, sent, 64); kind == transport.Datagram {
				m.Ends[0].Send(1, b)
				return nil
			} else if err := m.Ends[0].SendReliable(1, b); !errors.Is(err, transport.ErrFull) {
				return err
			}
			return nil
		}
		err := m.until("messages to arrive", func() error {
			if err := send(); err != nil {
				return err
			}
			got, ok := m.receive(1)
			if !ok || got.Kind != kind {
				return nil
			}
			number, err := numberOf(got.Data)
			if err != nil {
				return fmt.Errorf("a %q arrived altered: %w", kind, err)
			}
			for range 5 { // others arrive meanwhile
				if err := send(); err != nil {
					return err
				}
				m.step()
			}
			if now, err := numberOf(got.Data); err != nil || now != number {
				return fmt.Errorf("the data of a %q changed before the next Receive", kind)
			}
			checked++
			return nil
		}, func() bool { return checked == 10 })
		if err != nil {
			return err
		}
	}
	return nil
}

func from(m *match) error {
	if err := m.connect(); err != nil {
		return err
	}
	seen := map[driftback.Peer]map[transport.Kind]bool{0: {}, 2: {}}
	return m.until("both kinds from both peers", func() error {
		for _, sender := range []int{0, 2} {
			// The data claims to be from the other one.
			b := []byte{byte(sender), byte(2 - sender)}
			m.Ends[sender].Send(1, b)
			if err := m.Ends[sender].SendReliable(1, b); err != nil && !errors.Is(err, transport.ErrFull) {
				return fmt.Errorf("SendReliable: %w", err)
			}
		}
		for got, ok := m.receive(1); ok; got, ok = m.receive(1) {
			if len(got.Data) != 2 {
				return fmt.Errorf("peer 1 received a %q of %d bytes: want what was sent", got.Kind, len(got.Data))
			}
			if sender := driftback.Peer(got.Data[0]); got.From != sender {
				return fmt.Errorf("a %q that peer %d sent arrived as from peer %d", got.Kind, sender, got.From)
			}
			seen[got.From][got.Kind] = true
		}
		return nil
	}, func() bool { return len(seen[0]) == 2 && len(seen[2]) == 2 })
}

func closeTakesDown(m *match) error {
	if err := m.connect(); err != nil {
		return err
	}
	if err := m.Ends[2].Close(); err != nil {
		return fmt.Errorf("Close: %w", err)
	}
	downAt := func(i int) error {
		return m.until(fmt.Sprintf("Down at peer %d", i), func() error {
			for got, ok := m.receive(i); ok; got, ok = m.receive(i) {
				if got.Kind != transport.Down || got.From != 2 {
					return fmt.Errorf("peer %d received %q from peer %d: want Down from peer 2", i, got.Kind, got.From)
				}
			}
			return nil
		}, func() bool { return !m.links[i][2] })
	}
	if err := downAt(0); err != nil {
		return err
	}
	if err := downAt(1); err != nil {
		return err
	}
	if err := m.sendReliable(letter(nil, 0, 100)); err != nil {
		return fmt.Errorf("between the two that stayed: %w", err)
	}
	return m.expectLetters(1)
}

func closed(m *match) error {
	if err := m.connect(); err != nil {
		return err
	}
	for _, which := range []string{"first", "second"} {
		if err := m.Ends[0].Close(); err != nil {
			return fmt.Errorf("the %s Close returned %w: want nil", which, err)
		}
	}
	m.Ends[0].Send(1, []byte("too late"))
	err := refused("SendReliable after Close", m.Ends[0].SendReliable(1, []byte("too late")), transport.ErrClosed)
	if err != nil {
		return err
	}
	ends := false
	for i := 0; i < m.atOnce && !ends; i++ {
		_, more := m.Ends[0].Receive()
		ends = !more
	}
	if !ends {
		return errors.New("Receive after Close does not run out of messages")
	}
	return m.drain(1, func(got transport.Message) error {
		if got.Kind != transport.Down {
			return fmt.Errorf("a %q that was sent after Close arrived", got.Kind)
		}
		return nil
	})
}
