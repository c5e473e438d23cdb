package desync

import (
	"errors"
	"fmt"
	"strings"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/dispute"
	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/wire"
)

// Bounds of a report.
const (
	// Version is the version of the format that this package writes, and the only one that it
	// reads.
	Version = 1
	// MaxFile is a length in bytes that no report's file exceeds.
	MaxFile = 160 << 20
	// MaxText is how many bytes Game, Build and Platform have at most, and a path or a value of a
	// field; longer ones are cut in the file.
	MaxText = 256
	// MaxFields is how many differences Fields and Unrepeated have at most.
	MaxFields = fingerprint.MaxDifferences
	// MaxInputs is of how many ticks there are inputs at most.
	MaxInputs = 4096
)

// check returns what a file may not hold: the first thing in the report that is beyond its bound or contradicts
// another.
func (r *Report) check() error {
	for _, check := range []func() error{r.checkWho, r.checkTicks, r.checkRoots, r.checkFields, r.checkInputs, r.checkStates} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (r *Report) checkWho() error {
	for _, t := range [][2]string{{"the game", r.Game}, {"the build", r.Build}, {"the platform", r.Platform}} {
		if why := illText(t[1]); why != "" {
			return fmt.Errorf("%s %s", t[0], why)
		}
	}
	if len(r.Settings) > wire.MaxSettings {
		return fmt.Errorf("there are %d settings, and at most %d are allowed", len(r.Settings), wire.MaxSettings)
	}
	for i, s := range r.Settings {
		switch {
		case s.Name == "" || len(s.Name) > wire.MaxName || len(s.Value) > wire.MaxValue:
			return fmt.Errorf("setting %q is %q: 1 to %d bytes and at most %d are allowed", s.Name, s.Value, wire.MaxName, wire.MaxValue)
		case illText(s.Name+s.Value) != "":
			return fmt.Errorf("setting %q %s", s.Name, illText(s.Name+s.Value))
		case i > 0 && strings.Compare(r.Settings[i-1].Name, s.Name) >= 0:
			return fmt.Errorf("setting %q follows %q: they must ascend", s.Name, r.Settings[i-1].Name)
		}
	}
	switch {
	case r.Self >= driftback.MaxPeers || r.Peer >= driftback.MaxPeers || r.Self == r.Peer:
		return fmt.Errorf("it is of peer %d and peer %d: two different ones below %d are allowed", r.Self, r.Peer, driftback.MaxPeers)
	case len(r.Players) > driftback.MaxParticipants:
		return fmt.Errorf("there are %d participants, and at most %d are allowed", len(r.Players), driftback.MaxParticipants)
	}
	for p, peer := range r.Players {
		if peer >= driftback.MaxPeers {
			return fmt.Errorf("peer %d plays participant %d, and peers are below %d", peer, p, driftback.MaxPeers)
		}
	}
	return nil
}

// within reports whether a tick is one of those that may differ.
func (r *Report) within(t driftback.Tick) bool { return t > r.Agreed && t <= r.Found }

func (r *Report) checkTicks() error {
	switch {
	case r.Agreed < 0 || r.Found > wire.MaxTick || r.Agreed >= r.Found:
		return fmt.Errorf("tick %d was agreed on and tick %d found to differ: the second must be later, and both from 0 to %d", r.Agreed, r.Found, wire.MaxTick)
	case !r.within(r.Tick):
		return fmt.Errorf("the first tick that differs is %d, and it must be after %d and at most %d", r.Tick, r.Agreed, r.Found)
	case r.Compared && !r.within(r.At) || !r.Compared && r.At != 0:
		return fmt.Errorf("the states of tick %d were compared, and it must be after %d and at most %d, or 0 for none", r.At, r.Agreed, r.Found)
	case r.Repeats[0] > dispute.Different || r.Repeats[1] > dispute.Different:
		return fmt.Errorf("whether ticks repeat is %d and %d, and at most %d is allowed", r.Repeats[0], r.Repeats[1], dispute.Different)
	}
	return nil
}

func (r *Report) checkRoots() error {
	if len(r.Roots) > dispute.MaxRoots {
		return fmt.Errorf("there are fingerprints of %d ticks, and at most %d are allowed", len(r.Roots), dispute.MaxRoots)
	}
	before := r.Agreed
	for _, p := range r.Roots {
		switch {
		case p.Tick <= before || p.Tick > r.Found:
			return fmt.Errorf("the fingerprints of tick %d follow those of tick %d: they must ascend and be at most %d", p.Tick, before, r.Found)
		case !p.OursKnown && (p.Ours != 0 || !p.TheirsKnown) || !p.TheirsKnown && p.Theirs != 0:
			return fmt.Errorf("no fingerprint of tick %d is known, or one that is not known is not 0", p.Tick)
		}
		before = p.Tick
	}
	return nil
}

func (r *Report) checkFields() error {
	for _, list := range [][]fingerprint.Difference{r.Fields, r.Unrepeated} {
		if len(list) > MaxFields {
			return fmt.Errorf("there are %d fields, and at most %d are allowed", len(list), MaxFields)
		}
		for _, d := range list {
			if why := illText(d.Path + d.A + d.B); why != "" {
				return fmt.Errorf("the field %q, which is %q or %q, %s", d.Path, d.A, d.B, why)
			}
		}
	}
	if n := max(r.OursSize, r.TheirsSize); min(r.OursSize, r.TheirsSize) < 0 || n > dispute.MaxState {
		return fmt.Errorf("the states have %d and %d bytes: 0 to %d are allowed", r.OursSize, r.TheirsSize, dispute.MaxState)
	}
	return nil
}

func (r *Report) checkInputs() error {
	switch {
	case r.InputSize < 0 || r.InputSize > wire.MaxStride:
		return fmt.Errorf("an input has %d bytes: 0 to %d are allowed", r.InputSize, wire.MaxStride)
	case len(r.Inputs) > MaxInputs:
		return fmt.Errorf("there are the inputs of %d ticks, and at most %d are allowed", len(r.Inputs), MaxInputs)
	case len(r.Inputs) > 0 && (r.Inputs[0].Tick < 0 || r.Inputs[0].Tick > wire.MaxTick-driftback.Tick(len(r.Inputs))):
		return fmt.Errorf("the inputs begin with tick %d, and ticks are from 0 to %d", r.Inputs[0].Tick, wire.MaxTick)
	}
	for i, in := range r.Inputs {
		switch {
		case in.Tick != r.Inputs[0].Tick+driftback.Tick(i):
			return fmt.Errorf("the inputs of tick %d follow those of tick %d: no tick may be left out", in.Tick, r.Inputs[0].Tick+driftback.Tick(i)-1)
		case in.Speed < 1 || in.Speed > wire.MaxSpeed:
			return fmt.Errorf("the speed of tick %d is %d eighths: 1 to %d are allowed", in.Tick, in.Speed, wire.MaxSpeed)
		case len(in.Given) != len(r.Players):
			return fmt.Errorf("there are %d inputs for tick %d, and %d participants", len(in.Given), in.Tick, len(r.Players))
		}
		for p, g := range in.Given {
			switch {
			case len(g.Input) != r.InputSize:
				return fmt.Errorf("the input of participant %d for tick %d has %d bytes, and one has %d", p, in.Tick, len(g.Input), r.InputSize)
			case g.Entry > wire.EntryGone || g.Status > driftback.Absent:
				return fmt.Errorf("the entry of participant %d for tick %d is %d and its status %d: at most %d and %d are allowed",
					p, in.Tick, g.Entry, g.Status, wire.EntryGone, driftback.Absent)
			}
		}
	}
	return nil
}

func (r *Report) checkStates() error {
	if r.Before == nil && r.Start != 0 || r.After == nil && r.End != 0 {
		return errors.New("a tick is given of a state that is not known")
	}
	if n := max(len(r.Before), len(r.After)); n > dispute.MaxState {
		return fmt.Errorf("a state has %d bytes, and at most %d are allowed", n, dispute.MaxState)
	}
	if r.Before != nil && (r.Start < r.Agreed || r.Start >= r.Found) || r.After != nil && !r.within(r.End) || r.Before != nil && r.After != nil && r.Start >= r.End {
		return fmt.Errorf("the states are those of tick %d and tick %d: they must lie between %d and %d, the first before the second", r.Start, r.End, r.Agreed, r.Found)
	}
	return nil
}
