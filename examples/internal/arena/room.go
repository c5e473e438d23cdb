package arena

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/natpunch"
	"github.com/driftback/driftback/signalling/web"
	"github.com/driftback/driftback/transport/quic"
)

// askAgain is how often a guest asks for a room that is not there. A signalling server lets one
// address guess ten codes a minute, and players behind one router share that.
const askAgain = 7 * time.Second

// roomOptions are what the command line says of a room in which the players meet.
type roomOptions struct {
	signal  string            // the URL of the signalling server; "": they meet in no room
	servers []natpunch.Server // beside those that it names
	given   []string          // the same as they were written
	code    string            // host's: of the room where it was before
	// invitation is to the room. The zero value: the host makes one.
	invitation web.Invitation
	again      time.Duration // for tests: in place of askAgain
}

// flags are those of host and join alike.
func (r *roomOptions) flags(f *flag.FlagSet) {
	r.again = askAgain
	f.StringVar(&r.signal, "signal", "", "`URL` of a signalling server, to meet in a room there and play through both players' routers")
	f.Func("server", "`URL` of a STUN or TURN server to find a path with, beside those that the signalling server names: stun:host:port or turn:user:password@host:port; may be given again", func(s string) error {
		server, err := parseServer(s)
		r.servers, r.given = append(r.servers, server), append(r.given, s)
		return err
	})
}

// parseServer reads a STUN server, or a TURN server with its user and password.
func parseServer(s string) (natpunch.Server, error) {
	scheme, rest, _ := strings.Cut(s, ":")
	at := strings.LastIndex(rest, "@")
	user, password, both := "", "", false
	if at >= 0 {
		colon := max(strings.LastIndex(rest[:at], ":"), 0) // users may hold some
		user, password = rest[:colon], strings.TrimPrefix(rest[colon:at], ":")
		both = user != "" && password != ""
	}
	if scheme == "stun" && at < 0 && rest != "" || (scheme == "turn" || scheme == "turns") && both && rest[at+1:] != "" {
		return natpunch.Server{URL: scheme + ":" + rest[at+1:], Username: user, Password: password}, nil
	}
	return natpunch.Server{}, errors.New("want stun:host:port or turn:user:password@host:port")
}

// read reads the code of a room, and reports whether it is one. It is no error that it is none,
// unless there should be one.
func (r *roomOptions) read(code string) (found bool, err error) {
	i, err := web.ParseInvitation(code)
	switch {
	case err != nil && r.signal == "":
		return false, nil
	case err != nil:
		return false, fmt.Errorf("with -signal the code of a room is needed: %w", err)
	case r.signal == "":
		return false, fmt.Errorf("%s is the code of a room, and -signal URL has to say on which server", i)
	case i.String() == i.Room():
		return false, fmt.Errorf("%s is the name of a room without its secret, and so anybody could be the other player", i)
	}
	r.invitation = i
	return true, nil
}

// hostAt finds out where a host is to be met.
func (o *options) hostAt() error {
	switch r := &o.room; {
	case r.signal == "" && (r.code != "" || len(r.servers) > 0):
		return errors.New("-code and -server are for a room, and -signal URL has to say on which server")
	case r.signal == "":
		if o.addr == "" {
			o.addr = hostAddr
		}
		return nil
	case !o.guest.IsZero():
		return errors.New("-guest is for a host with an address; in a room -code says who may come")
	case r.code == "":
		return nil
	case o.key == "":
		return errors.New("-code is for a host that has been in the room before: give its -key too")
	default:
		_, err := r.read(r.code)
		return err
	}
}

// lobby is a player on the way to the other one through a room.
type lobby struct {
	o    *options
	self driftback.Peer
	id   *identity.Identity
	name string // of the game
	like string // the flags that the other has to be given too
	out  io.Writer
	web  *http.Client
}

// openRoom finds the other player in a room and opens links with it. The room is kept until they are
// closed: a path that is lost is found again through it.
func (l *lobby) openRoom(ctx context.Context) (*port, error) {
	l.web = &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone()}
	member, other, err := l.meet(ctx)
	leave := func() {
		if member != nil {
			member.Leave()
		}
		l.web.CloseIdleConnections()
	}
	if err != nil {
		leave()
		if ctx.Err() != nil {
			return nil, errInterrupted
		}
		return nil, err
	}
	c := natpunch.Config{
		Self: l.self, Identity: l.id, Signal: member, Addr: l.o.addr,
		Peers: []natpunch.Remote{{Peer: other.Peer, Pin: other.Pin}},
	}
	c.Renew = func(ctx context.Context) ([]natpunch.Server, error) {
		named, err := member.Renew(ctx)
		if err != nil {
			return nil, err
		}
		return l.servers(named), nil
	}
	p := &port{leave: leave, listen: func() (linked, error) {
		c.Servers = l.servers(member.Servers()) // with the newest passwords
		link, err := natpunch.Listen(ctx, c)
		if err != nil {
			return nil, err
		}
		if l.self == 0 {
			return link, nil
		}
		return invited{link}, nil
	}}
	if err := p.open(); err != nil {
		leave()
		return nil, err
	}
	return p, nil
}

// servers are the ones that help to find a path: those that a player was given, and those that the
// signalling server named.
func (l *lobby) servers(named []web.Server) []natpunch.Server {
	list := slices.Clone(l.o.room.servers)
	for _, s := range named {
		list = append(list, natpunch.Server(s))
	}
	return list
}

// invited is a guest's transport. A host knows its guest's key from the room, once and for all: who
// is refused there came with another one, and need not wait.
type invited struct{ *natpunch.Transport }

// Why implements transport.Explainer.
func (l invited) Why(to driftback.Peer) (final bool, err error) {
	final, err = l.Transport.Why(to)
	return final || errors.Is(err, quic.ErrRefused), err
}

// meet enters the room and waits for the other player. There may be a member all the same when
// there is an error.
func (l *lobby) meet(ctx context.Context) (*web.Member, web.Other, error) {
	enter := l.enterMade
	if l.self == 0 {
		enter = l.make
	}
	member, err := enter(ctx)
	if err != nil {
		return nil, web.Other{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, l.o.wait)
	defer cancel()
	other, err := member.Meet(ctx, 1-l.self)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("the other player has not come to the room in %v", l.o.wait)
	case err == nil:
		fmt.Fprintln(l.out, "the other player is in the room, and a path is looked for")
	}
	return member, other, err
}

// config is how the room is entered.
func (l *lobby) config() web.Config {
	r := &l.o.room
	return web.Config{Server: r.signal, Invitation: r.invitation, Make: l.self == 0, Self: l.self, Identity: l.id, Client: l.web}
}

// make makes a room and tells the host what to tell the other player, or enters the one where
// the host was before.
func (l *lobby) make(ctx context.Context) (*web.Member, error) {
	r := &l.o.room
	if r.code != "" {
		fmt.Fprintf(l.out, "waiting up to %v for the other player, who has the code\n", l.o.wait)
		return web.Join(ctx, l.config())
	}
	r.invitation = web.NewInvitation()
	member, err := web.Join(ctx, l.config())
	if errors.Is(err, web.ErrNoRoom) { // this server takes only names of its own
		if r.invitation, err = web.AskInvitation(ctx, r.signal, l.web); err == nil {
			member, err = web.Join(ctx, l.config())
		}
	}
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(l.out, r.invitation)
	fmt.Fprintf(l.out, "The other player runs: go run ./examples/%s join%s -signal %s %s\n", l.name, l.like, r.signal, r.invitation)
	fmt.Fprintf(l.out, "waiting up to %v for the other player\n", l.o.wait)
	return member, nil
}

// enterMade enters the host's room, and waits for the host to make it.
func (l *lobby) enterMade(ctx context.Context) (*web.Member, error) {
	r := &l.o.room
	var before error // what stood in the way the last time
	var over <-chan time.Time
	for {
		member, err := web.Join(ctx, l.config())
		switch {
		case err == nil:
			return member, nil
		case errors.Is(err, web.ErrTaken):
			return nil, fmt.Errorf("%w: the code lets one guest in, and one who comes back with the same -key", err)
		case errors.Is(err, web.ErrNoRoom):
			err = fmt.Errorf("there is no room with this code at %s: it is wrong, or the host is not there", r.signal)
		case errors.Is(err, web.ErrRefused), before == nil && !errors.Is(err, web.ErrBusy): // it may be no such server
			return nil, err
		}
		if before == nil {
			timer := time.NewTimer(l.o.wait)
			defer timer.Stop()
			over = timer.C
		}
		if before == nil || before.Error() != err.Error() {
			fmt.Fprintf(l.out, "%v; trying again every %v, for up to %v\n", err, r.again, l.o.wait)
		}
		before = err
		pause := time.NewTimer(r.again)
		select {
		case <-pause.C:
			continue
		case <-over:
			err = fmt.Errorf("%w, for %v now", err, l.o.wait)
		case <-ctx.Done():
			err = ctx.Err()
		}
		pause.Stop()
		return nil, err
	}
}

// wayBack returns the flags with which a host comes back to its room.
func (l *lobby) wayBack(*port) string {
	r := &l.o.room
	flags := fmt.Sprintf("-signal %s -code %s", r.signal, r.invitation)
	if l.o.addr != "" {
		flags += " -addr " + l.o.addr
	}
	for _, s := range r.given {
		flags += " -server " + s
	}
	return flags
}
