package arena

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/examples/internal/page"
	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/transport/impair"
	"github.com/driftback/driftback/transport/quic"
)

// maxLine bounds a line between a parent and its children.
const maxLine = 64 << 10

// note is one line of JSON between a parent and a child. A child says Here, then
// Status once a second, Link when a slider moves, at the end what it has Sent, and Ended or Failed; the parent
// answers Here with Play and tells each child what Link another asked for. Its
// pipe's end is the order to leave.
type note struct {
	Here   *here    `json:"here,omitempty"`
	Play   *orders  `json:"play,omitempty"`
	Status *status  `json:"status,omitempty"`
	Link   string   `json:"link,omitempty"`
	Sent   *flow    `json:"sent,omitempty"`
	Ended  *outcome `json:"ended,omitempty"`
	Failed string   `json:"failed,omitempty"`
}

// here is where a child can be reached.
type here struct {
	Addr netip.AddrPort `json:"addr"`
	Pin  identity.Pin   `json:"pin"`
	Page string         `json:"page"`
}

// orders tell a child whom to play, or whom to carry a match for. It has links with the others
// and calls those whose address it is given.
type orders struct {
	Self    driftback.Peer `json:"self"`
	Players int            `json:"players"`
	// Relay is through whom all play, and who plays nobody; 0: they play with each other.
	Relay  driftback.Peer `json:"relay,omitempty"`
	Others []other        `json:"others"`
	// Detours says that those whom no direct link comes up with are played with through a third.
	Detours bool `json:"detours,omitempty"`
}

// other is another player, or the relay.
type other struct {
	Peer driftback.Peer `json:"peer"`
	Addr string         `json:"addr,omitempty"`
	Pin  identity.Pin   `json:"pin"`
}

// errTold ends a child whose parent has been told why, and will say it.
var errTold = errors.New("the parent has been told")

// child plays for one player, or is the relay, under a parent at the other end of its standard input and
// output. It ends when its input does, so that a parent that is gone, however it
// went, leaves nothing running.
func (g *Game[S, I]) child(o *options, stdin io.Reader, stdout io.Writer) error {
	say := json.NewEncoder(stdout)
	end, err := g.obey(o, stdin, say)
	if err != nil {
		_ = say.Encode(note{Failed: err.Error()})
		return errTold
	}
	return say.Encode(note{Ended: &end})
}

// obey says where this process is, and does what it is then ordered to.
func (g *Game[S, I]) obey(o *options, stdin io.Reader, say *json.Encoder) (outcome, error) {
	id, err := o.identity()
	if err != nil {
		return outcome{}, err
	}
	at, err := net.ResolveUDPAddr("udp", o.addr)
	if err != nil {
		return outcome{}, fmt.Errorf("-addr %q: %w", o.addr, err)
	}
	socket, err := net.ListenUDP("udp", at)
	if err != nil {
		return outcome{}, fmt.Errorf("no socket to play over: %w", err)
	}
	defer socket.Close()
	h := &here{Addr: socket.LocalAddr().(*net.UDPAddr).AddrPort(), Pin: id.Pin()}
	shown, err := g.openPage(o)
	if err != nil {
		return outcome{}, err
	}
	if shown != nil {
		defer shown.Close()
		h.Page = shown.URL()
	}
	if err := say.Encode(note{Here: h}); err != nil {
		return outcome{}, err
	}

	lines := bufio.NewScanner(stdin)
	lines.Buffer(make([]byte, 0, 1024), maxLine)
	var n note
	if !lines.Scan() || json.Unmarshal(lines.Bytes(), &n) != nil || n.Play == nil {
		return outcome{}, errInterrupted
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	links := make(chan impair.Impairment, 16)
	go func() {
		defer stop()
		hearLinks(ctx, lines, links)
	}()

	o.players, o.relay = n.Play.Players, n.Play.Relay
	c := quic.Config{Self: n.Play.Self, Identity: id, Conn: socket}
	for _, p := range n.Play.Others {
		c.Peers = append(c.Peers, quic.Remote{Peer: p.Peer, Pin: p.Pin, Addr: p.Addr})
	}
	if o.relay != 0 && c.Self == o.relay {
		return g.carry(ctx, o, c)
	}
	return g.playFor(ctx, o, c, n.Play.Detours, shown, links, say)
}

// playFor plays for a player whose others are known.
func (g *Game[S, I]) playFor(ctx context.Context, o *options, c quic.Config, around bool, shown *page.Server, links <-chan impair.Impairment, say *json.Encoder) (outcome, error) {
	detours := ""
	if around {
		detours = g.Name
	}
	port, err := openPort(ctx, c, detours)
	if err != nil {
		return outcome{}, err
	}
	defer port.close()
	p, err := newPeer(g, c.Self, o, port.links(), shown)
	if err != nil {
		return outcome{}, err
	}
	p.back.reopen, p.through = port.reopen, port.through
	p.report = func(s *status) { _ = say.Encode(note{Status: s}) }
	p.sent = func(f *flow) { _ = say.Encode(note{Sent: f}) }
	p.links = links
	p.impair = func(im impair.Impairment) bool { return say.Encode(note{Link: im.String()}) == nil }
	return p.play(ctx)
}

// hearLinks passes on what the others' sliders have set, until the parent says no more.
func hearLinks(ctx context.Context, lines *bufio.Scanner, links chan<- impair.Impairment) {
	for lines.Scan() {
		var n note
		if json.Unmarshal(lines.Bytes(), &n) != nil || n.Link == "" {
			continue
		}
		if im, err := impair.ParseImpairment(n.Link); err == nil {
			select {
			case links <- im:
			case <-ctx.Done():
			}
		}
	}
}
