package simtest

import (
	"github.com/driftback/driftback"
	"github.com/driftback/driftback/pacing"
	"github.com/driftback/driftback/rng"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/snapshot"
)

// Game is what is played: the functions that a game hands to package session, and what
// its participants press.
type Game[S any, I comparable] struct {
	// Name is session.Config's Game.
	Name string
	// Step advances the game by one tick. Required.
	Step driftback.Step[S, I]
	// Players is for how many participants the game is at most: it is played by from 2 to
	// Players of them, and with 1 by a single one. A step may rely on that, for no other
	// scenario is generated, shrunk to or accepted. 0: by any number, of which [Generate]
	// makes two to eight unless a [Shape] says otherwise, shrinking leaves one, and a scenario that somebody writes may
	// have driftback.MaxParticipants, 16.
	Players int
	// Initial makes the world as tick 0 begins, before Start, anew for every peer and
	// for the simulation that they are compared with. Nil: the zero value.
	Initial func() S
	// Start is session.Config's.
	Start func(seed uint64, s *S)
	// Input returns what participant p presses for tick t. Required. It is asked
	// for one tick by several, in any order and again, and must answer the same: it may
	// draw from r and look at p and t, and at nothing else. r draws the same numbers for
	// Scenario.Hold ticks in a row.
	Input func(r *rng.PCG, p driftback.Participant, t driftback.Tick) I
	// Save, Valid and Predict are session.Config's.
	Save    snapshot.Policy[S]
	Valid   func(in I) bool
	Predict func(last I, age int) I

	// Fill and Merge are session.Config's, for scenarios in which input delays change and that ask
	// for them. Without them a gap is filled with the zero input, and of inputs that are merged the
	// first that was read stays.
	Fill  func(last I) I
	Merge func(into, discarded I) I

	// plant changes what one peer runs. Only this package's tests set it, to show that
	// the rules notice.
	plant func(self driftback.Peer, c *session.Config[S, I])
	// plantWatch does the same for those who watch.
	plantWatch func(self driftback.Peer, c *session.WatchConfig[S, I])
	// plantAdvice changes what a session advises about the pace.
	plantAdvice func(self driftback.Peer, a *pacing.Advice)
}

// workload returns what participant p presses for tick t in a scenario.
func (g *Game[S, I]) workload(s *Scenario) func(p driftback.Participant, t driftback.Tick) I {
	return func(p driftback.Participant, t driftback.Tick) (in I) {
		if s.cut(p, t) {
			return in
		}
		r := random(s.Seed, streamWorkload, uint64(p))
		r.Seed(r.Uint64(), r.Uint64()+uint64(t)/uint64(s.Hold))
		return g.Input(&r, p, t)
	}
}

func (g *Game[S, I]) fill(last I) (in I) {
	if g.Fill != nil {
		in = g.Fill(last)
	}
	return in
}

func (g *Game[S, I]) merge(into, discarded I) I {
	if g.Merge != nil {
		return g.Merge(into, discarded)
	}
	return discarded
}

// start makes the world as tick 0 begins out of a new one, in place: only what Initial
// returns passes over the stack, which may not have room for several worlds.
func (g *Game[S, I]) start(seed uint64, s *S) {
	if g.Initial != nil {
		*s = g.Initial()
	}
	if g.Start != nil {
		g.Start(seed, s)
	}
}

// WitnessInput is what a participant of [Witness] presses: any bits. It is larger than
// most games' inputs, so that what is not acknowledged soon needs several packets.
type WitnessInput struct {
	Buttons uint16
	Aim     [4]uint32
}

// WitnessState is the world of [Witness].
type WitnessState struct {
	Rand   rng.PCG
	Ticks  int64
	Digest uint64
	Count  [driftback.MaxParticipants]int64
	Held   [driftback.MaxParticipants]int16 // for how many ticks each has held button 0
	Total  [driftback.MaxParticipants]int32 // the same, over all times
}

// What a step of [Witness] raises.
const (
	WitnessPress = iota + 1 // Args[0] has pressed button 0
	WitnessRound            // confirmed: a number of ticks have passed
	WitnessBeat             // Args[0] has held button 0 for some ticks more; a wrong guess moves it
)

// Witness returns a game without any sense that notices everything: each input of each tick
// changes its state for good, so that a single one that is lost, late, doubled or
// somebody else's is never made good again. A key that is held is guessed to be let go
// after a while, so that a guess made from another tick is another guess.
func Witness() Game[WitnessState, WitnessInput] {
	return Game[WitnessState, WitnessInput]{
		Name:  "witness",
		Step:  witness,
		Start: func(seed uint64, s *WitnessState) { s.Rand.Seed(seed, streamGame) },
		Input: func(r *rng.PCG, _ driftback.Participant, _ driftback.Tick) WitnessInput {
			in := WitnessInput{Buttons: uint16(r.Uint64())}
			for i := range in.Aim {
				in.Aim[i] = uint32(r.Uint64())
			}
			return in
		},
		Predict: func(last WitnessInput, age int) WitnessInput {
			if age > witnessHolds {
				return WitnessInput{}
			}
			return last
		},
		Fill: func(last WitnessInput) WitnessInput {
			last.Aim[0]++ // it is another one
			return last
		},
		Merge: func(into, discarded WitnessInput) WitnessInput {
			into.Buttons |= discarded.Buttons
			into.Aim[1] = into.Aim[1]*31 + discarded.Aim[1] // and the order tells
			return into
		},
	}
}

// witnessHolds is for how many ticks a key is guessed to be held.
const witnessHolds = 5

func witness(s *WitnessState, in []WitnessInput, pass *driftback.Pass) {
	s.Digest += s.Rand.Uint64()
	for p, i := range in {
		if pass.Status(driftback.Participant(p)) == driftback.Replaced {
			i.Buttons = uint16(s.Rand.Uint64()) // a bot
		}
		s.Digest = (s.Digest ^ uint64(i.Buttons) ^ uint64(p)<<16) * 0x9e3779b97f4a7c15
		for _, aim := range i.Aim {
			s.Digest = (s.Digest ^ s.Digest>>29 ^ uint64(aim)) * 0x9e3779b97f4a7c15
		}
		s.Count[p] += int64(i.Buttons)
		if i.Buttons&1 == 0 {
			s.Held[p] = 0
			continue
		}
		if s.Total[p]++; s.Total[p]%8 == 0 {
			pass.Raise(driftback.Effect{Kind: WitnessBeat, Args: [3]int32{int32(p)}})
		}
		if s.Held[p]++; s.Held[p] == 1 {
			pass.Raise(driftback.Effect{Kind: WitnessPress, Args: [3]int32{int32(p), int32(s.Digest)}})
		}
	}
	if s.Ticks++; s.Ticks%20 == 0 {
		pass.RaiseConfirmed(driftback.Effect{Kind: WitnessRound, Args: [3]int32{int32(s.Digest)}})
	}
}
