// Package nats connects the instances of a fleet of signalling servers over NATS, so that any
// instance serves any room: a [Bus] is a server.Bus on one connection.
//
// Each room is a subject, to which an instance is subscribed while it has members of that room. Nothing is kept
// (core NATS, no streams): what is lost while NATS is away, instances and members say again.
// Whoever may publish below the prefix is trusted, so give it to the fleet alone.
//
// It is a module of its own, so that nobody else gets NATS.
package nats

import (
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/driftback/driftback/signalling/server"
)

// DefaultPrefix is what subjects begin with.
const DefaultPrefix = "driftback.signal"

// Bounds on what waits for a room here while its server is busy; more is dropped, oldest last, and
// said again.
const (
	maxPending      = 1024
	maxPendingBytes = 1 << 20
)

// Bus is a server.Bus. Any goroutine may use it.
type Bus struct {
	conn   *nats.Conn
	prefix string
}

var _ server.Bus = (*Bus)(nil)

// New returns a bus on a connection, which is the caller's to close, after the server. prefix "" is
// [DefaultPrefix]; all instances of a fleet have the same. Connect with
// nats.MaxReconnects(-1), or a fleet that has lost NATS for two minutes stays apart.
func New(conn *nats.Conn, prefix string) (*Bus, error) {
	if conn == nil {
		return nil, errors.New("nats: there is no connection: nats.Connect makes one")
	}
	if prefix == "" {
		prefix = DefaultPrefix
	}
	if strings.ContainsAny(prefix, " \t\r\n*>") || strings.HasPrefix(prefix, ".") || strings.HasSuffix(prefix, ".") || strings.Contains(prefix, "..") {
		return nil, fmt.Errorf("nats: the prefix is %q, and should be words with dots between them", prefix)
	}
	return &Bus{conn: conn, prefix: prefix}, nil
}

func (b *Bus) subject(room string) string { return b.prefix + "." + room }

// Publish implements server.Bus. It hands over to the connection's buffer and waits for nothing.
func (b *Bus) Publish(room string, data []byte) error {
	if err := b.conn.Publish(b.subject(room), data); err != nil {
		return fmt.Errorf("nats: %w", err)
	}
	return nil
}

// Subscribe implements server.Bus.
func (b *Bus) Subscribe(room string, hear func(data []byte)) (stop func(), err error) {
	s, err := b.conn.Subscribe(b.subject(room), func(m *nats.Msg) { hear(m.Data) })
	if err != nil {
		return nil, fmt.Errorf("nats: no subscription: %w", err)
	}
	if err := s.SetPendingLimits(maxPending, maxPendingBytes); err != nil {
		return nil, errors.Join(fmt.Errorf("nats: %w", err), s.Unsubscribe())
	}
	return func() { _ = s.Unsubscribe() }, nil // of a connection that may be closed already
}
