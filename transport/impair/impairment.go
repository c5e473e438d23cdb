// Package impair is the seeded schedule of a bad link: given the messages that
// are offered to it and when, it says which of them arrive, when and how often.
//
// It owns the arithmetic of latency, jitter, loss, reordering, duplication, a
// rate limit and a block, and the counters that prove that they happened. It
// refuses to own a message, a queue or a socket: it never sees a byte of what it
// delays. transport/loopback puts it under a match without a network; a proxy can
// put it under real datagrams.
//
// The same seed and the same offers give the same schedule on every machine.
// Every decision draws from a sequence of its own, once for each message, so
// that turning the loss up moves no delay and duplicates nothing else.
//
// A [Link] belongs to one goroutine. Times are durations since any fixed moment.
package impair

import (
	"fmt"
	"time"
)

const (
	// MaxDelay bounds Latency, Jitter and ReorderBy.
	MaxDelay = time.Hour
	// MaxBytesPerSecond bounds BytesPerSecond.
	MaxBytesPerSecond = 1 << 40
	// DefaultReorderBy is what a ReorderBy of 0 means: three ticks at 60 Hz.
	DefaultReorderBy = 50 * time.Millisecond
	// MaxBacklog is how many bytes of datagrams wait for a rate-limited line before
	// further ones are dropped.
	MaxBacklog = 64 << 10
)

// Impairment is what one direction of a link does to its messages. The zero
// value does nothing: whatever is sent arrives at once.
type Impairment struct {
	// Latency is the one-way delay, before jitter.
	Latency time.Duration
	// Jitter is how far the delay varies, uniformly, to both sides of Latency; it
	// reorders messages sent closer together than that. The delay is never
	// below 0.
	Jitter time.Duration
	// ReorderBy is how much later than the others a message chosen by Reorder
	// arrives. 0: DefaultReorderBy.
	ReorderBy time.Duration
	// Loss is the share of datagrams that never arrive, from 0 to 1. A reliable
	// message is late by a round trip for each time it would have been lost.
	Loss float64
	// Reorder is the share of datagrams that are held back by ReorderBy, from 0
	// to 1.
	Reorder float64
	// Duplicate is the share of datagrams that arrive twice, from 0 to 1. The copy
	// has a jitter of its own.
	Duplicate float64
	// BytesPerSecond is what the line carries; datagrams go before reliable
	// messages, and those that find MaxBacklog bytes waiting are dropped. 0: no
	// limit.
	BytesPerSecond int
	// Blocked lets nothing through: a datagram is lost, a reliable message waits.
	Blocked bool
}

// Validate returns an error that names the first field that is out of range, its
// value and what is allowed.
func (im Impairment) Validate() error {
	for _, d := range []struct {
		name  string
		value time.Duration
	}{{"latency", im.Latency}, {"jitter", im.Jitter}, {"reorderby", im.ReorderBy}} {
		if d.value < 0 || d.value > MaxDelay {
			return fmt.Errorf("impair: %s is %v: want a time from 0s to %v", d.name, d.value, MaxDelay)
		}
	}
	for _, p := range []struct {
		name  string
		value float64
	}{{"loss", im.Loss}, {"reorder", im.Reorder}, {"duplicate", im.Duplicate}} {
		if !(p.value >= 0 && p.value <= 1) { // in this form it refuses NaN too
			return fmt.Errorf("impair: %s is %v: want a share from 0 to 1", p.name, p.value)
		}
	}
	if im.BytesPerSecond < 0 || int64(im.BytesPerSecond) > MaxBytesPerSecond {
		return fmt.Errorf("impair: rate is %d: want bytes per second from 1 to %d, or 0 for no limit",
			im.BytesPerSecond, int64(MaxBytesPerSecond))
	}
	return nil
}

// reorderBy is the extra delay of a message that is held back.
func (im Impairment) reorderBy() time.Duration {
	if im.ReorderBy == 0 {
		return DefaultReorderBy
	}
	return im.ReorderBy
}
