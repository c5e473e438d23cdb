// Package web is the way into a room on a signalling server: a [Member] carries what peers
// say to each other before there is a path between them (it is a natpunch.Signal), tells
// each the other's key, and hands on which servers help to find paths. Package
// signalling/server is the other end.
//
//	host:  invitation := web.NewInvitation()
//	       member, err := web.Join(ctx, web.Config{Server: url, Invitation: invitation, Make: true, Self: 0, Identity: me})
//	       fmt.Println(invitation)
//	       guest, err := member.Meet(ctx, 1)
//	guest: invitation, err := web.ParseInvitation(code)
//	       member, err := web.Join(ctx, web.Config{Server: url, Invitation: invitation, Self: 1, Identity: me})
//	       host, err := member.Meet(ctx, 0)
//
// and then both call natpunch.Listen with member as the Signal, the other's Pin in
// the Remote, member.Servers, and member.Renew.
//
// # What is trusted
//
// Not the server. What it is told of an [Invitation] is the name of the room, from which the
// rest cannot be worked out. With the rest each member proves to the others that its key is that
// of somebody who was given the invitation, and [Member.Meet] returns nobody who did
// not. So two players who read an invitation to each other have each other's pins, and the
// server cannot put itself, or anybody else, in between. It can keep them apart, and it sees
// their addresses, their pins, and when they meet.
//
// An invitation proves that somebody has it, not which of those who do: of three in one
// room each could pretend to be the third. Where there are more than two, exchange pins.
//
// A connection that is lost is mended by itself, with the same place in the room, and where the room
// is lost with the server, the first that comes back makes it again.
//
// The package owns the connection and the invitation. It refuses to own paths, links and keys. Any
// goroutine may use a Member, and none of its methods but Meet, Receive and Renew waits for the network.
package web

import (
	"errors"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/signalling/internal/frame"
)

// MaxMessage is the size in bytes of the largest message: that of natpunch.MaxSignal.
const MaxMessage = frame.MaxData

var (
	// ErrAway means that the member is not in its room just now, and on the way back.
	ErrAway = errors.New("the connection to the signalling server is lost and being mended")
	// ErrLeft means that [Member.Leave] was called.
	ErrLeft = errors.New("it has left the room")
	// ErrNoRoom means that there is no such room on the server.
	ErrNoRoom = errors.New("there is no such room: the code is wrong, or whoever made the room has gone")
	// ErrTaken means that somebody with another key has the place in the room.
	ErrTaken = errors.New("somebody with another key has this place in the room")
	// ErrReplaced means that another process with the same key took the place.
	ErrReplaced = errors.New("another process with the same key has taken this place in the room")
	// ErrBusy means that the server, or what one address may have of it, is used up for now.
	ErrBusy = errors.New("the signalling server takes no more for now")
	// ErrRefused means that the server takes nothing of this kind from us: another version, or not such a server.
	ErrRefused = errors.New("the signalling server refuses us")
)

// Other is another member of the room.
type Other struct {
	Peer driftback.Peer
	// Pin is that of the key that it says is its own. Whether it is, the link finds out.
	Pin identity.Pin
	// Proven says that whoever holds the key has the invitation. Without it the pin is the server's word.
	Proven bool
}

// Server is a STUN or TURN server to find paths with. It can be converted to a natpunch.Server.
type Server struct {
	// URL is "stun:host:port", "turn:host:port" or the like.
	URL string
	// Username and Password are for TURN.
	Username, Password string
	// Ends is when the password ends, by this machine's clock; zero is never. See [Member.Renew].
	Ends time.Time
}
