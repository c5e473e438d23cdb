package feed

import (
	"errors"
	"fmt"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/transfer"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

// phase is how far a watcher is, as its feeder sees it.
type phase uint8

const (
	ignored  phase = iota // its link is not up, or nothing more is to be heard from it
	silent                // it has said nothing
	greeted               // it has said hello
	wanting               // it has asked, and there is nothing to begin with yet
	offering              // a state is being handed over
	feeding               // inputs are
)

const (
	// maxMessages is how many messages of one watcher are heard between two Polls, and
	// maxFaults how many of all may be what an honest one never sends.
	maxMessages = 256
	maxFaults   = 64
	// beat is how often both sides speak when there is nothing new.
	beat = 100 * time.Millisecond
	// mostUnderWay is how many bytes of a state may be on their way at the most.
	mostUnderWay = 512 << 10
)

// watcher is one peer that plays nobody.
type watcher struct {
	peer  driftback.Peer
	phase phase

	hello    bool           // ours has been sent
	from     driftback.Tick // what it has asked for
	tag      uint16
	sender   *transfer.Sender
	progress int            // what was acknowledged of the state
	sent     driftback.Tick // the first tick not sent
	acked    driftback.Tick // the first not acknowledged
	changed  int            // how many changes of status had been put when they were sent last
	sums     uint64         // the index of the first fingerprint not sent
	seq      uint16
	sentAt   time.Duration
	spokeAt  time.Duration
	stuck    time.Duration // for how long it owes an acknowledgement
	silence  time.Duration
	messages int // since the last Poll
	faults   int
}

// fed reports whether a watcher will take inputs: all of what it begins with has been sent
// before them, though it may not have said yet that it has come.
func (w *watcher) fed() bool {
	if w.phase != offering {
		return w.phase == feeding
	}
	at := w.sender.Phase()
	return at == transfer.Sealed || at == transfer.Done // done: its verdict came after the last Poll
}

// Receive takes a message of a peer that plays nobody.
func (f *Feeder) Receive(msg transport.Message) {
	if msg.From >= driftback.MaxPeers {
		return
	}
	w := f.byNum[msg.From]
	if w == nil {
		w = &watcher{peer: msg.From}
		f.byNum[msg.From] = w
	}
	switch msg.Kind {
	case transport.Up:
		f.remove(w, errors.New("its link came up anew"))
		*w = watcher{peer: w.peer, phase: silent, tag: w.tag, messages: w.messages}
		return
	case transport.Down:
		f.remove(w, msg.Err)
		return
	case transport.Datagram, transport.Reliable:
	}
	if w.phase == ignored {
		return
	}
	if f.ended {
		if msg.Kind == transport.Reliable {
			f.sendControl(w, f.last)
			w.phase = ignored
		}
		return
	}
	if w.messages++; w.messages > maxMessages {
		f.drop(w, fmt.Errorf("it sent more than %d messages at once", maxMessages))
		return
	}
	if msg.Kind == transport.Datagram {
		f.receivePacket(w, msg.Data)
	} else if err := f.receiveControl(w, msg.Data); err != nil {
		f.drop(w, err)
	}
}

// fault counts what an honest watcher does not send.
func (f *Feeder) fault(w *watcher, r mesh.Refusal) {
	f.cfg.Refuse(r)
	if w.faults++; w.faults > maxFaults {
		f.drop(w, fmt.Errorf("it sent more than %d things that no watcher sends, the last %v", maxFaults, r))
	}
}

// receivePacket takes an acknowledgement.
func (f *Feeder) receivePacket(w *watcher, b []byte) {
	tag, ok := wire.TagOf(b)
	p := &f.incoming
	switch {
	case !ok:
		f.fault(w, mesh.Malformed)
		return
	case w.phase < greeted:
		f.fault(w, mesh.Early)
		return
	case tag != w.tag && (w.phase > wanting || f.cfg.Players.Has(w.peer)):
		// It has not heard yet that the feed has begun anew, or plays already in a view of
		// which nobody here has heard.
		w.silence = 0
		return
	case p.Parse(b, f.archive.stride) != nil:
		f.fault(w, mesh.Malformed)
		return
	}
	w.silence = 0
	if len(p.Runs) > 0 {
		f.fault(w, mesh.NotOwner)
		return
	}
	if w.phase != feeding {
		return
	}
	for _, a := range p.Acks {
		switch {
		case a.Participant != 0 || a.Next > w.sent:
			f.fault(w, mesh.BadAck)
			return
		case a.Next > w.acked:
			w.acked, w.stuck = a.Next, 0
		}
	}
}

// receiveControl takes a message of the reliable channel. An error is a reason to drop the
// watcher.
func (f *Feeder) receiveControl(w *watcher, b []byte) error {
	c, err := wire.ParseControl(b)
	if err != nil {
		f.cfg.Refuse(mesh.Malformed)
		return err
	}
	w.silence = 0
	switch c := c.(type) {
	case wire.Hello:
		return f.receiveHello(w, &c)
	case wire.Watch:
		// Who is coming back asks again where another has failed it.
		if w.phase != greeted && (w.phase < greeted || !f.cfg.Players.Has(w.peer)) {
			return errors.New("it asked to watch when it could not")
		}
		w.sender, w.phase, w.from = nil, wanting, c.From
	case wire.TransferTake, wire.TransferAck, wire.TransferStop:
		if w.sender != nil {
			return w.sender.Receive(c)
		}
	case wire.Leave:
		f.remove(w, nil)
		w.phase, w.hello = silent, false // it may come back over the same link
	default:
		f.cfg.Refuse(mesh.Malformed)
		return fmt.Errorf("it sent a %T, which no watcher sends", c)
	}
	return nil
}

func (f *Feeder) receiveHello(w *watcher, h *wire.Hello) error {
	if w.phase != silent {
		if f.cfg.Players.Has(w.peer) {
			return nil // it says so until it plays, for those that did not hear it
		}
		return errors.New("it said hello twice")
	}
	if err := mesh.Compare(w.peer, &f.cfg.Hello, h); err != nil {
		return err
	}
	if len(h.Delays) > 0 && !f.cfg.Players.Has(w.peer) {
		return errors.New("it says that it plays, and only who plays nobody can watch")
	}
	if !f.cfg.Players.Has(w.peer) && f.Watchers() >= f.cfg.Most {
		return fmt.Errorf("%d watch already, and no more may", f.cfg.Most)
	}
	w.phase = greeted
	f.watchers = append(f.watchers, w)
	f.cfg.Note(mesh.Event{Kind: mesh.WatcherCame, Peer: w.peer})
	return nil
}

// serve sends a watcher what is due. An error is a reason to drop it.
func (f *Feeder) serve(w *watcher, passed time.Duration) error {
	idle := w.phase == greeted && f.cfg.Players.Has(w.peer) // another feeds it
	if f.cfg.Timeout > 0 && w.silence >= f.cfg.Timeout && !idle {
		return fmt.Errorf("nothing came from it for %v", w.silence.Round(time.Millisecond))
	}
	if !w.hello {
		if w.hello = f.sendControl(w, f.cfg.Hello); !w.hello {
			return nil
		}
	}
	if w.phase == wanting && f.begun {
		if err := f.begin(w); err != nil {
			return err
		}
	}
	if w.phase == offering {
		if err := f.offer(w, passed); err != nil {
			return err
		}
	}
	if w.phase == feeding {
		if w.acked < w.sent {
			if w.stuck += passed; f.cfg.Timeout > 0 && w.stuck >= f.cfg.Timeout {
				return fmt.Errorf("it has acknowledged nothing beyond tick %d for %v", w.acked, w.stuck.Round(time.Millisecond))
			}
		}
		if w.sent < f.archive.Oldest() {
			w.phase, w.from = wanting, 0 // it has fallen behind: from a newer state
			return nil
		}
		f.sendInputs(w)
	}
	f.sendBeat(w)
	return nil
}

// begin begins a feed, if there is something to begin it with.
func (f *Feeder) begin(w *watcher) error {
	a, m := f.archive, f.begins
	var from *state
	switch {
	case w.from > 0 && w.from >= a.Oldest() && w.from <= a.End()+window:
		m.Kind, m.First = wire.FeedOn, w.from
	case w.from == 0 && a.Oldest() == 0 && (a.End() <= fromStart || !f.cfg.CanGive):
		m.Kind = wire.FeedStart
	case !f.cfg.CanGive:
		return fmt.Errorf("the match is at tick %d, of which the inputs from tick %d on are kept, and its states cannot be handed over", a.End(), a.Oldest())
	default:
		if from = f.stateFor(); from == nil {
			return nil
		}
		m.Kind, m.First = wire.FeedState, from.tick
	}
	m.Tag = w.tag + 1
	if !f.sendControl(w, m) {
		return nil
	}
	w.tag, w.sent, w.acked, w.stuck, w.changed, w.phase = m.Tag, m.First, m.First, 0, 0, feeding
	if a.sums.every > 0 {
		w.sums = uint64(m.First / a.sums.every)
	}
	if from == nil {
		return nil
	}
	var err error
	w.phase, w.progress = offering, 0
	w.sender, err = transfer.NewSender(transfer.SenderConfig{
		Offer: wire.TransferOffer{
			ID: from.id, Tick: from.tick, Sum: from.sum, State: from.size, Log: from.log,
		},
		Source: from.source, Slice: f.portion(), Window: f.underWay(),
	})
	if err == nil {
		w.sender.Up()
	}
	return err
}

// portion is how many bytes of a state one Poll makes and sends to a watcher at most: what
// its rate comes to in a 64th of a second, within bounds, so that a high rate is reached
// and a low one has no bursts.
func (f *Feeder) portion() int {
	return min(max(f.cfg.Rate/64, transfer.DefaultChunk), transfer.DefaultSlice)
}

// underWay is how many bytes of a state may be on their way to a watcher: what its rate
// comes to in a quarter of a second, so that a link with such a round trip reaches it, and no
// more than transports have room for.
func (f *Feeder) underWay() int {
	return min(max(f.cfg.Rate/4, transfer.DefaultWindow), mostUnderWay)
}

// offer goes on handing over a state.
func (f *Feeder) offer(w *watcher, passed time.Duration) error {
	f.sendTo = w
	w.sender.Poll(f.clock, f.cfg.Rate, f.send)
	if acked := w.sender.Acked(); acked > w.progress {
		w.progress, w.stuck = acked, 0
	} else if w.stuck += passed; f.cfg.Timeout > 0 && w.stuck >= f.cfg.Timeout {
		return fmt.Errorf("it has taken %d bytes of a state of %d, and no more for %v", acked, w.sender.Offer().State, w.stuck.Round(time.Millisecond))
	}
	err := w.sender.Err()
	if w.sender.Phase() == transfer.Done {
		w.sender, w.phase, w.stuck = nil, feeding, 0
	}
	return err
}
