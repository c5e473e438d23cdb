package arena

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
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
	// are left cannot play on. It is longer than the session waits for a silent peer.
	lostTimeout = 15 * time.Second
)

// player is a child as its parent sees it.
type player struct {
	seat   int
	name   string
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	here   *here
	status status
	fresh  bool // the status has not been printed
	ended  *outcome
	failed string
	gone   bool
	exit   error
}

// word is something that one child said, or that it is gone.
type word struct {
	seat int
	note note
	gone bool
	exit error
}

// all plays a match between child processes, each of which has a bad link to each other.
func (g *Game[S, I]) all(ctx context.Context, o *options, stdout io.Writer) error {
	words := make(chan word, 64)
	var players []*player
	defer func() {
		for _, p := range players {
			p.stop()
		}
	}()
	for seat := range o.players {
		p, err := startPlayer(seat, g.Seats[seat], o, words)
		if err != nil {
			return fmt.Errorf("the %s cannot be started: %w", g.Seats[seat], err)
		}
		players = append(players, p)
	}
	if err := meet(ctx, players, words); err != nil {
		return err
	}
	links, err := connect(ctx, players, o)
	if err != nil {
		return err
	}
	defer links.close()
	if !o.headless {
		for _, p := range players {
			fmt.Fprintf(stdout, "%-12s  %s\n", p.name, p.here.Page)
		}
		fmt.Fprintln(stdout, g.Bots, "Ctrl-C ends the match.")
	}
	if err := watch(ctx, players, words, links, stdout); err != nil {
		return err
	}
	return judge(players, stdout)
}

// connect tells each player of all the others. Of two the later one calls the earlier
// one, through a bad link of their own, unless they are to have none.
func connect(ctx context.Context, players []*player, o *options) (l *links, err error) {
	l = &links{}
	play := make([]orders, len(players))
	for i, p := range players {
		play[i].Self, play[i].Detours = driftback.Peer(i), len(o.block) > 0
		for j, q := range players[:i] {
			play[j].Others = append(play[j].Others, other{Peer: driftback.Peer(i), Pin: p.here.Pin})
			if slices.Contains(o.block, pair{j, i}) {
				play[i].Others = append(play[i].Others, other{Peer: driftback.Peer(j), Pin: q.here.Pin})
				continue
			}
			addr, err := l.add(ctx, q.here.Addr, o)
			if err != nil {
				l.close()
				return nil, err
			}
			play[i].Others = append(play[i].Others, other{Peer: driftback.Peer(j), Pin: q.here.Pin, Addr: addr})
		}
	}
	for i, p := range players {
		err = errors.Join(err, p.tell(note{Play: &play[i]}))
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// startPlayer starts one child process of this very program.
func startPlayer(seat int, name string, o *options, words chan<- word) (*player, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	args := []string{"child",
		"-seed", strconv.FormatUint(o.seed, 10), "-ticks", strconv.FormatInt(o.ticks, 10), "-rate", strconv.Itoa(o.rate),
		"-delay", strconv.Itoa(o.delay), "-window", strconv.Itoa(o.window), "-wait", o.wait.String(), "-choose", o.choose.String(),
		"-headless=" + strconv.FormatBool(o.headless), "-link", o.link.String(),
	}
	p := &player{seat: seat, name: name, cmd: exec.Command(self, args...)}
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
				words <- word{seat: seat, note: n}
			}
		}
		words <- word{seat: seat, gone: true, exit: p.cmd.Wait()}
	}()
	return p, nil
}

// tell sends a child one line.
func (p *player) tell(n note) error {
	if err := json.NewEncoder(p.stdin).Encode(n); err != nil {
		return fmt.Errorf("the %s takes no orders: %w", p.name, err)
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

// hear takes one word.
func (p *player) hear(w *word) {
	switch n := &w.note; {
	case w.gone:
		p.gone, p.exit = true, w.exit
	case n.Here != nil:
		p.here = n.Here
	case n.Status != nil:
		p.status, p.fresh = *n.Status, true
	case n.Ended != nil:
		p.ended = n.Ended
	case n.Failed != "":
		p.failed = n.Failed
	}
}

// meet waits until all children have said where they are.
func meet(ctx context.Context, players []*player, words <-chan word) error {
	late := time.After(startTimeout)
	for slices.ContainsFunc(players, func(p *player) bool { return p.here == nil }) {
		select {
		case <-ctx.Done():
			return errInterrupted
		case <-late:
			return fmt.Errorf("a player's process has not begun within %v", startTimeout)
		case w := <-words:
			p := players[w.seat]
			p.hear(&w)
			if p.failed != "" || p.gone {
				return fmt.Errorf("the %s could not begin: %s", p.name, p.why())
			}
		}
	}
	return nil
}

// watch follows the match until all children are gone.
func watch(ctx context.Context, players []*player, words <-chan word, links *links, stdout io.Writer) error {
	interrupted := ctx.Done()
	var late <-chan time.Time
	stopped := false
	for slices.ContainsFunc(players, func(p *player) bool { return !p.gone }) {
		select {
		case <-interrupted:
			interrupted, stopped = nil, true
			for _, p := range players {
				_ = p.stdin.Close()
			}
			late = time.After(leaveTimeout)
		case <-late:
			for _, p := range players {
				if !p.gone {
					_ = p.cmd.Process.Kill()
				}
			}
			late = nil
		case w := <-words:
			p := players[w.seat]
			p.hear(&w)
			if im, err := impair.ParseImpairment(w.note.Link); w.note.Link != "" && err == nil {
				// What one page's sliders say goes for every link and both its directions,
				// and the other pages' sliders follow.
				links.set(im)
				for _, other := range players {
					if other != p {
						_ = other.tell(note{Link: w.note.Link})
					}
				}
			}
			if p.gone && late == nil && (p.ended != nil || !playOn(players)) {
				late = time.After(lostTimeout)
			}
			printFresh(stdout, players)
		}
	}
	if stopped {
		return errInterrupted
	}
	return nil
}

// playOn reports whether those that are left may go on, now that one more has gone: one
// alone never does.
func playOn(players []*player) bool {
	left := 0
	for _, p := range players {
		if !p.gone {
			left++
		}
	}
	return left > 1
}

// printFresh writes a line once all who play have said how they are doing.
func printFresh(stdout io.Writer, players []*player) {
	var list []status
	for _, p := range players {
		switch {
		case p.gone:
			continue
		case !p.fresh:
			return
		}
		list = append(list, p.status)
	}
	if len(list) == 0 {
		return
	}
	printAll(stdout, list)
	for _, p := range players {
		p.fresh = false
	}
}

// judge says how the match ended, from what each of the players found.
func judge(players []*player, stdout io.Writer) error {
	var missing, reasons []string
	var differ bool
	var first *outcome
	for _, p := range players {
		if p.ended == nil {
			missing = append(missing, fmt.Sprintf("the %s: %s", p.name, p.why()))
			reasons = append(reasons, p.why())
			continue
		}
		fmt.Fprintf(stdout, "%-12s  finished: tick %d is confirmed with fingerprint %v\n", p.name, p.ended.Tick, p.ended.Sum)
		if first == nil {
			first = p.ended
		}
		differ = differ || *p.ended != *first
	}
	all := fmt.Sprintf("all %d", len(players))
	if len(players) == 2 {
		all = "both"
	}
	switch {
	case len(missing) == len(players) && len(slices.Compact(reasons)) == 1:
		return fmt.Errorf("%s players say: %s", all, reasons[0])
	case differ:
		return errors.New("the players have finished in different worlds")
	case len(missing) > 0:
		if left := len(players) - len(missing); left > 1 {
			fmt.Fprintf(stdout, "The %d that are left agree.\n", left)
		}
		return fmt.Errorf("not everybody finished: %s", strings.Join(missing, "; "))
	case len(players) == 2:
		fmt.Fprintln(stdout, "The two agree.")
	default:
		fmt.Fprintf(stdout, "The %d agree.\n", len(players))
	}
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
