package mesh

import (
	"bytes"
	hexbytes "encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

var update = flag.Bool("update", false, "write the transcripts under testdata anew")

// TestTranscripts plays each file under testdata and compares what the peers say
// with what the file says they say. Together they are a specification to be read:
// a change of the protocol shows as a change of these files.
//
// A line that is indented is output, and written anew by: go test ./mesh -run
// Transcripts -update. A line that begins with # is a comment. The others:
//
//	peers a b every=4            who plays, and what is alike: delay, window, redundancy, every,
//	                             timeout, grace, join, lost, turns, evidence; any other name is a setting
//	config b delay=2 game=chess  what is not alike
//	connect a b                  the link comes up on both sides
//	play                         every link comes up, and the handshake is not printed
//	disconnect a b: why          it goes down
//	poll a 16ms                  time passes, then a polls and flushes
//	turn 16ms                    time passes, then each one does
//	skip 900ms                   time passes in turns of 16ms of which little is printed
//	begin a 5eed                 a says which state it starts from
//	publish a 0 5: 01 02         a's participant 0 does this from tick 5 on
//	fingerprint a 4: ff          the confirmed state as tick 4 began
//	finish a 10: ff              as the last tick began
//	last a 10                    a knows that this will be the last tick
//	hurry a                      a cannot run its next tick before it has heard from the others
//	leave a
//	halt a: why
//	crash a                      a says nothing any more
//	part a b                     nothing gets from a to b or back, and neither is told
//	meet a b                     and now it does
//	vote b->a 101: 2             a hears b ask for ballot 101 (in hexadecimal) without peer 2
//	drop a->b                    from now on a's datagrams to b are lost
//	pass a->b                    and now they are not
//	full a / room a              a's reliable channels have no room, and have some again
//	forge b->a 1 5: 03           a receives a packet in which b says this of participant 1
//	message a->b: hi             a's game sends this to b's
//	evidence a->b: 0102          a tells b this of a state that differs
//	taken a->b                   b takes what a has told it
//	settle a->b                  a has told b all of it, and knows all that it can know
//	rematch a game=chess         a begins the next match, whose id is greater by 100, or tries again
//	                             to begin the same; its nonce is greater by 100
//	restart b                    b's process is another one
//	show a                       what a knows
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			s := newTranscript(t)
			for _, line := range strings.Split(strings.TrimSuffix(string(want), "\n"), "\n") {
				if strings.HasPrefix(line, "    ") {
					continue
				}
				fmt.Fprintln(&s.out, line)
				if line != "" && line[0] != '#' {
					s.do(line)
				}
			}
			if *update {
				require.NoError(t, os.WriteFile(file, s.out.Bytes(), 0o644))
				return
			}
			require.Equal(t, string(want), s.out.String(), "if the change is meant, write the transcript anew with -update")
		})
	}
}

func TestTranscriptsNoticeAChange(t *testing.T) {
	// The control: the same scenario with one input changed reads differently.
	play := func(in string) string {
		s := newTranscript(t)
		for _, line := range []string{"peers a b", "play", "publish a 0 0: " + in, "poll a 16ms"} {
			s.do(line)
		}
		return s.out.String()
	}
	require.NotEqual(t, play("01"), play("02"))
	require.Contains(t, play("02"), "inputs of 0 from 0: 02")
}

type transcript struct {
	t        *testing.T
	out      bytes.Buffer
	match    *match
	names    []string
	config   map[string][]string
	dropping map[string]bool
	silent   bool
	skipped  map[string]int // messages sent while silent, by direction
}

func newTranscript(t *testing.T) *transcript {
	return &transcript{
		t: t, match: &match{t: t}, config: map[string][]string{}, dropping: map[string]bool{}, skipped: map[string]int{},
	}
}

func (s *transcript) say(format string, args ...any) {
	if !s.silent {
		fmt.Fprintf(&s.out, "    "+format+"\n", args...)
	}
}

// seat returns the seat of a name, having made all of them.
func (s *transcript) seat(name string) *seat {
	if s.match.seats == nil {
		for i, name := range s.names {
			from := &seat{match: s.match, self: driftback.Peer(i), room: 1200}
			from.lose = func(to *seat, _ *wire.Packet) bool { return s.dropping[name+"->"+s.names[to.self]] }
			s.match.seats = append(s.match.seats, from)
			from.open(s.configOf(i, uint64(i+1)))
		}
	}
	for i := range s.names {
		if s.names[i] == name {
			return s.match.seats[i]
		}
	}
	s.t.Fatalf("no peer is called %q", name)
	return nil
}

func (s *transcript) configOf(i int, nonce uint64) Config {
	c := Config{
		Self: driftback.Peer(i), Stride: 1, Window: 8, FingerprintEvery: None, Match: 7, Nonce: nonce,
		PeerTimeout: time.Second, JoinTimeout: 10 * time.Second,
	}
	for p := range s.names {
		c.Players = append(c.Players, driftback.Peer(p))
	}
	for _, option := range append(s.config[""], s.config[s.names[i]]...) {
		name, value, _ := strings.Cut(option, "=")
		switch name {
		case "delay":
			c.Delay = s.number(value)
		case "window":
			c.Window = s.number(value)
		case "redundancy":
			c.Redundancy = s.number(value)
		case "turns":
			c.PublishEvery, c.TickLength = s.number(value), frame
		case "every":
			c.FingerprintEvery, c.History = s.number(value), 1000
		case "timeout":
			c.PeerTimeout = s.duration(value)
		case "grace":
			c.RejoinGrace = s.duration(value)
		case "evidence":
			c.Evidence = value == "yes"
		case "lost":
			c.PlayOn = value == "playon"
		case "join":
			c.JoinTimeout = s.duration(value)
		default:
			c.Settings = append(c.Settings, wire.Setting{Name: name, Value: value})
		}
	}
	return c
}

func (s *transcript) number(text string) int {
	v, err := strconv.Atoi(text)
	require.NoError(s.t, err)
	return v
}

func (s *transcript) sum(text string) uint64 {
	v, err := strconv.ParseUint(text, 16, 64)
	require.NoError(s.t, err)
	return v
}

func (s *transcript) duration(text string) time.Duration {
	v, err := time.ParseDuration(text)
	require.NoError(s.t, err)
	return v
}

// do carries out one line.
func (s *transcript) do(line string) {
	head, rest, _ := strings.Cut(line, ": ")
	words := strings.Fields(head)
	verb, args := words[0], words[1:]
	switch verb {
	case "peers":
		for _, arg := range args {
			if strings.Contains(arg, "=") {
				s.config[""] = append(s.config[""], arg)
			} else {
				s.names = append(s.names, arg)
			}
		}
	case "config":
		s.config[args[0]] = args[1:]
	case "connect":
		a, b := s.seat(args[0]), s.seat(args[1])
		a.up(b)
		b.up(a)
	case "play":
		s.seat(s.names[0])
		s.match.begin()
		for _, seat := range s.match.seats {
			seat.log = nil
		}
	case "disconnect":
		a, b := s.seat(args[0]), s.seat(args[1])
		a.inbox, b.inbox = nil, nil
		a.down(b, rest)
		b.down(a, rest)
	case "poll":
		s.match.now += s.duration(args[1])
		s.turn(args[0])
	case "turn":
		s.match.now += s.duration(args[0])
		for _, name := range s.names {
			s.turn(name)
		}
	case "skip":
		s.silent = true
		for until := s.match.now + s.duration(args[0]); s.match.now < until; {
			s.match.now += frame
			for _, name := range s.names {
				s.turn(name)
			}
		}
		s.silent = false
		for _, a := range s.names {
			for _, b := range s.names {
				if n := s.skipped[a+" -> "+b]; n > 0 {
					s.say("%s -> %s %d messages%s", a, b, n, s.lost(a, b))
				}
			}
		}
		clear(s.skipped)
	case "crash":
		s.seat(args[0]).closed = true
	case "part", "meet":
		a, b := s.seat(args[0]), s.seat(args[1])
		for _, to := range [][2]*seat{{a, b}, {b, a}} {
			if to[0].apart == nil {
				to[0].apart = map[driftback.Peer]bool{}
			}
			to[0].apart[to[1].self] = verb == "part"
		}
	case "vote":
		from, to, _ := strings.Cut(args[0], "->")
		ballot, err := strconv.ParseUint(args[1], 16, 64)
		require.NoError(s.t, err)
		s.seat(to).give(s.seat(from), wire.Prepare{View: 1, Ballot: ballot, Lost: wire.PeersOf(driftback.Peer(s.number(rest)))})
	case "drop", "pass":
		s.dropping[args[0]] = verb == "drop"
	case "full":
		s.seat(args[0]).refuses = transport.ErrFull
	case "room":
		s.seat(args[0]).refuses = nil
	case "forge":
		from, to, _ := strings.Cut(args[0], "->")
		s.seat(to).forge(s.seat(from), wire.Packet{Runs: []wire.Run{s.run(args[1], args[2], rest)}})
	case "rematch":
		s.rematch(args[0], args[1:])
	case "restart":
		i := int(s.seat(args[0]).self)
		s.match.seats[i].open(s.configOf(i, 99))
	default:
		s.act(verb, args, rest)
	}
}

func (s *transcript) rematch(name string, options []string) {
	seat := s.seat(name)
	c := s.configOf(int(seat.self), seat.config.Nonce+100)
	if c.Match = seat.config.Match + 100; seat.mesh.Phase() == Ended && !seat.mesh.agreed {
		c.Match = seat.config.Match // it tries again
	}
	for _, option := range options {
		name, value, _ := strings.Cut(option, "=")
		c.Settings = append(c.Settings, wire.Setting{Name: name, Value: value})
	}
	phase := seat.mesh.Phase()
	c.Transport = seat
	next, err := New(c)
	require.NoError(s.t, err)
	require.NoError(s.t, next.Follow(seat.mesh))
	s.told(name, seat)
	s.entered(name, seat.mesh, phase)
	seat.config, seat.mesh = c, next
}

// act carries out a line in which one peer calls its mesh between turns.
func (s *transcript) act(verb string, args []string, rest string) {
	name, to, _ := strings.Cut(args[0], "->")
	seat := s.seat(name)
	mesh := seat.mesh
	phase := mesh.Phase()
	var err error
	switch verb {
	case "begin":
		err = mesh.Begin(s.sum(args[1]), true)
	case "publish":
		r := s.run(args[1], args[2], rest)
		for i, in := range r.Inputs {
			if err == nil {
				err = mesh.Publish(r.Participant, r.First+driftback.Tick(i), []byte{in})
			}
		}
	case "fingerprint":
		err = mesh.Fingerprint(driftback.Tick(s.number(args[1])), s.sum(rest))
	case "message":
		err = mesh.Send(s.seat(to).self, []byte(rest))
	case "evidence":
		b, parseErr := hexbytes.DecodeString(rest)
		require.NoError(s.t, parseErr)
		if !mesh.SendEvidence(s.seat(to).self, b) {
			s.say("that cannot be said now")
		}
	case "taken":
		for b, ok := s.seat(to).mesh.NextEvidence(seat.self); ok; b, ok = s.seat(to).mesh.NextEvidence(seat.self) {
			s.say("%s has %x", to, b)
		}
	case "settle":
		mesh.Settle(s.seat(to).self)
	case "finish":
		mesh.Finish(driftback.Tick(s.number(args[1])), s.sum(rest), true)
	case "last":
		mesh.Last(driftback.Tick(s.number(args[1])))
	case "hurry":
		mesh.Hurry()
	case "leave":
		mesh.Leave()
	case "halt":
		mesh.Halt(errors.New(rest), rest)
	case "show":
		s.show(name, mesh)
	default:
		s.t.Fatalf("no line begins with %q", verb)
	}
	if err != nil {
		s.say("error: %v", err)
	}
	s.told(name, seat)
	s.entered(name, mesh, phase)
}

func (s *transcript) run(participant, first, inputs string) wire.Run {
	b, err := hexbytes.DecodeString(strings.ReplaceAll(inputs, " ", ""))
	require.NoError(s.t, err)
	return wire.Run{
		Participant: driftback.Participant(s.number(participant)), First: driftback.Tick(s.number(first)), Count: len(b), Inputs: b,
	}
}

// turn lets a peer poll and flush, and says what comes of it.
func (s *transcript) turn(name string) {
	seat := s.seat(name)
	if seat.closed {
		return
	}
	view := seat.mesh.View()
	phase, confirmed, refused, blocked := seat.mesh.Phase(), seat.mesh.Confirmed(), seat.mesh.Refused(), seat.mesh.Blocked()
	seat.mesh.Poll(s.match.now)
	for _, e := range seat.mesh.Events() {
		why := ""
		if e.Err != nil && e.Err.Error() != "" {
			why = ": " + e.Err.Error()
		}
		if e.Kind == PeerCut {
			why = fmt.Sprintf(" at tick %d", e.Tick)
		}
		s.say("%s: %s %v%s", name, s.names[e.Peer], e.Kind, why)
	}
	for _, m := range seat.mesh.Messages() {
		s.say("%s is told by %s: %s", name, s.names[m.From], m.Data)
	}
	for r, n := range seat.mesh.Refused() {
		if n > refused[r] {
			s.say("%s refused %d: %v", name, n-refused[r], Refusal(r))
		}
	}
	if v := seat.mesh.View(); v != view {
		s.say("%s is in view %d", name, v)
	}
	if c := seat.mesh.Confirmed(); c > confirmed {
		s.say("%s has confirmed every tick below %d", name, c)
	}
	if b := seat.mesh.Blocked(); b != blocked {
		s.say("%s is blocked: %v", name, b)
	}
	s.entered(name, seat.mesh, phase)
	seat.mesh.Flush()
	s.told(name, seat)
}

func (s *transcript) entered(name string, m *Mesh, before Phase) {
	if m.Phase() == before {
		return
	}
	s.say("%s is now %v", name, m.Phase())
	if m.Err() != nil {
		s.say("%s: %v", name, m.Err())
	}
}

func (s *transcript) show(name string, m *Mesh) {
	s.say("%s is %v, and has confirmed every tick below %d", name, m.Phase(), m.Confirmed())
	for p := range m.histories {
		var inputs []string
		h := &m.histories[p]
		for t := h.oldest(); t < h.held; t++ {
			inputs = append(inputs, hexbytes.EncodeToString(h.at(t)))
		}
		s.say("participant %d: %s", p, strings.Join(inputs, " "))
	}
	for _, peer := range m.Peers() {
		l, _ := m.Link(peer)
		s.say("%s lacks %d of its inputs; round trip %v; silent for %v", s.names[peer], l.Unacknowledged, l.RoundTrip, l.Silence)
	}
}

// told says what a peer has sent.
func (s *transcript) told(name string, seat *seat) {
	for _, m := range seat.log {
		to := s.names[m.to]
		if s.silent {
			s.skipped[name+" -> "+to]++
		}
		if m.control != nil {
			s.say("%s -> %s %s", name, to, controlWords(m.control))
			continue
		}
		s.say("%s -> %s packet %d, %d bytes%s%s", name, to, m.packet.Seq, m.size, packetWords(m.packet), s.lost(name, to))
	}
	seat.log = nil
}

func (s *transcript) lost(from, to string) string {
	if s.dropping[from+"->"+to] {
		return " (lost)"
	}
	return ""
}

func packetWords(p *wire.Packet) string {
	var parts []string
	for _, r := range p.Runs {
		var inputs []string
		for _, in := range r.Inputs {
			inputs = append(inputs, fmt.Sprintf("%02x", in))
		}
		parts = append(parts, fmt.Sprintf("inputs of %d from %d: %s", r.Participant, r.First, strings.Join(inputs, " ")))
	}
	for _, a := range p.Acks {
		parts = append(parts, fmt.Sprintf("has those of %d below %d", a.Participant, a.Next))
	}
	if n := len(p.Sums.List); n > 0 {
		var list []string
		for _, sum := range p.Sums.List {
			list = append(list, strconv.FormatUint(sum, 16))
		}
		parts = append(parts, fmt.Sprintf("fingerprints from %d: %s", p.Sums.First, strings.Join(list, " ")))
	}
	if p.SumAck.Set {
		parts = append(parts, fmt.Sprintf("has fingerprints below %d", p.SumAck.Next))
	}
	if p.Echo.Set {
		parts = append(parts, fmt.Sprintf("echo of %d after %v", p.Echo.Seq, time.Duration(p.Echo.HeldMicros)*time.Microsecond))
	}
	if len(parts) == 0 {
		return ""
	}
	return "; " + strings.Join(parts, "; ")
}

func controlWords(c wire.Control) string {
	switch c := c.(type) {
	case wire.Hello:
		text := fmt.Sprintf("hello: match %d, nonce %d", c.Match, c.Nonce)
		for _, s := range c.Settings {
			text += fmt.Sprintf(", %s %q", s.Name, s.Value)
		}
		for _, d := range c.Delays {
			text += fmt.Sprintf(", participant %d delayed by %d", d.Participant, d.Ticks)
		}
		return text
	case wire.Start:
		return fmt.Sprintf("start: state %x", c.State)
	case wire.Finish:
		return fmt.Sprintf("finish: tick %d begins with %x", c.At, c.Sum)
	case wire.Leave:
		reason := [...]string{"left", "halted", "refused", "finished", "lost", "missing"}[c.Reason]
		return fmt.Sprintf("leave (%s) at tick %d: %q", reason, c.Tick, c.Text)
	case wire.Message:
		if len(c.Data) == 0 {
			return fmt.Sprintf("has taken %d messages", c.Taken)
		}
		return fmt.Sprintf("message: %s", c.Data)
	case wire.Disagree:
		return fmt.Sprintf("disagree: tick %d begins with %x", c.Tick, c.Sum)
	case wire.Evidence:
		if len(c.Data) == 0 {
			return fmt.Sprintf("evidence: that is all of tick %d", c.Tick)
		}
		return fmt.Sprintf("evidence: of tick %d %x", c.Tick, c.Data)
	default:
		return viewWords(c)
	}
}
