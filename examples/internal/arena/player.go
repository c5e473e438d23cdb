package arena

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/examples/internal/page"
	"github.com/driftback/driftback/session"
)

// player is one player's child process as its parent sees it, and those that have come in its
// place; or the relay's, behind the players' seats.
type player struct {
	seat   int
	name   string
	key    string // the file that keeps its key; "": it does not come back
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	starts int    // how many processes there have been
	here   *here  // where it is: each process where the first was
	ready  bool   // this one has said so
	orders orders // once all players are there
	status status
	fresh  bool // the status has not been printed
	// through has been said: through whom it plays with another seat.
	through map[int]driftback.Peer
	sent    *flow // what it says to have sent in all
	ended   *outcome
	failed  string
	gone    bool
	exit    error
	// before is what became of the process before this one, and dismissed says that this one
	// has nothing to come back to.
	before    string
	dismissed bool
}

// word is something that one child said, or that it is gone.
type word struct {
	seat int
	note note
	gone bool
	exit error
}

// start starts a child process of this very program. The one before, if any, is gone, and has
// said its last word.
func (p *player) start(o *options, words chan<- word) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	args := []string{"child",
		"-seed", strconv.FormatUint(o.seed, 10), "-ticks", strconv.FormatInt(o.ticks, 10), "-rate", strconv.Itoa(o.rate),
		"-delay", strconv.Itoa(o.delay), "-window", strconv.Itoa(o.window), "-wait", o.wait.String(), "-choose", o.choose.String(),
		"-headless=" + strconv.FormatBool(o.headless), "-link", o.link.String(),
		"-back=" + strconv.FormatBool(o.back), "-key", p.key,
		"-desync", strconv.FormatInt(o.desync, 10), "-reports", o.reports,
	}
	if p.here != nil { // the others, and the browser, look for it there
		args = append(args, "-addr", p.here.Addr.String())
		if p.here.Page != "" {
			args = append(args, "-page", strings.Trim(strings.TrimPrefix(p.here.Page, "http:"), "/"))
		}
	}
	cmd := exec.Command(self, args...)
	cmd.Stderr = os.Stderr // a child speaks through its pipe; a crash speaks here
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p.cmd, p.stdin, p.ready, p.fresh, p.gone, p.exit = cmd, stdin, false, false, false, nil
	p.status = status{}
	p.starts++
	go func() {
		lines := bufio.NewScanner(out)
		lines.Buffer(make([]byte, 0, 4096), maxLine)
		for lines.Scan() {
			var n note
			if json.Unmarshal(lines.Bytes(), &n) == nil {
				words <- word{seat: p.seat, note: n}
			}
		}
		words <- word{seat: p.seat, gone: true, exit: cmd.Wait()}
	}()
	return nil
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
	if p.cmd == nil || p.gone {
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
		if h := p.here; h != nil && (h.Addr != n.Here.Addr || h.Pin != n.Here.Pin || h.Page != n.Here.Page) {
			p.failed = "it has come back as somebody else"
			return
		}
		p.here, p.ready = n.Here, true
	case n.Status != nil:
		p.status, p.fresh = *n.Status, true
	case n.Sent != nil:
		p.sent = n.Sent
	case n.Ended != nil:
		p.ended = n.Ended
	case n.Failed != "":
		p.failed = n.Failed
	}
}

// plays reports whether a child has come to the match.
func (p *player) plays() bool {
	return p.status.Phase != "" && p.status.Phase != session.Joining.String() && p.status.Phase != page.PhaseComingBack
}

// died reports whether a child is gone without a word about the match.
func (p *player) died() bool { return p.gone && p.ended == nil && p.failed == "" }

// why says in a sentence what became of a child that did not finish.
func (p *player) why() string {
	switch {
	case p.dismissed:
		return p.before
	case p.failed != "":
		return p.failed
	case p.exit != nil:
		return "its process ended: " + p.exit.Error()
	}
	return "its process ended without a word"
}
