package server

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/signalling/internal/frame"
	"github.com/driftback/driftback/signalling/internal/limit"
)

// statusRestart is WebSocket's own code for a server that will be back.
const statusRestart = int(websocket.StatusServiceRestart)

const (
	// maxMessages is how many messages wait for a member that reads slowly. Newer ones are dropped.
	maxMessages = 64
	// maxOwed is how much may wait altogether: messages, and what the server itself has to say
	// of each member. Who leaves more than that unread is sent away.
	maxOwed = maxMessages + 4*driftback.MaxPeers
)

// conn is a connection, of a member once it has entered.
type conn struct {
	s    *Server
	ws   *websocket.Conn
	net  net.Conn // below ws, whose own ways to be closed wait for the other side
	addr netip.Addr
	out  chan []byte
	over chan struct{} // closed when it should end
	once sync.Once
	// why it should end, written before over is closed
	status int
	reason string

	// guarded by Server.mu
	room  *room // which it has to give up; nil if none
	peer  driftback.Peer
	rates [driftback.MaxPeers]limit.Bucket

	flood limit.Bucket // the reading goroutine's
	pings limit.Bucket // the same one's: it calls back for them
}

// must queues a frame that has to arrive.
func (c *conn) must(b []byte) {
	select {
	case c.out <- b:
	default:
		c.end(int(frame.Slow), "you do not read what you are sent")
	}
}

// may queues a frame that may be lost, and says whether there was room. Only one goroutine at a time
// calls it and must, since they are called with Server.mu held.
func (c *conn) may(b []byte) bool {
	if len(c.out) >= maxMessages {
		return false
	}
	c.out <- b // which has room for more
	return true
}

// end asks for the connection to be closed with a status and a sentence. It does not wait.
func (c *conn) end(status int, reason string) {
	c.once.Do(func() {
		c.status, c.reason = status, reason
		close(c.over)
	})
}

// cut closes the connection at once, whatever else is waiting for it.
func (c *conn) cut() { _ = c.net.Close() }

// serve holds a conversation with whoever is at the other end. It returns when the connection
// is closed.
func (c *conn) serve(ctx context.Context, name frame.Room) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var helpers sync.WaitGroup
	helpers.Go(func() {
		defer cancel() // without which the reading would go on
		c.write(ctx)
	})
	helpers.Go(func() { c.ping(ctx) })
	left := c.read(ctx, name)
	c.s.lost(c, left)
	c.end(int(websocket.StatusNormalClosure), "")
	helpers.Wait()
	c.cut()
	_ = c.ws.CloseNow() // which is quick now
}

// read takes in what the member says, and returns whether it gave its place up.
func (c *conn) read(ctx context.Context, name frame.Room) (left bool) {
	if no := c.greet(ctx, name); no != nil {
		c.end(int(no.status), no.reason)
		return false
	}
	for {
		var f frame.Frame
		if no := c.next(ctx, &f); no != nil {
			c.end(int(no.status), no.reason)
			return false
		}
		switch f.Kind {
		case frame.Message:
			c.s.carry(c, &f)
		case frame.Leave:
			return true
		default:
			c.s.counts.wrong.Add(1)
			c.end(int(frame.Wrong), "a member sends messages, or leaves")
			return false
		}
	}
}

// greet lets the member in, or says why not.
func (c *conn) greet(ctx context.Context, name frame.Room) *refused {
	ctx, cancel := context.WithTimeout(ctx, c.s.c.enterPatience)
	defer cancel()
	hello := frame.Frame{Kind: frame.Hello, Version: frame.Version}
	_, _ = rand.Read(hello.Nonce[:]) // never fails, by its own documentation
	c.out <- hello.Append(nil)       // the first, for which there is room
	var f frame.Frame
	if no := c.next(ctx, &f); no != nil {
		return no
	}
	switch {
	case f.Kind != frame.Enter:
		c.s.counts.wrong.Add(1)
		return &refused{frame.Wrong, "say who you are first"}
	case f.Version != frame.Version:
		c.s.counts.wrong.Add(1)
		return &refused{frame.OtherVersion, "you speak another version than this server"}
	case !f.Key.Verify(frame.Purpose, frame.Entry(hello.Nonce, name, f.Peer), f.Signature[:]):
		c.s.counts.wrong.Add(1)
		return &refused{frame.Wrong, "the signature is not that of the key"}
	}
	return c.s.enter(ctx, name, &f, c)
}

// next reads one frame.
func (c *conn) next(ctx context.Context, f *frame.Frame) *refused {
	kind, b, err := c.ws.Read(ctx)
	now := time.Now()
	switch {
	case errors.Is(err, websocket.ErrMessageTooBig):
		c.s.counts.wrong.Add(1)
		return &refused{frame.Wrong, "a message is larger than any may be"}
	case err != nil:
		return &refused{frame.Status(websocket.StatusNormalClosure), ""} // nobody hears it
	case !c.flood.Take(c.s.flood, now):
		c.s.counts.flooded.Add(1)
		return &refused{frame.Flood, "you say too much"}
	case kind != websocket.MessageBinary || f.Parse(b) != nil:
		c.s.counts.wrong.Add(1)
		return &refused{frame.Wrong, "that is no frame"}
	}
	return nil
}

// write sends what is queued, and closes the connection when it is over.
func (c *conn) write(ctx context.Context) {
	for {
		var b []byte
		select {
		case b = <-c.out:
		case <-c.over:
			// For as long as an honest member takes to hear why.
			enough := time.AfterFunc(c.s.c.closePatience, c.cut)
			_ = c.ws.Close(websocket.StatusCode(c.status), c.reason)
			enough.Stop()
			return
		case <-ctx.Done():
			return
		}
		patience, cancel := context.WithTimeout(ctx, c.s.c.writePatience)
		err := c.ws.Write(patience, websocket.MessageBinary, b)
		cancel()
		if err != nil {
			c.cut()
			return
		}
	}
}

// ping cuts the connection when nobody is at its other end any more, and gives the member new passwords before
// the old ones end.
func (c *conn) ping(ctx context.Context) {
	beat, renew := time.NewTicker(c.s.c.pingEvery), time.NewTicker(c.s.c.Servers.PasswordLifetime/2)
	defer beat.Stop()
	defer renew.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-c.over:
			return
		case <-renew.C:
			c.s.renew(c)
			continue
		case <-beat.C:
		}
		patience, cancel := context.WithTimeout(ctx, c.s.c.pingPatience)
		err := c.ws.Ping(patience)
		cancel()
		if errors.Is(err, context.DeadlineExceeded) {
			c.s.counts.silent.Add(1)
		}
		if err != nil {
			c.cut()
			return
		}
	}
}
