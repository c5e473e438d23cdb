package limit

import (
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func Example() {
	k, now := NewKeyed(Rate{Every: time.Second, Burst: 2}, 1000), time.Unix(1, 0)
	a := netip.MustParseAddr("192.0.2.1")
	fmt.Println(k.Take(a, now), k.Take(a, now), k.Take(a, now), k.Take(a, now.Add(time.Second)))
	// Output: true true false true
}

func TestARateIsNeverExceededOverAnyTime(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := Rate{Every: time.Duration(rapid.IntRange(1, 50).Draw(t, "every")), Burst: rapid.IntRange(1, 9).Draw(t, "burst")}
		var b Bucket
		now := time.Unix(100, 0)
		var taken []time.Time
		for range rapid.IntRange(1, 200).Draw(t, "tries") {
			now = now.Add(time.Duration(rapid.IntRange(0, 60).Draw(t, "wait")))
			has := b.Has(r, now)
			require.Equal(t, has, b.Take(r, now))
			if has {
				taken = append(taken, now)
			}
		}
		for i := range taken {
			for j := i; j < len(taken); j++ {
				within := taken[j].Sub(taken[i])
				require.LessOrEqual(t, j-i+1, r.Burst+int(within/r.Every), "in %v", within)
			}
		}
	})
}

func TestOneAddressDoesNotUseUpWhatAnotherHas(t *testing.T) {
	k, now := NewKeyed(Rate{time.Second, 1}, 10), time.Unix(1, 0)
	a, b := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	require.True(t, k.Take(a, now))
	require.False(t, k.Has(a, now))
	require.False(t, k.Take(a, now))
	require.True(t, k.Has(b, now))
	require.True(t, k.Take(b, now))
	require.False(t, k.Take(netip.MustParseAddr("::ffff:192.0.2.1"), now), "it is written in another way")
}

func TestWhoHasManyIPv6AddressesCountsOnce(t *testing.T) {
	k, now := NewKeyed(Rate{time.Second, 1}, 10), time.Unix(1, 0)
	require.True(t, k.Take(netip.MustParseAddr("2001:db8::1"), now))
	require.False(t, k.Take(netip.MustParseAddr("2001:db8::ffff:1"), now))
	require.True(t, k.Take(netip.MustParseAddr("2001:db8:0:1::1"), now))
	require.True(t, k.Take(netip.Addr{}, now), "no address is one")
	require.False(t, k.Take(netip.Addr{}, now))
}

func TestAFloodOfAddressesIsRememberedOnlyInPartAndHeldAllTheSame(t *testing.T) {
	const most = 100
	k, now := NewKeyed(Rate{time.Hour, 1}, most), time.Unix(1, 0)
	taken := 0
	for i := range 10_000 {
		if k.Take(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), now.Add(time.Duration(i)*time.Millisecond)) {
			taken++
		}
	}
	require.Equal(t, most+1, taken, "one each, and one for all the rest")
	require.Len(t, k.of, most)
	require.False(t, k.Has(netip.MustParseAddr("192.0.2.1"), now))
	later := now.Add(2 * time.Hour)
	require.True(t, k.Take(netip.MustParseAddr("192.0.2.1"), later), "there is room again")
	require.Len(t, k.of, 1)
}
