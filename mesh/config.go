package mesh

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/buggify"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

// None switches a setting off.
const None = -1

const (
	// MaxWindow is the largest prediction window, in ticks.
	MaxWindow = 256
	// MaxDelay is the largest input delay, in ticks.
	MaxDelay = 60
	// MaxRedundancy is the largest number of inputs carried at least.
	MaxRedundancy = 256
	// MaxHistory is the largest number of ticks for which fingerprints are kept.
	MaxHistory = 1 << 20
)

// Config says what a mesh is for. New checks all of it.
type Config struct {
	// Transport carries the messages. It may be nil when this peer plays every
	// participant.
	Transport transport.Transport
	// Self is this peer. Players[p] is the peer that plays participant p.
	Self    driftback.Peer
	Players []driftback.Peer
	// Relay is the peer through which all of this peer's messages go, and whose set of
	// inputs confirms a tick, this peer's own included: see package relay. It plays nobody.
	// 0 is none, and then all peers speak with each other.
	Relay driftback.Peer
	// Stride is the size of an input in bytes.
	Stride int
	// Delay is the input delay in ticks, 0 to MaxDelay, with which each participant that
	// Self plays begins; Delays has one for each of them, in order, in place of it.
	Delay  int
	Delays []int
	// Window is the prediction window in ticks, 0 to MaxWindow. The mesh does not
	// predict; the window bounds how far ahead a peer's inputs can honestly be.
	Window int
	// Redundancy is how many of the newest inputs a packet with a new one carries at
	// least, even when all of them have been acknowledged: 0 to MaxRedundancy.
	Redundancy int
	// PublishEvery is after how many ticks new inputs go out, all of them together: 1 to
	// MaxPublishEvery, 0 is 1. What is repeated or acknowledged goes as seldom, for which TickLength
	// says how long a tick lasts; where PublishEvery is 1 it is not needed. So many ticks may
	// last MaxTurn and a quarter of PeerTimeout at most. Peers may differ.
	PublishEvery int
	TickLength   time.Duration
	// FingerprintEvery is the interval in ticks at which confirmed states are
	// compared, or None. History is for how many ticks fingerprints are kept.
	FingerprintEvery, History int
	// Match and Settings must be alike on every peer. A setting with an empty value
	// is unknown and not compared.
	Match    uint64
	Settings []wire.Setting
	// Nonce is this peer's contribution to the match's seed, and tells this process
	// from one that is started in its place. It should be random.
	Nonce uint64
	// PeerTimeout is for how long a peer may be silent before it counts as
	// interrupted; one with nothing to say still speaks every 100 ms, or once in
	// PublishEvery ticks if these last longer. RejoinGrace is for how long after that it may
	// come back, and JoinTimeout how long the handshake may take; None waits for ever.
	PeerTimeout, RejoinGrace, JoinTimeout time.Duration
	// PlayOn: of three peers or more, those that are left go on without one that is
	// lost or leaves, if they play more than half of the participants. It must be alike
	// on every peer.
	PlayOn bool
	// Rejoin: a peer that was cut, or has lost the match, may come back as a new process,
	// and plays on from a tick that the members agree on. Two peers wait for each other for
	// RejoinGrace. It needs PlayOn and fingerprints, and must be alike on every peer.
	Rejoin bool
	// Evidence: the owner gives and takes evidence when fingerprints differ, so that a match ends
	// only when [Mesh.Settle] has been called here and there, or five seconds after the difference
	// was found. Where one peer gives none, the others wait for that long. There is none through a
	// relay.
	Evidence bool
	// Valid reports whether the bytes, of length Stride, are an input that the game
	// knows. Nil knows all.
	Valid func(in []byte) bool
	// ValidEntry reports whether a participant may give an entry, which is not 0. Nil
	// allows all.
	ValidEntry func(p driftback.Participant, e wire.Entry) bool
	// Outside is given what comes from peers that the match does not have, and with Rejoin
	// from those that come back and are not in yet, in place of dropping it. The message is borrowed until it returns, and it must not call the mesh
	// but for Refuse and Note. It may be nil.
	Outside func(msg transport.Message)
	// Buggify forces rare paths in a simulation. It is this mesh's alone, and nil in
	// every real match.
	Buggify *buggify.Sites
}

func (c *Config) validate() error {
	switch {
	case len(c.Players) == 0 || len(c.Players) > driftback.MaxParticipants:
		return fmt.Errorf("mesh: Players has %d participants: from 1 to %d are allowed", len(c.Players), driftback.MaxParticipants)
	case !slices.Contains(c.Players, c.Self):
		return fmt.Errorf("mesh: Self is peer %d, which plays no participant in Players", c.Self)
	case c.Stride < 1 || c.Stride > wire.MaxStride:
		return fmt.Errorf("mesh: Stride is %d bytes: from 1 to %d are allowed", c.Stride, wire.MaxStride)
	case c.Delay < 0 || c.Delay > MaxDelay:
		return fmt.Errorf("mesh: Delay is %d ticks: from 0 to %d are allowed", c.Delay, MaxDelay)
	case c.Window < 0 || c.Window > MaxWindow:
		return fmt.Errorf("mesh: Window is %d ticks: from 0 to %d are allowed", c.Window, MaxWindow)
	case c.Redundancy < 0 || c.Redundancy > MaxRedundancy:
		return fmt.Errorf("mesh: Redundancy is %d inputs: from 0 to %d are allowed", c.Redundancy, MaxRedundancy)
	case c.FingerprintEvery != None && c.FingerprintEvery < 1:
		return fmt.Errorf("mesh: FingerprintEvery is %d ticks: at least 1, or None", c.FingerprintEvery)
	case c.FingerprintEvery != None && (c.History > MaxHistory || c.FingerprintEvery > c.History/2):
		return fmt.Errorf("mesh: FingerprintEvery is %d ticks and History %d: the interval must be at most half of the history, and that at most %d",
			c.FingerprintEvery, c.History, MaxHistory)
	case c.PeerTimeout <= 0 && c.PeerTimeout != None:
		return fmt.Errorf("mesh: PeerTimeout is %v: it must be positive, or None", c.PeerTimeout)
	case c.RejoinGrace < 0:
		return fmt.Errorf("mesh: RejoinGrace is %v: it must not be negative", c.RejoinGrace)
	case c.Rejoin && (!c.PlayOn || c.FingerprintEvery == None):
		return errors.New("mesh: Rejoin needs PlayOn, and a FingerprintEvery that is not None: nobody comes back to a match that ends, nor without proof of its state")
	case c.JoinTimeout <= 0 && c.JoinTimeout != None:
		return fmt.Errorf("mesh: JoinTimeout is %v: it must be positive, or None", c.JoinTimeout)
	}
	if err := c.validateRelay(); err != nil {
		return err
	}
	if err := c.validateDelays(); err != nil {
		return err
	}
	if err := c.validateTurns(); err != nil {
		return err
	}
	others := false
	for p, peer := range c.Players {
		if peer >= driftback.MaxPeers {
			return fmt.Errorf("mesh: Players[%d] is peer %d: peers are numbered below %d", p, peer, driftback.MaxPeers)
		}
		others = others || peer != c.Self
	}
	others = others || c.relayed()
	if others && c.Transport == nil {
		return errors.New("mesh: Transport is nil, but another peer plays: without a transport every participant must be Self's")
	}
	if !others {
		return nil
	}
	if room, least := c.Transport.MaxDatagram(), c.leastDatagram(); room < least {
		return fmt.Errorf("mesh: Transport carries datagrams of %d bytes and an input has %d: it must carry at least %d",
			room, c.Stride, least)
	}
	if _, err := wire.AppendControl(nil, wire.Hello{Settings: withRoster(c.Settings, c.Players)}); err != nil {
		return fmt.Errorf("mesh: Settings cannot be sent: %w", err)
	}
	return nil
}

func (c *Config) validateDelays() error {
	if c.Delays == nil {
		return nil
	}
	plays := 0
	for _, peer := range c.Players {
		if peer == c.Self {
			plays++
		}
	}
	if len(c.Delays) != plays {
		return fmt.Errorf("mesh: Delays has %d delays, and Self plays %d participants: give one for each, or none", len(c.Delays), plays)
	}
	for i, d := range c.Delays {
		if d < 0 || d > MaxDelay {
			return fmt.Errorf("mesh: Delays[%d] is %d ticks: from 0 to %d are allowed", i, d, MaxDelay)
		}
	}
	return nil
}

// delay returns the input delay with which our participant number i begins.
func (c *Config) delay(i int) int {
	if c.Delays == nil {
		return c.Delay
	}
	return c.Delays[i]
}

// leastDatagram returns the size in bytes of a packet that has room for one input
// with its entry and one fingerprint beside everything else. With less, something could never be
// sent.
func (c *Config) leastDatagram() int {
	least := maxHead + wire.MaxRunHead + 1 + c.Stride + wire.MaxEntrySize
	if c.FingerprintEvery != None {
		least += wire.MaxSumsHead + wire.SumSize
	}
	return least
}
