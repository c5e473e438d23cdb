package sim

import "github.com/driftback/driftback"

// The kinds of effect that a step raises. Args[0] is a kart, unless it says otherwise.
const (
	// KindCount: a second of the countdown. Args: how many are left.
	KindCount uint32 = iota + 1
	// KindGo: the race begins. Args: the race.
	KindGo
	// KindBoost: a kart is pushed forwards. Args: who, for how many ticks.
	KindBoost
	// KindBump: two karts have met. Args: one, the other, how hard in pixels per second.
	KindBump
	// KindWall: a kart has met the edge of the track. Args: who, how hard.
	KindWall
	// KindPickUp: a kart has taken an item. Args: who, the Item.
	KindPickUp
	// KindOil: a kart leaves a puddle behind. Args: who.
	KindOil
	// KindPulse: a kart pushes all away that are near. Args: who.
	KindPulse
	// KindSpin: a kart spins. Args: who.
	KindSpin
	// KindLap: a kart begins another lap. Args: who, the lap just driven, its ticks.
	KindLap
	// KindFinish is raised when confirmed: a kart is home. Args: who, its place, its ticks.
	KindFinish
	// KindRaceEnd is raised when confirmed. Args: the winner or -1, the race.
	KindRaceEnd
)

// KindName returns a kind as lower-case words, for logs and web pages.
func KindName(kind uint32) string {
	switch kind {
	case KindCount:
		return "count"
	case KindGo:
		return "go"
	case KindBoost:
		return "boost"
	case KindBump:
		return "bump"
	case KindWall:
		return "wall"
	case KindPickUp:
		return "pick up"
	case KindOil:
		return "oil"
	case KindPulse:
		return "pulse"
	case KindSpin:
		return "spin"
	case KindLap:
		return "lap"
	case KindFinish:
		return "finish"
	case KindRaceEnd:
		return "race end"
	}
	return "unknown kind"
}

func effect(kind uint32, args ...int) driftback.Effect {
	e := driftback.Effect{Kind: kind}
	for i, a := range args {
		e.Args[i] = int32(a)
	}
	return e
}
