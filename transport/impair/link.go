package impair

import (
	"math/bits"
	"time"

	"github.com/driftback/driftback/rng"
)

// MaxCopies is how often one datagram arrives at the most.
const MaxCopies = 2

// maxRetries bounds how often a reliable message is late because of loss, so that
// it arrives even where every datagram is lost.
const maxRetries = 8

// retrySlack is what a sender waits beyond a round trip before it takes a
// reliable message for lost.
const retrySlack = 25 * time.Millisecond

// maxWait bounds how long a line whose rate was lowered stays busy.
const maxWait = 1000 * MaxDelay

// Fate is what becomes of one datagram: it arrives at At[0], …, At[Copies-1],
// which need not be in order. No copies: it does not arrive.
type Fate struct {
	Copies int
	At     [MaxCopies]time.Duration
}

// Counts is what a [Link] has done so far. Sent is Lost plus Blocked plus
// Overflowed plus the datagrams that arrive, each counted once.
type Counts struct {
	// Sent counts the datagrams offered.
	Sent uint64
	// Lost counts those lost by chance.
	Lost uint64
	// Blocked counts those offered while the link was blocked.
	Blocked uint64
	// Overflowed counts those that found MaxBacklog bytes waiting for the line.
	Overflowed uint64
	// Queued counts those that waited for the line, because it was busy, and were carried.
	Queued uint64
	// Reordered counts those that arrive before one that was offered earlier.
	Reordered uint64
	// Duplicated counts those that arrive twice.
	Duplicated uint64
	// Reliable counts the reliable messages carried.
	Reliable uint64
	// Retried counts how often a reliable message was late because of loss.
	Retried uint64
}

// decision names a sequence of random draws.
type decision int

const (
	drawLoss decision = iota
	drawJitter
	drawReorder
	drawDuplicate
	drawCopyJitter
	drawReliableJitter
	drawReliableLoss
	decisions
)

// Link is the schedule of one direction of a link.
type Link struct {
	im     Impairment
	random [decisions]rng.PCG
	counts Counts

	now time.Duration // the latest time that was handed in
	// lineFree is when a rate-limited line has put the last datagram out, and
	// reliableFree when it has put the last reliable message out.
	lineFree, reliableFree time.Duration
	// latest is the latest arrival of a datagram so far, copies aside, and
	// latestReliable that of a reliable message.
	latest, latestReliable time.Duration
}

// NewLink returns a link that impairs nothing yet. Equal arguments give equal
// schedules; stream tells apart the links that share a seed.
func NewLink(seed, stream uint64) *Link {
	l := &Link{}
	root := rng.New(seed, stream)
	for i := range l.random {
		l.random[i] = rng.New(root.Uint64(), root.Uint64())
	}
	return l
}

// Set changes what the link does from now on. What was offered before keeps its
// fate. An error is that of [Impairment.Validate], and then nothing changes.
func (l *Link) Set(im Impairment) error {
	if err := im.Validate(); err != nil {
		return err
	}
	l.lineFree = l.rescaled(l.lineFree, im.BytesPerSecond)
	l.reliableFree = l.rescaled(l.reliableFree, im.BytesPerSecond)
	l.im = im
	return nil
}

// Impairment returns what the link does now.
func (l *Link) Impairment() Impairment { return l.im }

// Counts returns what the link has done so far.
func (l *Link) Counts() Counts { return l.counts }

// Offer sends a datagram of n bytes at time now and returns what becomes of it. A
// now before an earlier one counts as that earlier one.
func (l *Link) Offer(now time.Duration, n int) Fate {
	now = l.advance(now)
	// Every decision is drawn for every message, needed or not: otherwise a lost
	// message would shift the delays of all that follow.
	lost := l.chance(drawLoss, l.im.Loss)
	delay := l.delay(drawJitter)
	copyDelay := l.delay(drawCopyJitter)
	if l.chance(drawReorder, l.im.Reorder) {
		delay += l.im.reorderBy()
		copyDelay += l.im.reorderBy()
	}
	twice := l.chance(drawDuplicate, l.im.Duplicate)

	l.counts.Sent++
	if l.im.Blocked {
		l.counts.Blocked++
		return Fate{}
	}
	sent, ok := l.putOut(now, n)
	if !ok {
		l.counts.Overflowed++
		return Fate{}
	}
	if lost {
		l.counts.Lost++
		return Fate{}
	}
	fate := Fate{Copies: 1}
	fate.At[0] = sent + delay
	first := fate.At[0]
	if twice {
		fate.Copies = 2
		fate.At[1] = sent + copyDelay
		first = min(first, fate.At[1])
		l.counts.Duplicated++
	}
	if first < l.latest {
		l.counts.Reordered++
	}
	l.latest = max(l.latest, first)
	return fate
}

// Carry sends a reliable message of n bytes at time now and returns when it
// arrives, which is never before one that was carried earlier. ok is false while
// the link is blocked: nothing has happened then, and the message is to be
// offered again.
func (l *Link) Carry(now time.Duration, n int) (at time.Duration, ok bool) {
	if l.im.Blocked {
		return 0, false
	}
	now = l.advance(now)
	delay := l.delay(drawReliableJitter)
	draw := l.unit(drawReliableLoss)
	for chance, i := l.im.Loss, 0; draw < chance && i < maxRetries; i++ {
		delay += 2*l.im.Latency + 2*l.im.Jitter + retrySlack
		chance *= l.im.Loss
		l.counts.Retried++
	}
	sent := now
	if l.im.BytesPerSecond > 0 {
		sent = max(now, l.lineFree, l.reliableFree) + l.airtime(n)
		l.reliableFree = sent
	}
	l.latestReliable = max(l.latestReliable, sent+delay)
	l.counts.Reliable++
	return l.latestReliable, true
}

func (l *Link) advance(now time.Duration) time.Duration {
	l.now = max(l.now, now)
	return l.now
}

// putOut returns when the line has put out a datagram of n bytes, or false if too
// many wait already.
func (l *Link) putOut(now time.Duration, n int) (time.Duration, bool) {
	if l.im.BytesPerSecond == 0 {
		return now, true
	}
	took := l.airtime(n)
	sent := max(now, l.lineFree) + took
	if sent-now > l.airtime(MaxBacklog) {
		return 0, false
	}
	if l.lineFree > now {
		l.counts.Queued++
	}
	l.lineFree = sent
	if l.reliableFree > now {
		l.reliableFree += took
	}
	return sent, true
}

// airtime is how long a limited line takes for n bytes.
func (l *Link) airtime(n int) time.Duration {
	return time.Duration(int64(min(n, 1<<30)) * int64(time.Second) / int64(l.im.BytesPerSecond))
}

// rescaled returns when the line would be free if what waits for it went out at
// another rate.
func (l *Link) rescaled(free time.Duration, rate int) time.Duration {
	if free <= l.now || rate == 0 {
		return l.now
	}
	hi, lo := bits.Mul64(uint64(free-l.now), uint64(l.im.BytesPerSecond))
	if hi >= uint64(rate) {
		return l.now + maxWait
	}
	wait, _ := bits.Div64(hi, lo, uint64(rate))
	return l.now + time.Duration(min(wait, uint64(maxWait)))
}

// delay draws a delay within the jitter to both sides of the latency.
func (l *Link) delay(d decision) time.Duration {
	// The high half of draw·span is uniform in [0, span), with one draw exactly.
	off, _ := bits.Mul64(l.random[d].Uint64(), uint64(2*l.im.Jitter+1))
	return max(0, l.im.Latency-l.im.Jitter+time.Duration(off))
}

func (l *Link) chance(d decision, p float64) bool { return l.unit(d) < p }

// unit draws a number in [0, 1).
func (l *Link) unit(d decision) float64 {
	return float64(l.random[d].Uint64()>>11) / (1 << 53)
}
