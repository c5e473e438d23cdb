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

// host waits for a second player who was told what it prints.
func (g *Game[S, I]) host(ctx context.Context, o *options, stdout io.Writer) error {
	code := identity.NewCode()
	guest := quic.Remote{Peer: 1, Code: code}
	if !o.guest.IsZero() {
		guest = quic.Remote{Peer: 1, Pin: o.guest}
	}
	return g.meetOver(ctx, o, stdout, 0, quic.Config{
		Self: 0, Addr: o.addr, Peers: []quic.Remote{guest},
	}, func(id *identity.Identity, link *quic.Transport) {
		addr := reachable(link.LocalAddr())
		if guest.Code.IsZero() {
			fmt.Fprintf(stdout, "waiting at %s for the player with the key %s\n", addr, guest.Pin.Short())
			return
		}
		fmt.Fprintln(stdout, addr, id.Pin(), code)
		fmt.Fprintf(stdout, "The other player runs: go run ./examples/%s join%s %s %s %s\n", g.Name, g.alike(o), addr, id.Pin(), code)
	})
}

// join calls the host that printed the invitation.
func (g *Game[S, I]) join(ctx context.Context, o *options, stdout io.Writer) error {
	return g.meetOver(ctx, o, stdout, 1, quic.Config{
		Self: 1, Peers: []quic.Remote{{Peer: 0, Addr: o.hostAddr, Pin: o.pin, Code: o.code}},
	}, func(*identity.Identity, *quic.Transport) {})
}

// meetOver plays one side over a socket of its own.
func (g *Game[S, I]) meetOver(ctx context.Context, o *options, stdout io.Writer, self driftback.Peer, c quic.Config, listening func(*identity.Identity, *quic.Transport)) error {
	id, err := o.identity()
	if err != nil {
		return err
	}
	c.Identity = id
	shown, err := g.openPage(o)
	if err != nil {
		return err
	}
	if shown != nil {
		defer shown.Close()
	}
	port, err := openPort(ctx, c, "")
	if err != nil {
		return err
	}
	defer port.close()
	listening(id, port.link)
	if shown != nil {
		fmt.Fprintln(stdout, "page", shown.URL())
	}
	p, err := newPeer(g, self, o, port.links(), shown)
	if err != nil {
		return err
	}
	p.back.reopen = port.reopen
	waiting, told := false, self != 0 || o.key == "" || !o.back || !o.guest.IsZero()
	p.report = func(s *status) {
		told = told || g.tellWayBack(o, port, stdout)
		joining := s.Phase == session.Joining.String()
		switch {
		case !joining:
			printAll(stdout, []status{*s})
		case !waiting:
			fmt.Fprintf(stdout, "waiting up to %v for the other player\n", o.wait)
		}
		waiting = joining
	}
	end, err := p.play(ctx)
	if err != nil {
		return err
	}
	fmt.Fprintf(stdout, "finished: tick %d is confirmed with fingerprint %v\n", end.Tick, end.Sum)
	return nil
}

// tellWayBack tells, once the other player is there, how a host whose process dies comes back,
// and reports whether that has been told. Who joined runs the same command again.
func (g *Game[S, I]) tellWayBack(o *options, p *port, w io.Writer) bool {
	pin, ok := p.link.Pin(1)
	if ok {
		fmt.Fprintf(w, "If this process dies: go run ./examples/%s host%s -key %s -addr %s -guest %s\n", g.Name, g.alike(o), o.key, p.config.Addr, pin)
	}
	return ok
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
