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

// viewVectors are the messages about views under testdata, and seeds of the fuzz test.
func viewVectors() []controlVector {
	one := wire.Value{Cuts: []wire.Cut{{Participant: 2, Tick: 600}}}
	everybody := wire.Value{}
	for p := range driftback.Participant(driftback.MaxParticipants) {
		everybody.Cuts = append(everybody.Cuts, wire.Cut{Participant: p, Tick: 1<<62 - driftback.Tick(p)})
	}
	in := wire.Join{Peer: 2, Tick: 900, Nonce: 7, Delays: []wire.Delay{{Participant: 2, Ticks: 3}}}
	var all []wire.Join
	for p := range driftback.Participant(driftback.MaxParticipants) {
		all = append(all, wire.Join{Peer: 63 - 15 + driftback.Peer(p), Tick: 1<<62 - driftback.Tick(p), Nonce: 1<<64 - 1, Delays: []wire.Delay{{Participant: p, Ticks: wire.MaxDelayTicks}}})
	}
	return []controlVector{
		{"an accusation", wire.Accuse{View: 1, Silent: 4, Left: 8}},
		{"an accusation taken back", wire.Accuse{}},
		{"nobody is accused, and one would be let in", wire.Accuse{View: 1, Ready: 4}},
		{"nobody is accused, and a view is waited for", wire.Accuse{View: 1, Waits: true}},
		{"an accusation of everybody, in the last view", wire.Accuse{View: wire.MaxView, Silent: 1<<64 - 1, Left: 1<<64 - 1}},
		{"a ballot is prepared", wire.Prepare{View: 1, Ballot: 0x100, Lost: 4}},
		{"a ballot that lets somebody in is prepared", wire.Prepare{View: 2, Ballot: 0x100, Joins: 4}},
		{"the last ballot is prepared by one who is bound", wire.Prepare{View: 1, Ballot: wire.MaxBallot, Lost: 1 << 63, Bound: true}},
		{"a promise", wire.Promise{View: 1, Ballot: 0x100, Held: one.Cuts}},
		{"a promise of nothing", wire.Promise{View: 1, Ballot: 0x201}},
		{"a promise of one who has accepted", wire.Promise{View: 2, Ballot: 0x301, Held: []wire.Cut{{Participant: 1, Tick: 700}, {Participant: 2, Tick: 600}}, Accepted: &one, AcceptedBallot: 0x200}},
		{"a proposal", wire.Propose{View: 1, Ballot: 0x100, Value: one}},
		{"a proposal to cut everybody", wire.Propose{View: 1, Ballot: 0x100, Value: everybody}},
		{"a decision", wire.Decide{View: 1, Value: one}},
		{"a decision to cut nobody", wire.Decide{View: 1}},
		{"a decision to let one in", wire.Decide{View: 2, Value: wire.Value{Joins: []wire.Join{in}}}},
		{"a decision to cut one and let everybody else in", wire.Decide{View: 2, Value: wire.Value{Cuts: one.Cuts, Joins: all}}},
		{"a proposal is accepted", wire.Accepted{View: 1, Ballot: 0x100}},
	}
}

// view reads a message about views, by the document alone.
func (d *byDocument) view(kind int) {
	view := d.uvarint(new(big.Int).Sub(power(32), big.NewInt(1)))
	ballot := func() *big.Int { return d.uvarint(new(big.Int).Sub(power(40), big.NewInt(1))) }
	switch kind {
	case 7:
		d.line("accuse view %d silent %016x left %016x ready %016x waits %v", view, d.little(8), d.little(8), d.little(8), d.flag())
	case 8:
		b := ballot()
		lost := d.little(8)
		joins := d.little(8)
		d.line("prepare view %d ballot %d lost %016x joins %016x bound %v", view, b, lost, joins, d.flag())
	case 9:
		d.line("promise view %d ballot %d", view, ballot())
		d.cuts("held")
		if d.flag() {
			d.line("accepted ballot %d", ballot())
			d.value()
		}
	case 10:
		d.line("propose view %d ballot %d", view, ballot())
		d.value()
	case 11:
		d.line("decide view %d", view)
		d.value()
	case 12:
		d.line("accepted view %d ballot %d", view, ballot())
	}
}

func (d *byDocument) cuts(what string) (n int) {
	n = d.u8()
	if n > 16 {
		refuse("cuts")
	}
	least := 0
	for range n {
		p := d.u8()
		if p > 15 || p < least {
			refuse("participant")
		}
		least = p + 1
		d.line("%s %d at %d", what, p, d.tick())
	}
	return n
}

func (d *byDocument) value() {
	d.cuts("cut")
	n := d.u8()
	if n > 16 {
		refuse("joins")
	}
	least := 0
	for range n {
		p := d.u8()
		if p > 63 || p < least {
			refuse("peer")
		}
		least = p + 1
		at := d.tick()
		d.line("join %d at %d nonce %016x", p, at, d.little(8))
		d.delays()
	}
}

func describeView(c wire.Control) string {
	var b strings.Builder
	cuts := func(what string, list []wire.Cut) {
		for _, c := range list {
			fmt.Fprintf(&b, "%s %d at %d\n", what, c.Participant, c.Tick)
		}
	}
	value := func(v wire.Value) {
		cuts("cut", v.Cuts)
		for _, j := range v.Joins {
			fmt.Fprintf(&b, "join %d at %d nonce %016x\n", j.Peer, j.Tick, j.Nonce)
			describeDelays(&b, j.Delays)
		}
	}
	switch c := c.(type) {
	case wire.Accuse:
		fmt.Fprintf(&b, "accuse view %d silent %016x left %016x ready %016x waits %v\n", c.View, uint64(c.Silent), uint64(c.Left), uint64(c.Ready), c.Waits)
	case wire.Prepare:
		fmt.Fprintf(&b, "prepare view %d ballot %d lost %016x joins %016x bound %v\n", c.View, c.Ballot, uint64(c.Lost), uint64(c.Joins), c.Bound)
	case wire.Promise:
		fmt.Fprintf(&b, "promise view %d ballot %d\n", c.View, c.Ballot)
		cuts("held", c.Held)
		if c.Accepted != nil {
			fmt.Fprintf(&b, "accepted ballot %d\n", c.AcceptedBallot)
			value(*c.Accepted)
		}
	case wire.Propose:
		fmt.Fprintf(&b, "propose view %d ballot %d\n", c.View, c.Ballot)
		value(c.Value)
	case wire.Decide:
		fmt.Fprintf(&b, "decide view %d\n", c.View)
		value(c.Value)
	case wire.Accepted:
		fmt.Fprintf(&b, "accepted view %d ballot %d\n", c.View, c.Ballot)
	}
	return b.String()
}

func TestAMessageAboutViewsIsRefusedByName(t *testing.T) {
	for name, c := range map[string]struct{ bytes, want string }{
		"an accusation cut short":                       {"07 00 00", "cut short"},
		"a view beyond the last":                        {"07 80 80 80 80 10" + strings.Repeat("00", 25), "a view is 4294967296, and at most 4294967295"},
		"a ballot beyond the last":                      {"08 01 80 80 80 80 80 20" + strings.Repeat("00", 17), "a ballot is 1099511627776"},
		"a flag of two":                                 {"08 01 01" + strings.Repeat("00", 16) + "02", "a flag of 2"},
		"a promise about nobody there is":               {"09 01 01 01 10 00 00", "participant 16, and at most 15"},
		"a promise whose participants fall":             {"09 01 01 02 02 00 01 00 00", "participant 1 after participant 2"},
		"a promise of a tick below all":                 {"09 01 01 02 01 00 02 01 00", "a tick that is not between 0"},
		"a promise of more than there are":              {"09 01 01 11" + strings.Repeat("00", 40), "they must ascend"},
		"a proposal that lets in more than there are":   {"0a 01 01 00 11", "17 peers join, and at most 16"},
		"a proposal that lets in a peer there is not":   {"0a 01 01 00 01 40 00" + strings.Repeat("00", 9), "peer 64 after peer -1"},
		"a proposal whose peers fall":                   {"0a 01 01 00 02 01 00" + strings.Repeat("00", 9) + "01 00" + strings.Repeat("00", 9), "peer 1 after peer 1"},
		"a proposal that lets in a peer and breaks off": {"0a 01 01 00 01 01 00 00", "cut short"},
		"a decision without a value":                    {"0b 01", "cut short"},
		"a decision with something after it":            {"0b 01 01 02 00 00 00", "1 bytes follow the end"},
		"an acceptance written too long":                {"0c 01 80 00", "a ballot is written longer than it need be"},
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

func TestAMessageAboutViewsBeyondABoundIsNotAppended(t *testing.T) {
	one := []wire.Cut{{Participant: 2, Tick: 600}}
	for name, c := range map[string]wire.Control{
		"view":                    wire.Accuse{View: wire.MaxView + 1},
		"ballot":                  wire.Accepted{Ballot: wire.MaxBallot + 1},
		"accepted ballot":         wire.Promise{Accepted: &wire.Value{Cuts: one}, AcceptedBallot: wire.MaxBallot + 1},
		"too many":                wire.Decide{Value: wire.Value{Cuts: make([]wire.Cut, 17)}},
		"participants that fall":  wire.Promise{Held: append([]wire.Cut{{Participant: 3}}, one...)},
		"a participant too high":  wire.Promise{Held: []wire.Cut{{Participant: 16}}},
		"a tick below all":        wire.Promise{Held: []wire.Cut{{Participant: 1, Tick: -1}}},
		"a tick beyond the last":  wire.Promise{Held: []wire.Cut{{Participant: 1, Tick: wire.MaxTick + 1}}},
		"not a value but pointer": &wire.Decide{Value: wire.Value{Cuts: one}},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := wire.AppendControl([]byte("before"), c)
			require.ErrorIs(t, err, wire.ErrUnsendable)
			require.Equal(t, "before", string(b))
		})
	}
}

func TestAnyMessageAboutViewsComesBackAsItWent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		view, ballot := rapid.Uint64Range(0, wire.MaxView).Draw(t, "view"), rapid.Uint64Range(0, wire.MaxBallot).Draw(t, "ballot")
		peers := func() wire.Peers { return wire.Peers(rapid.Uint64().Draw(t, "peers")) }
		cuts := func() (list []wire.Cut) {
			for p := range rapid.IntRange(0, 16).Draw(t, "cuts") {
				list = append(list, wire.Cut{Participant: driftback.Participant(p), Tick: anyTick(t, wire.MaxTick, "tick")})
			}
			return list
		}
		var c wire.Control
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			c = wire.Accuse{View: view, Silent: peers(), Left: peers(), Ready: peers(), Waits: rapid.Bool().Draw(t, "waits")}
		case 1:
			c = wire.Prepare{View: view, Ballot: ballot, Lost: peers(), Joins: peers(), Bound: rapid.Bool().Draw(t, "bound")}
		case 2:
			p := wire.Promise{View: view, Ballot: ballot, Held: cuts()}
			if rapid.Bool().Draw(t, "accepted") {
				p.Accepted, p.AcceptedBallot = &wire.Value{Cuts: cuts(), Joins: anyJoins(t)}, ballot
			}
			c = p
		case 3:
			c = wire.Propose{View: view, Ballot: ballot, Value: wire.Value{Cuts: cuts(), Joins: anyJoins(t)}}
		case 4:
			c = wire.Decide{View: view, Value: wire.Value{Cuts: cuts(), Joins: anyJoins(t)}}
		case 5:
			c = wire.Accepted{View: view, Ballot: ballot}
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

func TestASetOfPeersHoldsWhoIsInIt(t *testing.T) {
	s := wire.PeersOf(0) | wire.PeersOf(63)
	require.True(t, s.Has(0))
	require.True(t, s.Has(63))
	require.False(t, s.Has(1))
	require.False(t, s.Has(64), "a peer that no match has")
	require.Equal(t, 2, s.Len())
}
