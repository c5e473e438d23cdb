// Package transporttest holds a transport to what package transport promises.
//
// Whoever adapts a network of their own (a relay service, a console's sockets, a
// WebSocket) calls [Run] from a test; every promise is a subtest with a name that
// reads as a sentence. The suite finds out by sending and receiving alone, so it
// fits a transport on a virtual clock as well as one over real sockets: it calls
// [Match.Step] whenever it waits, and counts steps rather than seconds.
//
// It owns the clauses and refuses to own a clock: the one real time in it is
// [Match.Patience], after which a call that has not returned counts as blocked.
// All calls of a clause, Step included, come from one goroutine, which is not the
// test's own.
//
// The clauses assume a network that does its best: datagrams may be lost, but not
// nearly all of them.
package transporttest

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/driftback/driftback/transport"
)

// Match is a set of transports that are to be linked, each with every other.
type Match struct {
	// Ends are the transports; Ends[i] is peer i's.
	Ends []transport.Transport
	// Step lets a little time pass: it advances a virtual clock by a millisecond or
	// so, or sleeps for one.
	Step func()
	// Steps bounds the steps that the suite waits for something to happen. 0: 10000.
	Steps int
	// Quiet is how many steps without a message count as "nothing more comes".
	// 0: 100.
	Quiet int
	// Patience is how long, in real time, a call may take before it counts as
	// blocked. 0: 5 s.
	Patience time.Duration

	atOnce int // messages that may have arrived by the time of one step. 0: maxAtOnce
}

// Opener opens new transports for peers 0 to peers-1. Links may come up at once
// or by and by. It registers with t.Cleanup whatever must be released beyond
// closing the transports, which the suite does itself.
type Opener func(t *testing.T, peers int) Match

// Run checks every clause, each with transports of its own.
func Run(t *testing.T, open Opener) {
	t.Helper()
	for _, c := range clauses {
		t.Run(c.name, func(t *testing.T) {
			if err := c.run(open(t, c.peers)); err != nil {
				t.Error(err)
			}
		})
	}
}

// clause is one promise. check returns an error that says how it was broken.
type clause struct {
	name  string
	peers int
	check func(m *match) error
}

func (c clause) run(given Match) error {
	if len(given.Ends) != c.peers {
		return fmt.Errorf("the opener opened %d transports where %d were asked for", len(given.Ends), c.peers)
	}
	m := newMatch(given)
	result := make(chan error, 1)
	go func() {
		err := c.check(m)
		if err == nil {
			err = m.fault
		}
		for _, e := range m.Ends {
			_ = e.Close() // the clause about closing looks at the error
		}
		result <- err
	}()
	look := time.NewTicker(m.Patience / 4)
	defer look.Stop()
	for {
		select {
		case err := <-result:
			return err
		case <-look.C:
			if what, ok := m.watch.overdue(m.Patience); ok {
				return fmt.Errorf("%s blocked: it had not returned after %v", what, m.Patience)
			}
		}
	}
}

// match is a Match under examination. Every message passes through receive,
// which notices what no transport may ever deliver; the first such fault is kept
// and fails whatever clause is running.
type match struct {
	Match
	watch    watch
	links    [][]bool // links[i][j]: end i has received Up from j and no Down since
	received int      // messages since the last step
	fault    error
}

// maxAtOnce is more than the suite ever sends between two steps.
const maxAtOnce = 1 << 19

func newMatch(given Match) *match {
	if given.Steps == 0 {
		given.Steps = 10000
	}
	if given.Quiet == 0 {
		given.Quiet = 100
	}
	if given.Patience == 0 {
		given.Patience = 5 * time.Second
	}
	if given.atOnce == 0 {
		given.atOnce = maxAtOnce
	}
	m := &match{Match: given, links: make([][]bool, len(given.Ends))}
	m.Ends = nil
	for i, e := range given.Ends {
		m.links[i] = make([]bool, len(given.Ends))
		m.Ends = append(m.Ends, watched{e, &m.watch})
	}
	return m
}

func (m *match) step() {
	m.received = 0
	m.Step()
}

// receive takes one message from end i. After a fault there is none.
func (m *match) receive(i int) (transport.Message, bool) {
	if m.fault != nil {
		return transport.Message{}, false
	}
	got, ok := m.Ends[i].Receive()
	if !ok {
		return got, false
	}
	if m.received++; m.received > m.atOnce {
		m.fault = fmt.Errorf("peer %d does not run out of messages", i)
	} else {
		m.fault = m.misshapen(i, got)
	}
	if m.fault != nil {
		return transport.Message{}, false
	}
	if int(got.From) < len(m.Ends) {
		switch got.Kind {
		case transport.Up:
			m.links[i][got.From] = true
		case transport.Down:
			m.links[i][got.From] = false
		default:
		}
	}
	return got, true
}

// misshapen says what is wrong with a message, whatever was sent.
func (m *match) misshapen(i int, got transport.Message) error {
	name := fmt.Sprintf("peer %d received a message of kind %q from peer %d", i, got.Kind, got.From)
	if int(got.From) >= len(m.Ends) || int(got.From) == i {
		return fmt.Errorf("%s, which it has no link to", name)
	}
	linked := m.links[i][got.From]
	switch got.Kind {
	case transport.Datagram, transport.Reliable:
		if !linked {
			return fmt.Errorf("%s outside a link: data comes after Up and before Down", name)
		}
		if got.Err != nil {
			return fmt.Errorf("%s with an error: only Down has one", name)
		}
	case transport.Up:
		if linked {
			return fmt.Errorf("%s twice: a link that is up comes up again only after Down", name)
		}
		if got.Data != nil || got.Err != nil {
			return fmt.Errorf("%s with data or an error: Up has neither", name)
		}
	case transport.Down:
		if !linked {
			return fmt.Errorf("%s without a link that was up", name)
		}
		if got.Data != nil {
			return fmt.Errorf("%s with data: Down has none", name)
		}
		if got.Err == nil {
			return fmt.Errorf("%s without an error that says why", name)
		}
	default:
		return fmt.Errorf("%s: want one of the four kinds", name)
	}
	return nil
}

// errGaveUp means that what a clause waited for did not happen.
var errGaveUp = errors.New("it did not happen")

// until steps until done reports true, calling each before every step.
func (m *match) until(what string, each func() error, done func() bool) error {
	for range m.Steps {
		if err := each(); err != nil {
			return err
		}
		if m.fault != nil {
			return m.fault
		}
		if done() {
			return nil
		}
		m.step()
	}
	return fmt.Errorf("waited %d steps for %s: %w", m.Steps, what, errGaveUp)
}

// connect steps until every end has received Up from every other.
func (m *match) connect() error {
	return m.until("Up at every end", func() error {
		for i := range m.Ends {
			for got, ok := m.receive(i); ok; got, ok = m.receive(i) {
				if got.Kind != transport.Up {
					return fmt.Errorf("peer %d received %q from peer %d, which has sent nothing", i, got.Kind, got.From)
				}
			}
		}
		return nil
	}, m.connected)
}

func (m *match) connected() bool {
	for i := range m.links {
		for j := range m.links {
			if i != j && !m.links[i][j] {
				return false
			}
		}
	}
	return true
}

// drain hands over what has arrived at end i, and keeps stepping until nothing
// has come for Quiet steps.
func (m *match) drain(i int, take func(got transport.Message) error) error {
	quiet := 0
	return m.until(fmt.Sprintf("peer %d to have received everything", i), func() error {
		quiet++
		for got, ok := m.receive(i); ok; got, ok = m.receive(i) {
			quiet = 0
			if err := take(got); err != nil {
				return err
			}
		}
		return nil
	}, func() bool { return quiet > m.Quiet })
}

// quietly receives what has arrived at end 0, as whoever plays does at every tick: a
// transport may need it to learn what the other end has taken. There must be nothing to
// hand over.
func (m *match) quietly() error {
	if got, ok := m.receive(0); ok {
		return fmt.Errorf("peer 0 received %q from peer %d, which has sent nothing", got.Kind, got.From)
	}
	return nil
}

// sendReliable sends from peer 0 to peer 1, waiting while the queue is full.
func (m *match) sendReliable(b []byte) error {
	var err error
	waited := m.until("room in the reliable queue", func() error {
		if err := m.quietly(); err != nil {
			return err
		}
		if err = m.Ends[0].SendReliable(1, b); err != nil && !errors.Is(err, transport.ErrFull) {
			return fmt.Errorf("SendReliable to a linked peer: %w", err)
		}
		return nil
	}, func() bool { return err == nil })
	return waited
}
