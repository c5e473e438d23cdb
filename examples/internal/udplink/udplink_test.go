package udplink_test

import (
	"context"
	"encoding/binary"
	"net"
	"net/netip"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/driftback/driftback/examples/internal/udplink"
	"github.com/driftback/driftback/transport/impair"
)

const ms = time.Millisecond

// deadline bounds what a test waits for; nothing here takes a tenth of it.
const deadline = 10 * time.Second

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func listen(t *testing.T, addr string) *net.UDPConn {
	t.Helper()
	conn, err := net.ListenUDP("udp", net.UDPAddrFromAddrPort(netip.MustParseAddrPort(addr)))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func addrOf(conn *net.UDPConn) netip.AddrPort {
	return conn.LocalAddr().(*net.UDPAddr).AddrPort()
}

func dial(t *testing.T, l *udplink.Link) *net.UDPConn {
	t.Helper()
	conn, err := net.DialUDP("udp", nil, net.UDPAddrFromAddrPort(l.Addr()))
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func start(t *testing.T, c udplink.Config) *udplink.Link {
	t.Helper()
	l, err := udplink.Start(t.Context(), c)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	return l
}

func receive(t *testing.T, conn *net.UDPConn) (string, netip.AddrPort) {
	t.Helper()
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(deadline)))
	b := make([]byte, 65536)
	n, from, err := conn.ReadFromUDPAddrPort(b)
	require.NoError(t, err)
	return string(b[:n]), from
}

// await waits for the counters to say so.
func await(t *testing.T, l *udplink.Link, what string, done func(to, from udplink.Counts) bool) {
	t.Helper()
	for end := time.Now().Add(deadline); !done(l.Counts()); {
		require.True(t, time.Now().Before(end), "waited in vain for %s", what)
		runtime.Gosched()
	}
}

func write(t *testing.T, conn *net.UDPConn, b []byte) {
	t.Helper()
	_, err := conn.Write(b)
	require.NoError(t, err)
}

func TestClientsReachTheTargetAndAreToldApart(t *testing.T) {
	for name, addr := range map[string]string{
		"on one address": "127.0.0.1:0", "on every address": "0.0.0.0:0", "over IPv6": "[::1]:0",
	} {
		t.Run(name, func(t *testing.T) {
			if addr[0] == '[' {
				probe, err := net.ListenPacket("udp", addr)
				if err != nil {
					t.Skip("this machine has no IPv6:", err)
				}
				require.NoError(t, probe.Close())
			}
			host := listen(t, addr)
			l := start(t, udplink.Config{Target: addrOf(host)})
			first, second := dial(t, l), dial(t, l)

			write(t, first, []byte("one"))
			got, firstFrom := receive(t, host)
			require.Equal(t, "one", got)
			write(t, second, []byte("two"))
			got, secondFrom := receive(t, host)
			require.Equal(t, "two", got)
			require.NotEqual(t, firstFrom, secondFrom)

			_, err := host.WriteToUDPAddrPort([]byte("to the second"), secondFrom)
			require.NoError(t, err)
			_, err = host.WriteToUDPAddrPort([]byte("to the first"), firstFrom)
			require.NoError(t, err)
			got, from := receive(t, first)
			require.Equal(t, "to the first", got)
			require.Equal(t, l.Addr(), netip.AddrPortFrom(from.Addr().Unmap(), from.Port()))
			got, _ = receive(t, second)
			require.Equal(t, "to the second", got)

			// A datagram is counted after it has been sent.
			await(t, l, "both directions to be counted", func(to, from udplink.Counts) bool {
				return to.Passed == 2 && from.Passed == 2 && to.Sent == 2 && from.Sent == 2
			})
		})
	}
}

func TestEachDirectionIsDelayedByItsOwnLatency(t *testing.T) {
	host := listen(t, "127.0.0.1:0")
	l := start(t, udplink.Config{
		Target: addrOf(host), ToTarget: impair.Impairment{Latency: 60 * ms}, FromTarget: impair.Impairment{Latency: 20 * ms},
	})
	client := dial(t, l)
	sent := time.Now()
	write(t, client, []byte("ping"))
	_, from := receive(t, host)
	there := time.Since(sent)
	require.GreaterOrEqual(t, there, 60*ms)
	sent = time.Now()
	_, err := host.WriteToUDPAddrPort([]byte("pong"), from)
	require.NoError(t, err)
	receive(t, client)
	require.GreaterOrEqual(t, time.Since(sent), 20*ms)
}

// survivors sends n numbered datagrams one at a time and returns which arrive.
func survivors(t *testing.T, seed uint64, im impair.Impairment, n int) (arrived []uint64, to udplink.Counts) {
	host := listen(t, "127.0.0.1:0")
	l := start(t, udplink.Config{Target: addrOf(host), ToTarget: im, Seed: seed})
	client := dial(t, l)
	for i := range uint64(n) {
		write(t, client, binary.LittleEndian.AppendUint64(nil, i))
		await(t, l, "the proxy to take one", func(to, _ udplink.Counts) bool { return to.Sent == i+1 })
	}
	await(t, l, "everything to pass", func(to, _ udplink.Counts) bool {
		return to.Passed == to.Sent-to.Lost+to.Duplicated
	})
	to, _ = l.Counts()
	for range to.Passed {
		b, _ := receive(t, host)
		arrived = append(arrived, binary.LittleEndian.Uint64([]byte(b)))
	}
	return arrived, to
}

func TestTheSeedDecidesWhichDatagramsAreLostAndRepeated(t *testing.T) {
	im := impair.Impairment{Loss: 0.3, Duplicate: 0.3}
	first, counts := survivors(t, 1, im, 100)
	again, _ := survivors(t, 1, im, 100)
	require.Equal(t, first, again)
	require.NotZero(t, counts.Lost)
	require.NotZero(t, counts.Duplicated)
	other, _ := survivors(t, 2, im, 100)
	require.NotEqual(t, first, other)
}

func TestDatagramsAreReordered(t *testing.T) {
	arrived, counts := survivors(t, 1, impair.Impairment{Reorder: 0.2, ReorderBy: 20 * ms}, 100)
	require.Len(t, arrived, 100)
	require.NotZero(t, counts.Reordered)
	require.False(t, slices.IsSorted(arrived))
}

func TestTheLinkChangesWhileItRuns(t *testing.T) {
	host := listen(t, "127.0.0.1:0")
	l := start(t, udplink.Config{Target: addrOf(host)})
	client := dial(t, l)
	write(t, client, []byte("before"))
	got, _ := receive(t, host)
	require.Equal(t, "before", got)

	require.NoError(t, l.Set(impair.Impairment{Blocked: true}, impair.Impairment{}))
	write(t, client, []byte("during"))
	await(t, l, "the block to stop one", func(to, _ udplink.Counts) bool { return to.Blocked == 1 })

	require.EqualError(t, l.Set(impair.Impairment{Loss: 2}, impair.Impairment{}),
		"udplink: to the target: impair: loss is 2: want a share from 0 to 1")
	require.EqualError(t, l.Set(impair.Impairment{}, impair.Impairment{Loss: 2}),
		"udplink: from the target: impair: loss is 2: want a share from 0 to 1")
	write(t, client, []byte("during"))
	await(t, l, "a refused change to change nothing", func(to, _ udplink.Counts) bool { return to.Blocked == 2 })

	require.NoError(t, l.Set(impair.Impairment{}, impair.Impairment{}))
	write(t, client, []byte("after"))
	got, _ = receive(t, host)
	require.Equal(t, "after", got)
}

func TestATargetThatDoesNotListenYetIsReachedLater(t *testing.T) {
	gone := listen(t, "127.0.0.1:0")
	target := addrOf(gone)
	require.NoError(t, gone.Close())
	l := start(t, udplink.Config{Target: target})
	client := dial(t, l)
	for i := range uint64(5) { // each of these comes back as an error to the proxy's socket
		write(t, client, []byte("early"))
		await(t, l, "one to be tried", func(to, _ udplink.Counts) bool { return to.Passed+to.Dropped == i+1 })
	}
	host := listen(t, target.String())
	// What was refused may be reported to the next send, which is lost then.
	write(t, client, []byte("first"))
	write(t, client, []byte("now"))
	for got := ""; got != "now"; {
		got, _ = receive(t, host)
	}
}

func TestClientsAreBounded(t *testing.T) {
	host := listen(t, "127.0.0.1:0")
	l := start(t, udplink.Config{Target: addrOf(host)})
	var clients []*net.UDPConn
	var seen []netip.AddrPort // the clients as the host sees them
	for i := range udplink.MaxClients {
		clients = append(clients, dial(t, l))
		write(t, clients[i], []byte("x"))
		_, from := receive(t, host)
		seen = append(seen, from)
	}
	write(t, dial(t, l), []byte("one too many"))
	await(t, l, "the last to be refused", func(to, _ udplink.Counts) bool { return to.Dropped == 1 })

	l.Age(udplink.IdleAfter)
	again := func(what string) {
		t.Helper()
		for i, c := range clients {
			if i == 5 {
				continue // this one alone has been silent for long
			}
			write(t, c, []byte("x"))
			_, from := receive(t, host)
			require.Equal(t, seen[i], from, "client %d %s", i, what)
		}
	}
	again("before another takes the place of client 5")
	write(t, dial(t, l), []byte("now there is room"))
	got, _ := receive(t, host)
	require.Equal(t, "now there is room", got)
	again("after it")
	write(t, dial(t, l), []byte("for one"))
	await(t, l, "one more to be refused", func(to, _ udplink.Counts) bool { return to.Dropped == 2 })
}

func TestWhatWaitsIsBoundedAndCloseDoesNotWaitForIt(t *testing.T) {
	host := listen(t, "127.0.0.1:0")
	l := start(t, udplink.Config{Target: addrOf(host), ToTarget: impair.Impairment{Latency: time.Hour}})
	client := dial(t, l)
	for i := range uint64(udplink.MaxWaiting + 10) {
		write(t, client, []byte("x"))
		if i%64 == 0 { // the socket's own buffer is not to overflow
			await(t, l, "the proxy to keep up", func(to, _ udplink.Counts) bool { return to.Sent == i+1 })
		}
	}
	await(t, l, "the last ten to be dropped", func(to, _ udplink.Counts) bool { return to.Dropped == 10 })
	require.NoError(t, l.Close())
	require.NoError(t, l.Close())
	to, _ := l.Counts()
	require.Zero(t, to.Passed)
}

func TestADatagramThatIsTooLongIsDroppedAndCounted(t *testing.T) {
	host := listen(t, "127.0.0.1:0")
	l := start(t, udplink.Config{Target: addrOf(host)})
	client := dial(t, l)
	write(t, client, make([]byte, udplink.MaxDatagram+1))
	write(t, client, make([]byte, udplink.MaxDatagram))
	got, _ := receive(t, host)
	require.Len(t, got, udplink.MaxDatagram)
	to, _ := l.Counts()
	require.EqualValues(t, 1, to.Dropped)
}

func TestTheEndOfTheContextIsTheEndOfTheLink(t *testing.T) {
	host := listen(t, "127.0.0.1:0")
	ctx, cancel := context.WithCancel(t.Context())
	l, err := udplink.Start(ctx, udplink.Config{Target: addrOf(host)})
	require.NoError(t, err)
	write(t, dial(t, l), []byte("x"))
	receive(t, host)
	cancel()
	l.Wait()
	reopened := listen(t, l.Addr().String()) // its port is free again
	require.Equal(t, l.Addr(), addrOf(reopened))
}

func TestAConfigThatCannotWorkIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		config udplink.Config
		want   string
	}{
		"no target": {udplink.Config{}, "udplink: target is invalid AddrPort: want an address and a port"},
		"no port": {udplink.Config{Target: netip.MustParseAddrPort("127.0.0.1:0")},
			"udplink: target is 127.0.0.1:0: want an address and a port"},
		"an impairment out of range": {
			udplink.Config{Target: netip.MustParseAddrPort("127.0.0.1:9"), FromTarget: impair.Impairment{Latency: -1}},
			"udplink: from the target: impair: latency is -1ns",
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := udplink.Start(t.Context(), c.config)
			require.ErrorContains(t, err, c.want)
		})
	}
}
