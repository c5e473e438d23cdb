package natpunch

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"strconv"
	"sync"

	"github.com/pion/stun/v4"
	iface "github.com/pion/transport/v5"
)

// relayNet is the network as a round sees it. It remembers the sockets to relays, so
// that a round which is being closed need not wait for a relay that answers no more.
type relayNet struct {
	iface.Net
	counts *counts
	// dialing ends when the round is over.
	dialing context.Context
	stop    context.CancelFunc

	mu     sync.Mutex
	open   []io.Closer
	closed bool
}

func newRelayNet(on iface.Net, counts *counts) *relayNet {
	n := &relayNet{Net: on, counts: counts}
	n.dialing, n.stop = context.WithCancel(context.Background())
	return n
}

// ListenPacket opens a socket to a relay; nothing else is opened so.
func (n *relayNet) ListenPacket(network, address string) (net.PacketConn, error) {
	conn, err := n.Net.ListenPacket(network, address)
	if err != nil {
		return nil, err
	}
	return &relayConn{PacketConn: conn, counts: n.counts}, n.keep(conn)
}

func (n *relayNet) keep(conn io.Closer) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		_ = conn.Close()
		return net.ErrClosed
	}
	n.open = append(n.open, conn)
	return nil
}

// cut closes the sockets, and whatever is opened from now on. What waits for an
// answer fails when it would ask again, which is in 1.6 s at most.
func (n *relayNet) cut() {
	n.stop()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	for _, conn := range n.open {
		_ = conn.Close()
	}
	n.open = nil
}

// relayDialer opens connections to relays over TCP and TLS. It is ICE's proxy dialer, to which ICE leaves TLS too,
// so that both are read and written here where they are plain.
type relayDialer struct {
	relays *relayNet
	urls   []*stun.URI
	roots  *x509.CertPool // nil is the system's
}

// Dial opens a connection to one of the relays.
func (d *relayDialer) Dial(network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(d.relays.dialing, network, address)
	if err != nil {
		return nil, err
	}
	if err := d.relays.keep(conn); err != nil {
		return nil, err
	}
	for _, url := range d.urls {
		if url.Scheme != stun.SchemeTypeTURNS || net.JoinHostPort(url.Host, strconv.Itoa(url.Port)) != address {
			continue
		}
		secret := tls.Client(conn, &tls.Config{ServerName: url.Host, RootCAs: d.roots, MinVersion: tls.VersionTLS12})
		if err := secret.HandshakeContext(d.relays.dialing); err != nil {
			_ = conn.Close()
			return nil, err
		}
		return &relayStream{Conn: secret}, nil
	}
	return &relayStream{Conn: conn}, nil
}
