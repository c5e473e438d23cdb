package simtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/loopback"
)

// Version is the version of a scenario's meaning. Another version's file would play
// something else, so it is refused.
const Version = 2

// None switches a setting off, as in package session.
const None = session.None

// Micros is a moment or a length of virtual time, in microseconds.
type Micros int64

const (
	Millisecond Micros = 1_000
	Second      Micros = 1_000_000
)

// Duration returns the same length of time as package time has it.
func (m Micros) Duration() time.Duration { return time.Duration(m) * time.Microsecond }

// What a scenario may hold. The bounds keep a file that somebody else wrote from
// playing for ever; within them every match ends.
const (
	MaxTicks        = 100_000
	MaxPeers        = driftback.MaxParticipants
	MaxFaults       = 64
	MaxHold         = 1_000
	MinFrame        = Millisecond
	MaxFrame        = 100 * Millisecond
	MaxPhase        = 10 * Second
	MaxAhead        = 24 * 3600 * Second
	MaxSkew         = 200_000 // parts per million
	MinPeerTimeout  = 3 * Second
	MaxPeerTimeout  = 60 * Second
	MaxRejoinGrace  = 60 * Second
	MaxPublishEvery = 45      // ticks, which a time-out lasts for four times
	MaxTolerance    = 60      // ticks, of effects
	MaxLatency      = Second  // of a link's latency, jitter and reordering each
	MaxLoss         = 0.5     // of a link for good; a fault's may be 1
	MinRate         = 2_000   // bytes per second, of a fault
	MinLinkRate     = 16_000  // the same, of a link
	MaxRate         = 1 << 30 // the same
	MaxScenarioSize = 1 << 20 // bytes of JSON
	maxInterval     = session.DefaultHistory / 2
)

// Scenario is everything that one match is. As JSON it has the names in the tags; times
// are in microseconds.
type Scenario struct {
	Version int `json:"version"`
	// Seed is where the links, the workload, the game and the order in which
	// clogged peers are released draw from, each from a sequence of its own.
	Seed uint64 `json:"seed"`
	// Ticks is where every peer finishes.
	Ticks int `json:"ticks"`
	// Frame is the time between two calls of Tick, by each peer's own clock.
	Frame Micros `json:"frame"`
	// Hold is for how many ticks in a row a participant's input is drawn from the same
	// numbers, as somebody holds a key.
	Hold int `json:"hold"`
	// Window and FingerprintEvery are session.Config's: 0 is the default, None is off.
	Window           int `json:"window,omitzero"`
	FingerprintEvery int `json:"fingerprintEvery,omitzero"`
	// History is session.Config's: for how many ticks what is confirmed is kept; 0 is the
	// default.
	History int `json:"history,omitzero"`
	// PeerTimeout is session.Config's, but 0 is for ever.
	PeerTimeout Micros `json:"peerTimeout,omitzero"`
	// RejoinGrace and EffectTolerance are session.Config's. HaltAtLimit is an AtLimit of
	// session.Halt: whoever has used up its window ends the match.
	RejoinGrace     Micros `json:"rejoinGrace,omitzero"`
	EffectTolerance int    `json:"effectTolerance,omitzero"`
	HaltAtLimit     bool   `json:"haltAtLimit,omitzero"`
	// PauseEvery has each peer pause, resume or change the speed on one tick of so many, as
	// the seed says; 0: never.
	PauseEvery int `json:"pauseEvery,omitzero"`
	// DelayEvery is on one tick of how many each participant's input delay changes; 0:
	// never.
	DelayEvery int `json:"delayEvery,omitzero"`
	// Adapt is session.Config's AdaptDelay, of every peer: input delays follow the links.
	Adapt Adapt `json:"adaptDelay,omitzero"`
	// Fill and Merge have every session use the game's Fill and Merge where input delays change.
	Fill  bool `json:"fill,omitzero"`
	Merge bool `json:"merge,omitzero"`
	// MessageEvery has each peer's game send a message in one frame of so many; 0: never.
	MessageEvery int `json:"messageEvery,omitzero"`
	// PlayOn is a WhenLost of session.PlayOn: three peers or more go on without one that is
	// lost, if a majority of the participants is left.
	PlayOn bool `json:"playOn,omitzero"`
	// Rejoin is session.Config's: a peer that is lost may come back. It needs PlayOn.
	Rejoin bool `json:"rejoin,omitzero"`
	// Buggify forces rare paths inside the engine, as the seed says.
	Buggify bool   `json:"buggify,omitzero"`
	Peers   []Peer `json:"peers"`
	// Links are the directions that are not perfect, each named once.
	Links  []Link  `json:"links,omitempty"`
	Faults []Fault `json:"faults,omitempty"`
	// Cuts are the ticks for which a participant presses the zero input instead.
	Cuts []Cut `json:"cuts,omitempty"`
	// Watchers are peers that play nobody and watch.
	Watchers []Watcher `json:"watchers,omitempty"`
}

// Peer is one peer: peer i of the match is Peers[i].
type Peer struct {
	// Plays are the participants that it plays, in ascending order.
	Plays []int `json:"plays"`
	// InputDelay, Redundancy and PublishEvery are session.Config's.
	InputDelay   int `json:"inputDelay,omitzero"`
	Redundancy   int `json:"redundancy,omitzero"`
	PublishEvery int `json:"publishEvery,omitzero"`
	// Spacing is session.Config's.
	Spacing int `json:"spacing,omitzero"`
	// Phase is the time of its first frame.
	Phase Micros `json:"phase,omitzero"`
	// Ahead is what its clock shows more than the others', and Skew by how many parts
	// per million it runs faster. Its frames follow its clock.
	Ahead Micros `json:"ahead,omitzero"`
	Skew  int    `json:"skew,omitzero"`
	// Paces is what it follows of the session's advice about its pace.
	Paces Paces `json:"paces,omitzero"`
}

// Link is what one direction does from the beginning to the end, with the meaning of
// impair.Impairment.
type Link struct {
	From      int     `json:"from"`
	To        int     `json:"to"`
	Latency   Micros  `json:"latency,omitzero"`
	Jitter    Micros  `json:"jitter,omitzero"`
	ReorderBy Micros  `json:"reorderBy,omitzero"`
	Loss      float64 `json:"loss,omitzero"`
	Reorder   float64 `json:"reorder,omitzero"`
	Duplicate float64 `json:"duplicate,omitzero"`
	// BytesPerSecond is what the direction carries; 0: as much as is sent. Where it is
	// less than what the peer goes on sending, the match may not go on.
	BytesPerSecond int `json:"bytesPerSecond,omitzero"`
}

func (l Link) impairment() loopback.Impairment {
	return loopback.Impairment{
		Latency: l.Latency.Duration(), Jitter: l.Jitter.Duration(), ReorderBy: l.ReorderBy.Duration(),
		Loss: l.Loss, Reorder: l.Reorder, Duplicate: l.Duplicate, BytesPerSecond: l.BytesPerSecond,
	}
}

// Parse reads a scenario and validates it. It refuses fields that it does not know, so
// that a file of another version or with a misspelt name does not quietly play
// something else.
func Parse(b []byte) (Scenario, error) {
	if len(b) > MaxScenarioSize {
		return Scenario{}, fmt.Errorf("simtest: a scenario of %d bytes: at most %d are read", len(b), MaxScenarioSize)
	}
	var v struct{ Version int }
	if err := json.Unmarshal(b, &v); err != nil {
		return Scenario{}, fmt.Errorf("simtest: the scenario is not JSON: %w", err)
	}
	if v.Version != Version {
		return Scenario{}, fmt.Errorf("simtest: the scenario has version %d, and this program plays version %d, "+
			"in which it would be another match: play it with the module's version that wrote it, or generate one anew from a seed", v.Version, Version)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	var s Scenario
	if err := d.Decode(&s); err != nil {
		return Scenario{}, fmt.Errorf("simtest: the scenario cannot be read: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Scenario{}, errors.New("simtest: something follows the scenario: a file holds one")
	}
	return s, s.Validate()
}

// JSON returns the scenario as [Parse] reads it, ending in a line break.
func (s Scenario) JSON() []byte {
	b, err := json.MarshalIndent(s, "", "\t")
	if err != nil {
		return nil // unreachable for a valid scenario: only NaN has no JSON
	}
	return append(b, '\n')
}

// participants returns how many there are.
func (s *Scenario) participants() (n int) {
	for i := range s.Peers {
		n += len(s.Peers[i].Plays)
	}
	return n
}

// players returns session.Config's Players.
func (s *Scenario) players() []driftback.Peer {
	players := make([]driftback.Peer, s.participants())
	for i := range s.Peers {
		for _, p := range s.Peers[i].Plays {
			players[p] = driftback.Peer(i)
		}
	}
	return players
}

// bound is one number of a scenario and what is allowed for it.
type bound struct {
	name         string
	v, low, high int64
	none         bool // None is allowed too
}

func (b bound) check() error {
	if b.v >= b.low && b.v <= b.high || b.none && b.v == None {
		return nil
	}
	or := ""
	if b.none {
		or = fmt.Sprintf(", or %d for none", None)
	}
	return fmt.Errorf("simtest: %s is %d: from %d to %d are allowed%s", b.name, b.v, b.low, b.high, or)
}

func checkAll(bounds ...bound) error {
	for _, b := range bounds {
		if err := b.check(); err != nil {
			return err
		}
	}
	return nil
}

func checkShare(name string, v, most float64) error {
	if v >= 0 && v <= most { // in this form it refuses NaN too
		return nil
	}
	return fmt.Errorf("simtest: %s is %v: from 0 to %v are allowed", name, v, most)
}

// Validate returns an error that names the first thing that is out of its bounds, its
// value and what is allowed.
func (s Scenario) Validate() error {
	err := checkAll(
		bound{"version", int64(s.Version), Version, Version, false},
		bound{"ticks", int64(s.Ticks), 1, MaxTicks, false},
		bound{"frame", int64(s.Frame), int64(MinFrame), int64(MaxFrame), false},
		bound{"hold", int64(s.Hold), 1, MaxHold, false},
		bound{"window", int64(s.Window), 0, mesh.MaxWindow, true},
		bound{"fingerprintEvery", int64(s.FingerprintEvery), 0, maxInterval, true},
		bound{"rejoinGrace", int64(s.RejoinGrace), 0, int64(MaxRejoinGrace), false},
		bound{"pauseEvery", int64(s.PauseEvery), 0, MaxTicks, false},
		bound{"delayEvery", int64(s.DelayEvery), 0, MaxTicks, false},
		bound{"messageEvery", int64(s.MessageEvery), 0, MaxTicks, false},
		bound{"effectTolerance", int64(s.EffectTolerance), 0, MaxTolerance, false},
		bound{"the number of peers", int64(len(s.Peers)), 1, MaxPeers, false},
		bound{"the number of faults", int64(len(s.Faults)), 0, MaxFaults, false},
	)
	if err != nil {
		return err
	}
	if s.PeerTimeout != 0 {
		if err := checkAll(bound{"peerTimeout", int64(s.PeerTimeout), int64(MinPeerTimeout), int64(MaxPeerTimeout), false}); err != nil {
			return fmt.Errorf("%w, or 0 for ever", err)
		}
	}
	switch {
	case s.RejoinGrace != 0 && s.PeerTimeout == 0:
		return fmt.Errorf("simtest: rejoinGrace is %d and peerTimeout is 0: it begins when a peer has been silent for that long", s.RejoinGrace)
	case s.PlayOn && s.PeerTimeout == 0:
		return fmt.Errorf("simtest: playOn is set and peerTimeout is 0: nobody would ever be missed")
	case s.PlayOn && (s.disputed() || s.hasNature(hostile)):
		return fmt.Errorf("simtest: playOn is set and somebody is hostile or disagrees: what comes of both together is not judged")
	case s.HaltAtLimit && s.Window == None:
		return fmt.Errorf("simtest: haltAtLimit is set and window is %d: without predictions the first tick would halt the match", None)
	}
	if err := s.Adapt.validate(s.Window); err != nil {
		return err
	}
	if err := s.validatePeers(); err != nil {
		return err
	}
	if err := s.validateLinks(); err != nil {
		return err
	}
	if err := s.validateCuts(); err != nil {
		return err
	}
	if err := s.validateFaults(); err != nil {
		return err
	}
	if err := s.validatePauses(); err != nil {
		return err
	}
	if err := s.validateReturns(); err != nil {
		return err
	}
	if err := s.validateWatchers(); err != nil {
		return err
	}
	return s.validateDelays()
}

func (s *Scenario) validatePeers() error {
	n := s.participants()
	if n > driftback.MaxParticipants {
		return fmt.Errorf("simtest: the peers play %d participants: at most %d are allowed", n, driftback.MaxParticipants)
	}
	var played [driftback.MaxParticipants]bool
	for i, p := range s.Peers {
		in := func(field string) string { return fmt.Sprintf("%s of peer %d", field, i) }
		err := checkAll(
			bound{in("the number of participants"), int64(len(p.Plays)), 1, driftback.MaxParticipants, false},
			bound{in("inputDelay"), int64(p.InputDelay), 0, mesh.MaxDelay, false},
			bound{in("redundancy"), int64(p.Redundancy), 0, mesh.MaxRedundancy, true},
			bound{in("publishEvery"), int64(p.PublishEvery), 0, MaxPublishEvery, false},
			bound{in("spacing"), int64(p.Spacing), 0, session.MaxSpacing, false},
			bound{in("phase"), int64(p.Phase), 0, int64(MaxPhase), false},
			bound{in("ahead"), int64(p.Ahead), -int64(MaxAhead), int64(MaxAhead), false},
			bound{in("skew"), int64(p.Skew), -MaxSkew, MaxSkew, false},
		)
		if err != nil {
			return err
		}
		if err := p.Paces.validate(i); err != nil {
			return err
		}
		if s.Window == None && p.InputDelay < 1 {
			return fmt.Errorf("simtest: inputDelay of peer %d is 0 and window is %d: without predictions it must be at least 1", i, None)
		}
		if most := s.window() + s.shortest(&p); p.PublishEvery > max(most, 1) {
			return fmt.Errorf("simtest: publishEvery of peer %d is %d: at most as many ticks as its shortest inputDelay and the window, which are %d", i, p.PublishEvery, most)
		}
		for j, q := range p.Plays {
			if q < 0 || q >= n || played[q] || j > 0 && q < p.Plays[j-1] {
				return fmt.Errorf("simtest: peer %d plays %v: in ascending order and over all peers, each of the participants 0 to %d is to be played once", i, p.Plays, n-1)
			}
			played[q] = true
		}
	}
	return nil
}

func (s *Scenario) validateLinks() error {
	var seen [MaxPeers][MaxPeers]bool
	for _, l := range s.Links {
		if l.From < 0 || l.From >= len(s.Peers) || l.To < 0 || l.To >= len(s.Peers) || l.From == l.To {
			return fmt.Errorf("simtest: a link from %d to %d: it joins two of the peers 0 to %d", l.From, l.To, len(s.Peers)-1)
		}
		in := func(field string) string { return fmt.Sprintf("%s from peer %d to %d", field, l.From, l.To) }
		if seen[l.From][l.To] {
			return fmt.Errorf("simtest: %s is given twice", in("the link"))
		}
		seen[l.From][l.To] = true
		rate := bound{in("bytesPerSecond"), int64(l.BytesPerSecond), MinLinkRate, MaxRate, false}
		if l.BytesPerSecond == 0 {
			rate.low = 0
		}
		err := errors.Join(
			checkAll(
				rate,
				bound{in("latency"), int64(l.Latency), 0, int64(MaxLatency), false},
				bound{in("jitter"), int64(l.Jitter), 0, int64(MaxLatency), false},
				bound{in("reorderBy"), int64(l.ReorderBy), 0, int64(MaxLatency), false},
			),
			checkShare(in("loss"), l.Loss, MaxLoss),
			checkShare(in("reorder"), l.Reorder, 1),
			checkShare(in("duplicate"), l.Duplicate, 1),
		)
		if err != nil {
			return err
		}
	}
	return nil
}

// link returns what a direction does when nothing is wrong with it.
func (s *Scenario) link(from, to int) loopback.Impairment {
	for _, l := range s.Links {
		if l.From == from && l.To == to {
			return l.impairment()
		}
	}
	return loopback.Impairment{}
}
