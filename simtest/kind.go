package simtest

import "slices"

// Kind says what goes wrong.
type Kind string

// What can go wrong. "The directions" are those from each peer of From to each of To,
// where an empty list means every peer.
const (
	// Loss: the directions lose Share of their datagrams more than before.
	Loss Kind = "loss"
	// Bursts: the directions turn bad and good again together, for random times of
	// Every on average, and lose Share while they are bad (after Gilbert and Elliott).
	Bursts Kind = "bursts"
	// Delay: the directions take By longer; over one direction the link is asymmetric.
	Delay Kind = "delay"
	// Reorder: Share of the directions' datagrams are held back by By.
	Reorder Kind = "reorder"
	// Duplicate: Share of the directions' datagrams arrive twice.
	Duplicate Kind = "duplicate"
	// Block: the directions let nothing through.
	Block Kind = "block"
	// Partition: nothing passes between the peers of From and all the others.
	Partition Kind = "partition"
	// Throttle: the directions carry Rate bytes per second; what is more waits, and what
	// waits for too long is dropped.
	Throttle Kind = "throttle"
	// Down: the links between From and To go down and come up again, which both ends
	// see. Whatever had not arrived is gone.
	Down Kind = "down"
	// Clog: the peers of From are cut off one by one, Every apart, all stay so for For, and
	// then they are released in random order, Every apart.
	Clog Kind = "clog"
	// Freeze: the loops of From's peers do not run. Their clocks do.
	Freeze Kind = "freeze"
	// Skew: the clocks of From's peers, and their frames with them, run faster by Skew, or
	// slower if it is negative.
	Skew Kind = "skew"
	// Crash: From's peers are gone for good, without a word.
	Crash Kind = "crash"
	// Leave and Halt: From's peers leave the match, or halt it for everybody.
	Leave Kind = "leave"
	Halt  Kind = "halt"
	// Diverge: From's one peer runs its step twice on Tick, so that its world is another
	// from then on.
	Diverge Kind = "diverge"
	// Restart: From's peers crash, and after For another process of each comes back with
	// session.Join, to be fed by those of To. Reopen: it calls session.New first, and Join when
	// it is told that the match is under way. Return: they leave instead of crashing.
	Restart Kind = "restart"
	Reopen  Kind = "reopen"
	Return  Kind = "return"
)

// Kinds lists every kind. Hostile peers draw from a sequence by place in it, so new ones come last.
var Kinds = [...]Kind{
	Loss, Bursts, Delay, Reorder, Duplicate, Block, Partition, Clog, Throttle, Down, Freeze, Crash, Leave, Halt, Diverge,
	Corrupt, Truncate, Stray, Forge, Change, Equivocate, Misreport, Flood,
	Skew, Restart, Reopen, Return,
}

// nature says what kind of thing a kind is.
type nature uint8

const (
	// passes: it is over after For, and with it all that it did.
	passes nature = iota + 1
	// ends: it ends the match, and disturbs nothing before.
	ends
	// comes: a peer is gone after At, and another process comes in its place after For.
	comes
	// hostile: peers do it on purpose.
	hostile
)

// traits says what a kind is, and which fields mean something to it, where the others must
// be zero.
type traits struct {
	nature nature
	// peers: it is about peers and not about directions.
	peers bool
	// disputed: peers come to disagree because of it, and play nothing while they talk it
	// over.
	disputed bool

	lasts, from, to, share, by, every, rate, skew, tick bool
}

var kindTraits = map[Kind]traits{
	Loss:      {nature: passes, lasts: true, to: true, share: true},
	Bursts:    {nature: passes, lasts: true, to: true, share: true, every: true},
	Delay:     {nature: passes, lasts: true, to: true, by: true},
	Reorder:   {nature: passes, lasts: true, to: true, share: true, by: true},
	Duplicate: {nature: passes, lasts: true, to: true, share: true},
	Block:     {nature: passes, lasts: true, to: true},
	Partition: {nature: passes, lasts: true, from: true},
	Clog:      {nature: passes, lasts: true, from: true, every: true},
	Throttle:  {nature: passes, lasts: true, to: true, rate: true},
	Down:      {nature: passes, lasts: true, to: true},
	Freeze:    {nature: passes, lasts: true, from: true, peers: true},
	Skew:      {nature: passes, lasts: true, from: true, skew: true, peers: true},

	Crash:   {nature: ends, from: true, peers: true},
	Leave:   {nature: ends, from: true, peers: true},
	Halt:    {nature: ends, from: true, peers: true},
	Diverge: {nature: ends, from: true, tick: true, peers: true, disputed: true},

	Restart: {nature: comes, lasts: true, from: true, to: true, peers: true},
	Reopen:  {nature: comes, lasts: true, from: true, to: true, peers: true},
	Return:  {nature: comes, lasts: true, from: true, to: true, peers: true},

	Corrupt:    {nature: hostile, lasts: true, from: true, to: true, share: true},
	Truncate:   {nature: hostile, lasts: true, from: true, to: true, share: true},
	Stray:      {nature: hostile, lasts: true, from: true, to: true, share: true},
	Forge:      {nature: hostile, lasts: true, from: true, to: true, share: true},
	Change:     {nature: hostile, lasts: true, from: true, to: true},
	Equivocate: {nature: hostile, from: true, to: true, disputed: true},
	Misreport:  {nature: hostile, from: true, to: true, disputed: true},
	Flood:      {nature: hostile, lasts: true, from: true, to: true, share: true},
}

// kindsThat returns the kinds of one nature, in the order of Kinds.
func kindsThat(n nature) (list []Kind) {
	for _, k := range Kinds {
		if kindTraits[k].nature == n {
			list = append(list, k)
		}
	}
	return list
}

// has reports whether there is a fault of one of the kinds.
func (s *Scenario) has(kinds ...Kind) bool {
	return slices.ContainsFunc(s.Faults, func(f Fault) bool { return slices.Contains(kinds, f.Kind) })
}

// hasNature reports whether there is a fault whose kind is of that nature.
func (s *Scenario) hasNature(n nature) bool {
	return slices.ContainsFunc(s.Faults, func(f Fault) bool { return kindTraits[f.Kind].nature == n })
}

// disputed reports whether there is a fault because of which peers come to disagree.
func (s *Scenario) disputed() bool {
	return slices.ContainsFunc(s.Faults, func(f Fault) bool { return kindTraits[f.Kind].disputed })
}
