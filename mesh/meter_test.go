package mesh

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const ms = time.Millisecond

func TestRoundTripIsFromSendingToTheEchoLessTheTimeItWasHeld(t *testing.T) {
	for name, c := range map[string]struct {
		held, until       time.Duration
		roundTrip, jitter time.Duration
	}{
		"an echo at once":                   {0, 40 * ms, 40 * ms, 20 * ms},
		"an echo held for a tick":           {16 * ms, 56 * ms, 40 * ms, 20 * ms},
		"a clock that does not move":        {0, 0, 0, 0},
		"a lie about how long it was held":  {time.Hour, 40 * ms, 0, 0},
		"held for longer than it can be":    {math.MaxInt64, 40 * ms, 0, 0},
		"an echo that took very long to be": {0, time.Hour, time.Hour, 30 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			var m meter
			start := 5 * time.Second
			seq := m.stamp(start)
			m.measure(seq, c.held, start+c.until)
			require.Equal(t, c.roundTrip, m.roundTrip)
			require.Equal(t, c.jitter, m.jitter)
		})
	}
}

func TestRoundTripAndJitterAreSmoothed(t *testing.T) {
	var m meter
	now := time.Duration(0)
	sample := func(d time.Duration) { m.measure(m.stamp(now), 0, now+d) }
	sample(80 * ms)
	require.Equal(t, []time.Duration{80 * ms, 40 * ms}, []time.Duration{m.roundTrip, m.jitter})
	sample(160 * ms) // 80 away: jitter 40+(80−40)/4, round trip 80+80/8
	require.Equal(t, []time.Duration{90 * ms, 50 * ms}, []time.Duration{m.roundTrip, m.jitter})
	sample(10 * ms) // 80 away again: jitter 50+(80−50)/4, round trip 90−80/8
	require.Equal(t, []time.Duration{80 * ms, 57500 * time.Microsecond}, []time.Duration{m.roundTrip, m.jitter})
	for range 200 {
		sample(30 * ms)
	}
	require.InDelta(t, float64(30*ms), float64(m.roundTrip), 100)
	require.InDelta(t, 0, float64(m.jitter), 100)
}

func TestAnEchoOfWhatWasNeverSentMeasuresNothing(t *testing.T) {
	for name, c := range map[string]struct {
		first     uint16 // sequence number of the first packet
		sent      int
		echo      uint16
		measuring bool
	}{
		"nothing was sent":                     {0, 0, 0, false},
		"nothing was sent, and the last lap":   {0, 0, 65535, false},
		"the only packet":                      {0, 1, 0, true},
		"the packet after it":                  {0, 1, 1, false},
		"the packet before it":                 {0, 1, 65535, false},
		"the oldest that is remembered":        {0, 300, 44, true},
		"one older than that":                  {0, 300, 43, false},
		"the newest":                           {0, 300, 299, true},
		"the next":                             {0, 300, 300, false},
		"before the wrap, the newest after it": {65530, 10, 65530, true},
		"after the wrap":                       {65530, 10, 3, true},
		"the next after the wrap":              {65530, 10, 4, false},
		"half a lap away":                      {0, 300, 32768, false},
	} {
		t.Run(name, func(t *testing.T) {
			m := meter{next: c.first}
			for range c.sent {
				m.stamp(0)
			}
			m.measure(c.echo, 0, 7*ms)
			require.Equal(t, c.measuring, m.measured)
			if c.measuring {
				require.Equal(t, 7*ms, m.roundTrip)
			}
		})
	}
}

func TestLossIsCountedWhenAPacketCanNoLongerHaveBeenOvertaken(t *testing.T) {
	for name, c := range map[string]struct {
		order          func(come func(seq int))
		lost, repeated uint64
	}{
		"every packet in order": {func(come func(int)) {
			for i := range 200 {
				come(i)
			}
		}, 0, 0},
		"one that never comes": {func(come func(int)) {
			for i := range 200 {
				if i != 50 {
					come(i)
				}
			}
		}, 1, 0},
		"one that is missing, but may be overtaken": {func(come func(int)) {
			for i := range 50 + lossWindow {
				if i != 50 {
					come(i)
				}
			}
		}, 0, 0},
		"one that is missing for a packet longer": {func(come func(int)) {
			for i := range 50 + lossWindow + 1 {
				if i != 50 {
					come(i)
				}
			}
		}, 1, 0},
		"one that is as late as it may be": {func(come func(int)) {
			for i := range 200 {
				if i != 50 {
					come(i)
				}
				if i == 50+lossWindow-1 {
					come(50)
				}
			}
		}, 0, 0},
		"one that is later than that": {func(come func(int)) {
			for i := range 200 {
				if i != 50 {
					come(i)
				}
				if i == 50+lossWindow {
					come(50)
				}
			}
		}, 1, 1},
		"every packet twice": {func(come func(int)) {
			for i := range 200 {
				come(i)
				come(i)
			}
		}, 0, 200},
		"pairs the wrong way round": {func(come func(int)) {
			for i := 0; i < 200; i += 2 {
				come(i + 1)
				come(i)
			}
		}, 0, 0},
		"a first packet that overtook others": {func(come func(int)) {
			come(10)
			for i := range 10 {
				come(i)
			}
			for i := 11; i < 200; i++ {
				come(i)
			}
		}, 0, 0},
		"a hole of half a lap": {func(come func(int)) {
			come(0)
			come(32767)
			for i := 32768; i < 32768+lossWindow; i++ {
				come(i)
			}
		}, 32766, 0},
	} {
		t.Run(name, func(t *testing.T) {
			for _, first := range []int{0, 65536 - 60, 65535} { // the last two wrap on the way
				var m meter
				c.order(func(seq int) { m.heard(uint16(first+seq), 0) })
				require.Equal(t, c.lost, m.lost, "lost, from %d", first)
				require.Equal(t, c.repeated, m.repeated, "repeated, from %d", first)
				require.GreaterOrEqual(t, m.loss, 0.0)
				require.LessOrEqual(t, m.loss, 1.0)
			}
		})
	}
}

func TestLossIsTheRecentShare(t *testing.T) {
	var m meter
	seq := 0
	for range 4000 {
		if seq%4 != 0 {
			m.heard(uint16(seq), 0)
		}
		seq++
	}
	require.InDelta(t, 0.25, m.loss, 0.02)
	for range 2000 {
		m.heard(uint16(seq), 0)
		seq++
	}
	require.InDelta(t, 0, m.loss, 1e-5, "the loss is over")
}

func TestAnEchoIsOwedOncePerPacketAndNotTooOften(t *testing.T) {
	var m meter
	_, _, ok := m.echo(0)
	require.False(t, ok, "nothing has come")
	m.heard(65535, 10*ms)
	seq, held, ok := m.echo(14 * ms)
	require.True(t, ok)
	require.EqualValues(t, 65535, seq)
	require.Equal(t, 4*ms, held)
	_, _, ok = m.echo(500 * ms)
	require.False(t, ok, "nothing has come since")
	m.heard(0, 50*ms)
	_, _, ok = m.echo(60 * ms)
	require.False(t, ok, "the last echo was a moment ago")
	m.heard(65535, 90*ms) // overtaken: the newest stays the newest
	seq, held, ok = m.echo(14*ms + echoEvery)
	require.True(t, ok)
	require.EqualValues(t, 0, seq)
	require.Equal(t, 64*ms, held)
	m.heard(1, 200*ms)
	_, held, ok = m.echo(200*ms + time.Hour)
	require.True(t, ok)
	require.Equal(t, maxEcho, held, "however long it was held, it fits the packet")
}

// TestAMeterCountsWhatALinkLost sends packets over a link that loses, repeats and
// reorders them within the window, with a plain set as the model.
func TestAMeterCountsWhatALinkLost(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m meter
		first := rapid.Uint16().Draw(t, "first")
		fates := rapid.SliceOfN(rapid.IntRange(-1, 20), 1, 300).Draw(t, "fates") // −1: lost, else overtaken by so many
		arrivals := make([][]int, len(fates)+30)
		came := make([]bool, len(fates))
		for i, late := range fates {
			if i == 0 {
				late = 0 // what came before the first is not known, let alone lost
			}
			if late >= 0 {
				arrivals[i+late] = append(arrivals[i+late], i)
				came[i] = true
			}
		}
		newest := 0
		for _, at := range arrivals {
			for _, i := range at {
				m.heard(first+uint16(i), 0)
				newest = max(newest, i)
			}
		}
		lost := uint64(0)
		for i := range newest - lossWindow + 1 {
			if !came[i] {
				lost++
			}
		}
		require.Equal(t, lost, m.lost)
		require.Zero(t, m.repeated)
		require.Equal(t, first+uint16(newest), uint16(m.newest))
	})
}

func TestAnEchoAtTheFirstMomentIsAnEchoToo(t *testing.T) {
	var m meter
	m.heard(0, 0)
	_, _, ok := m.echo(0)
	require.True(t, ok)
	m.heard(1, ms)
	_, _, ok = m.echo(ms)
	require.False(t, ok, "the last echo was a moment ago")
}

// BenchmarkHostileJumps is a packet whose number is half a lap ahead of the last.
func BenchmarkHostileJumps(b *testing.B) {
	var m meter
	seq := uint16(0)
	for b.Loop() {
		m.heard(seq, 0)
		seq += 1<<15 - 1
	}
}
