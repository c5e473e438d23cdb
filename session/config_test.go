package session_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport"
)

func TestEveryConfigErrorNamesTheFieldAndTheValue(t *testing.T) {
	type config = session.Config[state, input]
	for name, c := range map[string]struct {
		change func(c *config)
		says   []string
	}{
		"no step":                         {func(c *config) { c.Step = nil }, []string{"Step is nil"}},
		"a delay below 0":                 {func(c *config) { c.InputDelay = -1 }, []string{"InputDelay", "-1", "60"}},
		"a delay longer than allowed":     {func(c *config) { c.InputDelay = 61 }, []string{"InputDelay", "61", "60"}},
		"delays for others too":           {func(c *config) { c.InputDelays = []int{1, 2} }, []string{"InputDelays", "2", "1 participants"}},
		"no delays at all":                {func(c *config) { c.InputDelays = []int{} }, []string{"InputDelays", "0 delays", "1 participants"}},
		"a delay of one below 0":          {func(c *config) { c.InputDelays = []int{-1} }, []string{"InputDelays[0]", "-1", "60"}},
		"a delay of one that is long":     {func(c *config) { c.InputDelays = []int{61} }, []string{"InputDelays[0]", "61", "60"}},
		"no window and no delay of one":   {func(c *config) { c.PredictionWindow, c.InputDelays = session.None, []int{0} }, []string{"InputDelays[0]", "at least 1"}},
		"adapting beyond the longest":     {func(c *config) { c.AdaptDelay.Max = 61 }, []string{"AdaptDelay.Max", "61", "60"}},
		"adapting below 0":                {func(c *config) { c.AdaptDelay = session.AdaptDelay{Min: -1, Max: 2} }, []string{"AdaptDelay.Min", "-1"}},
		"adapting down but not up":        {func(c *config) { c.AdaptDelay.Max = -1 }, []string{"AdaptDelay.Max", "-1"}},
		"adapting from more to less":      {func(c *config) { c.AdaptDelay = session.AdaptDelay{Min: 3, Max: 2} }, []string{"AdaptDelay.Min", "3", "2"}},
		"adapting at least, but not":      {func(c *config) { c.AdaptDelay.Min = 1 }, []string{"AdaptDelay.Min", "1", "Max"}},
		"adapting to no known depth":      {func(c *config) { c.AdaptDelay = session.AdaptDelay{Max: 2, Depth: -2} }, []string{"AdaptDelay.Depth", "-2"}},
		"adapting to 0 without a window":  {func(c *config) { c.PredictionWindow, c.InputDelay, c.AdaptDelay.Max = session.None, 1, 5 }, []string{"AdaptDelay.Min", "0", "at least 1"}},
		"a window longer than allowed":    {func(c *config) { c.PredictionWindow = 257 }, []string{"PredictionWindow", "257", "256"}},
		"a window below None":             {func(c *config) { c.PredictionWindow = -2 }, []string{"PredictionWindow", "-2"}},
		"no window and no delay":          {func(c *config) { c.PredictionWindow = session.None }, []string{"InputDelay", "PredictionWindow", "at least 1"}},
		"a tick rate below 0":             {func(c *config) { c.TickRate = -1 }, []string{"TickRate", "-1", "1000"}},
		"a tick rate beyond the limit":    {func(c *config) { c.TickRate = 1001 }, []string{"TickRate", "1001", "1000"}},
		"an unknown limit":                {func(c *config) { c.AtLimit = 2 }, []string{"AtLimit", "2", "Stall or Halt"}},
		"halting without a window":        {func(c *config) { c.AtLimit, c.PredictionWindow, c.InputDelay = session.Halt, session.None, 1 }, []string{"AtLimit", "PredictionWindow"}},
		"a spacing below one":             {func(c *config) { c.Spacing = -1 }, []string{"Spacing", "-1", "1 to 258"}},
		"a spacing beyond all":            {func(c *config) { c.Spacing = 259 }, []string{"Spacing", "259", "1 to 258"}},
		"a spacing that nothing measures": {func(c *config) { c.AdaptSpacing = true }, []string{"AdaptSpacing", "Clock"}},
		"no nonce":                        {func(c *config) { c.Nonce = 0 }, []string{"Nonce is 0"}},
		"a tolerance longer than allowed": {func(c *config) { c.EffectTolerance = 61 }, []string{"EffectTolerance", "61", "60"}},
		"a tolerance below 0":             {func(c *config) { c.EffectTolerance = -1 }, []string{"EffectTolerance", "-1"}},
		"redundancy beyond the limit":     {func(c *config) { c.Redundancy = 257 }, []string{"Redundancy", "257", "256"}},
		"redundancy below None":           {func(c *config) { c.Redundancy = -2 }, []string{"Redundancy", "-2"}},
		"an interval below None":          {func(c *config) { c.FingerprintEvery = -2 }, []string{"FingerprintEvery", "-2"}},
		"fingerprints that rotate, and none": {func(c *config) { c.FingerprintRotate, c.FingerprintEvery = true, session.None },
			[]string{"FingerprintRotate", "FingerprintEvery", "None"}},
		"an interval above half the history": {func(c *config) { c.FingerprintEvery, c.History = 51, 100 },
			[]string{"FingerprintEvery", "51", "History", "100", "half"}},
		"a history below two intervals": {func(c *config) { c.History = 15 }, []string{"History", "15"}},
		"a history longer than allowed": {func(c *config) { c.History = 1<<20 + 1 }, []string{"History", "1048577", "1048576"}},
		"a time-out below None":         {func(c *config) { c.PeerTimeout = -2 }, []string{"PeerTimeout", "-2ns"}},
		"a grace below 0":               {func(c *config) { c.RejoinGrace = -time.Second }, []string{"RejoinGrace", "-1s"}},
		"a time-out to join below None": {func(c *config) { c.JoinTimeout = -2 }, []string{"JoinTimeout", "-2ns"}},
		"watchers below 0":              {func(c *config) { c.MaxWatchers = -1 }, []string{"MaxWatchers", "-1", "64"}},
		"watchers without a transport": {func(c *config) { c.MaxWatchers, c.Players, c.Transport = 1, []driftback.Peer{0}, nil },
			[]string{"MaxWatchers", "Transport"}},
		"a rate for watchers that is too low": {func(c *config) { c.MaxWatchers, c.WatchRate = 1, 1000 }, []string{"WatchRate", "1000", "65536"}},
		"nobody":                              {func(c *config) { c.Players = nil }, []string{"Players", "0"}},
		"more than 16 participants":           {func(c *config) { c.Players = make([]driftback.Peer, 17) }, []string{"Players", "17", "16"}},
		"a peer beyond the last":              {func(c *config) { c.Players = []driftback.Peer{0, 64} }, []string{"Players[1]", "64"}},
		"a self who does not play":            {func(c *config) { c.Self = 2 }, []string{"Self", "2", "Players"}},
		"no transport, and somebody else":     {func(c *config) { c.Transport = nil }, []string{"Transport is nil"}},
		"a transport of small datagrams":      {func(c *config) { c.Transport = &narrow{} }, []string{"Transport", "200"}},
		"a game's name that cannot be sent":   {func(c *config) { c.Game = strings.Repeat("x", 300) }, []string{"Game", "300", "256"}},
		"a build that cannot be sent":         {func(c *config) { c.Build = "a\nb" }, []string{"Build", "U+000A"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newEmptyMatch(t)
			config := m.config(0, 2, func(c *config) { c.Transport = m.net.Open(0) })
			_, err := session.New(config)
			require.NoError(t, err, "sound before the change")
			c.change(&config)
			_, err = session.New(config)
			require.Error(t, err)
			for _, part := range c.says {
				require.ErrorContains(t, err, part)
			}
		})
	}
	t.Run("an input of a type that cannot be sent", func(t *testing.T) {
		_, err := session.New(session.Config[state, struct{ Stick float64 }]{
			Step: func(*state, []struct{ Stick float64 }, *driftback.Pass) {}, Players: []driftback.Peer{0},
		})
		require.ErrorContains(t, err, "Stick")
	})
	t.Run("a state that cannot be fingerprinted", func(t *testing.T) {
		type named struct{ Names map[string]int }
		config := session.Config[named, input]{
			Step: func(*named, []input, *driftback.Pass) {}, Players: []driftback.Peer{0},
		}
		_, err := session.New(config)
		require.ErrorContains(t, err, "FingerprintEvery")
		require.ErrorContains(t, err, "Names")
		config.FingerprintEvery = session.None
		_, err = session.New(config)
		require.ErrorContains(t, err, "Save")
		require.ErrorContains(t, err, "Names")
	})
	t.Run("the longest interval is half the history", func(t *testing.T) {
		m := newEmptyMatch(t)
		_, err := session.New(m.config(0, 2, func(c *session.Config[state, input]) {
			c.Transport, c.FingerprintEvery, c.History = m.net.Open(0), 50, 100
		}))
		require.NoError(t, err)
	})
}

// narrow is a transport whose datagrams are too small.
type narrow struct{ transport.Transport }

func (*narrow) MaxDatagram() int { return 200 }
