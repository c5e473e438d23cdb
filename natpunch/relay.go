package natpunch

import (
	"io"
	"net"
	"sync"

	iface "github.com/pion/transport/v5"
)

// relayNet is the network as a round sees it. It remembers the sockets to relays, so
// that a round which is being closed need not wait for a relay that answers no more.
type relayNet struct {
	iface.Net
	counts *counts

	mu     sync.Mutex
	open   []io.Closer
	closed bool
}

// ListenPacket opens a socket to a relay; nothing else is opened so.
func (n *relayNet) ListenPacket(network, address string) (net.PacketConn, error) {
	conn, err := n.Net.ListenPacket(network, address)
	if err != nil {
		return nil, err
	}
	return &relayConn{PacketConn: conn, counts: n.counts}, n.keep(conn)
}

// DialTCP opens a connection to a relay.
func (n *relayNet) DialTCP(network string, local, remote *net.TCPAddr) (iface.TCPConn, error) {
	conn, err := n.Net.DialTCP(network, local, remote)
	if err != nil {
		return nil, err
	}
	return conn, n.keep(conn)
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
	n.mu.Lock()
	defer n.mu.Unlock()
	n.closed = true
	for _, conn := range n.open {
		_ = conn.Close()
	}
	n.open = nil
}
