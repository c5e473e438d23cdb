package detour

import (
	"errors"

	"github.com/driftback/driftback"
)

// Why a link by a detour is Down, in the Err of the message; test with errors.Is.
var (
	// ErrPeerClosed: the peer closed its transport.
	ErrPeerClosed = errors.New("detour: the peer closed its transport")
	// ErrDirect: the direct link is Up, or is about to be.
	ErrDirect = errors.New("detour: there is a direct link")
	// ErrNoWay: the one in between is gone, or has no direct link to both ends any more.
	ErrNoWay = errors.New("detour: the one in between reaches the peer no more")
	// ErrSilent: nothing was heard for long, and another neighbour reaches the peer.
	ErrSilent = errors.New("detour: nothing came through the one in between")
	// ErrBroken: a reliable message was altered, repeated or left out in between.
	ErrBroken = errors.New("detour: a reliable message was altered or left out in between")
	// ErrRestarted: the peer does not know the link any more, or made another.
	ErrRestarted = errors.New("detour: the peer has begun anew")
)

var errMalformed = errors.New("detour: malformed")

// Stats counts what a Transport has done. The numbers only grow.
type Stats struct {
	// Forwarded and ForwardedBytes count what was sent on for others; NotForwarded what
	// was not, because this peer has no direct link to its destination, or because too much waited already.
	Forwarded, ForwardedBytes, NotForwarded uint64
	// Sealed and Opened count the envelopes sent and received by detours.
	Sealed, Opened uint64
	// Repeated counts datagrams that came again or very late, and Altered those that
	// were not what the other end had sealed for this link.
	Repeated, Altered uint64
	// Broken counts links that went down with ErrBroken at this end.
	Broken uint64
	// Signatures counts how often this peer signed or checked a signature.
	Signatures uint64
	// Refused counts messages that make no sense, or that whoever sent them may not send;
	// Forged those among the calls and answers whose signature or key is not the peer's.
	Refused, Forged uint64
}

// Stats returns what has happened so far.
func (d *Transport) Stats() Stats { return d.stats }

// Via returns through whom this peer is linked with another by a detour; false when it
// is linked directly or not at all.
func (d *Transport) Via(peer driftback.Peer) (between driftback.Peer, ok bool) {
	if peer >= driftback.MaxPeers || d.peers[peer].way == nil {
		return 0, false
	}
	return d.peers[peer].way.via, true
}
