package mesh

import (
	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

// maxOutside is how many messages of peers that play nobody are handed on in one Poll.
// They do not count among those of the match's peers, so that they cannot take these
// their place; beyond it both wait for the next Poll.
const maxOutside = 4 * maxDrain

// receiveOutside takes a message of a peer that the match does not have.
func (m *Mesh) receiveOutside(msg transport.Message) {
	switch {
	case m.cfg.Outside != nil:
		m.cfg.Outside(msg)
	case msg.Kind == transport.Datagram || msg.Kind == transport.Reliable:
		m.refuse(Stranger) // a link that comes and goes is nothing that anybody sent
	}
}

// Refuse counts something that the floor above has dropped.
func (m *Mesh) Refuse(r Refusal) { m.refuse(r) }

// Hello returns what a peer that plays nobody is told at the handshake, and has to tell:
// the match's settings, the roster among them.
func (m *Mesh) Hello() wire.Hello {
	return wire.Hello{Match: m.cfg.Match, Nonce: m.cfg.Nonce, Settings: m.cfg.Settings}
}

// OutsideHello is what [Mesh.Hello] is, for one who plays nobody and has no mesh.
func OutsideHello(match, nonce uint64, settings []wire.Setting, players []driftback.Peer) wire.Hello {
	return wire.Hello{Match: match, Nonce: nonce, Settings: withRoster(settings, players)}
}

// Compare returns an error that names the first setting in which the hello of peer
// differs from ours, or nil.
func Compare(peer driftback.Peer, ours, theirs *wire.Hello) error {
	if theirs.Match != ours.Match {
		return &MismatchError{Peer: peer, Setting: "match", Ours: hex(ours.Match), Theirs: hex(theirs.Match)}
	}
	return compareSettings(peer, ours.Settings, theirs.Settings)
}

// compareSettings returns an error that names the first setting in which two lists differ.
func compareSettings(peer driftback.Peer, ours, theirs []wire.Setting) error {
	for len(ours) > 0 || len(theirs) > 0 {
		// Both lists are in ascending order of name: walk them as one.
		var a, b wire.Setting
		switch {
		case len(theirs) == 0 || len(ours) > 0 && ours[0].Name < theirs[0].Name:
			a, ours = ours[0], ours[1:]
			b.Name = a.Name
		case len(ours) == 0 || theirs[0].Name < ours[0].Name:
			b, theirs = theirs[0], theirs[1:]
			a.Name = b.Name
		default:
			a, ours = ours[0], ours[1:]
			b, theirs = theirs[0], theirs[1:]
		}
		if a.Value != "" && b.Value != "" && a.Value != b.Value && a.Name != tagSetting {
			return &MismatchError{Peer: peer, Setting: a.Name, Ours: a.Value, Theirs: b.Value}
		}
	}
	return nil
}
