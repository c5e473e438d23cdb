package arena

import (
	"context"

	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/quic"
)

// port is a player's links, which can be opened anew at the same address: a session that
// begins has to hear of every link that is up.
type port struct {
	ctx    context.Context
	config quic.Config
	link   *quic.Transport
}

// openPort opens the links. It must be closed.
func openPort(ctx context.Context, c quic.Config) (*port, error) {
	c.IdleTimeout = idleTimeout
	link, err := quic.Listen(ctx, c)
	if err != nil {
		return nil, err
	}
	c.Conn, c.Addr = nil, link.LocalAddr().String()
	return &port{ctx: ctx, config: c, link: link}, nil
}

// reopen closes the links and opens them again. Who has presented a code is known by its key
// from then on.
func (p *port) reopen() (transport.Transport, error) {
	for i := range p.config.Peers {
		r := &p.config.Peers[i]
		if pin, ok := p.link.Pin(r.Peer); ok && r.Pin.IsZero() {
			r.Pin, r.Code = pin, [len(r.Code)]byte{}
		}
	}
	_ = p.link.Close() // what it could not say has no listener
	link, err := quic.Listen(p.ctx, p.config)
	if err != nil {
		return nil, err
	}
	p.link = link
	return link, nil
}

func (p *port) close() { _ = p.link.Close() }
