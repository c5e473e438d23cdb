package simtest_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/driftback/driftback/simtest"
)

func micros(t *rapid.T, name string, low, high simtest.Micros) simtest.Micros {
	return simtest.Micros(rapid.Int64Range(int64(low), int64(high)).Draw(t, name))
}

func percent(t *rapid.T, name string, low, high int) float64 {
	return float64(rapid.IntRange(low, high).Draw(t, name)) / 100
}

// drawScenario draws from all that is valid, its extremes included, where Generate stays
// with what is likely to be worth playing.
func drawScenario(t *rapid.T) simtest.Scenario {
	const ms = simtest.Millisecond
	s := simtest.Scenario{
		Version: simtest.Version, Seed: rapid.Uint64().Draw(t, "seed"),
		Ticks:            rapid.IntRange(1, 80).Draw(t, "ticks"),
		Frame:            micros(t, "frame", 4*ms, 40*ms),
		Hold:             rapid.IntRange(1, 20).Draw(t, "hold"),
		Window:           rapid.SampledFrom([]int{0, 0, 1, 2, 30, 256, simtest.None}).Draw(t, "window"),
		FingerprintEvery: rapid.SampledFrom([]int{0, 1, 1, 5, 2048, simtest.None}).Draw(t, "every"),
	}
	if s.Window == 256 {
		s.Ticks += 600 // that many can be on their way
	}
	if rapid.Bool().Draw(t, "times out") {
		s.PeerTimeout = micros(t, "timeout", simtest.MinPeerTimeout, 2*simtest.MinPeerTimeout)
		s.RejoinGrace = rapid.SampledFrom([]simtest.Micros{0, 0, 1, 2 * simtest.Second}).Draw(t, "grace")
	}
	s.EffectTolerance = rapid.SampledFrom([]int{0, 1, 4, simtest.MaxTolerance}).Draw(t, "tolerance")
	s.HaltAtLimit = s.Window != simtest.None && rapid.IntRange(0, 9).Draw(t, "halts at limit") == 0
	s.Buggify = rapid.Bool().Draw(t, "buggify")
	n := rapid.IntRange(1, 4).Draw(t, "peers")
	for i := range n {
		s.Peers = append(s.Peers, simtest.Peer{
			Plays:      []int{i},
			InputDelay: rapid.SampledFrom([]int{1, 1, 2, 10, 60}).Draw(t, "delay"),
			Redundancy: rapid.SampledFrom([]int{0, 1, 256, simtest.None}).Draw(t, "redundancy"),
			Phase:      micros(t, "phase", 0, simtest.Second),
			Ahead:      micros(t, "ahead", -simtest.MaxAhead, simtest.MaxAhead),
			Skew:       rapid.IntRange(-simtest.MaxSkew, simtest.MaxSkew).Draw(t, "skew"),
		})
		if s.Window != simtest.None && rapid.Bool().Draw(t, "no delay") {
			s.Peers[i].InputDelay = 0
		}
		for j := range n {
			if i != j {
				s.Links = append(s.Links, simtest.Link{
					From: i, To: j,
					Latency: micros(t, "latency", 0, 400*ms), Jitter: micros(t, "jitter", 0, 300*ms),
					ReorderBy: micros(t, "reorder by", 0, 300*ms),
					Loss:      percent(t, "loss", 0, 50), Reorder: percent(t, "reorder", 0, 100),
					Duplicate:      percent(t, "duplicate", 0, 100),
					BytesPerSecond: rapid.SampledFrom([]int{0, 0, 0, simtest.MinLinkRate, 70_000, simtest.MaxRate}).Draw(t, "rate"),
				})
			}
		}
	}
	if n > 1 {
		for range rapid.IntRange(0, 5).Draw(t, "faults") {
			f := drawFault(t, n)
			if f.Kind == simtest.Down && s.PeerTimeout == 0 {
				s.PeerTimeout = simtest.MinPeerTimeout // it needs one
			}
			s.Faults = append(s.Faults, f)
		}
	}
	return s
}

func drawFault(t *rapid.T, n int) simtest.Fault {
	const ms = simtest.Millisecond
	peers := rapid.Permutation([]int{0, 1, 2, 3}[:n]).Draw(t, "peers")
	f := simtest.Fault{
		Kind: rapid.SampledFrom(simtest.Kinds[:]).Draw(t, "kind"),
		At:   micros(t, "at", 0, 3*simtest.Second), For: micros(t, "for", ms, 4*simtest.Second),
		From: peers[:1],
	}
	switch f.Kind {
	case simtest.Crash, simtest.Leave, simtest.Halt, simtest.Equivocate, simtest.Misreport:
		f.For = 0
	case simtest.Diverge:
		f.At, f.For, f.Tick = 0, 0, rapid.IntRange(0, 90).Draw(t, "tick")
	case simtest.Throttle:
		f.Rate = rapid.IntRange(simtest.MinRate, 20_000).Draw(t, "rate")
	case simtest.Clog:
		f.From, f.Every = peers, micros(t, "every", 10*ms, 500*ms)
	case simtest.Freeze:
		f.From = peers[:rapid.IntRange(1, n).Draw(t, "frozen")]
	case simtest.Partition:
		f.From = peers[:rapid.IntRange(1, n-1).Draw(t, "on one side")]
	case simtest.Loss, simtest.Duplicate:
		f.Share = percent(t, "share", 1, 100)
	case simtest.Bursts:
		f.Share, f.Every = percent(t, "share", 1, 100), micros(t, "every", 10*ms, 500*ms)
	case simtest.Delay:
		f.By = micros(t, "by", ms, simtest.MaxLatency)
	case simtest.Reorder:
		f.Share, f.By = percent(t, "share", 1, 100), micros(t, "by", ms, simtest.MaxLatency)
	case simtest.Corrupt, simtest.Truncate, simtest.Stray, simtest.Forge, simtest.Flood:
		f.Share = percent(t, "share", 1, 100)
	case simtest.Block, simtest.Down, simtest.Change:
	}
	return f
}

func TestWhateverAValidScenarioSaysNoRuleIsBroken(t *testing.T) {
	finished, ended := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		s := drawScenario(t)
		if s.Validate() != nil {
			t.Skip("it crashes every peer, or one that nobody misses")
		}
		r, err := simtest.Play(simtest.Witness(), s)
		if err != nil {
			t.Fatal(err)
		}
		if r.Violation != nil {
			t.Fatalf("%v\n%s", r.Violation, s.JSON())
		}
		if ended++; int(r.Confirmed) == s.Ticks {
			finished++
		}
	})
	t.Logf("%d of %d matches were finished", finished, ended)
	// A short run draws too few to be sure of one that loses a peer.
	if 3*finished < ended || ended >= 100 && finished == ended {
		t.Fatal("many matches should finish, and some should end before")
	}
}
