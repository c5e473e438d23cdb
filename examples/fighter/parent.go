package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"time"

	"github.com/driftback/driftback/examples/internal/udplink"
	"github.com/driftback/driftback/transport/impair"
)

const (
	// startTimeout bounds how long a child may take to say where it is.
	startTimeout = 15 * time.Second
	// leaveTimeout bounds how long a child may take to leave when it is told to.
	leaveTimeout = 3 * time.Second
	// lostTimeout bounds how long a child may play on when the other is gone. It
	// is longer than the session waits for a silent peer.
	lostTimeout = 15 * time.Second
)

// sides are the names of the two players.
var sides = [2]string{"left", "right"}

// player is a child as its parent sees it.
type player struct {
	side   int
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	here   *here
	status status
	ended  *outcome
	failed string
	gone   bool
	exit   error
}

// word is something that one child said, or that it is gone.
type word struct {
	side int
	note note
	gone bool
	exit error
}

// both plays a match between two child processes over a bad link.
func both(ctx context.Context, o *options, stdout io.Writer) error {
	words := make(chan word, 64)
	var players [2]*player
	defer func() {
		for _, p := range players {
			p.stop()
		}
	}()
	for side := range players {
		p, err := startPlayer(side, o, words)
		if err != nil {
			return fmt.Errorf("the %s player cannot be started: %w", sides[side], err)
		}
		players[side] = p
	}
	if err := meet(ctx, &players, words); err != nil {
		return err
	}

	// The right player calls the left one, through the bad link.
	proxy, err := udplink.Start(ctx, udplink.Config{Target: players[0].here.Addr, Seed: o.seed, ToTarget: o.link, FromTarget: o.link})
	if err != nil {
		return err
	}
	defer proxy.Close()
	if err := errors.Join(
		players[0].tell(note{Play: &orders{Self: 0, Pin: players[1].here.Pin}}),
		players[1].tell(note{Play: &orders{Self: 1, Pin: players[0].here.Pin, Addr: proxy.Addr().String()}}),
	); err != nil {
		return err
	}
	if !o.headless {
		fmt.Fprintf(stdout, "left player   %s\nright player  %s\n", players[0].here.Page, players[1].here.Page)
		fmt.Fprintln(stdout, "Bots fight until a page's keys are touched. Ctrl-C ends the match.")
	}
	if err := watch(ctx, &players, words, proxy, stdout); err != nil {
		return err
	}
	return judge(&players, stdout)
}

// startPlayer starts one child process of this very program.
func startPlayer(side int, o *options, words chan<- word) (*player, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"child",
		"-seed", strconv.FormatUint(o.seed, 10), "-ticks", strconv.FormatInt(o.ticks, 10), "-rate", strconv.Itoa(o.rate),
		"-delay", strconv.Itoa(o.delay), "-window", strconv.Itoa(o.window), "-wait", o.wait.String(), "-choose", o.choose.String(),
		"-headless=" + strconv.FormatBool(o.headless), "-link", o.link.String(),
	}
	p := &player{side: side, cmd: exec.Command(self, args...)}
	p.cmd.Stderr = os.Stderr // a child speaks through its pipe; a crash speaks here
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		lines := bufio.NewScanner(out)
		lines.Buffer(make([]byte, 0, 4096), maxLine)
		for lines.Scan() {
			var n note
			if json.Unmarshal(lines.Bytes(), &n) == nil {
				words <- word{side: side, note: n}
			}
		}
		words <- word{side: side, gone: true, exit: p.cmd.Wait()}
	}()
	return p, nil
}

// tell sends a child one line.
func (p *player) tell(n note) error {
	if err := json.NewEncoder(p.stdin).Encode(n); err != nil {
		return fmt.Errorf("the %s player takes no orders: %w", sides[p.side], err)
	}
	return nil
}

// stop makes sure that a child is gone. It is only for one whose words nobody
// waits for any more.
func (p *player) stop() {
	if p == nil || p.gone {
		return
	}
	_ = p.stdin.Close()
	_ = p.cmd.Process.Kill()
}

// hear takes one word and reports whether it was a status.
func (p *player) hear(w *word) (isStatus bool) {
	switch n := &w.note; {
	case w.gone:
		p.gone, p.exit = true, w.exit
	case n.Here != nil:
		p.here = n.Here
	case n.Status != nil:
		p.status = *n.Status
		return true
	case n.Ended != nil:
		p.ended = n.Ended
	case n.Failed != "":
		p.failed = n.Failed
	}
	return false
}

// meet waits until both children have said where they are.
func meet(ctx context.Context, players *[2]*player, words <-chan word) error {
	late := time.After(startTimeout)
	for players[0].here == nil || players[1].here == nil {
		select {
		case <-ctx.Done():
			return errInterrupted
		case <-late:
			return fmt.Errorf("a player's process has not begun within %v", startTimeout)
		case w := <-words:
			p := players[w.side]
			p.hear(&w)
			if p.failed != "" || p.gone {
				return fmt.Errorf("the %s player could not begin: %s", sides[p.side], p.why())
			}
		}
	}
	return nil
}

// watch follows the match until both children are gone.
func watch(ctx context.Context, players *[2]*player, words <-chan word, proxy *udplink.Link, stdout io.Writer) error {
	interrupted := ctx.Done()
	var late <-chan time.Time
	stopped := false
	var fresh [2]bool
	for !players[0].gone || !players[1].gone {
		select {
		case <-interrupted:
			interrupted, stopped = nil, true
			_, _ = players[0].stdin.Close(), players[1].stdin.Close()
			late = time.After(leaveTimeout)
		case <-late:
			for _, p := range players {
				if !p.gone {
					_ = p.cmd.Process.Kill()
				}
			}
			late = nil
		case w := <-words:
			p := players[w.side]
			if p.hear(&w) {
				fresh[w.side] = true
			}
			if im, err := impair.ParseImpairment(w.note.Link); w.note.Link != "" && err == nil {
				// One link: what either page's sliders say goes for both directions, and
				// the other page's sliders follow.
				_ = proxy.Set(im, im)
				_ = players[1-w.side].tell(note{Link: w.note.Link})
			}
			if p.gone && late == nil {
				late = time.After(lostTimeout)
			}
			if fresh[0] && fresh[1] {
				printBoth(stdout, &[2]status{players[0].status, players[1].status})
				fresh = [2]bool{}
			}
		}
	}
	if stopped {
		return errInterrupted
	}
	return nil
}

// judge says how the match ended, from what both sides found.
func judge(players *[2]*player, stdout io.Writer) error {
	for _, p := range players {
		if p.ended != nil {
			fmt.Fprintf(stdout, "%-5s  finished: tick %d is confirmed with fingerprint %v\n", sides[p.side], p.ended.Tick, p.ended.Sum)
		}
	}
	a, b := players[0], players[1]
	switch {
	case a.ended == nil && b.ended == nil && a.why() == b.why():
		return fmt.Errorf("both players say: %s", a.why())
	case a.ended == nil && b.ended == nil:
		return fmt.Errorf("the left player: %s; the right player: %s", a.why(), b.why())
	case a.ended == nil:
		return fmt.Errorf("the left player did not finish: %s", a.why())
	case b.ended == nil:
		return fmt.Errorf("the right player did not finish: %s", b.why())
	case *a.ended != *b.ended:
		return errors.New("the two have finished in different worlds")
	}
	fmt.Fprintln(stdout, "The two agree.")
	return nil
}

// why says in a sentence what became of a child that did not finish.
func (p *player) why() string {
	switch {
	case p.failed != "":
		return p.failed
	case p.exit != nil:
		return "its process ended: " + p.exit.Error()
	}
	return "its process ended without a word"
}
