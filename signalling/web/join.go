package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"github.com/coder/websocket"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/signalling/internal/frame"
)

// Config says which room to enter, and as whom.
type Config struct {
	// Server is the signalling server's URL: "https://signal.example.org", with a path if
	// it is served below one. "http" says everything aloud but the invitation's secret.
	Server string
	// Invitation is to the room.
	Invitation Invitation
	// Make makes the room if there is none, as its first member.
	Make bool
	// Self is the number of this peer in the match, which is its place in the room.
	Self driftback.Peer
	// Identity is this peer's key. The place is kept for it.
	Identity *identity.Identity
	// Client makes the connections; nil is http.DefaultClient.
	Client *http.Client
	// Logger is told when the connection is lost and mended, never about messages; nil is silence.
	Logger *slog.Logger

	// For tests: what is used in place of the constants below.
	pingEvery, pingPatience, minBackoff time.Duration
}

// Patience with the server.
const (
	enterPatience = 10 * time.Second
	writePatience = 5 * time.Second
	leavePatience = time.Second / 2
	pingEvery     = 5 * time.Second
	pingPatience  = 5 * time.Second
	// A lost connection is tried again after minBackoff, and each time that fails after twice as long,
	// up to maxBackoff; half of it by chance, so that not all members come at once.
	minBackoff = 20 * time.Millisecond
	maxBackoff = 5 * time.Second
)

// parseServer reads a server's URL.
func parseServer(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	if err != nil {
		return nil, fmt.Errorf("web: the server's URL is %q: %w", s, err)
	}
	switch u.Scheme {
	case "wss":
		u.Scheme = "https"
	case "ws":
		u.Scheme = "http"
	case "https", "http":
	default:
		return nil, fmt.Errorf("web: the server's URL is %q, and should begin with https:// or http://", s)
	}
	if u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, fmt.Errorf("web: the server's URL is %q, and should be a host, its port and a path", s)
	}
	return u, nil
}

func (c *Config) validate() (*url.URL, error) {
	if c.Invitation.IsZero() {
		return nil, errors.New("web: Config.Invitation is empty: NewInvitation and ParseInvitation return one")
	}
	if c.Identity == nil {
		return nil, errors.New("web: Config.Identity is nil: identity.Generate makes one")
	}
	if int(c.Self) >= driftback.MaxPeers {
		return nil, fmt.Errorf("web: Config.Self is %d and must be below %d", c.Self, driftback.MaxPeers)
	}
	if c.Client == nil {
		c.Client = http.DefaultClient
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.pingEvery == 0 {
		c.pingEvery, c.pingPatience = pingEvery, pingPatience
	}
	if c.minBackoff == 0 {
		c.minBackoff = minBackoff
	}
	return parseServer(c.Server)
}

// enter connects, and enters the room.
func (c *Config) enter(ctx context.Context, at string, anew bool) (*websocket.Conn, frame.Frame, error) {
	ctx, cancel := context.WithTimeout(ctx, enterPatience)
	defer cancel()
	conn, answer, err := websocket.Dial(ctx, at, &websocket.DialOptions{HTTPClient: c.Client}) //nolint:bodyclose // Dial says that there is nothing to close
	if err != nil {
		if answer != nil && answer.StatusCode != http.StatusSwitchingProtocols {
			return nil, frame.Frame{}, refusal(answer.StatusCode)
		}
		return nil, frame.Frame{}, err
	}
	conn.SetReadLimit(frame.Max)
	welcome, err := c.greet(ctx, conn, anew)
	if err != nil {
		_ = conn.CloseNow()
		return nil, frame.Frame{}, err
	}
	return conn, welcome, nil
}

// greet says who we are, and returns the server's welcome.
func (c *Config) greet(ctx context.Context, conn *websocket.Conn, anew bool) (f frame.Frame, err error) {
	if err := read(ctx, conn, &f); err != nil {
		return f, err
	}
	if f.Kind != frame.Hello {
		return f, fmt.Errorf("%w: it does not say hello", ErrRefused)
	}
	if f.Version != frame.Version {
		return f, fmt.Errorf("%w: it speaks version %d, and we %d", ErrRefused, f.Version, frame.Version)
	}
	enter := frame.Frame{
		Kind: frame.Enter, Version: frame.Version, Make: anew, Peer: c.Self, Key: c.Identity.Key(),
		Proof: c.Invitation.proof(c.Self, c.Identity.Pin()),
	}
	copy(enter.Signature[:], c.Identity.Sign(frame.Purpose, frame.Entry(f.Nonce, c.Invitation.room, c.Self)))
	if err := conn.Write(ctx, websocket.MessageBinary, enter.Append(nil)); err != nil {
		return f, err
	}
	if err := read(ctx, conn, &f); err != nil {
		return f, err
	}
	if f.Kind != frame.Welcome {
		return f, fmt.Errorf("%w: it does not say welcome", ErrRefused)
	}
	return f, nil
}

// read reads a frame.
func read(ctx context.Context, conn *websocket.Conn, f *frame.Frame) error {
	kind, b, err := conn.Read(ctx)
	if err != nil {
		return understood(err)
	}
	if kind != websocket.MessageBinary {
		return fmt.Errorf("%w: it says something that is not binary", ErrRefused)
	}
	return f.Parse(b)
}

// understood turns the code with which the server closed the connection into an error of ours.
func understood(err error) error {
	var closed websocket.CloseError
	if !errors.As(err, &closed) {
		return err
	}
	switch frame.Status(closed.Code) {
	case frame.NoRoom:
		return ErrNoRoom
	case frame.Taken:
		return ErrTaken
	case frame.Replaced:
		return ErrReplaced
	case frame.Full:
		return fmt.Errorf("%w: %q", ErrBusy, closed.Reason)
	case frame.OtherVersion, frame.Wrong:
		return fmt.Errorf("%w: %q", ErrRefused, closed.Reason)
	default:
		return fmt.Errorf("the signalling server closed the connection: %q", closed.Reason)
	}
}

// refusal is what an HTTP status says.
func refusal(status int) error {
	switch {
	case status == http.StatusNotFound:
		return ErrNoRoom
	case status == http.StatusTooManyRequests, status >= http.StatusInternalServerError:
		return fmt.Errorf("%w: %d %s", ErrBusy, status, http.StatusText(status))
	default:
		return fmt.Errorf("%w: %d %s", ErrRefused, status, http.StatusText(status))
	}
}

// final says whether it is no use to try again.
func final(err error) bool {
	return errors.Is(err, ErrReplaced) || errors.Is(err, ErrRefused)
}
