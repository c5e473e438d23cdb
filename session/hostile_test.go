package session_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/loopback"
	"github.com/driftback/driftback/wire"
)

// refusals is the sum of all that a peer has refused.
func (p *peer) refusals() (n int) {
	for _, count := range p.session.Stats().Refused {
		n += int(count)
	}
	return n
}

func TestRandomBytesBetweenRealPacketsAreDroppedAndCounted(t *testing.T) {
	m, taps := newTappedMatch(t, 2, nil)
	random := rand.New(rand.NewPCG(1, 2))
	sent := 0
	taps[1].datagram = func(to driftback.Peer, b []byte, pass func([]byte)) {
		pass(b)
		for range 3 {
			junk := make([]byte, random.IntN(200))
			for i := range junk {
				junk[i] = byte(random.Uint32())
			}
			if random.IntN(2) == 0 && len(junk) > 5 {
				copy(junk, b[:3])              // what begins like a packet of this match
				junk[0] = junk[0]&^0x02 | 0x20 // and speaks of changes to inputs that it has not
			}
			pass(junk)
			sent++
		}
		if random.IntN(10) == 0 {
			_ = taps[1].Endpoint.SendReliable(to, []byte{byte(random.Uint32()), 2, 3})
		}
	}
	m.impair(loopback.Impairment{Latency: 30 * ms})
	m.runUntil(1000)
	require.Greater(t, sent, 3000)
	require.Greater(t, m.peers[0].refusals(), sent*9/10)
	require.Positive(t, m.peers[0].refused(mesh.Malformed))
	require.Zero(t, m.peers[1].refusals())
}

func TestTruncatedCopiesOfRealPacketsAreDroppedAndCounted(t *testing.T) {
	m, taps := newTappedMatch(t, 2, nil)
	cut := 0
	for _, p := range taps {
		p.datagram = func(_ driftback.Peer, b []byte, pass func([]byte)) {
			for n := range b {
				pass(b[:n])
				cut++
			}
			pass(b)
		}
	}
	m.impair(loopback.Impairment{Latency: 50 * ms})
	m.runUntil(300)
	require.Greater(t, cut, 3000)
	require.InDelta(t, cut, m.peers[0].refused(mesh.Malformed)+m.peers[1].refused(mesh.Malformed), float64(cut)/20,
		"every one of them but those under way")
}

// flipped returns b with one bit changed, or nil if that makes a packet which
// acknowledges more than b does: what somebody says has come is not sent again, so
// this harms the liar alone, who then waits for what it says it has.
func flipped(b []byte, random *rand.Rand) []byte {
	out := append([]byte(nil), b...)
	bit := random.IntN(8 * len(b))
	out[bit/8] ^= 1 << (bit % 8)
	var was, is wire.Packet
	if was.Parse(b, stride) != nil || is.Parse(out, stride) != nil {
		return out
	}
	for _, a := range is.Acks {
		known := false
		for _, o := range was.Acks {
			known = known || o.Participant == a.Participant && a.Next <= o.Next
		}
		if !known {
			return nil
		}
	}
	if is.SumAck.Set && (!was.SumAck.Set || is.SumAck.Next > was.SumAck.Next) {
		return nil
	}
	return out
}

func TestPacketsWithAFlippedBitHarmNothingOrEndTheMatchByName(t *testing.T) {
	for _, instead := range []bool{false, true} {
		t.Run(map[bool]string{false: "beside the real ones", true: "in place of the real ones"}[instead], func(t *testing.T) {
			outcomes, all := map[string]int{}, 0
			for seed := range uint64(40) {
				m, taps := newTappedMatch(t, 2, nil)
				m.peers[0].maybeDiffers = true
				random := rand.New(rand.NewPCG(seed, 3))
				flips := 0
				taps[1].datagram = func(_ driftback.Peer, b []byte, pass func([]byte)) {
					if random.IntN(100) != 0 {
						pass(b)
						return
					}
					if !instead {
						pass(b)
					}
					if f := flipped(b, random); f != nil {
						flips++
						pass(f)
					}
				}
				m.impair(loopback.Impairment{Latency: 40 * ms})
				m.runWhile(5000, "neither ended nor advancing", func() bool {
					return m.peers[0].err == nil && m.peers[0].confirmed < 300
				})
				all += flips
				var conflict *session.ConflictError
				var desync *session.DesyncError
				err := m.peers[0].err
				switch {
				case err == nil:
					require.Zero(t, m.peers[0].wrong, "it plays what the oracle plays")
					outcomes["unharmed"]++
				case errors.As(err, &conflict):
					require.Equal(t, driftback.Peer(1), conflict.Peer)
					outcomes["conflict"]++
				case errors.As(err, &desync):
					outcomes["desync"]++
				default:
					t.Fatalf("ended with %v", err)
				}
			}
			t.Log(all, "flips:", outcomes)
			require.Greater(t, all, 40)
			require.Greater(t, outcomes["unharmed"], 3)
			require.Greater(t, outcomes["conflict"], 3)
		})
	}
}

func TestPacketsOfAnEarlierMatchAreRefusedAndCounted(t *testing.T) {
	var earlier [][]byte
	m, taps := newTappedMatch(t, 2, nil)
	taps[1].datagram = func(_ driftback.Peer, b []byte, pass func([]byte)) {
		earlier = append(earlier, append([]byte(nil), b...))
		pass(b)
	}
	m.runUntil(200)
	first := m

	for name, change := range map[string]func(c *session.Config[state, input]){
		"between the same peers with the same settings": func(c *session.Config[state, input]) { c.Nonce += 10 },
		"of another number":                             func(c *session.Config[state, input]) { c.Match++ },
		"of another version":                            func(c *session.Config[state, input]) { c.Build = "2" },
	} {
		t.Run(name, func(t *testing.T) {
			m, taps := newTappedMatch(t, 2, change)
			m.script = play(3) // other inputs than in the earlier match
			replayed := 0
			taps[1].datagram = func(_ driftback.Peer, b []byte, pass func([]byte)) {
				pass(b)
				pass(earlier[replayed%len(earlier)])
				replayed++
			}
			m.runUntil(200)
			require.Greater(t, replayed, 150)
			require.GreaterOrEqual(t, m.peers[0].refused(mesh.OtherMatch), replayed-20)
			require.Equal(t, m.peers[0].refused(mesh.OtherMatch), m.peers[0].refusals())
		})
	}
	// In its own match such a packet would have been taken.
	first.requireLive()
	first.peers[0].maybeDiffers = true
	for _, b := range earlier[:20] {
		taps[1].Endpoint.Send(0, b)
	}
	first.run(2)
	require.Zero(t, first.peers[0].refused(mesh.OtherMatch))
}

func TestInputsFromSomebodyElseThanTheOwnerAreRefusedAndCounted(t *testing.T) {
	m, taps := newTappedMatch(t, 3, nil)
	forged := 0
	taps[2].datagram = func(to driftback.Peer, b []byte, pass func([]byte)) {
		pass(b)
		if to != 0 || len(parse(t, b).Runs) == 0 {
			return
		}
		// Peer 2 tells peer 0 what peer 1 is about to press, and what it has pressed.
		pass(rewrite(t, b, func(p *wire.Packet) {
			p.Runs = p.Runs[:1]
			p.Runs[0].Participant = 1
			if forged%2 == 0 {
				p.Runs[0].First = m.peers[1].tick()
			}
			forged++
		}))
	}
	m.impair(loopback.Impairment{Latency: 20 * ms})
	m.runUntil(300)
	require.Greater(t, forged, 250)
	require.InDelta(t, forged, m.peers[0].refused(mesh.NotOwner), 10)
	require.Zero(t, m.peers[1].refusals())
}

func TestADifferentInputForATickAlreadySentHaltsBothWithTheEvidence(t *testing.T) {
	m, taps := newTappedMatch(t, 2, func(c *session.Config[state, input]) { c.Redundancy = 30 })
	const at = driftback.Tick(100)
	var had, got input
	taps[1].datagram = func(_ driftback.Peer, b []byte, pass func([]byte)) {
		if m.peers[0].confirmed <= at+10 {
			pass(b)
			return
		}
		pass(rewrite(t, b, func(p *wire.Packet) {
			for _, r := range p.Runs {
				if i := int(at - r.First); i >= 0 && i < r.Count {
					had = input{uint16(r.Inputs[i*stride]) | uint16(r.Inputs[i*stride+1])<<8}
					r.Inputs[i*stride] ^= 1
					got = input{had.Buttons ^ 1}
				}
			}
		}))
	}
	m.runWhile(500, "not halted", func() bool { return !m.ended() })
	var conflict *session.ConflictError
	require.ErrorAs(t, m.peers[0].err, &conflict)
	require.NotEqual(t, had, got)
	require.Equal(t, session.ConflictError{
		Peer: 1, Participant: 1, Tick: at,
		Had: []byte{byte(had.Buttons), byte(had.Buttons >> 8)}, Got: []byte{byte(got.Buttons), byte(got.Buttons >> 8)},
	}, *conflict)
	require.ErrorContains(t, m.peers[0].err, fmt.Sprintf("participant 1 did both %+v and %+v on tick 100", had, got))
	require.ErrorIs(t, m.peers[1].err, session.ErrHalted)
	require.ErrorContains(t, m.peers[1].err, fmt.Sprintf("two inputs of participant 1 for tick 100: first %x, then %x", conflict.Had, conflict.Got))
}

// newCheat returns a match of one real peer, 0, that is being played, and one
// played by hand, 1, and the tag of its packets.
func newCheat(t *testing.T, change func(c *session.Config[state, input])) (*match, *speaker, uint16) {
	t.Helper()
	m, s, hello := newSpeaker(t, change)
	s.sayControl(hello)
	m.run(3)
	s.listen()
	start, ok := s.got[len(s.got)-1].(wire.Start)
	require.True(t, ok)
	s.sayControl(start)
	m.run(3)
	m.requireLive()
	m.oracle.delays = []int{0, 0}
	return m, s, uint16(start.Digest) ^ uint16(start.Digest>>48)
}

func (s *speaker) send(p wire.Packet) {
	b, err := p.Append(nil, stride)
	require.NoError(s.t, err)
	s.end.Send(0, b)
}

// inputs returns the bytes of what the match's script presses for some ticks.
func (m *match) inputs(p int, from driftback.Tick, n int) []byte {
	var b []byte
	for t := from; t < from+driftback.Tick(n); t++ {
		in := m.script(p, t)
		b = append(b, byte(in.Buttons), byte(in.Buttons>>8))
	}
	return b
}

func TestInputsAbsurdlyFarAheadAreRefusedAndFillNoMemory(t *testing.T) {
	m, s, tag := newCheat(t, nil)
	heap := func() uint64 {
		runtime.GC()
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before, seq := uint64(0), uint16(0)
	for frame := range 600 {
		if frame == 300 {
			before = heap()
		}
		held := m.peers[0].confirmed
		for _, first := range []driftback.Tick{max(0, held-1), held, held + 100, 1 << 31, 1 << 32, wire.MaxTick - 512} {
			s.send(wire.Packet{Tag: tag, Seq: seq, Runs: []wire.Run{{
				Participant: 1, First: first, Count: 512, Inputs: m.inputs(1, first, 512),
			}}})
			seq++
		}
		// What is claimed to have come, and fingerprints of a far future.
		s.send(wire.Packet{Tag: tag, Seq: seq, Acks: []wire.Ack{{Participant: 0, Next: 1 << 40}}})
		s.send(wire.Packet{Tag: tag, Seq: seq, Acks: []wire.Ack{{Participant: 5, Next: 1}}})
		s.send(wire.Packet{Tag: tag, Seq: seq, Sums: wire.Sums{First: 1 << 50, List: make([]uint64, wire.MaxSums)}})
		s.send(wire.Packet{Tag: tag, Seq: seq, SumAck: wire.SumAck{Set: true, Next: 1 << 50}})
		m.run(1)
		s.listen()
	}
	m.requireLive()
	require.Greater(t, m.peers[0].confirmed, driftback.Tick(400), "what was not too far ahead has been taken")
	for _, why := range []mesh.Refusal{mesh.FarAhead, mesh.BadAck, mesh.FarFingerprint} {
		require.Greater(t, m.peers[0].refused(why), 500, why.String())
	}
	require.Less(t, heap(), before+1<<20, "bytes in use after another 300 frames")
}

func TestReliableMessagesThatMakeNoSenseHarmNothing(t *testing.T) {
	for name, say := range map[string]func(s *speaker){
		"no message":                       func(s *speaker) { s.say([]byte{99, 1, 2}) },
		"nothing":                          func(s *speaker) { s.say(nil) },
		"a hello in the middle":            func(s *speaker) { s.sayControl(wire.Hello{Match: 9}) },
		"a hello of another version":       func(s *speaker) { s.say([]byte("\x01drift\x09\x00")) },
		"a disagreement about nothing":     func(s *speaker) { s.sayControl(wire.Disagree{Tick: 1 << 61, Sum: 1}) },
		"a disagreement about a far tick":  func(s *speaker) { s.sayControl(wire.Disagree{Tick: 8 << 40, Sum: 1}) },
		"the end of a match, again":        func(s *speaker) { s.sayControl(wire.Leave{Reason: 3}) },
		"the longest message, all of ones": func(s *speaker) { s.say(make([]byte, transport.MaxReliable)) },
	} {
		t.Run(name, func(t *testing.T) {
			m, s, tag := newCheat(t, nil)
			for range 100 {
				say(s)
				at := m.peers[0].confirmed
				s.send(wire.Packet{Tag: tag, Runs: []wire.Run{{Participant: 1, First: at, Count: 4, Inputs: m.inputs(1, at, 4)}}})
				m.run(1)
				s.listen()
			}
			m.requireLive()
			require.Greater(t, m.peers[0].confirmed, driftback.Tick(80))
		})
	}
}

func TestAPeerThatSaysItHasFinishedAndFallsSilentIsLost(t *testing.T) {
	m, s, tag := newCheat(t, func(c *session.Config[state, input]) { c.PeerTimeout = time.Second })
	s.send(wire.Packet{Tag: tag, Runs: []wire.Run{{Participant: 1, First: 0, Count: 20, Inputs: m.inputs(1, 0, 20)}}})
	s.sayControl(wire.Finish{At: 50})
	m.run(100)
	require.ErrorIs(t, m.peers[0].err, session.ErrPeerLost)
	require.ErrorContains(t, m.peers[0].err, "nothing from peer 1")
}

func TestAnInputTheGameDoesNotKnowIsNeverAcknowledged(t *testing.T) {
	m, s, tag := newCheat(t, func(c *session.Config[state, input]) {
		c.Valid = func(in input) bool { return in.Buttons != 200 }
	})
	sound := m.inputs(1, 0, 2)
	for i, inputs := range [][]byte{{sound[0], sound[1], 200, 0}, sound} {
		s.send(wire.Packet{Tag: tag, Runs: []wire.Run{{Participant: 1, Count: 2, Inputs: inputs}}})
		m.run(3)
		require.Equal(t, driftback.Tick(1+i), m.peers[0].confirmed)
	}
	require.Equal(t, 1, m.peers[0].refused(mesh.BadInput))
	acked := driftback.Tick(-1)
	for {
		msg, ok := s.end.Receive()
		if !ok {
			break
		}
		if msg.Kind == transport.Datagram {
			for _, a := range parse(t, msg.Data).Acks {
				acked = a.Next
			}
		}
	}
	require.Equal(t, driftback.Tick(2), acked)
}

func TestAFloodDoesNotHoldTheGame(t *testing.T) {
	m, taps := newTappedMatch(t, 2, nil)
	taps[1].datagram = func(_ driftback.Peer, b []byte, pass func([]byte)) {
		pass(b)
		for range 300 {
			pass([]byte{0xa0, 1, 2, 3, 4})
		}
	}
	m.impair(loopback.Impairment{Latency: 10 * ms})
	m.runUntil(200)
	require.Greater(t, m.peers[0].refusals(), 200*250)
}

func TestAPeerWhoseInputsValidRefusesIsNotWaitedForForEver(t *testing.T) {
	strict := func(in input) bool { return in.Buttons&4 == 0 }
	m := newMatch(t, 2, func(c *session.Config[state, input]) {
		if c.Self == 0 {
			c.Valid, c.PeerTimeout = strict, 2*time.Second
		}
	})
	m.script = func(p int, t driftback.Tick) input {
		if p == 1 && t == 50 {
			return input{Buttons: 4} // what peer 1's looser Valid lets pass
		}
		return input{Buttons: uint16(t) & 3}
	}
	m.run(60)
	m.requireLive()
	require.Positive(t, m.peers[0].refused(mesh.BadInput))
	m.run(400)
	require.ErrorIs(t, m.peers[0].err, session.ErrRefused)
	require.ErrorContains(t, m.peers[0].err, "peer 1 has sent nothing but inputs that Valid refuses, or entries that it may not give, for 2")
	require.ErrorContains(t, m.peers[0].err, "from tick 50 on")
	require.ErrorIs(t, m.peers[1].err, session.ErrHalted)
	require.ErrorContains(t, m.peers[1].err, "inputs that Valid refuses")
}

func TestAnInputThatIsRefusedOnceIsForgotten(t *testing.T) {
	m := newMatch(t, 2, func(c *session.Config[state, input]) { c.PeerTimeout = time.Second })
	const theirs = 1 << 15
	m.script = func(p int, t driftback.Tick) input { return input{Buttons: uint16(p)*theirs + uint16(t)&3} }
	known := true
	c := m.peers[0].config
	c.Valid = func(in input) bool { return known || in.Buttons < theirs }
	m.peers[0].open(c)
	m.runUntil(50)
	for range 5 {
		known = false
		m.run(40) // two thirds of the time-out
		known = true
		m.run(40)
	}
	m.requireLive()
	require.Positive(t, m.peers[0].refused(mesh.BadInput))
	require.Greater(t, m.peers[0].confirmed, driftback.Tick(150))
}
