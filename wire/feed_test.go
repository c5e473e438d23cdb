package wire_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/wire"
)

func feedVectors() []controlVector {
	return []controlVector{
		{"a watch from the beginning", wire.Watch{}},
		{"a watch that goes on", wire.Watch{From: 3600}},
		{"a feed from the start", wire.Feed{Tag: 0x1234, Seed: 5, State: 6, HasState: true}},
		{"a feed from a state", wire.Feed{Kind: wire.FeedState, Tag: 1, First: 3600, Seed: 1<<64 - 1, HasState: true}},
		{"a status", wire.Status{Participant: 3, Tick: 3600, Status: driftback.Replaced}},
		{"a feed that goes on, without a fingerprint", wire.Feed{Kind: wire.FeedOn, First: 1 << 62}},
	}
}

func describeFeed(c wire.Control) string {
	if w, ok := c.(wire.Watch); ok {
		return fmt.Sprintf("watch from %d\n", w.From)
	}
	if s, ok := c.(wire.Status); ok {
		return fmt.Sprintf("status of %d from %d is %d\n", s.Participant, s.Tick, s.Status)
	}
	f := c.(wire.Feed)
	state := "none"
	if f.HasState {
		state = fmt.Sprintf("%016x", f.State)
	}
	return fmt.Sprintf("feed %d tag %04x first %d seed %016x state %s\n", f.Kind, f.Tag, f.First, f.Seed, state)
}

func (d *byDocument) feed(kind int) {
	if kind == 19 {
		d.line("watch from %d", d.tick())
		return
	}
	if kind == 21 {
		who, status := d.u8(), d.u8()
		if who > 15 || status > 2 {
			refuse("status")
		}
		d.line("status of %d from %d is %d", who, d.tick(), status)
		return
	}
	how := d.u8()
	tag := d.little(2)
	has := d.flag()
	first := d.tick()
	if how > 2 || how == 0 && fmt.Sprint(first) != "0" {
		refuse("where it begins")
	}
	d.line("feed %d tag %04x first %d seed %016x state %s", how, tag, first, d.little(8), d.sumIf(has))
}

func TestAMessageOfAFeedIsRefusedByName(t *testing.T) {
	const sum = "01 00 00 00 00 00 00 00"
	for name, c := range map[string]struct{ bytes, want string }{
		"a watch cut short":               {"13", "does not end"},
		"a watch with something after it": {"13 00 00", "1 bytes follow the end"},
		"a feed of no kind":               {"14 03 01 00 00 00" + sum, "a feed of kind 3 that begins at tick 0"},
		"a start that is none":            {"14 00 01 00 00 07" + sum, "a feed of kind 0 that begins at tick 7"},
		"a status of nobody":              {"15 10 01 00", "participant 16, and at most 15 is allowed"},
		"a status that means nothing":     {"15 01 03 00", "a status of 3, and at most 2 is allowed"},
		"a flag of two":                   {"14 00 01 00 02 00" + sum, "a flag of 2"},
		"a fingerprint that is missing":   {"14 00 01 00 01 00" + sum, "cut short"},
	} {
		t.Run(name, func(t *testing.T) {
			b := unhex(t, c.bytes)
			got, err := wire.ParseControl(b)
			require.ErrorIs(t, err, wire.ErrMalformed)
			require.ErrorContains(t, err, c.want)
			require.Nil(t, got)
			_, err = decodeByDocument(b, 0)
			require.Error(t, err, "FORMAT.md would let it pass")
		})
	}
	for _, f := range []wire.Feed{{Kind: 3}, {First: 1}} {
		_, err := wire.AppendControl(nil, f)
		require.ErrorIs(t, err, wire.ErrUnsendable)
	}
}
