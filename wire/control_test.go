package wire_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

const helloStart = "01 64 72 69 66 74 01 00" + "00 00 00 00 00 00 00 00" + "00 00 00 00 00 00 00 00"

func TestAControlMessageIsRefusedByName(t *testing.T) {
	sum := strings.Repeat("00", 8)
	for name, c := range map[string]struct{ bytes, want string }{
		"nothing at all":                       {"", "cut short"},
		"a kind that does not exist":           {"7f", "a control message of kind 127, which does not exist"},
		"a kind of zero":                       {"00 00", "a control message of kind 0"},
		"a packet":                             {"a0 00 00 00 00", "a control message of kind 160"},
		"a hello of something else":            {"01 64 72 69 66 75 01 00", "a hello that is not ours"},
		"a hello cut before its version":       {"01 64 72 69 66 74 01", "cut short"},
		"a hello without counts":               {helloStart, "cut short"},
		"a hello with 129 settings":            {helloStart + "81", "129 settings, and at most 128 are allowed"},
		"a hello with settings missing":        {helloStart + "02 01 61 00", "the length of the name of a setting does not end"},
		"a setting without a name":             {helloStart + "01 00 00 00", `the setting "" after "": names must ascend`},
		"the same setting twice":               {helloStart + "02 01 61 00 01 61 00 00", `the setting "a" after "a": names must ascend`},
		"settings that descend":                {helloStart + "02 01 62 00 01 61 00 00", `the setting "a" after "b": names must ascend`},
		"a name that is too long":              {helloStart + "01 41", "the length of the name of a setting is 65, and at most 64"},
		"a length of almost everything":        {helloStart + "01 ff ff ff ff ff ff ff ff ff 01", "is 18446744073709551615, and at most 64"},
		"a name with a line break":             {helloStart + "01 01 0a 00 00", "the name of a setting holds the control character U+000A"},
		"a value that is too long":             {helloStart + "01 01 61 81 02", "the value of a setting is 257, and at most 256"},
		"a value cut short":                    {helloStart + "01 01 61 05 61", "cut short: 5 bytes are needed and 1 are left"},
		"a value that is not UTF-8":            {helloStart + "01 01 61 01 ff 00", "the value of a setting is not valid UTF-8"},
		"a value with half a surrogate pair":   {helloStart + "01 01 61 03 ed a0 80 00", "is not valid UTF-8"},
		"the same participant's delay twice":   {helloStart + "00 02 01 00 01 00", "participant 1 after participant 1: they must ascend"},
		"a delay of nobody":                    {helloStart + "00 01 10 00", "participant 16, and at most 15 is allowed"},
		"a delay that is too long":             {helloStart + "00 01 00 81 04", "an input delay is 513, and at most 512"},
		"more delays than participants":        {helloStart + "00 11" + strings.Repeat("00", 34), "they must ascend"},
		"a hello with something after it":      {helloStart + "00 00 00", "1 bytes follow the end"},
		"a start with a flag of two":           {"02 02" + sum + sum, "a flag of 2, and 0 or 1 is allowed"},
		"a start without the state it claims":  {"02 01" + sum + sum, "cut short: 8 bytes are needed and 0 are left"},
		"a start with a state it does not say": {"02 00" + sum + sum + sum, "8 bytes follow the end"},
		"a finish past the last tick":          {"03 00 81 80 80 80 80 80 80 80 40", "a tick is 4611686018427387905"},
		"a message of 1,025 bytes":             {"06 00 81 08" + strings.Repeat("00", 1025), "the length of the data is 1025, and at most 1024 is allowed"},
		"evidence of 1,025 bytes":              {"18 00 81 08" + strings.Repeat("00", 1025), "the length of the data is 1025, and at most 1024 is allowed"},
		"evidence cut short":                   {"18 00 03 61 62", "cut short: 3 bytes are needed and 2 are left"},
		"evidence with something behind it":    {"18 00 01 61 62", "1 bytes follow the end"},
		"evidence past the last tick":          {"18 81 80 80 80 80 80 80 80 40 00", "a tick is 4611686018427387905"},
		"a message cut short":                  {"06 00 03 61 62", "cut short: 3 bytes are needed and 2 are left"},
		"a message with something behind it":   {"06 00 01 61 62", ""},
		"a message that took more than can be": {"06 81 80 80 80 80 80 80 80 40 00", "the number of messages taken is 4611686018427387905"},
		"a leave with an escape code":          {"04 00 00 01 1b", "the text holds the control character U+001B"},
		"a leave with a delete":                {"04 00 00 01 7f", "the text holds the control character U+007F"},
		"a leave with the last C0 control":     {"04 00 00 01 1f", "the text holds the control character U+001F"},
		"a leave with the last C1 control":     {"04 00 00 02 c2 9f", "the text holds the control character U+009F"},
		"a leave with a C1 control":            {"04 00 00 02 c2 9b", "the text holds the control character U+009B"},
		"a leave cut inside its text":          {"04 00 00 05 61", "cut short"},
		"a disagreement cut short":             {"05 07 00", "cut short: 8 bytes are needed and 1 are left"},
	} {
		t.Run(name, func(t *testing.T) {
			b := unhex(t, c.bytes)
			got, err := wire.ParseControl(b)
			require.ErrorIs(t, err, wire.ErrMalformed)
			require.ErrorContains(t, err, c.want)
			require.Equal(t, 1, strings.Count(err.Error(), "wire:"))
			require.Nil(t, got)
			if b == nil || len(b) > 0 && b[0] < 0xa0 {
				_, err = decodeByDocument(b, 0)
				require.Error(t, err, "FORMAT.md would let it pass")
			}
		})
	}
}

func TestAControlMessageBeyondABoundIsNotAppended(t *testing.T) {
	setting := func(name, value string) wire.Hello {
		return wire.Hello{Settings: []wire.Setting{{Name: name, Value: value}}}
	}
	delay := func(d ...wire.Delay) wire.Hello { return wire.Hello{Delays: d} }
	for name, c := range map[string]struct {
		control wire.Control
		want    string
	}{
		"no message":                {nil, "<nil> is no control message as a value"},
		"a pointer":                 {&wire.Start{}, "*wire.Start is no control message as a value"},
		"too many settings":         {wire.Hello{Settings: make([]wire.Setting, 129)}, "129 settings, and at most 128 are allowed"},
		"a setting without a name":  {setting("", "x"), `the setting "" after "": names must ascend`},
		"a setting twice":           {wire.Hello{Settings: []wire.Setting{{Name: "a"}, {Name: "a"}}}, `the setting "a" after "a": names must ascend`},
		"too long a name":           {setting(strings.Repeat("n", 65), ""), "the name of a setting has 65 bytes, and at most 64 are allowed"},
		"too long a value":          {setting("a", strings.Repeat("v", 257)), "the value of a setting has 257 bytes, and at most 256 are allowed"},
		"a value with a line break": {setting("a", "b\n"), "the value of a setting holds the control character U+000A"},
		"a value that is no UTF-8":  {setting("a", "\xff"), "the value of a setting is not valid UTF-8"},
		"a delay below none":        {delay(wire.Delay{Ticks: -1}), "participant 0's delay is -1 ticks, and 0 to 512 are allowed"},
		"too long a delay":          {delay(wire.Delay{Participant: 4, Ticks: 513}), "participant 4's delay is 513 ticks"},
		"a delay of nobody":         {delay(wire.Delay{Participant: 16}), "participant 16, and at most 15 is allowed"},
		"a participant twice":       {delay(wire.Delay{}, wire.Delay{}), "participant 0 after participant 0: they must ascend"},
		"a finish before any tick":  {wire.Finish{At: -1}, "tick -1 is not between 0 and"},
		"too long a text":           {wire.Leave{Text: strings.Repeat("t", 257)}, "the text has 257 bytes, and at most 256 are allowed"},
		"a leave past every tick":   {wire.Leave{Tick: wire.MaxTick + 1}, "tick 4611686018427387905 is not between"},
		"too long a message":        {wire.Message{Data: make([]byte, 1025)}, "the data has 1025 bytes, and at most 1024 are allowed"},
		"too much evidence":         {wire.Evidence{Data: make([]byte, 1025)}, "the data has 1025 bytes, and at most 1024 are allowed"},
		"evidence of no tick":       {wire.Evidence{Tick: -1}, "tick"},
		"too many messages taken":   {wire.Message{Taken: 1<<62 + 1}, "the number of messages taken is 4611686018427387905"},
		"a disagreement nowhere":    {wire.Disagree{Tick: -5}, "tick -5 is not between"},
	} {
		t.Run(name, func(t *testing.T) {
			b, err := wire.AppendControl([]byte("before"), c.control)
			require.ErrorIs(t, err, wire.ErrUnsendable)
			require.ErrorContains(t, err, c.want)
			require.Equal(t, "before", string(b))
		})
	}
}

func TestAnyControlMessageComesBackAsItWent(t *testing.T) {
	text := rapid.StringOfN(rapid.RuneFrom([]rune{' ', 'a', 'Z', 'é', '日', '🎮'}), 0, 60, 256)
	rapid.Check(t, func(t *rapid.T) {
		var c wire.Control
		tick := anyTick(t, wire.MaxTick, "tick")
		sum, has := rapid.Uint64().Draw(t, "sum"), rapid.Bool().Draw(t, "has")
		if !has {
			sum = 0
		}
		switch rapid.IntRange(0, 6).Draw(t, "kind") {
		case 0:
			h := wire.Hello{Match: rapid.Uint64().Draw(t, "match"), Nonce: sum}
			for i := range rapid.IntRange(0, wire.MaxSettings).Draw(t, "settings") {
				h.Settings = append(h.Settings, wire.Setting{Name: fmt.Sprintf("%03d", i), Value: text.Draw(t, "value")})
			}
			for p := range rapid.IntRange(0, 16).Draw(t, "delays") {
				ticks := rapid.IntRange(0, wire.MaxDelayTicks).Draw(t, "ticks")
				h.Delays = append(h.Delays, wire.Delay{Participant: driftback.Participant(p), Ticks: ticks})
			}
			c = h
		case 1:
			c = wire.Start{Digest: rapid.Uint64().Draw(t, "digest"), Seed: rapid.Uint64().Draw(t, "seed"), State: sum, HasState: has}
		case 2:
			c = wire.Finish{At: tick, Sum: sum, HasSum: has}
		case 3:
			c = wire.Leave{Reason: rapid.Uint8().Draw(t, "reason"), Tick: tick, Text: text.Draw(t, "text")}
		case 4:
			c = wire.Disagree{Tick: tick, Sum: sum}
		case 5:
			m := wire.Message{Taken: uint64(tick)}
			if has {
				m.Data = rapid.SliceOfN(rapid.Byte(), 1, wire.MaxMessage).Draw(t, "data")
			}
			c = m
		case 6:
			e := wire.Evidence{Tick: tick}
			if has {
				e.Data = rapid.SliceOfN(rapid.Byte(), 1, wire.MaxEvidence).Draw(t, "data")
			}
			c = e
		}
		b, err := wire.AppendControl(nil, c)
		require.NoError(t, err)
		got, err := wire.ParseControl(b)
		require.NoError(t, err)
		require.Equal(t, c, got)
		document, err := decodeByDocument(b, 0)
		require.NoError(t, err)
		require.Equal(t, describeControl(c), document)
	})
}

func TestAnotherVersionIsNamedWhateverFollowsIt(t *testing.T) {
	for _, rest := range []string{"", "00", "ff ff ff ff", strings.Repeat("ab", 5000)} {
		_, err := wire.ParseControl(unhex(t, "01 64 72 69 66 74 02 01"+rest))
		var version *wire.VersionError
		require.ErrorAs(t, err, &version)
		require.Equal(t, wire.VersionError{Ours: wire.Version, Theirs: 0x0102}, *version)
		require.False(t, errors.Is(err, wire.ErrMalformed))
		require.EqualError(t, err, "wire: the peer speaks version 258 of the format and we speak version 1: both need the same build")
	}
}

// The eight bytes that every version begins a Hello with, once and for all.
func TestTheStartOfAHelloNeverChanges(t *testing.T) {
	b, err := wire.AppendControl(nil, wire.Hello{})
	require.NoError(t, err)
	require.Equal(t, append([]byte("\x01drift"), byte(wire.Version), byte(wire.Version>>8)), b[:8])
}

func TestTheLongestHelloFitsAReliableMessage(t *testing.T) {
	h := wire.Hello{}
	for i := range wire.MaxSettings {
		h.Settings = append(h.Settings, wire.Setting{
			Name:  fmt.Sprintf("%0*d", wire.MaxName, i),
			Value: strings.Repeat("v", wire.MaxValue),
		})
	}
	for p := range 16 {
		h.Delays = append(h.Delays, wire.Delay{Participant: driftback.Participant(p), Ticks: wire.MaxDelayTicks})
	}
	b, err := wire.AppendControl(nil, h)
	require.NoError(t, err)
	require.LessOrEqual(t, len(b), transport.MaxReliable)
	got, err := wire.ParseControl(b)
	require.NoError(t, err)
	require.Equal(t, h, got)
}

// What a control message makes the parser allocate is bounded by its own length.
func TestAClaimedCountAllocatesNothing(t *testing.T) {
	b := unhex(t, helloStart+"80 40") // 128 settings, a name of 64 bytes, and no more
	var before, after runtime.MemStats
	const times = 50
	runtime.ReadMemStats(&before)
	for range times {
		_, err := wire.ParseControl(b)
		require.ErrorIs(t, err, wire.ErrMalformed)
	}
	runtime.ReadMemStats(&after)
	require.Less(t, (after.TotalAlloc-before.TotalAlloc)/times, uint64(4096))
}
