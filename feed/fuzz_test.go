package feed_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

// script cuts bytes into messages: a kind, a length, and so many bytes. A first byte of
// 0xfe lets both sides take a turn instead.
func script(p *pair, b []byte, give func(kind transport.Kind, b []byte)) {
	for len(b) > 1 {
		kind, n := b[0], min(int(b[1]), len(b)-2)
		msg := append([]byte(nil), b[2:2+n]...)
		b = b[2+n:]
		switch kind {
		case 0xfe:
			p.play(n)
			p.turn()
		case 0xfd:
			give(transport.Up, nil)
		case 0xfc:
			give(transport.Down, nil)
		default:
			give([]transport.Kind{transport.Datagram, transport.Reliable}[kind%2], msg)
		}
	}
}

func seeds(f *testing.F) {
	say := func(kind byte, c wire.Control) []byte {
		b, err := wire.AppendControl(nil, c)
		require.NoError(f, err)
		return append([]byte{kind, byte(len(b))}, b...)
	}
	packet := func(p wire.Packet) []byte {
		b, err := p.Append(nil, stride)
		require.NoError(f, err)
		return append([]byte{1, byte(len(b))}, b...)
	}
	turn := []byte{0xfe, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	f.Add(turn)
	f.Add(append(append([]byte(nil), turn...), 0xfd, 0, 1, 0)) // an empty message, at once
	var run []wire.Run
	for q := range players {
		run = append(run, wire.Run{Participant: driftback.Participant(q), Count: 2, Inputs: []byte{1, 1, 2, 2}})
	}
	for _, c := range []wire.Control{
		wire.Watch{}, wire.Watch{From: 5}, wire.Leave{Reason: 3}, wire.Finish{At: 9}, wire.Feed{Tag: 1}, wire.Feed{Kind: wire.FeedState, First: 8, Tag: 1},
		wire.Feed{Kind: wire.FeedOn, First: 9}, wire.TransferOffer{ID: 1, Tick: 8, State: 4, Chunk: 4}, wire.TransferTake{ID: 1}, wire.TransferStop{ID: 1},
	} {
		f.Add(append(append(append([]byte(nil), turn...), say(1, c)...), turn...))
		f.Add(append(append(append([]byte(nil), say(1, wire.Feed{Tag: 1})...), say(1, c)...), packet(wire.Packet{Tag: 1, Runs: run, Sums: wire.Sums{List: []uint64{1}}})...))
	}
	f.Add(append(append([]byte(nil), turn...), packet(wire.Packet{Tag: 1, Acks: []wire.Ack{{Next: 4}}})...))
}

// FuzzFeeder: whatever a watcher sends, nothing panics, and another watcher is fed as ever.
func FuzzFeeder(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 2000 {
			return
		}
		p := newPair(t, 256)
		p.feeder.Begin(5, 6, true)
		p.play(3)
		script(p, b, func(kind transport.Kind, b []byte) {
			p.feeder.Receive(transport.Message{Kind: kind, From: 8, Data: b})
		})
		for range 30 {
			p.play(1)
			p.turn()
		}
		require.LessOrEqual(t, p.feeder.Watchers(), 2)
		p.requireAlike()
	})
}

// FuzzFollower: whatever a feeder sends, nothing panics, and what is taken is valid.
func FuzzFollower(f *testing.F) {
	seeds(f)
	f.Fuzz(func(t *testing.T, b []byte) {
		if len(b) > 2000 {
			return
		}
		p := newPair(t, 256)
		p.feeder.Begin(5, 6, true)
		p.turn()
		script(p, b, func(kind transport.Kind, b []byte) {
			p.follower.Receive(transport.Message{Kind: kind, From: 0, Data: b})
		})
		for range 30 {
			p.turn()
		}
		for tick := p.got.Oldest(); tick < p.got.End(); tick++ {
			for q := range driftback.Participant(players) {
				require.Less(t, p.got.Input(q, tick)[0], byte(players))
			}
		}
	})
}
