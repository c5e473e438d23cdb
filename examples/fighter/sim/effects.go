package sim

import "github.com/driftback/driftback"

// The kinds of effect that a step raises. Args[0] is a side, 0 or 1.
const (
	// KindRoundStart: fighting begins. Args: 0, the round.
	KindRoundStart uint32 = iota + 1
	// KindJump: a fighter leaves the ground.
	KindJump
	// KindLand: a fighter is back on its feet.
	KindLand
	// KindWhiff: a strike met nothing. Args: the striker, the Action.
	KindWhiff
	// KindHit: a blow landed. Args: who was hit, the damage, the blows of the combo.
	KindHit
	// KindBlock: a blow was blocked. Args: who blocked, the damage, 1 if crouching.
	KindBlock
	// KindShot: a projectile sets out. Args: whose.
	KindShot
	// KindClash: two projectiles meet and are gone. Args: 0, where in pixels.
	KindClash
	// KindThrow: a fighter has been caught. Args: the thrower.
	KindThrow
	// KindTech: a fighter broke out of a throw. Args: who.
	KindTech
	// KindFall: a fighter hits the floor. Args: who.
	KindFall
	// KindKO is raised when confirmed: a fighter's health is gone. Args: who, the round.
	KindKO
	// KindRoundEnd is raised when confirmed. Args: the winner or NoWinner, the
	// round, 1 if by a knock-out.
	KindRoundEnd
	// KindMatchEnd is raised when confirmed. Args: the winner or NoWinner, the match.
	KindMatchEnd
)

// KindName returns a kind as lower-case words, for logs and web pages.
func KindName(kind uint32) string {
	switch kind {
	case KindRoundStart:
		return "round start"
	case KindJump:
		return "jump"
	case KindLand:
		return "land"
	case KindWhiff:
		return "whiff"
	case KindHit:
		return "hit"
	case KindBlock:
		return "block"
	case KindShot:
		return "shot"
	case KindClash:
		return "clash"
	case KindThrow:
		return "throw"
	case KindTech:
		return "tech"
	case KindFall:
		return "fall"
	case KindKO:
		return "ko"
	case KindRoundEnd:
		return "round end"
	case KindMatchEnd:
		return "match end"
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
