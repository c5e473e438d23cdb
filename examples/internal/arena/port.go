package arena

import (
	"context"
	"errors"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/detour"
	"github.com/driftback/driftback/transport/quic"
)

// port is a player's links, which can be opened anew at the same address: a session that
// begins has to hear of every link that is up.
type port struct {
	ctx    context.Context
	config quic.Config
	link   *quic.Transport
	// detours is the name under which players without a direct link meet through a third, and
	// around does that. Without a name there is nil: who has no direct link has none.
	detours string
	around  *detour.Transport
}

// openPort opens the links. It must be closed.
func openPort(ctx context.Context, c quic.Config, detours string) (*port, error) {
	c.IdleTimeout = idleTimeout
	p := &port{ctx: ctx, config: c, detours: detours}
	if err := p.open(); err != nil {
		return nil, err
	}
	p.config.Conn, p.config.Addr = nil, p.link.LocalAddr().String()
	return p, nil
}

func (p *port) open() error {
	link, err := quic.Listen(p.ctx, p.config)
	if err != nil {
		return err
	}
	p.link, p.around = link, nil
	if p.detours == "" {
		return nil
	}
	p.around, err = detour.New(link, detour.Config{Self: p.config.Self, Identity: p.config.Identity, Pin: link.Pin, Label: p.detours})
	if err != nil {
		return errors.Join(err, link.Close())
	}
	return nil
}

// links are what a session plays over, until they are opened anew.
func (p *port) links() transport.Transport {
	if p.around != nil {
		return p.around
	}
	return p.link
}

// through returns through whom another is linked; false for one that is linked directly or not
// at all.
func (p *port) through(q driftback.Peer) (driftback.Peer, bool) {
	if p.around == nil {
		return 0, false
	}
	return p.around.Via(q)
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
	p.close()
	if err := p.open(); err != nil {
		return nil, err
	}
	return p.links(), nil
}

// close closes the links. What it could not say has no listener.
func (p *port) close() { _ = p.links().Close() }
