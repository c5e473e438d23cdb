package nattest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/natpunch"
)

// The simplest signal there could be: each peer has a TCP connection to a server, says
// its number in a byte, and then sends and gets messages with two bytes of length and a
// byte that names the other peer.

const dialPatience = time.Second

// serveSignals carries messages between the connections of a listener, until that is
// closed.
func serveSignals(listener net.Listener) error {
	var mu sync.Mutex
	var peers [256]net.Conn
	for {
		conn, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			var self [1]byte
			if _, err := io.ReadFull(conn, self[:]); err != nil {
				return
			}
			mu.Lock()
			peers[self[0]] = conn
			mu.Unlock()
			for {
				to, b, err := readSignal(conn)
				if err != nil {
					_ = conn.Close()
					return
				}
				mu.Lock()
				other := peers[to]
				mu.Unlock()
				if other != nil {
					_ = writeSignal(other, driftback.Peer(self[0]), b) // or it is lost
				}
			}
		}()
	}
}

func readSignal(from io.Reader) (peer driftback.Peer, b []byte, err error) {
	var head [3]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		return 0, nil, err
	}
	size := binary.BigEndian.Uint16(head[:])
	if size > natpunch.MaxSignal {
		return 0, nil, fmt.Errorf("a signal of %d bytes, and %d is the most", size, natpunch.MaxSignal)
	}
	b = make([]byte, size)
	_, err = io.ReadFull(from, b)
	return driftback.Peer(head[2]), b, err
}

func writeSignal(to io.Writer, peer driftback.Peer, b []byte) error {
	_, err := to.Write(append(append(binary.BigEndian.AppendUint16(nil, uint16(len(b))), byte(peer)), b...))
	return err
}

// carrier is a peer's end, which connects anew whenever a connection is lost. It is a
// natpunch.Signal.
type carrier struct {
	self   driftback.Peer
	server string

	mu   sync.Mutex
	conn net.Conn // nil until there is one
}

var _ natpunch.Signal = (*carrier)(nil)

// connected returns the connection, which it makes if there is none.
func (c *carrier) connected(ctx context.Context) (net.Conn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != nil {
		return c.conn, nil
	}
	ctx, cancel := context.WithTimeout(ctx, dialPatience)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp4", c.server)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Write([]byte{byte(c.self)}); err != nil {
		_ = conn.Close()
		return nil, err
	}
	c.conn = conn
	return conn, nil
}

// lost gives a connection up.
func (c *carrier) lost(conn net.Conn) {
	_ = conn.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn == conn {
		c.conn = nil
	}
}

// Send implements natpunch.Signal.
func (c *carrier) Send(ctx context.Context, to driftback.Peer, b []byte) error {
	conn, err := c.connected(ctx)
	if err != nil {
		return err
	}
	if err := writeSignal(conn, to, b); err != nil {
		c.lost(conn)
		return err
	}
	return nil
}

// Receive implements natpunch.Signal.
func (c *carrier) Receive(ctx context.Context) (driftback.Peer, []byte, error) {
	conn, err := c.connected(ctx)
	if err != nil {
		return 0, nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	from, b, err := readSignal(conn)
	if err != nil {
		c.lost(conn)
	}
	return from, b, errors.Join(err, ctx.Err())
}

// close closes the connection, if there is one.
func (c *carrier) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.conn != nil {
		_ = c.conn.Close()
	}
}
