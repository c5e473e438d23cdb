package feed

import (
	"fmt"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/transfer"
	"github.com/driftback/driftback/wire"
)

func broken(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errBroken, fmt.Sprintf(format, args...))
}

// receive takes a message of the feeder that was asked. An error is a reason to ask
// another.
func (f *Follower) receive(b []byte) error {
	if _, packet := wire.TagOf(b); packet {
		return f.receivePacket(b)
	}
	c, err := wire.ParseControl(b)
	if err != nil {
		return err
	}
	peer := f.sources[f.at].peer
	if hello, ok := c.(wire.Hello); ok {
		if f.greeted && f.cfg.Introduced == nil {
			return broken("it said hello twice")
		}
		f.greeted = true
		return mesh.Compare(peer, &f.cfg.Hello, &hello)
	}
	if leave, ok := c.(wire.Leave); ok {
		return mesh.Told(peer, leave)
	}
	if f.cfg.Introduced != nil && f.ofTheMatch(c) {
		return nil
	}
	if !f.greeted {
		return broken("it did not say hello first")
	}
	switch c := c.(type) {
	case wire.Feed:
		return f.receiveFeed(c)
	case wire.TransferOffer, wire.TransferChunk, wire.TransferEnd, wire.TransferStop:
		return f.receiveState(c)
	case wire.Status:
		if f.stage != following {
			return broken("a status before there is something to begin with")
		}
		return f.receiveStatus(c)
	case wire.Finish:
		if f.stage != following || c.At != f.next || c.At < f.used {
			return broken("the match is finished at tick %d, and the feed has come to tick %d", c.At, f.next)
		}
		f.archive.retract(c.At)
		f.finish, f.finished = c, true
		return nil
	}
	return broken("a %T", c)
}

// ofTheMatch reports whether a player says something to one that it takes for another
// player: before it has heard that this one is coming back as a new process.
func (f *Follower) ofTheMatch(c wire.Control) bool {
	switch c.(type) {
	case wire.Feed, wire.Status, wire.TransferOffer, wire.TransferChunk, wire.TransferEnd, wire.TransferStop:
		return false
	case wire.Finish:
		return f.stage != following
	}
	return true
}

func (f *Follower) receiveFeed(c wire.Feed) error {
	if f.begun && c.Seed != f.seed {
		return broken("it feeds another match, with the seed %016x, and ours has %016x", c.Seed, f.seed)
	}
	f.feed, f.tag, f.seed, f.receiver, f.said = c, c.Tag, c.Seed, nil, 0
	switch c.Kind {
	case wire.FeedStart:
		if f.begun {
			return f.goOn(0)
		}
		f.archive.Begin(0)
		f.beginning = &Beginning{Seed: c.Seed, Sum: c.State, HasSum: c.HasState}
		f.follow(0)
	case wire.FeedOn:
		return f.goOn(c.First)
	case wire.FeedState:
		if f.begun && c.First < f.used {
			return broken("it has a state of tick %d, and tick %d is the next", c.First, f.used)
		}
		f.stage = receiving
		r, err := transfer.NewReceiver(transfer.ReceiverConfig{MaxState: f.cfg.MaxState, Want: func(o wire.TransferOffer) error {
			if o.Tick != f.feed.First {
				return broken("the state is of tick %d, and tick %d was announced", o.Tick, f.feed.First)
			}
			return nil
		}})
		if err != nil {
			return err
		}
		r.Up()
		f.receiver = r
	}
	return nil
}

// goOn has a feed go on from tick t. It may say again what is there, and does if another has
// sent that: what has not been used yet can be taken back.
func (f *Follower) goOn(t driftback.Tick) error {
	if !f.begun || t < f.archive.Oldest() || t > f.archive.end {
		return broken("it goes on from tick %d, and tick %d is the next", t, f.archive.end)
	}
	f.follow(t)
	return nil
}

// follow says that inputs come from tick t on.
func (f *Follower) follow(t driftback.Tick) {
	f.begun, f.stage, f.next = true, following, t
	f.cfg.Note(mesh.Event{Kind: mesh.FeedBegan, Peer: f.sources[f.at].peer, Tick: f.archive.end})
}

func (f *Follower) receiveState(c wire.Control) error {
	if f.receiver == nil || f.stage != receiving {
		return broken("a %T without a state", c)
	}
	if err := f.receiver.Receive(c); err != nil {
		return err
	}
	blob, ok := f.receiver.Blob()
	if !ok {
		return nil
	}
	f.receiver.Release()
	f.receiver.Poll(f.send) // the verdict
	offer, _ := f.receiver.Offer()
	f.archive.Begin(offer.Tick)
	f.used = offer.Tick
	f.beginning = &Beginning{Tick: offer.Tick, Seed: f.seed, Sum: offer.Sum, HasSum: true, Blob: blob}
	f.follow(offer.Tick)
	return nil
}

// receivePacket takes the inputs of all participants for the next ticks.
func (f *Follower) receivePacket(b []byte) error {
	a, p := f.archive, &f.inbound
	if f.stage != following {
		return broken("inputs before there is something to begin with")
	}
	if err := p.Parse(b, a.stride); err != nil {
		return err
	}
	if p.Tag != f.tag || len(p.Runs) != len(a.inputs) {
		return broken("the runs of %d participants with the tag %04x, and %d with %04x were to come", len(p.Runs), p.Tag, len(a.inputs), f.tag)
	}
	n := p.Runs[0].Count
	for i := range p.Runs {
		r := &p.Runs[i]
		if int(r.Participant) != i || r.First != f.next || r.Count != n {
			return broken("participant %d's inputs of %d ticks from tick %d on, and tick %d is the next", r.Participant, r.Count, r.First, f.next)
		}
	}
	if f.next+driftback.Tick(n)-f.used > a.mask+1 {
		return broken("inputs up to tick %d, and tick %d has not been used", f.next+driftback.Tick(n), f.used)
	}
	for i := range n {
		if err := f.take(p.Runs, i); err != nil {
			return err
		}
	}
	for i, sum := range p.Sums.List {
		a.PutSum(driftback.Tick(p.Sums.First+uint64(i)+1)*a.sums.every, sum)
	}
	return nil
}

// take takes the inputs of all participants for the next tick, the i-th of the runs.
func (f *Follower) take(runs []wire.Run, i int) error {
	a, t, known := f.archive, f.next, f.next < f.archive.end
	for q := range runs {
		r := &runs[q]
		in, e := r.Inputs[i*a.stride:(i+1)*a.stride], r.Entry(i)
		if !f.cfg.Valid(in) || e != 0 && !f.cfg.ValidEntry(r.Participant, e) {
			return broken("participant %d's input for tick %d is none, or has an entry that it may not give", q, t)
		}
		known = known && a.same(r.Participant, t, in, e)
	}
	f.next++
	if known {
		return nil
	}
	if t < f.used {
		return broken("its inputs for tick %d are not those that were used", t)
	}
	a.retract(t) // who fed before was cut off, and did not know
	for q := range runs {
		r := &runs[q]
		a.Put(r.Participant, r.Inputs[i*a.stride:(i+1)*a.stride], r.Entry(i))
	}
	a.Next()
	return nil
}
