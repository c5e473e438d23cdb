// Package limit holds strangers to rates. It owns the arithmetic and the bound on what is
// remembered of them; its callers own what a rate is for.
package limit

import (
	"net/netip"
	"sync"
	"time"
)

// Rate allows Burst things at once, and then one Every so long.
type Rate struct {
	Every time.Duration
	Burst int
}

// Per returns the rate of n things a second and twice as many at once.
func Per(n int) Rate { return Rate{time.Second / time.Duration(n), 2 * n} }

// Bucket counts the things of one rate. The zero Bucket has seen none. It is the time until
// which those seen so far last, at one Every: a bucket of tokens upside down.
type Bucket struct{ paid time.Time }

// Take says whether one thing more is within the rate, and counts it if it is.
func (b *Bucket) Take(r Rate, now time.Time) bool {
	if !b.Has(r, now) {
		return false
	}
	if b.paid.Before(now) {
		b.paid = now
	}
	b.paid = b.paid.Add(r.Every)
	return true
}

// Has says whether one thing more would be within the rate.
func (b *Bucket) Has(r Rate, now time.Time) bool {
	return b.paid.Sub(now) <= time.Duration(r.Burst-1)*r.Every
}

// idle says whether the bucket is as good as new.
func (b *Bucket) idle(now time.Time) bool { return !b.paid.After(now) }

// Keyed is a bucket for each address, of a bounded number. When there are more, those that are not
// remembered share one.
type Keyed struct {
	rate Rate
	max  int

	mu    sync.Mutex
	of    map[netip.Prefix]Bucket
	rest  Bucket
	swept time.Time
}

// sweepEvery is how often a full table is looked through for buckets that are as good as new.
const sweepEvery = time.Second

// NewKeyed returns buckets for at most max addresses.
func NewKeyed(r Rate, max int) *Keyed {
	return &Keyed{rate: r, max: max, of: map[netip.Prefix]Bucket{}}
}

// Take is [Bucket.Take] for an address.
func (k *Keyed) Take(a netip.Addr, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	key := Owner(a)
	b, ok := k.of[key]
	if !ok && len(k.of) >= k.max && now.Sub(k.swept) >= sweepEvery {
		k.swept = now
		for old, b := range k.of {
			if b.idle(now) {
				delete(k.of, old)
			}
		}
	}
	if !ok && len(k.of) >= k.max {
		return k.rest.Take(k.rate, now)
	}
	took := b.Take(k.rate, now)
	k.of[key] = b
	return took
}

// Has is [Bucket.Has] for an address.
func (k *Keyed) Has(a netip.Addr, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	b, ok := k.of[Owner(a)]
	if !ok && len(k.of) >= k.max {
		b = k.rest
	}
	return b.Has(k.rate, now)
}

// Owner returns what one household or machine has of an address: an IPv4 address itself, and of an IPv6
// address the first 64 bits, since whoever has one has all that begin alike.
func Owner(a netip.Addr) netip.Prefix {
	a = a.Unmap().WithZone("")
	bits := a.BitLen()
	if a.Is6() {
		bits = 64
	}
	p, err := a.Prefix(bits)
	if err != nil {
		return netip.Prefix{} // of no address: they all count as one
	}
	return p
}
