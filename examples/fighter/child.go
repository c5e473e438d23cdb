package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/transport/impair"
	"github.com/driftback/driftback/transport/quic"
)

// maxLine bounds a line between a parent and its children.
const maxLine = 64 << 10

// note is one line of JSON between a parent and a child. A child says Here, then
// Status once a second, Link when a slider moves, and Ended or Failed; the parent
// answers Here with Play and tells each child what Link the other asked for. Its
// pipe's end is the order to leave.
type note struct {
	Here   *here    `json:"here,omitempty"`
	Play   *orders  `json:"play,omitempty"`
	Status *status  `json:"status,omitempty"`
	Link   string   `json:"link,omitempty"`
	Ended  *outcome `json:"ended,omitempty"`
	Failed string   `json:"failed,omitempty"`
}

// here is where a child can be reached.
type here struct {
	Addr netip.AddrPort `json:"addr"`
	Pin  identity.Pin   `json:"pin"`
	Page string         `json:"page"`
}

// orders tell a child whom to play. The one that is given an address calls.
type orders struct {
	Self driftback.Peer `json:"self"`
	Addr string         `json:"addr"`
	Pin  identity.Pin   `json:"pin"`
}

// errTold ends a child whose parent has been told why, and will say it.
var errTold = errors.New("the parent has been told")

// child plays one side for a parent at the other end of its standard input and
// output. It ends when its input does, so that a parent that is gone, however it
// went, leaves nothing running.
func child(o *options, stdin io.Reader, stdout io.Writer) error {
	say := json.NewEncoder(stdout)
	end, err := playFor(o, stdin, say)
	if err != nil {
		_ = say.Encode(note{Failed: err.Error()})
		return errTold
	}
	return say.Encode(note{Ended: &end})
}

func playFor(o *options, stdin io.Reader, say *json.Encoder) (outcome, error) {
	id, err := identity.Generate()
	if err != nil {
		return outcome{}, err
	}
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return outcome{}, fmt.Errorf("no socket to play over: %w", err)
	}
	defer socket.Close()
	h := &here{Addr: socket.LocalAddr().(*net.UDPAddr).AddrPort(), Pin: id.Pin()}
	page, err := openPage(o)
	if err != nil {
		return outcome{}, err
	}
	if page != nil {
		defer page.Close()
		h.Page = page.URL()
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
	}()

	other := 1 - n.Play.Self
	link, err := quic.Listen(ctx, quic.Config{
		Self: n.Play.Self, Identity: id, Conn: socket,
		Peers: []quic.Remote{{Peer: other, Pin: n.Play.Pin, Addr: n.Play.Addr}},
	})
	if err != nil {
		return outcome{}, err
	}
	defer link.Close()
	p, err := newPeer(n.Play.Self, o, link, page)
	if err != nil {
		return outcome{}, err
	}
	p.report = func(s *status) { _ = say.Encode(note{Status: s}) }
	p.links = links
	p.impair = func(im impair.Impairment) bool { return say.Encode(note{Link: im.String()}) == nil }
	return p.play(ctx)
}

// openPage opens the page that the options ask for.
func openPage(o *options) (*pageServer, error) {
	if o.headless {
		return nil, nil
	}
	addr := o.page
	if addr == "" {
		addr = "127.0.0.1:0"
	}
	return newPageServer(addr, slog.New(slog.DiscardHandler))
}
