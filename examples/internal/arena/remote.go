package arena

import (
	"context"
	"fmt"
	"io"
	"net"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/quic"
)

// way is how a player who is alone on a machine comes to be linked with the other.
type way struct {
	// open opens the links, and tells the player meanwhile what there is to know.
	open func(ctx context.Context) (*port, error)
	// back returns the flags with which a host whose process died comes back, once there is something
	// to come back to, and "" until then. Nil: there is nothing to tell.
	back func(p *port) string
}

// host waits for a second player who was told what it prints.
func (g *Game[S, I]) host(ctx context.Context, o *options, stdout io.Writer) error {
	return g.meetOver(ctx, o, stdout, 0, func(id *identity.Identity) (w way) {
		if o.room.signal != "" {
			l := g.lobby(o, stdout, 0, id)
			w = way{l.openRoom, l.wayBack}
		} else {
			w = g.await(o, stdout, id)
		}
		if o.key == "" || !o.back || !o.guest.IsZero() || o.room.code != "" { // it knows, or there is none
			w.back = nil
		}
		return w
	})
}

// join calls the host that printed the invitation, or goes to the host's room. To come back the
// same command is run again.
func (g *Game[S, I]) join(ctx context.Context, o *options, stdout io.Writer) error {
	return g.meetOver(ctx, o, stdout, 1, func(id *identity.Identity) way {
		if o.room.signal != "" {
			return way{open: g.lobby(o, stdout, 1, id).openRoom}
		}
		return way{open: func(ctx context.Context) (*port, error) {
			return openPort(ctx, quic.Config{
				Self: 1, Identity: id, Addr: o.addr, Peers: []quic.Remote{{Peer: 0, Addr: o.hostAddr, Pin: o.pin, Code: o.code}},
			}, "")
		}}
	})
}

// await is how a host is called that has an address.
func (g *Game[S, I]) await(o *options, stdout io.Writer, id *identity.Identity) way {
	guest := quic.Remote{Peer: 1, Code: identity.NewCode()}
	if !o.guest.IsZero() {
		guest = quic.Remote{Peer: 1, Pin: o.guest}
	}
	return way{open: func(ctx context.Context) (*port, error) {
		p, err := openPort(ctx, quic.Config{Self: 0, Identity: id, Addr: o.addr, Peers: []quic.Remote{guest}}, "")
		if err != nil {
			return nil, err
		}
		addr := reachable(p.link.LocalAddr())
		if guest.Code.IsZero() {
			fmt.Fprintf(stdout, "waiting at %s for the player with the key %s\n", addr, guest.Pin.Short())
			return p, nil
		}
		fmt.Fprintln(stdout, addr, id.Pin(), guest.Code)
		fmt.Fprintf(stdout, "The other player runs: go run ./examples/%s join%s %s %s %s\n", g.Name, g.alike(o), addr, id.Pin(), guest.Code)
		return p, nil
	}, back: func(p *port) string {
		pin, ok := p.link.Pin(1)
		if !ok {
			return ""
		}
		return fmt.Sprintf("-addr %s -guest %s", p.link.LocalAddr(), pin)
	}}
}

// lobby is how two players meet in a room.
func (g *Game[S, I]) lobby(o *options, stdout io.Writer, self driftback.Peer, id *identity.Identity) *lobby {
	return &lobby{o: o, self: self, id: id, name: g.Name, like: g.alike(o), out: stdout}
}

// meetOver plays one side over links of its own, which are come by in a way that its key is needed for.
func (g *Game[S, I]) meetOver(ctx context.Context, o *options, stdout io.Writer, self driftback.Peer, by func(*identity.Identity) way) error {
	id, err := o.identity()
	if err != nil {
		return err
	}
	shown, err := g.openPage(o)
	if err != nil {
		return err
	}
	if shown != nil {
		defer shown.Close()
		fmt.Fprintln(stdout, "page", shown.URL())
		g.showWaiting(shown, self, o)
	}
	found := by(id)
	port, err := found.open(ctx)
	if err != nil {
		return err
	}
	defer port.close()
	p, err := newPeer(g, self, o, port.links(), shown)
	if err != nil {
		return err
	}
	p.back.reopen = port.reopen
	p.report = g.reporter(o, stdout, port, 1-self, found.back)
	end, err := p.play(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "finished: tick %d is confirmed with fingerprint %v\n", end.Tick, end.Sum)
	return nil
}

// reporter returns what says once a second how one side is doing.
func (g *Game[S, I]) reporter(o *options, stdout io.Writer, p *port, other driftback.Peer, back func(*port) string) func(*status) {
	waiting, path := false, ""
	return func(s *status) {
		if now := p.path(other); now != "" && now != path {
			path = now
			fmt.Fprintln(stdout, "the path to the other player is", path)
		}
		if back != nil {
			if flags := back(p); flags != "" {
				back = nil
				fmt.Fprintf(stdout, "If this process dies: go run ./examples/%s host%s -key %s %s\n", g.Name, g.alike(o), o.key, flags)
			}
		}
		joining := s.Phase == session.Joining.String()
		switch {
		case !joining:
			printAll(stdout, []status{*s})
		case !waiting:
			fmt.Fprintf(stdout, "waiting up to %v for the other player\n", o.wait)
		}
		waiting = joining
	}
}

// reachable returns the address to tell another player for a socket that may
// listen on every interface: this machine's on its network, if it has one.
func reachable(a net.Addr) string {
	udp, ok := a.(*net.UDPAddr)
	if !ok || !udp.IP.IsUnspecified() {
		return a.String()
	}
	ip := net.IPv4(127, 0, 0, 1)
	addrs, _ := net.InterfaceAddrs()
	for _, addr := range addrs {
		if n, ok := addr.(*net.IPNet); ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast() {
			ip = n.IP
			break
		}
	}
	return (&net.UDPAddr{IP: ip, Port: udp.Port}).String()
}
