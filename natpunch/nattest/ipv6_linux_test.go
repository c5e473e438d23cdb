package nattest

import (
	"net/netip"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// home6 is a home's IPv6: the address of the home and of its router in there, and the router's outside. Nothing is translated.
type home6 struct{ home, inside, outside string }

// homes6 are those of both homes, each with the one that it is given later.
var homes6 = [2][2]home6{
	{{"2001:db8:10::10", "2001:db8:10::1", "2001:db8:ffff:10::1"}, {"2001:db8:11::10", "2001:db8:11::1", "2001:db8:ffff:11::1"}},
	{{"2001:db8:20::10", "2001:db8:20::1", "2001:db8:ffff:20::1"}, {"2001:db8:21::10", "2001:db8:21::1", "2001:db8:ffff:21::1"}},
}

// firewall is what a router does for IPv6: it lets in answers.
const firewall = `table ip6 router {
	chain own { type filter hook input priority filter; iifname wan ct state new drop; }
	chain through { type filter hook forward priority filter; iifname wan ct state new drop; }
}`

// giveIPv6 gives a home a network of its own behind its router.
func (w *world) giveIPv6(i int) {
	w.t.Helper()
	for _, a := range homes6[i] {
		w.internet.lead(w.lines[i], a.home)
	}
	a := homes6[i][0]
	require.NoError(w.t, run("1", in(w.routers[i], "tee", "/proc/sys/net/ipv6/conf/all/forwarding")...))
	w.nft(w.routers[i], firewall)
	w.ip(w.routers[i], "address add "+a.outside+"/64 dev wan nodad", "route add ::/0 dev wan")
	w.number(i, a)
}

// number gives a home its addresses in its network. They are used at once (nodad).
func (w *world) number(i int, a home6) {
	w.t.Helper()
	w.ip(w.routers[i], "address add "+a.inside+"/64 dev lan nodad")
	w.ip(w.homes[i], "address add "+a.home+"/64 dev lan nodad", "route replace ::/0 via "+a.inside)
}

// renumber gives a home another network in place of the one that it had, as some providers do each night.
func (w *world) renumber(i int) {
	w.t.Helper()
	old := homes6[i][0]
	w.ip(w.homes[i], "route delete ::/0", "address delete "+old.home+"/64 dev lan")
	w.ip(w.routers[i], "address delete "+old.inside+"/64 dev lan")
	w.number(i, homes6[i][1])
}

// forget6 has a router forget what it lets in.
func (w *world) forget6(i int) {
	w.t.Helper()
	require.NoError(w.t, run("", in(w.routers[i], "conntrack", "-F", "-f", "ipv6")...))
}

// needIPv6 skips a test where the kernel has none, which is a failure where these tests are asked for.
func needIPv6(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/proc/net/if_inet6"); err != nil && os.Getenv("DRIFTBACK_NAMESPACES") == "" {
		t.Skip("no IPv6 in the kernel: ", err)
	}
	needRouters(t)
}

func isIPv6(s status) bool { return s.Path.Remote.Addr().Is6() }

func TestHomesThatBothHaveIPv6UseItAndThoseOfWhichOneHasItDoNot(t *testing.T) {
	for name, having := range map[string][]int{"both": {0, 1}, "one": {0}, "the other": {1}} {
		t.Run(name, func(t *testing.T) {
			needIPv6(t)
			w := newWorld(t, [2]router{cone, cone})
			for _, i := range having {
				w.giveIPv6(i)
			}
			if len(having) == 2 {
				w.block() // or a busy machine may find the path over IPv4 first
			}
			m := newMatch(w, short)
			last := m.end()
			require.Equal(t, []bool{false, false}, relayed(last))
			require.LessOrEqual(t, tell(t, last), kept)
			for i, s := range last {
				require.Equal(t, len(having) == 2, isIPv6(s), "player %d", i)
			}
			require.Greater(t, m.internet.straight.Load(), int64(short), "each tick has a packet each way")
		})
	}
}

func TestAMatchOverIPv6GoesOn(t *testing.T) {
	for name, c := range map[string]struct {
		happens func(*world)
		after   func(t *testing.T, before, last [2]status)
	}{
		"when a firewall forgets it": {
			func(w *world) { w.forget6(0) },
			func(t *testing.T, before, last [2]status) {
				require.Equal(t, before[1].Path.Remote, last[1].Path.Remote)
			},
		},
		"when a home gets another network": {
			func(w *world) { w.renumber(0) },
			func(t *testing.T, _, last [2]status) {
				require.Equal(t, netip.MustParseAddr(homes6[0][1].home), last[1].Path.Remote.Addr())
			},
		},
		"over IPv4 when IPv6 is no more": {
			func(w *world) { w.unblock(); w.internet.dark6.Store(true) },
			func(t *testing.T, _, last [2]status) { require.False(t, isIPv6(last[0]) || isIPv6(last[1])) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			needIPv6(t)
			w := newWorld(t, [2]router{cone, cone})
			w.giveIPv6(0)
			w.giveIPv6(1)
			w.block() // over IPv4 there is no direct path to take instead
			m := newMatch(w, long)
			before := m.direct()
			require.True(t, isIPv6(before[0]) && isIPv6(before[1]))
			c.happens(w)
			last := m.end()
			require.Equal(t, []bool{false, false}, relayed(last))
			c.after(t, before, last)
			require.LessOrEqual(t, tell(t, last), most)
		})
	}
}
