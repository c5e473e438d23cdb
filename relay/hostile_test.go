package relay_test

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

// An attack is player 0 doing what bytes say, while player 1 plays as it should.
type attack struct {
	*pair
	script []byte
	sent   []byte         // player 1's inputs, by tick
	asked  driftback.Tick // the first tick that the relay has not acknowledged of it
	ended  bool           // player 1 has been told that the match is over
	did    map[string]int
}

func newAttack(t testing.TB, script []byte) *attack {
	return &attack{pair: playing(t), script: script, did: map[string]int{}}
}

// take returns the next byte of the script, and 0 after its end.
func (a *attack) take() (b byte) {
	if len(a.script) > 0 {
		b, a.script = a.script[0], a.script[1:]
	}
	return b
}

func (a *attack) bytes() []byte {
	n := min(int(a.take()), len(a.script))
	b := a.script[:n]
	a.script = a.script[n:]
	return b
}

// tick returns one near the ones that are played, or far off.
func (a *attack) tick() driftback.Tick {
	switch b := a.take(); {
	case b < 200:
		return max(0, a.relay.Closed()+driftback.Tick(b)-50)
	case b < 210:
		return wire.MaxTick - 300
	default:
		return driftback.Tick(b) << (b % 40)
	}
}

// honest is what player 1 does in 16 ms: it gives one more input, and takes the set.
func (a *attack) honest() {
	for {
		msg, ok := a.ends[1].Receive()
		if !ok {
			break
		}
		switch msg.Kind {
		case transport.Datagram:
			var p wire.Packet
			require.NoError(a.t, p.Parse(msg.Data, 1))
			for _, ack := range p.Acks {
				a.asked = max(a.asked, ack.Next)
			}
		case transport.Reliable:
			c, err := wire.ParseControl(msg.Data)
			require.NoError(a.t, err)
			if _, leave := c.(wire.Leave); leave {
				a.ended = true
			}
		}
	}
	t := driftback.Tick(len(a.sent))
	if t < a.relay.Closed()+8 {
		a.sent = append(a.sent, byte(t*7))
	}
	p := wire.Packet{Acks: []wire.Ack{{Next: a.relay.Closed()}}}
	if from := min(a.asked, driftback.Tick(len(a.sent))); int(from) < len(a.sent) {
		p.Runs = []wire.Run{run(1, from, a.sent[from:]...)}
	}
	a.send(1, p)
}

// hostile is one thing that player 0 does.
func (a *attack) hostile() {
	what := a.take() % 16
	if ending := what == 1 || what == 4 || what == 6 || what == 9 || what == 11 || what == 12 || what == 15; ending && a.take() > 2 {
		return // seldom what may end the match, or its part in it
	}
	a.did[[16]string{"bytes", "bytes", "control bytes", "forged", "far", "own", "twice", "acks", "sums", "hello", "start", "finish", "disagree", "flood", "down", "leave"}[what]]++
	reliable := func(c wire.Control) {
		if b, err := wire.AppendControl(nil, c); err == nil {
			_ = a.ends[0].SendReliable(self, b)
		}
	}
	inputs := func(q driftback.Participant, first driftback.Tick, in []byte) {
		if len(in) > 0 && len(in) <= wire.MaxRunTicks && first <= wire.MaxTick-wire.MaxRunTicks {
			a.send(0, wire.Packet{Runs: []wire.Run{run(q, first, in...)}})
		}
	}
	switch what {
	case 0:
		a.ends[0].Send(self, a.bytes())
	case 1: // it begins like a packet of this match
		if b := a.bytes(); len(b) > 5 {
			b[0], b[1], b[2] = b[0]|0x80, byte(a.tag), byte(a.tag>>8)
			a.ends[0].Send(self, b)
		}
	case 2:
		if b := a.bytes(); len(b) > 0 {
			_ = a.ends[0].SendReliable(self, b)
		}
	case 3:
		inputs(driftback.Participant(1+a.take()%15), a.tick(), a.bytes())
	case 4:
		inputs(0, a.tick(), a.bytes())
	case 5: // as it should, or far ahead: input 5 always
		in := make([]byte, 1+a.take())
		for i := range in {
			in[i] = 5
		}
		inputs(0, a.tick(), in)
	case 6:
		inputs(0, a.relay.Closed(), []byte{a.take()})
	case 7:
		a.send(0, wire.Packet{Acks: []wire.Ack{{Participant: driftback.Participant(a.take() % 2), Next: a.tick()}}})
	case 8:
		sums := make([]uint64, a.take()%wire.MaxSums)
		a.send(0, wire.Packet{Sums: wire.Sums{First: uint64(a.tick()), List: sums}, SumAck: wire.SumAck{Set: true, Next: uint64(a.tick())}})
	case 9:
		h := hello(0, terms(1))
		h.Nonce += uint64(a.take() % 2)
		reliable(h)
	case 10:
		reliable(wire.Start{Digest: uint64(a.take()), Seed: 1, State: 2, HasState: true})
	case 11:
		reliable(wire.Finish{At: a.tick(), Sum: 1, HasSum: true})
	case 12:
		reliable(wire.Disagree{Tick: a.tick(), Sum: uint64(a.take())})
	case 13:
		for range 40 * int(a.take()) {
			a.send(0, wire.Packet{Runs: []wire.Run{run(1, 0, 9)}})
		}
	case 14:
		require.NoError(a.t, a.net.TakeDown(0, self))
		a.poll(time.Millisecond)
		require.NoError(a.t, a.net.BringUp(0, self))
		a.poll(time.Millisecond)
		a.heard(0)
	case 15:
		reliable(wire.Leave{Reason: a.take() % 9, Text: "so there"})
	}
}

// run plays the script, and some time beyond its end.
func (a *attack) run() {
	for n := 0; n < 20 || len(a.script) > 0; n++ {
		for range 1 + a.take()%4 {
			a.hostile()
		}
		a.honest()
		for range 4 {
			a.poll(4 * time.Millisecond)
		}
		a.heard(0)
		a.judge()
	}
}

// judge requires that nothing is made up of player 1, and that the match ends for no other reason than what
// player 0 has done.
func (a *attack) judge() {
	r := a.relay
	require.LessOrEqual(a.t, r.Closed(), driftback.Tick(len(a.sent)+300), "it closes ticks that nobody can have come to")
	for t := max(0, r.Closed()-16); t < r.Closed(); t++ {
		in, e, ok := r.Set(1, t)
		require.True(a.t, ok)
		if e != wire.EntryLate {
			require.Zero(a.t, e, "what player 1 gave has no entry")
			require.Less(a.t, int(t), len(a.sent), "tick %d, which it has not played", t)
			require.Equal(a.t, a.sent[t], in[0], "tick %d", t)
		}
	}
	err := r.Err()
	require.NotErrorIs(a.t, err, mesh.ErrInternal)
	require.NoError(a.t, r.Lost(1))
	if err == nil {
		return
	}
	var conflict *mesh.ConflictError
	var told *mesh.ToldError
	var last *mesh.MismatchError
	switch {
	case errors.As(err, &conflict):
		require.Equal(a.t, driftback.Peer(0), conflict.Peer)
	case errors.As(err, &told):
		require.Equal(a.t, driftback.Peer(0), told.Peer)
	case errors.As(err, &last):
		require.Equal(a.t, "the last tick", last.Setting)
	default:
		require.Fail(a.t, "another end", "%v", err)
	}
}

func TestWhateverAHostilePlayerSendsHarmsNobodyElse(t *testing.T) {
	did, ends, lost, closed, late := map[string]int{}, 0, 0, driftback.Tick(0), uint64(0)
	for seed := range uint64(150) {
		random := rand.New(rand.NewPCG(seed, 7))
		script := make([]byte, 3000)
		for i := range script {
			script[i] = byte(random.Uint32())
		}
		a := newAttack(t, script)
		a.run()
		for what, n := range a.did {
			did[what] += n
		}
		if a.relay.Err() != nil {
			ends++
		}
		if a.relay.Lost(0) != nil {
			lost++
		}
		closed, late = closed+a.relay.Closed(), late+a.relay.Late(1)
	}
	t.Logf("%v; %d matches ended, in %d it was lost, %d ticks were closed, %d of them without player 1", did, ends, lost, closed, late)
	require.Greater(t, closed, driftback.Tick(5000))
	require.Less(t, late, uint64(closed/100))
	require.Len(t, did, 15, "it did not do everything")
	require.Positive(t, ends)
	require.Less(t, ends, 150)
	require.Positive(t, lost)
}

func FuzzHostilePlayer(f *testing.F) {
	f.Add([]byte{1, 3, 1, 50, 3, 1, 2, 3})
	f.Add([]byte{0, 5, 20, 60, 0, 6, 9, 0, 14, 0, 9, 1})
	f.Add([]byte{2, 11, 50, 8, 3, 50, 50, 12, 54, 1, 13, 4})
	f.Fuzz(func(t *testing.T, script []byte) {
		if len(script) > 2000 {
			return
		}
		newAttack(t, append([]byte(nil), script...)).run()
	})
}
