package mesh

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/wire"
)

func TestAConfigThatCannotWorkIsRefusedByName(t *testing.T) {
	for name, c := range map[string]struct {
		change func(c *Config)
		want   string
	}{
		"nobody plays":             {func(c *Config) { c.Players = nil }, "Players has 0 participants: from 1 to 16 are allowed"},
		"too many play":            {func(c *Config) { c.Players = make([]driftback.Peer, 17) }, "Players has 17 participants: from 1 to 16 are allowed"},
		"this peer does not":       {func(c *Config) { c.Self = 5 }, "Self is peer 5, which plays no participant in Players"},
		"a peer beyond all":        {func(c *Config) { c.Players = []driftback.Peer{0, 64} }, "Players[1] is peer 64: peers are numbered below 64"},
		"no input":                 {func(c *Config) { c.Stride = 0 }, "Stride is 0 bytes: from 1 to 256 are allowed"},
		"a large input":            {func(c *Config) { c.Stride = 257 }, "Stride is 257 bytes: from 1 to 256 are allowed"},
		"a negative delay":         {func(c *Config) { c.Delay = -1 }, "Delay is -1 ticks: from 0 to 60 are allowed"},
		"a long delay":             {func(c *Config) { c.Delay = 61 }, "Delay is 61 ticks: from 0 to 60 are allowed"},
		"delays for others too":    {func(c *Config) { c.Delays = []int{1, 2} }, "Delays has 2 delays, and Self plays 1 participants"},
		"a negative delay of one":  {func(c *Config) { c.Delays = []int{-1} }, "Delays[0] is -1 ticks: from 0 to 60 are allowed"},
		"a long delay of one":      {func(c *Config) { c.Delays = []int{61} }, "Delays[0] is 61 ticks: from 0 to 60 are allowed"},
		"a negative window":        {func(c *Config) { c.Window = -1 }, "Window is -1 ticks: from 0 to 256 are allowed"},
		"a wide window":            {func(c *Config) { c.Window = 257 }, "Window is 257 ticks: from 0 to 256 are allowed"},
		"a negative redundancy":    {func(c *Config) { c.Redundancy = -1 }, "Redundancy is -1 inputs: from 0 to 256 are allowed"},
		"a great redundancy":       {func(c *Config) { c.Redundancy = 257 }, "Redundancy is 257 inputs: from 0 to 256 are allowed"},
		"no interval":              {func(c *Config) { c.FingerprintEvery = 0 }, "FingerprintEvery is 0 ticks: at least 1, or None"},
		"a history that is short":  {func(c *Config) { c.FingerprintEvery, c.History = 10, 19 }, "FingerprintEvery is 10 ticks and History 19: the interval must be at most half of the history"},
		"a history that is long":   {func(c *Config) { c.FingerprintEvery, c.History = 10, MaxHistory+1 }, "History 1048577"},
		"no time-out":              {func(c *Config) { c.PeerTimeout = 0 }, "PeerTimeout is 0s: it must be positive, or None"},
		"a negative time-out":      {func(c *Config) { c.PeerTimeout = -time.Second }, "PeerTimeout is -1s: it must be positive, or None"},
		"a negative grace":         {func(c *Config) { c.RejoinGrace = -1 }, "RejoinGrace is -1ns: it must not be negative"},
		"no time to join":          {func(c *Config) { c.JoinTimeout = 0 }, "JoinTimeout is 0s: it must be positive, or None"},
		"no transport":             {func(c *Config) { c.Transport = nil }, "Transport is nil, but another peer plays"},
		"small datagrams":          {func(c *Config) { c.Transport = &seat{room: 216} }, "Transport carries datagrams of 216 bytes and an input has 2: it must carry at least 217"},
		"and fingerprints":         {func(c *Config) { c.Transport = &seat{room: 235}; c.FingerprintEvery, c.History = 1, 2 }, "it must carry at least 236"},
		"a setting without a name": {set("", "x"), "Settings cannot be sent: wire: cannot be sent"},
		"a setting twice":          {set("map", "a", "map", "b"), `the setting "map" after "map"`},
		"the mesh's own setting":   {set("players", "0 1"), `the setting "players" after "players"`},
		"a value that is too long": {set("map", strings.Repeat("x", wire.MaxValue+1)), "has 257 bytes"},
		"a value that is no text":  {set("map", "\xff"), "is not valid UTF-8"},
	} {
		t.Run(name, func(t *testing.T) {
			config := newMatch(t, 2, nil).seats[0].config
			_, err := New(config)
			require.NoError(t, err, "the control: as it was it works")
			c.change(&config)
			_, err = New(config)
			require.ErrorContains(t, err, "mesh: ")
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestTheExtremesOfAConfigWork(t *testing.T) {
	for name, change := range map[string]func(c *Config){
		"the largest of everything": func(c *Config) {
			c.Stride, c.Delay, c.Window, c.Redundancy = wire.MaxStride, MaxDelay, MaxWindow, MaxRedundancy
			c.FingerprintEvery, c.History = MaxHistory/2, MaxHistory
		},
		"the smallest of everything": func(c *Config) {
			c.Stride, c.Delay, c.Window, c.Redundancy = 1, 0, 0, 0
			c.FingerprintEvery, c.History = 1, 2
		},
		"the smallest window and the largest redundancy": func(c *Config) { c.Window, c.Redundancy = 0, MaxRedundancy },
	} {
		t.Run(name, func(t *testing.T) {
			m := playing(t, 2, change)
			start := m.seats[0].mesh.Confirmed()
			m.goOn(20)
			require.Greater(t, m.seats[0].mesh.Confirmed(), start+10)
			require.GreaterOrEqual(t, m.seats[0].mesh.Kept(), m.seats[0].config.Redundancy)
		})
	}
}

func TestAConfigIsCopied(t *testing.T) {
	m := newMatch(t, 2, set("map", "attic"))
	m.seats[0].config.Players[1] = 9
	m.seats[0].config.Settings[0].Value = "cellar"
	m.begin()
	require.Equal(t, []driftback.Peer{1}, m.seats[0].mesh.Peers())
}

func TestSixteenPeersPlayOneMatch(t *testing.T) {
	m := playing(t, driftback.MaxParticipants, func(c *Config) { c.FingerprintEvery, c.History = 2, 4 })
	m.goOn(20)
	for _, s := range m.seats {
		require.NoError(t, s.mesh.Err())
		require.Greater(t, s.mesh.Confirmed(), driftback.Tick(10))
		require.Greater(t, s.mesh.Agreed(), driftback.Tick(4))
		require.Len(t, s.mesh.Peers(), driftback.MaxParticipants-1)
	}
}

func TestAPeerThatTheMatchLacksHasNoLink(t *testing.T) {
	m := newMatch(t, 2, nil)
	for _, peer := range []driftback.Peer{0, 2, 63, 64, 255} {
		_, ok := m.seats[0].mesh.Link(peer)
		require.False(t, ok)
	}
}
