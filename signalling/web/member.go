package web

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/signalling/internal/frame"
)

// maxWaiting is how many messages wait to be sent, and to be received. The oldest goes.
const maxWaiting = 64

// Member is a place in a room.
type Member struct {
	c       Config
	at      string
	cancel  context.CancelFunc
	done    chan struct{} // closed when nothing of it runs any more
	out, in chan letter

	mu      sync.Mutex
	err     error // why it is not in the room; nil while it is
	left    bool
	servers []Server
	stale   time.Time // when the server should have named others; zero if no password ends
	others  [driftback.MaxPeers]*Other
	news    chan struct{} // closed, and made anew, when something above changes
}

type letter struct {
	peer driftback.Peer
	data []byte
}

// Join enters a room and returns when it is in it, when it is refused, or when ctx ends. ctx has no say
// afterwards: until Leave, which must be called, the place is kept.
func Join(ctx context.Context, c Config) (*Member, error) {
	base, err := c.validate()
	if err != nil {
		return nil, err
	}
	m := &Member{
		c: c, at: base.JoinPath("rooms", c.Invitation.Room()).String(), done: make(chan struct{}),
		out: make(chan letter, maxWaiting), in: make(chan letter, maxWaiting), news: make(chan struct{}),
	}
	conn, welcome, err := m.c.enter(ctx, m.at, c.Make)
	if err != nil {
		return nil, fmt.Errorf("web: cannot enter the room at %s: %w", c.Server, err)
	}
	m.entered(welcome)
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	m.cancel = cancel
	go m.run(running, conn)
	return m, nil
}

// run keeps the connection until ctx ends, or the server will not have us.
func (m *Member) run(ctx context.Context, conn *websocket.Conn) {
	defer close(m.done)
	for {
		err := m.serve(ctx, conn)
		m.lost(err)
		if ctx.Err() != nil {
			return
		}
		m.c.Logger.Info("signalling server lost", "room", m.c.Invitation.room.Short(), "reason", err)
		if conn = m.comeBack(ctx, err); conn == nil {
			return
		}
		m.c.Logger.Info("signalling server found again", "room", m.c.Invitation.room.Short())
	}
}

// comeBack tries to enter again until it is in, or nothing helps any more.
func (m *Member) comeBack(ctx context.Context, err error) *websocket.Conn {
	for wait := m.c.minBackoff; !final(err); wait = min(2*wait, maxBackoff) {
		pause := time.NewTimer(wait/2 + rand.N(wait/2+1))
		select {
		case <-ctx.Done():
			pause.Stop()
			return nil
		case <-pause.C:
		}
		// The room may have been lost with the server: whoever has been in it may make it again.
		conn, welcome, again := m.c.enter(ctx, m.at, true)
		if again == nil {
			m.entered(welcome)
			return conn
		}
		if err = again; ctx.Err() == nil {
			m.lost(err)
			m.c.Logger.Debug("signalling server not found", "room", m.c.Invitation.room.Short(), "reason", err)
		}
	}
	m.c.Logger.Warn("signalling server gives us up", "room", m.c.Invitation.room.Short(), "reason", err)
	return nil
}

// entered notes that the member is in the room.
func (m *Member) entered(welcome frame.Frame) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.err, m.others = nil, [driftback.MaxPeers]*Other{}
	m.named(welcome)
	m.changed()
}

// renewed notes what the server names anew.
func (m *Member) renewed(welcome frame.Frame) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.named(welcome)
	m.changed()
}

// named notes the servers that a welcome names. The caller holds mu.
func (m *Member) named(welcome frame.Frame) {
	now, life := time.Now(), time.Duration(welcome.Seconds)*time.Second
	m.servers, m.stale = make([]Server, len(welcome.Servers)), time.Time{}
	for i, s := range welcome.Servers {
		m.servers[i] = Server{URL: s.URL, Username: s.Username, Password: s.Password}
		if s.Password != "" && life > 0 {
			m.servers[i].Ends, m.stale = now.Add(life), now.Add(life/2)
		}
	}
}

// lost notes why the member is not in the room.
func (m *Member) lost(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.left:
		m.err = ErrLeft
	case final(err):
		m.err = err
	default:
		m.err = fmt.Errorf("%w: %w", ErrAway, err)
	}
	m.changed()
}

// changed wakes whoever waits for news. The caller holds mu.
func (m *Member) changed() {
	close(m.news)
	m.news = make(chan struct{})
}

// serve reads and writes until the connection breaks, or ctx ends and all has been said.
func (m *Member) serve(ctx context.Context, conn *websocket.Conn) error {
	reading, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	var helpers sync.WaitGroup
	helpers.Go(func() { stop(m.write(ctx, reading, conn, ended)) })
	helpers.Go(func() { stop(m.ping(reading, conn)) })
	err := m.read(reading, conn)
	if because := context.Cause(reading); because != nil {
		err = because // which made the reading fail
	}
	close(ended)
	stop(err)
	helpers.Wait()
	_ = conn.CloseNow()
	return err
}

// read takes in what the server says.
func (m *Member) read(ctx context.Context, conn *websocket.Conn) error {
	for {
		var f frame.Frame
		if err := read(ctx, conn, &f); err != nil {
			return err
		}
		switch f.Kind {
		case frame.Message:
			put(m.in, letter{f.Peer, f.Data})
		case frame.Member, frame.Gone:
			m.told(f)
		case frame.Welcome:
			m.renewed(f)
		default: // of a later version, or out of turn
		}
	}
}

// told notes that another member is there, or gone. The pin of one that is gone is kept, as that
// is when it is needed.
func (m *Member) told(f frame.Frame) {
	if f.Kind == frame.Gone || f.Peer == m.c.Self {
		return
	}
	pin := f.Key.Pin()
	other := Other{Peer: f.Peer, Pin: pin, Proven: m.c.Invitation.proves(f.Proof, f.Peer, pin)}
	m.mu.Lock()
	defer m.mu.Unlock()
	if old := m.others[f.Peer]; old != nil && old.Proven && !other.Proven {
		return
	}
	m.others[f.Peer] = &other
	m.changed()
}

// write sends what waits to be sent.
func (m *Member) write(ctx, reading context.Context, conn *websocket.Conn, ended chan struct{}) error {
	for {
		var l letter
		select {
		case <-ctx.Done():
			m.farewell(reading, conn, ended)
			return ctx.Err()
		case <-reading.Done():
			return context.Cause(reading)
		case l = <-m.out:
		}
		f := frame.Frame{Kind: frame.Message, Peer: l.peer, Data: l.data}
		if err := m.send(reading, conn, &f); err != nil {
			return err
		}
	}
}

func (m *Member) send(ctx context.Context, conn *websocket.Conn, f *frame.Frame) error {
	ctx, cancel := context.WithTimeout(ctx, writePatience)
	defer cancel()
	return conn.Write(ctx, websocket.MessageBinary, f.Append(nil))
}

// ping makes sure that the server is there.
func (m *Member) ping(ctx context.Context, conn *websocket.Conn) error {
	beat := time.NewTicker(m.c.pingEvery)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-beat.C:
		}
		patience, cancel := context.WithTimeout(ctx, m.c.pingPatience)
		err := conn.Ping(patience)
		cancel()
		if err != nil {
			return fmt.Errorf("it does not answer: %w", err)
		}
	}
}

// put puts a letter into a queue, in place of the oldest if that is full. With more than one
// sender at a time it may be this one that goes.
func put(queue chan letter, l letter) {
	for range 2 {
		select {
		case queue <- l:
			return
		default:
		}
		select {
		case <-queue:
		default:
		}
	}
}

// Send sends b, of at most [MaxMessage] bytes, to a peer in the room. It copies b and never
// waits: while the member is away it returns an error.
func (m *Member) Send(_ context.Context, to driftback.Peer, b []byte) error {
	if len(b) > MaxMessage {
		return fmt.Errorf("web: a message of %d bytes, and %d is the most", len(b), MaxMessage)
	}
	if int(to) >= driftback.MaxPeers {
		return fmt.Errorf("web: there is no peer %d: numbers end at %d", to, driftback.MaxPeers-1)
	}
	if err := m.Err(); err != nil {
		return err
	}
	put(m.out, letter{to, slices.Clone(b)})
	return nil
}

// Receive waits for the next message, which is the caller's, and says whom the server says that it is from.
// While the member is away it waits on; it returns an error when ctx ends, or when the member has left or
// will not come back.
func (m *Member) Receive(ctx context.Context) (from driftback.Peer, b []byte, err error) {
	select {
	case l := <-m.in:
		return l.peer, l.data, nil
	case <-m.done:
		return 0, nil, m.Err()
	case <-ctx.Done():
		return 0, nil, ctx.Err()
	}
}

// Meet waits for a peer to be in the room, and returns it. With an invitation that has a
// secret it waits for one that proves to have it too; without, the pin is the server's word, and has to be compared
// with one that is known. It returns an error when ctx ends, or when the member has left or will not come back.
func (m *Member) Meet(ctx context.Context, peer driftback.Peer) (Other, error) {
	if int(peer) >= driftback.MaxPeers || peer == m.c.Self {
		return Other{}, fmt.Errorf("web: peer %d cannot be met: it is this one, or numbers end at %d", peer, driftback.MaxPeers-1)
	}
	for {
		m.mu.Lock()
		other, news := m.others[peer], m.news
		m.mu.Unlock()
		if other != nil && (other.Proven || m.c.Invitation.secret.IsZero()) {
			return *other, nil
		}
		select {
		case <-news:
		case <-m.done:
			return Other{}, m.Err()
		case <-ctx.Done():
			return Other{}, fmt.Errorf("web: peer %d has not come: %w", peer, ctx.Err())
		}
	}
}

// Others returns the members that were in the room since this one was last let in, by their numbers.
func (m *Member) Others() (list []Other) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, o := range m.others {
		if o != nil {
			list = append(list, *o)
		}
	}
	return list
}

// Servers returns the servers that the signalling server named last, as the caller's own. Passwords among them
// may have ended while the member was away.
func (m *Member) Servers() []Server {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.servers)
}

// Renew returns what Servers does, but waits while the member is away, or holds passwords of which more than half of
// the time is over: the server sends others by itself. It is what natpunch.Config.Renew asks for. It returns
// an error when ctx ends, or when the member has left or will not come back.
func (m *Member) Renew(ctx context.Context) ([]Server, error) {
	for {
		m.mu.Lock()
		servers, news := slices.Clone(m.servers), m.news
		away, stale := m.err, !m.stale.IsZero() && time.Now().After(m.stale)
		m.mu.Unlock()
		if away == nil && !stale {
			return servers, nil
		}
		select {
		case <-news:
		case <-m.done:
			return nil, m.Err()
		case <-ctx.Done():
			if away == nil {
				away = errors.New("the signalling server has named no others")
			}
			return nil, fmt.Errorf("web: no servers with new passwords: %w: %w", away, ctx.Err())
		}
	}
}

// Err says why the member is not in the room: [ErrAway] while it comes back by itself, and anything
// else for good. It is nil while it is there.
func (m *Member) Err() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// Leave leaves the room and gives the place up. It waits until nothing of the member runs, at
// most for some seconds. Leaving twice is leaving once.
func (m *Member) Leave() {
	m.mu.Lock()
	m.left, m.err = true, ErrLeft
	m.mu.Unlock()
	m.cancel()
	<-m.done
}

// farewell gives the place up, and waits a little for the server to have heard so.
func (m *Member) farewell(reading context.Context, conn *websocket.Conn, ended chan struct{}) {
	if m.send(reading, conn, &frame.Frame{Kind: frame.Leave}) != nil {
		return
	}
	patience := time.NewTimer(leavePatience)
	defer patience.Stop()
	select {
	case <-ended:
	case <-patience.C:
	}
}
