package mesh

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

// Phases that a fuzzed mesh starts in.
const (
	fuzzJoining = iota
	fuzzGreeted
	fuzzAgreeing
	fuzzBegun
	fuzzPlaying
	fuzzFinished
	fuzzDisputing
	fuzzInterrupted
	fuzzFar
	fuzzVoting
	fuzzPhases
)

// fuzzed returns a match of three in which peer 0 is in a phase, and all but it is
// silent from then on.
func fuzzed(t *testing.T, phase byte) *match {
	m := newMatch(t, 3, func(c *Config) {
		c.FingerprintEvery, c.History, c.Window, c.Redundancy = 2, 4, 4, 2
		c.RejoinGrace, c.Delay = time.Hour, int(c.Self)
		c.PlayOn, c.Evidence = phase == fuzzVoting, phase == fuzzDisputing
		c.Valid = func(in []byte) bool { return in[0] != 0xff }
		c.ValidEntry = func(_ driftback.Participant, e wire.Entry) bool { return e != wire.EntryResume }
	})
	a, b := m.seats[0], m.seats[1]
	switch phase {
	case fuzzJoining:
		a.up(b)
	case fuzzGreeted:
		a.up(b)
		a.give(b, b.mesh.hello())
	case fuzzAgreeing, fuzzBegun:
		m.connect()
		for _, s := range m.seats[1:] {
			a.give(s, s.mesh.hello())
		}
		a.mesh.Poll(m.now)
		if phase == fuzzBegun {
			require.NoError(t, a.mesh.Begin(0, true))
		}
	default:
		m.begin()
		if phase == fuzzFar {
			m.jump(1 << 40)
		}
		for range 5 {
			for _, s := range m.seats {
				s.publish(1)
			}
			m.turn()
		}
		m.turns(3)
	}
	switch phase {
	case fuzzFinished:
		a.mesh.Finish(5, 5, true)
	case fuzzDisputing:
		a.fingerprint()
		a.forge(b, wire.Packet{Sums: wire.Sums{List: []uint64{0xbad}}})
		a.mesh.Poll(m.now)
		require.True(t, a.mesh.dispute.open)
	case fuzzInterrupted:
		b.closed = true
		for !a.mesh.Blocked() {
			m.turn()
		}
	}
	for _, s := range m.seats[1:] {
		s.closed = true
	}
	if phase == fuzzVoting {
		a.give(m.seats[2], wire.Leave{Reason: LeaveLeft})
		a.turn()
		require.NotZero(t, a.mesh.views.round.ballot)
	}
	return m
}

// size is all memory of a mesh that a peer could make grow.
func (m *Mesh) size() int {
	n := cap(m.events) + cap(m.prints.ring) + cap(m.runs) + cap(m.entries)
	for i := range m.histories {
		n += cap(m.histories[i].ring) + cap(m.histories[i].entries.ring)
	}
	for i := range m.links {
		n += cap(m.links[i].prints.ring) + cap(m.links[i].prints.came) + cap(m.links[i].acked) + cap(m.links[i].told)
	}
	return n
}

// FuzzReceive feeds arbitrary bytes of peer 1 to a mesh in each phase. The bytes
// are a phase, then messages: a kind, a length and as much data. Of a datagram's
// kinds one puts the right tag into the data, without which nearly all would be
// dropped at the door.
func FuzzReceive(f *testing.F) {
	const (
		datagram = iota
		tagged
		reliable
		up
		down
		frames
		kinds
	)
	message := func(kind byte, data []byte) []byte {
		return append([]byte{kind, byte(len(data)), byte(len(data) >> 8)}, data...)
	}
	var all []byte
	packet := func(p wire.Packet) []byte {
		b, err := p.Append(nil, 2)
		require.NoError(f, err)
		return message(tagged, b)
	}
	for _, p := range []wire.Packet{
		{},
		{Runs: []wire.Run{of(1, 1, 4)}, Acks: []wire.Ack{{Participant: 0, Next: 5}}, Echo: wire.Echo{Set: true, HeldMicros: 9}},
		{Seq: 40000, Runs: []wire.Run{of(0, 5, 1), of(1, 0, wire.MaxRunTicks), of(2, 5, 1)}},
		{Runs: []wire.Run{{Participant: 1, First: 5, Count: 1, Inputs: []byte{0xff, 0}}}},
		{Sums: wire.Sums{First: 1, List: []uint64{4, 6, 8}}, SumAck: wire.SumAck{Set: true, Next: 1}},
		{Sums: wire.Sums{First: uint64(wire.MaxTick), List: make([]uint64, wire.MaxSums)}},
		{Acks: []wire.Ack{{Participant: 0, Next: wire.MaxTick}, {Participant: 1}}},
		{Runs: []wire.Run{of(1, wire.MaxTick-3, 3)}},
		{Runs: []wire.Run{{Participant: 1, First: 5, Count: 3, Inputs: make([]byte, 6), Entries: []byte{1, 0, 12}}}},
		{Runs: []wire.Run{{Participant: 1, First: 8, Count: 1, Inputs: make([]byte, 2), Entries: []byte{2}}}},
	} {
		all = append(all, packet(p)...)
	}
	settings := withRoster(nil, []driftback.Peer{0, 1, 2})
	for _, c := range []wire.Control{
		wire.Hello{Match: 7, Nonce: 2, Settings: settings, Delays: []wire.Delay{{Participant: 1, Ticks: 1}}},
		wire.Hello{Match: 7, Nonce: 3, Settings: settings, Delays: []wire.Delay{{Participant: 1, Ticks: 400}}},
		wire.Start{Digest: 1, Seed: 2, State: 3, HasState: true}, wire.Finish{At: 5, Sum: 5, HasSum: true},
		wire.Disagree{Tick: 2, Sum: 9}, wire.Disagree{Tick: 2, Sum: 0xbad}, wire.Evidence{Tick: 2, Data: []byte{0, 1}}, wire.Evidence{Tick: 2},
		wire.Leave{Reason: LeaveFinished}, wire.Leave{Reason: LeaveHalted, Text: "so it is"},
		wire.Message{Data: []byte("hello")}, wire.Message{Taken: 1}, wire.Hello{Match: 8, Nonce: 9},
	} {
		b, err := wire.AppendControl(nil, c)
		require.NoError(f, err)
		for phase := range byte(fuzzPhases) {
			f.Add(append([]byte{phase}, message(reliable, b)...))
		}
	}
	control := func(c wire.Control) []byte {
		b, err := wire.AppendControl(nil, c)
		require.NoError(f, err)
		return message(reliable, b)
	}
	cut := wire.Value{Cuts: []wire.Cut{{Participant: 2, Tick: 7}}}
	var votes []byte
	for _, c := range []wire.Control{
		wire.Accuse{Silent: 4, Left: 4}, wire.Promise{View: 1, Ballot: 0x100, Held: cut.Cuts},
		wire.Accepted{View: 1, Ballot: 0x100}, wire.Decide{View: 1, Value: cut}, wire.Accuse{View: 1},
	} {
		votes = append(votes, control(c)...)
	}
	f.Add(append([]byte{fuzzVoting}, append(votes, all...)...))
	votes = nil
	for _, c := range []wire.Control{
		wire.Prepare{View: 1, Ballot: 0x201, Lost: 4}, wire.Propose{View: 1, Ballot: 0x201, Value: cut}, wire.Prepare{View: 1, Ballot: 0x301, Lost: 5, Bound: true},
		wire.Promise{View: 1, Ballot: 0x400, Held: cut.Cuts, Accepted: &cut, AcceptedBallot: 0x201}, wire.Decide{View: 1},
	} {
		votes = append(votes, control(c)...)
	}
	f.Add(append([]byte{fuzzVoting}, append(votes, all...)...))
	for phase := range byte(fuzzPhases) {
		f.Add(append([]byte{phase}, all...))
		f.Add(append([]byte{phase}, message(down, nil)...))
		f.Add(append([]byte{phase}, append(message(up, nil), message(frames, make([]byte, 100))...)...))
		f.Add(append([]byte{phase}, message(datagram, []byte("hello there"))...))
	}

	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) == 0 {
			return
		}
		m := fuzzed(t, data[0]%fuzzPhases)
		a, b := m.seats[0], m.seats[1]
		mesh := a.mesh
		size := mesh.size()
		for data = data[1:]; len(data) >= 3; {
			kind, n := data[0]%kinds, min(int(data[1])|int(data[2])<<8, len(data)-3)
			body := bytes.Clone(data[3 : 3+n])
			data = data[3+n:]
			own, held, confirmed := bytes.Clone(mesh.histories[0].ring), mesh.Held(0), mesh.Confirmed()
			entered := bytes.Clone(mesh.histories[0].entries.ring)
			agreed := mesh.Agreed()
			before := mesh.Phase()
			switch kind {
			case tagged:
				if len(body) >= 3 {
					body[1], body[2] = byte(mesh.tag), byte(mesh.tag>>8)
				}
				fallthrough
			case datagram:
				a.inbox = append(a.inbox, transport.Message{Kind: transport.Datagram, From: 1, Data: body})
			case reliable:
				a.inbox = append(a.inbox, transport.Message{Kind: transport.Reliable, From: 1, Data: body})
			case up:
				a.up(b)
			case down:
				a.down(b, "so it is")
			case frames:
				for range min(n, 2*maxEvents) {
					a.up(b)
					a.down(b, "it flaps")
				}
			}
			m.now += frame
			mesh.Poll(m.now)
			mesh.Flush()

			if mesh.Confirmed() < confirmed || mesh.Agreed() < agreed || mesh.Phase() < before {
				t.Fatal("what was confirmed, agreed or entered has been taken back")
			}
			joining := before == Joining && mesh.Phase() != Joining // the neutral inputs come with the agreement
			if !joining && (mesh.Held(0) != held || !bytes.Equal(own, mesh.histories[0].ring) || !bytes.Equal(entered, mesh.histories[0].entries.ring)) {
				t.Fatal("this peer's own inputs have changed")
			}
			if mesh.Held(1) > mesh.Confirmed()+mesh.span {
				t.Fatalf("participant 1's inputs are held up to tick %d, beyond the confirmed tick %d", mesh.Held(1), mesh.Confirmed())
			}
			if mesh.size() != size || cap(mesh.out) > transport.MaxReliable || cap(mesh.events) != maxEvents+2*maxImportant ||
				len(mesh.messages) > 2*MaxUntaken || len(mesh.letters) > 2*MaxUntaken*MaxMessage {
				t.Fatal("the mesh has grown")
			}
			if (mesh.Phase() == Ended) != (mesh.Err() != nil) || errors.Is(mesh.Err(), ErrInternal) {
				t.Fatalf("%v: %v", mesh.Phase(), mesh.Err())
			}
		}
	})
}

func TestAFloodOfHostilePacketsAllocatesNothing(t *testing.T) {
	m := playing(t, 2, nil)
	a := m.seats[0]
	good := wire.Packet{Tag: a.mesh.tag, Runs: []wire.Run{of(1, 900, 512)}, Sums: wire.Sums{First: 1 << 50, List: make([]uint64, 64)}}
	b, err := good.Append(nil, 2)
	require.NoError(t, err)
	a.inbox = make([]transport.Message, maxDrain)
	messages := a.inbox
	for i := range messages {
		messages[i] = transport.Message{Kind: transport.Datagram, From: 1, Data: b}
	}
	a.mesh.Poll(m.now)
	require.Empty(t, a.inbox)
	require.Zero(t, testing.AllocsPerRun(10, func() {
		a.inbox = messages
		a.mesh.Poll(m.now)
	}))
	require.EqualValues(t, 12*maxDrain, a.mesh.Refused()[FarAhead])
}
