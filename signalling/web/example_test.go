package web_test

import (
	"context"
	"fmt"
	"log"
	"net/http/httptest"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/natpunch"
	"github.com/driftback/driftback/signalling/server"
	"github.com/driftback/driftback/signalling/web"
	"github.com/driftback/driftback/transport"
)

// Two players meet over a signalling server: one reads a code to the other, and then they
// have a link, of which the server can be no part.
func Example() {
	s := must(server.New(server.Config{})) // somewhere else; cmd/driftback signal runs one
	site := httptest.NewServer(s)
	defer site.Close()
	defer func() { _ = s.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()

	invitation := web.NewInvitation()
	code := invitation.String() // xxxx-xxxx-xxxx-xxxx, which the host reads to the guest
	done := make(chan struct{})
	go func() {
		defer close(done)
		link, leave := play(ctx, site.URL, must(web.ParseInvitation(code)), 1)
		defer leave()
		fmt.Printf("the guest hears: %s\n", await(ctx, link, transport.Reliable).Data)
	}()
	link, leave := play(ctx, site.URL, invitation, 0)
	defer leave()
	await(ctx, link, transport.Up)
	if err := link.SendReliable(1, []byte("welcome")); err != nil {
		panic(err)
	}
	<-done
	// Output: the guest hears: welcome
}

// play is what either player does; the host is peer 0 and makes the room.
func play(ctx context.Context, url string, invitation web.Invitation, self driftback.Peer) (link *natpunch.Transport, leave func()) {
	me := must(identity.Generate())
	member, err := web.Join(ctx, web.Config{Server: url, Invitation: invitation, Make: self == 0, Self: self, Identity: me})
	for self == 1 && err != nil && ctx.Err() == nil { // the host may not be there yet
		time.Sleep(10 * time.Millisecond)
		member, err = web.Join(ctx, web.Config{Server: url, Invitation: invitation, Self: self, Identity: me})
	}
	if err != nil {
		log.Fatal(err)
	}
	other := must(member.Meet(ctx, 1-self))
	renew := func(ctx context.Context) (servers []natpunch.Server, err error) {
		list, err := member.Renew(ctx)
		for _, s := range list {
			servers = append(servers, natpunch.Server(s))
		}
		return servers, err
	}
	link = must(natpunch.Listen(ctx, natpunch.Config{
		Self: self, Identity: me, Signal: member, Servers: must(renew(ctx)), Renew: renew,
		Peers: []natpunch.Remote{{Peer: other.Peer, Pin: other.Pin}},
		Addr:  "127.0.0.1:0", // "" on a real network
	}))
	return link, func() {
		_ = link.Close()
		member.Leave()
	}
}

func await(ctx context.Context, link *natpunch.Transport, kind transport.Kind) transport.Message {
	for ; ctx.Err() == nil; time.Sleep(time.Millisecond) { // a game asks once a frame
		if m, ok := link.Receive(); ok && m.Kind == kind {
			return m
		}
	}
	log.Fatal(ctx.Err())
	return transport.Message{}
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
