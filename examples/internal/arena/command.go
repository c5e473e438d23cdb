package arena

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/impair"
)

// Main runs the game's command and ends the process with its exit status.
func Main[S any, I comparable](g *Game[S, I]) {
	// quic-go would print a line about the size of a socket's buffer.
	_ = os.Setenv("QUIC_GO_DISABLE_RECEIVE_BUFFER_WARNING", "true")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the process, whatever it waits for
	status := g.run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// Exit statuses.
const (
	ExitEnded       = 0
	ExitFailed      = 1
	ExitUsage       = 2
	ExitInterrupted = 130
)

// run runs the command and returns its exit status. What went wrong is one
// sentence on stderr.
func (g *Game[S, I]) run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	command, rest := "all", args
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		command, rest = args[0], args[1:]
	}
	o, err := g.parse(command, rest, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return ExitEnded
	case err != nil:
		fmt.Fprintf(stderr, "%s: %v.\n", g.Name, err)
		return ExitUsage
	}
	return g.status(g.do(ctx, command, o, stdin, stdout), stderr)
}

// do does what the command line says.
func (g *Game[S, I]) do(ctx context.Context, command string, o *options, stdin io.Reader, stdout io.Writer) error {
	if command == "child" {
		return g.child(o, stdin, stdout)
	}
	out := newLines(stdout)
	defer out.Close()
	switch command {
	case "host":
		return g.host(ctx, o, out)
	case "join":
		return g.join(ctx, o, out)
	}
	return g.all(ctx, o, out)
}

// status says what went wrong, and returns the exit status.
func (g *Game[S, I]) status(err error, stderr io.Writer) int {
	switch {
	case errors.Is(err, errTold):
		return ExitFailed
	case errors.Is(err, errInterrupted):
		fmt.Fprintf(stderr, "%s: interrupted, so the match is over.\n", g.Name)
		return ExitInterrupted
	case err != nil:
		fmt.Fprintf(stderr, "%s: %v.\n", g.Name, err)
		return ExitFailed
	}
	return ExitEnded
}

var errInterrupted = errors.New("interrupted")

// options are what the command line says.
type options struct {
	players  int
	seed     uint64
	ticks    int64
	rate     int
	delay    int
	window   int
	headless bool
	choose   time.Duration // how long a bot takes to choose its look
	link     impair.Impairment
	block    []pair         // who have no direct link
	relay    driftback.Peer // through whom all play; 0: they play with each other
	wait     time.Duration
	desync   int64         // the tick on which the last player's world is changed; 0: none
	reports  string        // the folder that takes reports of desyncs
	back     bool          // who is lost may come back
	grace    time.Duration // for how long the other of two waits for that
	key      string        // the file that keeps the player's key; "": none does
	addr     string        // of the game's socket
	page     string        // of the page
	guest    identity.Pin  // whom the host has met before
	room     roomOptions
	// The rest is join's.
	hostAddr string
	pin      identity.Pin
	code     identity.Code
}

// keyUsage is what host and join say of -key.
const keyUsage = "`file` that keeps this player's key, made if it is not there: with it a player whose process died gets the place back"

const (
	// idleTimeout is how long nothing may be heard over a link before it is down. Who is lost
	// is waited for all the same.
	idleTimeout = 2 * time.Second
	// hostAddr is where a host is reached that says nothing else.
	hostAddr = ":7777"
	// childGrace is for how long the other of two on one machine waits for who is lost.
	childGrace = 10 * time.Second
)

// identity returns the player's key.
func (o *options) identity() (*identity.Identity, error) {
	if o.key == "" {
		return identity.Generate()
	}
	return identity.Open(o.key)
}

// usage is written above the flags; %[1]s is the command.
const usage = `usage:
  %[1]s [flags]                          a process for each player on this machine
  %[1]s host [flags]                     wait for a second player, and print what to tell them
  %[1]s join [flags] ADDR PIN CODE       join the player who was told that
  %[1]s host -signal URL [flags]         wait in a room of a signalling server, and print its code
  %[1]s join -signal URL [flags] CODE    join the player there, through both players' routers

flags:
`

// parse reads the command line.
func (g *Game[S, I]) parse(command string, args []string, stderr io.Writer) (*options, error) {
	o := &options{players: g.Players}
	f := flag.NewFlagSet(g.Name+" "+command, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Uint64Var(&o.seed, "seed", 1, "seed of the bots and of the bad link; what bots see depends on timing, so no two matches are alike")
	f.Int64Var(&o.ticks, "ticks", 0, "end at this `tick`, the same on every side; 0 plays on")
	f.IntVar(&o.rate, "rate", g.TicksPerSecond, "ticks per second, 1 to 240, the same on every side")
	f.IntVar(&o.delay, "delay", 2, "input delay in `ticks`")
	f.IntVar(&o.window, "window", session.DefaultWindow, "prediction window in `ticks`; -1 waits for every input")
	f.BoolVar(&o.headless, "headless", false, "no page; a bot plays")
	f.DurationVar(&o.choose, "choose", 3*time.Second, "how long a bot takes to pick before a match, where there is something to pick, and a page's keys can be touched")
	f.DurationVar(&o.wait, "wait", time.Minute, "how long to wait for the other players")
	f.BoolVar(&o.back, "back", true, "let a player whose process died come back to the match, the same on every side")
	f.StringVar(&o.reports, "reports", ".", "`folder` for what is known of a desync, should there be one")
	link, guest, block, relayed := "latency=0ms", "", "", false
	switch command {
	case "all", "child":
		if command == "child" {
			f.StringVar(&o.key, "key", "", "`file` that keeps the player's key")
			f.StringVar(&o.addr, "addr", "127.0.0.1:0", "UDP `address` to be reached at")
			f.StringVar(&o.page, "page", "127.0.0.1:0", "`address` of the page")
		}
		f.Int64Var(&o.desync, "desync", 0, "change one bit of the last player's world as this `tick` runs, to see how that is found and told; 0 leaves it alone")
		f.StringVar(&link, "link", link, "how bad each link is, each way: `latency=60ms,jitter=10ms,loss=5%`")
		if g.CountFlag != "" {
			f.IntVar(&o.players, g.CountFlag, g.Players, fmt.Sprintf("how many play, 2 to %d", len(g.Seats)))
			if command == "all" && g.Picks == nil { // a relay carries no picks
				f.BoolVar(&relayed, "relay", false, fmt.Sprintf("all play through one more process that plays nobody, and have no other link; the window is then %d unless it is given, and nobody comes back", relayWindow))
			}
			if command == "all" {
				f.StringVar(&block, "block", "", "which of them have no direct link, and play through somebody else: `1-2,3-4`")
			}
		}
	case "host", "join":
		o.players = 2
		o.flagsOfTwo(f, command == "host", &guest)
	default:
		return nil, fmt.Errorf("there is no command %q; there are host and join, and neither plays on this machine alone", command)
	}
	words, err := parseMixed(f, args)
	if err != nil {
		if errors.Is(err, flag.ErrHelp) {
			fmt.Fprintf(stderr, usage, g.Name)
			f.SetOutput(stderr)
			f.PrintDefaults()
			return nil, err
		}
		return nil, fmt.Errorf("%w; -help lists the flags", err)
	}
	im, err := impair.ParseImpairment(link)
	if err != nil {
		return nil, fmt.Errorf("-link %q: %w", link, err)
	}
	o.link = im
	if guest != "" {
		if o.guest, err = identity.ParsePin(guest); err != nil {
			return nil, fmt.Errorf("-guest: %w", err)
		}
	}
	if o.grace = o.wait; command == "child" {
		o.grace = min(o.wait, childGrace)
	}
	switch {
	case command == "join":
		err = o.parseInvitation(words)
	case len(words) > 0:
		err = fmt.Errorf("%q is one argument too many; -help lists the flags", words[0])
	case command == "host":
		err = o.hostAt()
	}
	if err != nil {
		return nil, err
	}
	if o.players < 2 || o.players > len(g.Seats) {
		return nil, fmt.Errorf("-%s is %d; 2 to %d are allowed", g.CountFlag, o.players, len(g.Seats))
	}
	if o.block, err = parseBlock(block, o.players); err != nil {
		return nil, fmt.Errorf("-block %q: %w", block, err)
	}
	if relayed {
		if err := o.playThroughRelay(f); err != nil {
			return nil, err
		}
	}
	return o, o.validate()
}

// flagsOfTwo are those of a host, or of who joins.
func (o *options) flagsOfTwo(f *flag.FlagSet, host bool, guest *string) {
	f.StringVar(&o.key, "key", "", keyUsage)
	f.StringVar(&o.page, "page", "127.0.0.1:0", "`address` of the page, on this machine")
	o.room.flags(f)
	if !host {
		f.StringVar(&o.addr, "addr", "", "UDP `address` to play from; any if not given")
		return
	}
	f.StringVar(&o.addr, "addr", "", "UDP `address` to be reached at; \""+hostAddr+"\" if not given, and any port in a room")
	f.StringVar(guest, "guest", "", "`pin` of the player who was here before this process died, in place of a code")
	f.StringVar(&o.room.code, "code", "", "`code` of the room that this player was host of before this process died, with its -key")
}

// parseMixed parses flags wherever they stand, and returns the other words.
func parseMixed(f *flag.FlagSet, args []string) (words []string, err error) {
	for {
		if err := f.Parse(args); err != nil {
			return nil, err
		}
		if f.NArg() == 0 {
			return words, nil
		}
		words, args = append(words, f.Arg(0)), f.Args()[1:]
	}
}

// alike returns the flags that the other player must be given too, each after a
// blank.
func (g *Game[S, I]) alike(o *options) (flags string) {
	if o.ticks != 0 {
		flags += fmt.Sprintf(" -ticks %d", o.ticks)
	}
	if o.rate != g.TicksPerSecond {
		flags += fmt.Sprintf(" -rate %d", o.rate)
	}
	if o.window != session.DefaultWindow {
		flags += fmt.Sprintf(" -window %d", o.window)
	}
	if !o.back {
		flags += " -back=false"
	}
	return flags
}

// parseInvitation reads what the host was told to pass on.
func (o *options) parseInvitation(args []string) (err error) {
	if found, err := o.room.read(strings.Join(args, " ")); found || err != nil {
		return err
	}
	if len(args) != 3 {
		return fmt.Errorf("join needs what host prints, a room's CODE or the three words ADDR PIN CODE, and was given %d", len(args))
	}
	o.hostAddr = args[0]
	if o.pin, err = identity.ParsePin(args[1]); err != nil {
		return err
	}
	o.code, err = identity.ParseCode(args[2])
	return err
}

func (o *options) validate() error {
	switch {
	case o.rate < 1 || o.rate > 240:
		return fmt.Errorf("-rate is %d ticks per second; 1 to 240 are allowed", o.rate)
	case o.ticks < 0:
		return fmt.Errorf("-ticks is %d; it must not be negative", o.ticks)
	case o.desync < 0:
		return fmt.Errorf("-desync is %d; it must not be negative", o.desync)
	case o.delay < 0 || o.delay > mesh.MaxDelay:
		return fmt.Errorf("-delay is %d ticks; 0 to %d are allowed", o.delay, mesh.MaxDelay)
	case o.window != -1 && (o.window < 1 || o.window > mesh.MaxWindow):
		return fmt.Errorf("-window is %d ticks; 1 to %d are allowed, or -1", o.window, mesh.MaxWindow)
	case o.window == -1 && o.delay == 0:
		return errors.New("-window is -1 and -delay is 0; without predictions a delay of at least 1 tick is needed")
	case o.choose < 0:
		return fmt.Errorf("-choose is %v; it must not be negative", o.choose)
	case o.wait <= 0:
		return fmt.Errorf("-wait is %v; it must be positive", o.wait)
	}
	return nil
}
