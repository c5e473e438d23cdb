package web

import (
	"context"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/signalling/internal/frame"
)

// Invitation is what one player gives another to meet: the name of a room, and a secret that
// the server is never told. The zero Invitation is none.
//
// One that [NewInvitation] made is its secret alone, of 80 random bits, and the name of its room
// follows from it. To work the secret out from the name, as a server could try, each guess costs
// 32,768 rounds of SHA-256.
type Invitation struct {
	room   frame.Room
	secret identity.Code
	// follows says that the name of the room follows from the secret.
	follows bool
	// key is for proofs; it follows from secret.
	key [sha256.Size]byte
}

// stretch is how many rounds a guess costs: a few milliseconds. Not to be changed, or
// players with two versions miss each other.
const stretch = 1 << 15

// NewInvitation draws an invitation to a room that does not exist yet.
func NewInvitation() Invitation {
	i := Invitation{secret: identity.NewCode()}
	i.derive(true)
	return i
}

// AskInvitation returns an invitation to a room whose name the server makes, for servers that
// take no others. The secret is drawn here. client nil is http.DefaultClient.
func AskInvitation(ctx context.Context, server string, client *http.Client) (Invitation, error) {
	base, err := parseServer(server)
	if err != nil {
		return Invitation{}, err
	}
	if client == nil {
		client = http.DefaultClient
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, base.JoinPath("rooms").String(), http.NoBody)
	if err != nil {
		return Invitation{}, fmt.Errorf("web: %w", err)
	}
	answer, err := client.Do(r)
	if err != nil {
		return Invitation{}, fmt.Errorf("web: no room from %s: %w", server, err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		return Invitation{}, fmt.Errorf("web: no room from %s: %w", server, refusal(answer.StatusCode))
	}
	var made struct{ Room string }
	if err := json.NewDecoder(io.LimitReader(answer.Body, 1<<10)).Decode(&made); err != nil {
		return Invitation{}, fmt.Errorf("web: no room from %s: its answer makes no sense: %w", server, err)
	}
	i := Invitation{secret: identity.NewCode()}
	if i.room, err = frame.ParseRoom(made.Room); err != nil {
		return Invitation{}, fmt.Errorf("web: no room from %s: %w", server, err)
	}
	i.derive(false)
	return i, nil
}

// derive works out what follows from the secret, and the name of the room if that is to.
func (i *Invitation) derive(room bool) {
	i.follows = room
	strong, err := pbkdf2.Key(sha256.New, string(i.secret[:]), []byte("driftback signalling: invitation"), stretch, sha256.Size)
	if err != nil {
		panic("web: " + err.Error()) // of lengths and numbers, which are constants
	}
	expand := func(info string, n int) []byte {
		b, err := hkdf.Expand(sha256.New, strong, info, n)
		if err != nil {
			panic("web: " + err.Error()) // as above
		}
		return b
	}
	if room {
		copy(i.room[:], expand("room", frame.RoomSize))
	}
	copy(i.key[:], expand("proof", len(i.key)))
}

// String returns the invitation as [ParseInvitation] reads it: four groups of four letters and
// digits, after the name of the room and a dot where the name does not follow from them; or
// that name alone. It lets in whoever has it, so it does not belong in a log.
func (i Invitation) String() string {
	if i.secret.IsZero() {
		return i.room.String()
	}
	if i.follows {
		return i.secret.String()
	}
	return i.room.String() + "." + i.secret.String()
}

// ParseInvitation reads what [Invitation.String] returned, however it is typed: capitals, blanks
// and hyphens do not matter, nor o for 0 and i or l for 1. The name of a room alone, 32 letters and digits, is an
// invitation without a secret, for players who know each other's pins.
func ParseInvitation(s string) (Invitation, error) {
	if len(s) > maxInvitation {
		return Invitation{}, fmt.Errorf("web: this is not an invitation: it has more than %d characters", maxInvitation)
	}
	name, code, both := strings.Cut(s, ".")
	if plain := normal(s); !both && len(plain) == frame.RoomChars {
		room, err := frame.ParseRoom(plain)
		if err != nil {
			return Invitation{}, fmt.Errorf("web: this is not an invitation: %w", err)
		}
		return Invitation{room: room}, nil
	}
	if !both {
		name, code = "", s
	}
	var i Invitation
	var err error
	if i.secret, err = identity.ParseCode(code); err != nil {
		return Invitation{}, fmt.Errorf("web: this is not an invitation: %w", err)
	}
	if both {
		if i.room, err = frame.ParseRoom(normal(name)); err != nil {
			return Invitation{}, fmt.Errorf("web: this is not an invitation: %w", err)
		}
	}
	i.derive(!both)
	return i, nil
}

// maxInvitation bounds what is typed.
const maxInvitation = 256

// normal writes a name as the server wants it.
func normal(s string) string {
	return strings.NewReplacer(" ", "", "-", "", "\t", "", "\r", "", "\n", "", "o", "0", "i", "1", "l", "1").Replace(strings.ToLower(s))
}

// Room returns the name of the room, which is all that the server is told.
func (i Invitation) Room() string { return i.room.String() }

// IsZero says whether there is no invitation.
func (i Invitation) IsZero() bool { return i == Invitation{} }

// proof says of a peer and its pin that they are of somebody who has the invitation.
func (i Invitation) proof(peer driftback.Peer, pin identity.Pin) (p frame.Proof) {
	if i.secret.IsZero() {
		return p
	}
	h := hmac.New(sha256.New, i.key[:])
	h.Write(i.room[:])
	h.Write([]byte{byte(peer)})
	h.Write(pin[:])
	copy(p[:], h.Sum(nil))
	return p
}

// proves says whether a proof holds.
func (i Invitation) proves(p frame.Proof, peer driftback.Peer, pin identity.Pin) bool {
	want := i.proof(peer, pin)
	return !i.secret.IsZero() && hmac.Equal(want[:], p[:])
}
