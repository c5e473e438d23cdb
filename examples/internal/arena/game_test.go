package arena

import (
	"testing/fstest"

	"github.com/driftback/driftback"
)

// tally is a game that is next to nothing: it counts what each player presses.
type tally struct {
	Count [4]uint64
	Ticks uint32
	Looks [2]uint8
}

type pressed struct{ Buttons uint16 }

const (
	won      = 7   // the kind of the effect that ends a match
	wonAfter = 200 // ticks
)

// picking is the game of tally before which two pick what to wear.
func picking() *Game[tally, pressed] {
	g := tallying()
	g.Picks = &Picks[tally]{
		Looks: 4, Of: func(s *tally) [2]uint8 { return s.Looks }, Wear: func(looks [2]uint8) tally { return tally{Looks: looks} },
		Won: won, Cheer: 30, WonFor: func(s *tally) driftback.Tick { return max(driftback.Tick(s.Ticks)-wonAfter+1, 0) },
	}
	return g
}

// tallying is the game of tally. Its bots press how often they have been asked.
func tallying() *Game[tally, pressed] {
	return &Game[tally, pressed]{
		Name: "tally", Match: 1, TicksPerSecond: 60,
		Seats: []string{"first", "second", "third", "fourth"}, Players: 2, CountFlag: "players",
		Bots: "Bots press.",
		Step: func(s *tally, in []pressed, pass *driftback.Pass) {
			if s.Ticks++; s.Ticks == wonAfter {
				pass.RaiseConfirmed(driftback.Effect{Kind: won})
			}
			for p := range in {
				s.Count[p] += uint64(in[p].Buttons)
			}
		},
		Blot:  func(s *tally) { s.Count[0] ^= 1 << 40 },
		Start: func(uint64, *tally) {}, Valid: func(in pressed) bool { return in.Buttons < 256 },
		Input: func(buttons uint16) pressed { return pressed{buttons} }, Buttons: 0xff,
		Bot: func(uint64, driftback.Participant) func(*tally) pressed {
			asked := uint16(0)
			return func(*tally) pressed { asked++; return pressed{asked % 256} }
		},
		Page:       fstest.MapFS{"index.html": {Data: []byte("tally")}},
		View:       func(s *tally) any { return *s },
		EffectName: func(uint32) string { return "hit" },
		Score:      func(*tally) string { return "even" },
	}
}
