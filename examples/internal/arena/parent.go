package arena

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport/impair"
)

const (
	// startTimeout bounds how long a child may take to say where it is.
	startTimeout = 15 * time.Second
	// leaveTimeout bounds how long a child may take to leave when it is told to.
	leaveTimeout = 3 * time.Second
	// lostTimeout bounds how long a child may take to end when others have, and those that
	// are left cannot play on. It is longer than the session waits for a silent peer, and for
	// one that may come back.
	lostTimeout = 20 * time.Second
	// maxStarts is how many processes a player may have, one after the other.
	maxStarts = 5
)

// parent is who starts a process for each player, and another where one dies.
type parent struct {
	o       *options
	out     io.Writer
	players []*player
	relay   *player // whose process all play through, or nil
	words   chan word
	links   *links
	over    bool // no process is started any more
}

// all plays a match between child processes, each of which has a bad link to each other, or to
// the relay alone.
func (g *Game[S, I]) all(ctx context.Context, o *options, stdout io.Writer) error {
	a := &parent{o: o, out: stdout, words: make(chan word, 64), links: &links{}}
	defer func() {
		for _, p := range a.processes() {
			p.stop()
		}
		a.links.close()
	}()
	keys := ""
	if o.back {
		var err error
		if keys, err = os.MkdirTemp("", g.Name); err != nil {
			return fmt.Errorf("no place for the players' keys: %w", err)
		}
		defer os.RemoveAll(keys)
	}
	for seat := range o.players {
		p := &player{seat: seat, name: g.Seats[seat]}
		if o.back {
			p.key = filepath.Join(keys, fmt.Sprint(seat))
		}
		if err := p.start(o, a.words); err != nil {
			return fmt.Errorf("the %s cannot be started: %w", p.name, err)
		}
		a.players = append(a.players, p)
	}
	if o.relay != 0 {
		if err := a.startRelay(); err != nil {
			return err
		}
	}
	if err := a.meet(ctx); err != nil {
		return err
	}
	if err := a.connect(ctx); err != nil {
		return err
	}
	if !o.headless {
		for _, p := range a.players {
			fmt.Fprintf(stdout, "%-12s  %s\n", p.name, p.here.Page)
		}
		fmt.Fprintln(stdout, g.Bots, "Ctrl-C ends the match.")
	}
	if err := a.watch(ctx); err != nil {
		return err
	}
	err := judge(a.players, stdout)
	printFlows(stdout, a.players, o.relay)
	if err != nil && a.relay != nil && a.relay.died() {
		return fmt.Errorf("the relay: %s; %w", a.relay.why(), err)
	}
	return err
}

// processes are the players' and the relay's.
func (a *parent) processes() []*player {
	if a.relay == nil {
		return a.players
	}
	return append(slices.Clone(a.players), a.relay)
}

// hear takes one word of a child's, and starts another where one has died.
func (a *parent) hear(w *word) *player {
	p := a.processes()[w.seat]
	p.hear(w)
	switch {
	case a.mayStart(p):
		fmt.Fprintf(a.out, "%-12s  %s, and another is started\n", p.name, p.why())
		p.before = p.why()
		if err := p.start(a.o, a.words); err != nil {
			p.failed = fmt.Sprintf("no other process can be started: %v", err)
		}
	case w.note.Here != nil && p.ready && p.orders.Others != nil:
		_ = p.tell(note{Play: &p.orders}) // where it is gone, that is heard next
	case w.note.Status != nil:
		sayThrough(a.out, a.players, p)
	case w.note.Link != "":
		a.setLink(p, w.note.Link)
	case w.note.Failed != "" && p.plays():
		a.dismiss()
	}
	return p
}

// dismiss has those leave who have come in the place of others and do not play yet: the match
// is over for somebody who had it, and so there may be none to come back to.
func (a *parent) dismiss() {
	for _, p := range a.players {
		if p.before != "" && !p.gone && !p.plays() && p.failed == "" {
			p.dismissed = true
			_ = p.stdin.Close()
		}
	}
}

// mayStart reports whether a child has died and another is to be started: while none has found
// that the match is over.
func (a *parent) mayStart(p *player) bool {
	return a.o.back && !a.over && p.died() && p.starts < maxStarts &&
		!slices.ContainsFunc(a.players, func(p *player) bool { return p.ended != nil || p.failed != "" })
}

// setLink does what one page's sliders say to every link and both its directions, and has the
// other pages' sliders follow.
func (a *parent) setLink(by *player, text string) {
	im, err := impair.ParseImpairment(text)
	if err != nil {
		return
	}
	a.o.link = im
	a.links.set(im)
	for _, other := range a.players {
		if other != by {
			_ = other.tell(note{Link: text})
		}
	}
}

// meet waits until all children have said where they are.
func (a *parent) meet(ctx context.Context) error {
	late := time.After(startTimeout)
	for slices.ContainsFunc(a.processes(), func(p *player) bool { return !p.ready }) {
		select {
		case <-ctx.Done():
			return errInterrupted
		case <-late:
			return fmt.Errorf("a player's process has not begun within %v", startTimeout)
		case w := <-a.words:
			if p := a.hear(&w); p.failed != "" || p.gone {
				return fmt.Errorf("the %s could not begin: %s", p.name, p.why())
			}
		}
	}
	return nil
}

// connect tells each of whom it has links with.
func (a *parent) connect(ctx context.Context) (err error) {
	for i, p := range a.processes() {
		p.orders.Self, p.orders.Players, p.orders.Relay = driftback.Peer(i), len(a.players), a.o.relay
	}
	if a.relay != nil {
		err = a.connectRelay(ctx)
	} else {
		err = a.connectMesh(ctx)
	}
	if err != nil {
		return err
	}
	for _, p := range a.processes() {
		err = errors.Join(err, p.tell(note{Play: &p.orders}))
	}
	if a.o.back {
		return nil // who is gone already is heard of next
	}
	return err
}

// connectMesh tells each player of all the others. Of two the later one calls the earlier
// one, through a bad link of their own, but for two that are to have none.
func (a *parent) connectMesh(ctx context.Context) error {
	for i, p := range a.players {
		p.orders.Detours = len(a.o.block) > 0
		for j, q := range a.players[:i] {
			q.orders.Others = append(q.orders.Others, other{Peer: driftback.Peer(i), Pin: p.here.Pin})
			if slices.Contains(a.o.block, pair{j, i}) {
				p.orders.Others = append(p.orders.Others, other{Peer: driftback.Peer(j), Pin: q.here.Pin})
				continue
			}
			addr, err := a.links.add(ctx, q.here.Addr, a.o)
			if err != nil {
				return err
			}
			p.orders.Others = append(p.orders.Others, other{Peer: driftback.Peer(j), Pin: q.here.Pin, Addr: addr})
		}
	}
	return nil
}

// watch follows the match until all children are gone.
func (a *parent) watch(ctx context.Context) error {
	interrupted := ctx.Done()
	var late <-chan time.Time
	stopped := false
	for slices.ContainsFunc(a.processes(), func(p *player) bool { return !p.gone }) {
		select {
		case <-interrupted:
			interrupted, stopped, a.over = nil, true, true
			for _, p := range a.players {
				_ = p.stdin.Close()
			}
			late = time.After(leaveTimeout)
		case <-late:
			for _, p := range a.processes() {
				if !p.gone {
					_ = p.cmd.Process.Kill()
				}
			}
			late = nil
		case w := <-a.words:
			p := a.hear(&w)
			if p.gone && late == nil && (p.ended != nil || !a.playOn()) {
				late, a.over = time.After(lostTimeout), true
			}
			if a.relay != nil && p.gone && !slices.ContainsFunc(a.players, func(p *player) bool { return !p.gone }) {
				_ = a.relay.stdin.Close() // nobody is left to carry anything for
			}
			printFresh(a.out, a.players)
		}
	}
	if stopped {
		return errInterrupted
	}
	return nil
}

// playOn reports whether those that are left may go on, now that one more process has gone: one
// alone does through a relay, and without the relay nobody does.
func (a *parent) playOn() bool {
	left := 0
	for _, p := range a.players {
		if !p.gone {
			left++
		}
	}
	if a.relay != nil {
		return left > 0 && !a.relay.gone
	}
	return left > 1
}
