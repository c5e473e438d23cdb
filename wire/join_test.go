package wire_test

import (
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

// joinVectors are the messages of a join under testdata, and seeds of the fuzz test.
func joinVectors() []controlVector {
	in := wire.Join{Peer: 2, Tick: 900, Nonce: 7, Delays: []wire.Delay{{Participant: 2, Ticks: 3}}}
	return []controlVector{
		{"one asks to be let in", wire.Apply{Match: 1, Nonce: 7, Delays: []wire.Delay{{Participant: 2, Ticks: 3}}}},
		{"one that plays nobody asks to be let in", wire.Apply{Match: 1<<64 - 1}},
		{"a welcome", wire.Welcome{
			View: 2, Digest: 3, Seed: 4, Tag: 0x1234, Avoid: []uint16{0x4321, 5},
			Value:    wire.Value{Cuts: []wire.Cut{{Participant: 1, Tick: 600}}, Joins: []wire.Join{in}},
			Delays:   []wire.Delay{{Participant: 0, Ticks: 2}, {Participant: 1}, {Participant: 2, Ticks: 3}},
			Absences: []wire.Absence{{Participant: 2, From: 500, To: 900}},
			Nonces:   []wire.Nonce{{Peer: 0, Nonce: 1}, {Peer: 2, Nonce: 7}, {Peer: 63, Nonce: 1<<64 - 1}},
		}},
		{"a welcome that says nothing, in the last view", wire.Welcome{View: wire.MaxView, Tag: 0xffff}},
	}
}

// join reads a message of a join, by the document alone.
func (d *byDocument) join(kind int) {
	if kind == 22 {
		d.line("apply match %016x nonce %016x", d.little(8), d.little(8))
		d.delays()
		return
	}
	view := d.uvarint(new(big.Int).Sub(power(32), big.NewInt(1)))
	d.line("welcome to view %d digest %016x seed %016x tag %04x", view, d.little(8), d.little(8), d.little(2))
	n := d.u8()
	if n > 64 {
		refuse("tags")
	}
	for range n {
		d.line("avoid %04x", d.little(2))
	}
	d.value()
	d.delays()
	if n = d.u8(); n > 16 {
		refuse("absences")
	}
	least := 0
	for range n {
		p := d.u8()
		if p > 15 || p < least {
			refuse("participant")
		}
		least = p + 1
		from := d.tick()
		d.line("%d away from %d to %d", p, from, d.tick())
	}
	n, least = d.u8(), 0
	for range n {
		p := d.u8()
		if p > 63 || p < least {
			refuse("peer")
		}
		least = p + 1
		d.line("nonce of %d is %016x", p, d.little(8))
	}
}

func describeDelays(b *strings.Builder, list []wire.Delay) {
	for _, d := range list {
		fmt.Fprintf(b, "delay of %d is %d\n", d.Participant, d.Ticks)
	}
}

func describeJoin(c wire.Control) string {
	var b strings.Builder
	if a, ok := c.(wire.Apply); ok {
		fmt.Fprintf(&b, "apply match %016x nonce %016x\n", a.Match, a.Nonce)
		describeDelays(&b, a.Delays)
		return b.String()
	}
	w := c.(wire.Welcome)
	fmt.Fprintf(&b, "welcome to view %d digest %016x seed %016x tag %04x\n", w.View, w.Digest, w.Seed, w.Tag)
	for _, tag := range w.Avoid {
		fmt.Fprintf(&b, "avoid %04x\n", tag)
	}
	for _, c := range w.Value.Cuts {
		fmt.Fprintf(&b, "cut %d at %d\n", c.Participant, c.Tick)
	}
	for _, j := range w.Value.Joins {
		fmt.Fprintf(&b, "join %d at %d nonce %016x\n", j.Peer, j.Tick, j.Nonce)
		describeDelays(&b, j.Delays)
	}
	describeDelays(&b, w.Delays)
	for _, a := range w.Absences {
		fmt.Fprintf(&b, "%d away from %d to %d\n", a.Participant, a.From, a.To)
	}
	for _, n := range w.Nonces {
		fmt.Fprintf(&b, "nonce of %d is %016x\n", n.Peer, n.Nonce)
	}
	return b.String()
}

func anyDelays(t *rapid.T) (list []wire.Delay) {
	for p := range rapid.IntRange(0, 16).Draw(t, "delays") {
		list = append(list, wire.Delay{Participant: driftback.Participant(p), Ticks: rapid.IntRange(0, wire.MaxDelayTicks).Draw(t, "delay")})
	}
	return list
}

func anyJoins(t *rapid.T) (list []wire.Join) {
	for p := range rapid.IntRange(0, 16).Draw(t, "joins") {
		list = append(list, wire.Join{Peer: driftback.Peer(3 * p), Tick: anyTick(t, wire.MaxTick, "tick"), Nonce: rapid.Uint64().Draw(t, "nonce"), Delays: anyDelays(t)})
	}
	return list
}

func TestAnyMessageOfAJoinComesBackAsItWent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		number := func() uint64 { return rapid.Uint64().Draw(t, "number") }
		var c wire.Control = wire.Apply{Match: number(), Nonce: number(), Delays: anyDelays(t)}
		if rapid.Bool().Draw(t, "welcome") {
			w := wire.Welcome{View: rapid.Uint64Range(0, wire.MaxView).Draw(t, "view"), Digest: number(), Seed: number(), Tag: uint16(number())}
			for range rapid.IntRange(0, wire.MaxAvoid).Draw(t, "tags") {
				w.Avoid = append(w.Avoid, uint16(number()))
			}
			w.Value.Joins, w.Delays = anyJoins(t), anyDelays(t)
			for p := range rapid.IntRange(0, 16).Draw(t, "absences") {
				w.Absences = append(w.Absences, wire.Absence{
					Participant: driftback.Participant(p), From: anyTick(t, wire.MaxTick, "from"), To: anyTick(t, wire.MaxTick, "to"),
				})
			}
			for p := range rapid.IntRange(0, 64).Draw(t, "nonces") {
				w.Nonces = append(w.Nonces, wire.Nonce{Peer: driftback.Peer(p), Nonce: number()})
			}
			c = w
		}
		b, err := wire.AppendControl(nil, c)
		require.NoError(t, err)
		require.LessOrEqual(t, len(b), transport.MaxReliable)
		got, err := wire.ParseControl(b)
		require.NoError(t, err)
		require.Equal(t, c, got)
		document, err := decodeByDocument(b, 0)
		require.NoError(t, err)
		require.Equal(t, describeControl(c), document)
	})
}

func TestAMessageOfAJoinIsRefusedByName(t *testing.T) {
	zeros := func(n int) string { return strings.Repeat("00", n) }
	for name, c := range map[string]struct{ bytes, want string }{
		"an apply cut short":              {"16" + zeros(16), "cut short"},
		"an apply with a delay too long":  {"16" + zeros(16) + "01 00 81 04", "an input delay is 513"},
		"a welcome to no view there is":   {"17 80 80 80 80 10", "a view is 4294967296"},
		"a welcome with too many tags":    {"17 01" + zeros(18) + "41", "65 tags, and at most 64"},
		"a welcome whose absences fall":   {"17 01" + zeros(22) + "02 01 00 00 00 00 00 00", "participant 0 after participant 1"},
		"a welcome whose nonces fall":     {"17 01" + zeros(23) + "02 01" + zeros(8) + "01" + zeros(8), "peer 1 after peer 1"},
		"a welcome with something behind": {"17 01" + zeros(25), "1 bytes follow the end"},
	} {
		t.Run(name, func(t *testing.T) {
			b := unhex(t, c.bytes)
			_, err := wire.ParseControl(b)
			require.ErrorIs(t, err, wire.ErrMalformed)
			require.ErrorContains(t, err, c.want)
			_, err = decodeByDocument(b, 0)
			require.Error(t, err, "FORMAT.md would let it pass")
		})
	}
}

func TestAMessageOfAJoinBeyondABoundIsNotAppended(t *testing.T) {
	for name, c := range map[string]wire.Control{
		"too many joins":     wire.Decide{Value: wire.Value{Joins: make([]wire.Join, 17)}},
		"peers that fall":    wire.Decide{Value: wire.Value{Joins: make([]wire.Join, 2)}},
		"a peer too high":    wire.Welcome{Nonces: []wire.Nonce{{Peer: 64}}},
		"too many tags":      wire.Welcome{Avoid: make([]uint16, 65)},
		"too many absences":  wire.Welcome{Absences: make([]wire.Absence, 17)},
		"absences that fall": wire.Welcome{Absences: make([]wire.Absence, 2)},
		"a delay too long":   wire.Apply{Delays: []wire.Delay{{Ticks: wire.MaxDelayTicks + 1}}},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := wire.AppendControl([]byte("before"), c)
			require.ErrorIs(t, err, wire.ErrUnsendable)
			require.Equal(t, "before", string(b))
		})
	}
}
