package nattest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/examples/fighter/sim"
	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/signalling/web"
)

// patience bounds every wait, and with it every process.
const patience = 20 * time.Second

// process is this program in one of its roles, in a namespace. It ends when its input
// does, which it does at the latest when this process is gone.
type process struct {
	t     testing.TB
	role  string
	cmd   *exec.Cmd
	input io.WriteCloser
	once  sync.Once

	mu     sync.Mutex
	said   int // how often it has said something
	status status
	stderr bytes.Buffer
	over   chan struct{} // closed when its output has ended
}

// start starts a process, which is gone when the test is over.
func (w *world) start(namespace, role string) *process {
	w.t.Helper()
	self, err := os.Executable()
	require.NoError(w.t, err)
	words := in(namespace, self)
	p := &process{t: w.t, role: role, cmd: exec.Command(words[0], words[1:]...), over: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), roleVariable+"="+role)
	if w.certificate != "" {
		p.cmd.Env = append(p.cmd.Env, certVariable+"="+w.certificate, trustVariable+"="+w.certificate)
	}
	p.cmd.Stderr = &p.stderr
	p.input, err = p.cmd.StdinPipe()
	require.NoError(w.t, err)
	out, err := p.cmd.StdoutPipe()
	require.NoError(w.t, err)
	require.NoError(w.t, p.cmd.Start())
	go func() {
		defer close(p.over)
		for d := json.NewDecoder(out); ; {
			var s status
			if d.Decode(&s) != nil {
				return
			}
			p.mu.Lock()
			p.status = s
			p.said++
			p.mu.Unlock()
		}
	}()
	w.t.Cleanup(p.stop)
	return p
}

// stop ends a process politely, and kills it if that does not help.
func (p *process) stop() {
	p.once.Do(func() {
		_ = p.input.Close()
		kill := time.AfterFunc(patience/4, func() { _ = p.cmd.Process.Kill() })
		defer kill.Stop()
		<-p.over
		if err := p.cmd.Wait(); err != nil || p.t.Failed() {
			p.t.Errorf("the %s: %v: %s", p.role, err, &p.stderr)
		}
	})
}

// tell gives a process a line of input.
func (p *process) tell(line string) {
	p.t.Helper()
	_, err := fmt.Fprintln(p.input, line)
	require.NoError(p.t, err)
}

// kill ends a process as a crash would.
func (p *process) kill() {
	p.once.Do(func() {
		_ = p.cmd.Process.Kill()
		<-p.over
		_ = p.cmd.Wait()
		_ = p.input.Close()
	})
}

func (p *process) now() (status, int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status, p.said
}

// until waits until what a process says of itself is so, and returns it.
func (p *process) until(what string, ok func(*status) bool) status {
	p.t.Helper()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for end := time.Now().Add(patience); time.Now().Before(end); <-look.C {
		if s, said := p.now(); said > 0 && ok(&s) {
			return s
		}
		select {
		case <-p.over:
			if s, _ := p.now(); ok(&s) {
				return s
			}
			require.FailNow(p.t, "it has ended", "the %s, before %s", p.role, what)
		default:
		}
	}
	s, _ := p.now()
	require.FailNow(p.t, "it did not happen", "%s, in %v; the %s has said last: %+v", what, patience, p.role, s)
	return status{}
}

// match is a match between the two homes, and the servers that it has.
type match struct {
	*world
	stun, turn, signal *process
	players            [2]*process
	ticks              driftback.Tick
}

// newMatch starts the servers, and the players when these are ready.
func newMatch(w *world, ticks driftback.Tick) *match {
	w.t.Helper()
	m := &match{world: w, ticks: ticks}
	m.stun, m.turn, m.signal = w.start(w.public, "stun"), w.start(w.public, w.relay), w.start(w.public, "signal")
	for _, p := range []*process{m.stun, m.turn, m.signal} {
		p.ready()
	}
	for i := range m.players {
		m.players[i] = w.start(w.homes[i], "player")
	}
	var pins [2]string
	for i, p := range m.players {
		pins[i] = p.until("it has a key", func(s *status) bool { return s.Pin != "" }).Pin
	}
	invitation := web.NewInvitation().String()
	for i, p := range m.players {
		require.NoError(w.t, json.NewEncoder(p.input).Encode(orders{Self: driftback.Peer(i), Other: pins[1-i], Invitation: invitation, Relay: relayURLs[w.over], Renew: w.relay == "strict", Ticks: ticks}))
	}
	return m
}

// ready waits for a server.
func (p *process) ready() {
	p.t.Helper()
	p.until("it is ready", func(*status) bool { return true })
}

// at waits for a tick that both have confirmed, and returns how they are then.
func (m *match) at(tick driftback.Tick) (now [2]status) {
	m.t.Helper()
	for i, p := range m.players {
		now[i] = p.until("the tick is confirmed", func(s *status) bool { return s.Confirmed >= tick })
	}
	return now
}

// direct waits until both have played for a while and have a direct path, which on a busy
// machine may not be the first one that is found.
func (m *match) direct() (now [2]status) {
	m.t.Helper()
	for i, p := range m.players {
		now[i] = p.until("the path is direct", func(s *status) bool { return s.Confirmed >= event && !s.Path.Relayed })
	}
	return now
}

// end waits for the end of the match, and holds both players to a plain loop over what
// they say they held.
func (m *match) end() (last [2]status) {
	m.t.Helper()
	for i, p := range m.players {
		last[i] = p.until("the match ends", func(s *status) bool { return s.Inputs != nil })
	}
	require.Len(m.t, last[0].Inputs, int(m.ticks))
	require.Len(m.t, last[1].Inputs, int(m.ticks))
	want, hits := loop(m.t, last[0].Inputs, last[1].Inputs)
	require.Positive(m.t, hits, "it was a fight")
	for i, s := range last {
		require.Equal(m.t, m.ticks, s.Confirmed)
		require.Equal(m.t, want, s.Sum, "player %d has another end than the plain loop", i)
		require.Equal(m.t, 1, s.Ups, "QUIC noticed nothing")
	}
	return last
}

// loop plays the fight in a plain loop.
func loop(t testing.TB, a, b []uint16) (sum fingerprint.Sum, hits int) {
	t.Helper()
	state := sim.New(seed)
	var pass driftback.Pass
	for tick := range a {
		pass.Begin(driftback.Tick(tick), nil)
		sim.Step(&state, []sim.Input{{Buttons: a[tick]}, {Buttons: b[tick]}}, &pass)
		for _, e := range pass.Raised() {
			if e.Kind == sim.KindHit {
				hits++
			}
		}
	}
	h, err := fingerprint.New[sim.State]()
	require.NoError(t, err)
	return h.Sum(&state), hits
}
