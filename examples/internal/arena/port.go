package arena

import (
	"context"
	"errors"
	"fmt"
	"net"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/natpunch"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/detour"
	"github.com/driftback/driftback/transport/quic"
)

// port is a player's links, which can be opened anew: a session that begins has to hear of
// every link that is up.
type port struct {
	// listen opens them, each time as whoever was linked before knows them.
	listen func() (linked, error)
	link   linked
	// around lets players without a direct link meet through a third. Nil: who has no direct
	// link has none.
	around  *detour.Transport
	detours *detour.Config
	// leave gives up what the links were found through, after them; nil: nothing.
	leave func()
}

// linked is a transport that knows its peers by their keys.
type linked interface {
	transport.Transport
	LocalAddr() net.Addr
	Pin(peer driftback.Peer) (identity.Pin, bool)
}

// openPort opens links with those whose addresses are known, or who know this one's. With
// detours players without a direct link meet through a third, under that name. It must be closed.
func openPort(ctx context.Context, c quic.Config, detours string) (*port, error) {
	c.IdleTimeout = idleTimeout
	var link *quic.Transport
	p := &port{listen: func() (linked, error) {
		if link != nil {
			again(&c, link)
		}
		var err error
		if link, err = quic.Listen(ctx, c); err != nil {
			return nil, err
		}
		return link, nil
	}}
	if detours != "" {
		p.detours = &detour.Config{Self: c.Self, Identity: c.Identity, Label: detours}
	}
	return p, p.open()
}

// again is how links are opened at the address at which they were before. Who has presented a
// code is known by its key from then on.
func again(c *quic.Config, before *quic.Transport) {
	c.Conn, c.Addr = nil, before.LocalAddr().String()
	for i := range c.Peers {
		r := &c.Peers[i]
		if pin, ok := before.Pin(r.Peer); ok && r.Pin.IsZero() {
			r.Pin, r.Code = pin, identity.Code{}
		}
	}
}

func (p *port) open() error {
	link, err := p.listen()
	if err != nil {
		return err
	}
	p.link, p.around = link, nil
	if p.detours == nil {
		return nil
	}
	c := *p.detours
	c.Pin = link.Pin
	if p.around, err = detour.New(link, c); err != nil {
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

// path says in words where the packets for a peer go, where that is found out by trying; ""
// while there is no path.
func (p *port) path(q driftback.Peer) string {
	link, ok := p.link.(interface {
		Stats(driftback.Peer) (natpunch.Stats, bool)
	})
	if !ok {
		return ""
	}
	s, ok := link.Stats(q)
	switch {
	case !ok || !s.Path.Remote.IsValid():
		return ""
	case s.Path.Relayed:
		return fmt.Sprintf("through a relay, %v", s.Path.Remote)
	}
	return fmt.Sprintf("direct, %v", s.Path.Remote)
}

// reopen closes the links and opens them again.
func (p *port) reopen() (transport.Transport, error) {
	_ = p.links().Close() // what it could not say has no listener
	if err := p.open(); err != nil {
		return nil, err
	}
	return p.links(), nil
}

// close closes the links, and then gives up what they were found through.
func (p *port) close() {
	_ = p.links().Close() // as above
	if p.leave != nil {
		p.leave()
	}
}
