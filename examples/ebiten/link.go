package main

import (
	"context"
	"fmt"
	"io"

	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/transport/quic"
)

// host listens for a second player, who is told what this prints: where to call, whom
// to trust, and the word that lets them in. Flags are those that they must give too, each
// with a blank after it.
func host(addr, flags string, stdout io.Writer) (*quic.Transport, error) {
	me, err := identity.Generate() // a real game keeps a player's key
	if err != nil {
		return nil, err
	}
	code := identity.NewCode()
	link, err := quic.Listen(context.Background(), quic.Config{
		Self: 0, Identity: me, Addr: addr, Peers: []quic.Remote{{Peer: 1, Code: code}},
	})
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(stdout, "The other player runs: go run . %sjoin %v %v %v\n", flags, link.LocalAddr(), me.Pin(), code)
	return link, nil
}

// join calls the player who printed these words. It does not wait until there is an
// answer: the match does, while the window is drawn.
func join(addr, pin, code string) (*quic.Transport, error) {
	me, err := identity.Generate()
	if err != nil {
		return nil, err
	}
	other := quic.Remote{Peer: 0, Addr: addr}
	if other.Pin, err = identity.ParsePin(pin); err != nil {
		return nil, err
	}
	if other.Code, err = identity.ParseCode(code); err != nil {
		return nil, err
	}
	return quic.Listen(context.Background(), quic.Config{Self: 1, Identity: me, Peers: []quic.Remote{other}})
}
