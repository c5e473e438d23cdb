package transfer

import "time"

// bucket holds how much may be sent, in bytes times nanoseconds, so that at the lowest
// rates nothing is lost between two calls.
type bucket struct {
	have    int64
	last    time.Duration
	started bool
}

// fill adds what has come together since the last call, up to most bytes: at most 2^32.
func (b *bucket) fill(now time.Duration, bytesPerSecond, most int) {
	passed := max(now-b.last, 0)
	if !b.started {
		passed = 0
	}
	b.last, b.started = now, true
	if bytesPerSecond == 0 {
		b.have = 0
		return
	}
	full := int64(most) * int64(time.Second)
	if bytesPerSecond < 0 || int64(bytesPerSecond) > (full-b.have)/max(int64(passed), 1) {
		if bytesPerSecond < 0 || passed > 0 {
			b.have = full
		}
		return
	}
	b.have += int64(bytesPerSecond) * int64(passed)
}

func (b *bucket) has(bytes int) bool { return b.have >= int64(bytes)*int64(time.Second) }

func (b *bucket) take(bytes int) { b.have -= int64(bytes) * int64(time.Second) }
