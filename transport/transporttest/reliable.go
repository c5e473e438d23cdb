package transporttest

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/driftback/driftback/transport"
)

func reliableIsCopied(m *match) error {
	if err := m.connect(); err != nil {
		return err
	}
	var b []byte
	for number := range 20 {
		b = letter(b, number, 100)
		if err := m.sendReliable(b); err != nil {
			return err
		}
		clear(b)
	}
	return m.expectLetters(20)
}

// expectLetters receives letters 0 to end-1 in order at peer 1, and then nothing
// more.
func (m *match) expectLetters(end int) error {
	next := 0
	take := func(got transport.Message) error {
		if got.Kind != transport.Reliable {
			return fmt.Errorf("peer 1 received %q: want reliable message %d", got.Kind, next)
		}
		number, err := numberOf(got.Data)
		if err != nil {
			return fmt.Errorf("reliable message %d arrived altered: %w", next, err)
		}
		if number != next || next >= end {
			return fmt.Errorf("reliable message %d arrived where %d of %d was next", number, next, end)
		}
		next++
		return nil
	}
	err := m.until(fmt.Sprintf("%d reliable messages", end), func() error {
		if err := m.quietly(); err != nil {
			return err
		}
		for got, ok := m.receive(1); ok; got, ok = m.receive(1) {
			if err := take(got); err != nil {
				return err
			}
		}
		return nil
	}, func() bool { return next == end })
	if err != nil {
		return fmt.Errorf("%d of %d reliable messages arrived: %w", next, end, err)
	}
	return m.drain(1, take)
}

func reliableInOrder(m *match) error {
	if err := m.connect(); err != nil {
		return err
	}
	var sizes []int
	for _, n := range []int{0, 1, 2, 7, 8, 63, 64, 127, 128, 255, 256, 1000, 1500, 4095, 16383, 16384, 65535, transport.MaxReliable} {
		sizes = append(sizes, n, 20) // a small one behind each must not overtake it
	}
	next := 0
	take := func() error {
		for got, ok := m.receive(1); ok; got, ok = m.receive(1) {
			if got.Kind != transport.Reliable {
				return fmt.Errorf("a reliable message arrived as %q", got.Kind)
			}
			if next == len(sizes) {
				return fmt.Errorf("a reliable message of %d bytes arrived after the last that was sent", len(got.Data))
			}
			if want := letter(nil, next, sizes[next]); !bytes.Equal(got.Data, want) {
				return fmt.Errorf("reliable message %d, of %d bytes, arrived altered, again or out of order: %d bytes",
					next, len(want), len(got.Data))
			}
			next++
		}
		return nil
	}
	for number, n := range sizes {
		if err := m.sendReliable(letter(nil, number, n)); err != nil {
			return err
		}
		if err := take(); err != nil {
			return err
		}
	}
	err := m.until("every reliable message", take, func() bool { return next == len(sizes) })
	if err != nil {
		return fmt.Errorf("%d of %d reliable messages arrived: %w", next, len(sizes), err)
	}
	return m.drain(1, func(got transport.Message) error {
		return fmt.Errorf("a %q of %d bytes arrived after the last that was sent", got.Kind, len(got.Data))
	})
}

func tooLong(m *match) error {
	if err := m.connect(); err != nil {
		return err
	}
	for _, n := range []int{transport.MaxReliable + 1, 1 << 20} {
		what := fmt.Sprintf("SendReliable of %d bytes", n)
		if err := refused(what, m.Ends[0].SendReliable(1, make([]byte, n)), transport.ErrTooLong); err != nil {
			return err
		}
	}
	if err := m.sendReliable(letter(nil, 0, 100)); err != nil {
		return err
	}
	return m.expectLetters(1)
}

// maxQueued is how much a reliable queue may take before it must be full.
const maxQueued = 64 << 20

func full(m *match) error {
	if err := m.connect(); err != nil {
		return err
	}
	for _, size := range []int{transport.MaxReliable, 16} {
		taken := 0
		var refused error
		m.watch.within("a flood of SendReliable", func() {
			var b []byte
			for most := maxQueued / max(size, 256); taken < most && refused == nil; {
				b = letter(b, taken, size)
				if refused = m.Ends[0].SendReliable(1, b); refused == nil {
					taken++
				}
			}
		})
		switch {
		case refused == nil:
			return fmt.Errorf("SendReliable took %d messages of %d bytes that nobody received: the queue has no bound", taken, size)
		case !errors.Is(refused, transport.ErrFull):
			return fmt.Errorf("SendReliable after %d messages of %d bytes that nobody received returned %w: want ErrFull", taken, size, refused)
		case taken == 0:
			return fmt.Errorf("SendReliable refused the first message of %d bytes: %w", size, refused)
		}
		if err := m.expectLetters(taken); err != nil {
			return fmt.Errorf("after ErrFull: %w", err)
		}
		if err := m.sendReliable(letter(nil, 0, size)); err != nil {
			return fmt.Errorf("after everything was received: %w", err)
		}
		if err := m.expectLetters(1); err != nil {
			return fmt.Errorf("after everything was received: %w", err)
		}
	}
	return nil
}

func queuedBeforeDown(m *match) error {
	if err := m.connect(); err != nil {
		return err
	}
	const queued = 16
	for number := range queued {
		if err := m.sendReliable(letter(nil, number, 4000)); err != nil {
			return err
		}
	}
	if err := m.Ends[0].Close(); err != nil {
		return fmt.Errorf("Close: %w", err)
	}
	next := 0
	err := m.until("Down", func() error {
		for got, ok := m.receive(1); ok; got, ok = m.receive(1) {
			if got.Kind == transport.Down {
				continue
			}
			number, err := numberOf(got.Data)
			if got.Kind != transport.Reliable || err != nil || number != next {
				return fmt.Errorf("a %q of %d bytes arrived where reliable message %d was next", got.Kind, len(got.Data), next)
			}
			next++
		}
		return nil
	}, func() bool { return !m.links[1][0] })
	if err != nil {
		return err
	}
	if next != queued {
		return fmt.Errorf("the link went down after %d of the %d reliable messages that were queued before Close", next, queued)
	}
	return nil
}
