package wire

import (
	"encoding/binary"

	"github.com/driftback/driftback"
)

// Bounds of a packet. A packet beyond one of them is neither appended nor parsed.
const (
	// MaxTick is the largest tick that crosses the network, as a run's end too. At
	// 60 ticks a second it is two thousand million years away.
	MaxTick driftback.Tick = 1 << 62
	// MaxStride is the size in bytes of the largest input.
	MaxStride = 256
	// MaxRunTicks bounds the ticks of one run.
	MaxRunTicks = 512
	// MaxRuns bounds the runs of one packet: one for each participant.
	MaxRuns = driftback.MaxParticipants
	// MaxAcks bounds the acknowledgements of one packet: one for each participant.
	MaxAcks = driftback.MaxParticipants
	// MaxSums bounds the fingerprints of one packet.
	MaxSums = 64
	// MaxDecoded bounds the bytes of all the inputs of one packet, once repeated
	// inputs have been written out.
	MaxDecoded = 64 << 10
)

// Sizes in bytes of the parts of a packet, for a sender that must stay inside a
// datagram. Those called Max depend on the values; the largest is given.
const (
	HeaderSize    = 5  // what every packet begins with
	MaxEchoSize   = 10 // an Echo that is set
	MaxRunHead    = 11 // a run, without its inputs; see FitRun
	MaxAckSize    = 11 // one Ack
	MaxSumsHead   = 11 // fingerprints, without the SumSize of each
	SumSize       = 8  // one fingerprint
	MaxSumAckSize = 9  // a SumAck that is set
)

// Packet is what one peer tells another on a tick. Each part may be missing, all
// of them too: an empty packet says that its sender is alive. Each packet can be
// read without having seen another.
//
// Parse fills a packet and reuses its slices, so one that is parsed into should
// be used for nothing else.
type Packet struct {
	// Tag is agreed at the handshake and tells matches apart.
	Tag uint16
	// Seq counts the packets sent to this peer, and wraps.
	Seq  uint16
	Echo Echo
	// Runs are in ascending order of participant, one for each at most.
	Runs []Run
	// Acks are in ascending order of participant, one for each at most.
	Acks   []Ack
	Sums   Sums
	SumAck SumAck

	decoded []byte // holds the parsed runs' inputs
	entries []byte // and their entries, if there are any
}

// Echo returns a packet's number to its sender, who can work out the round trip.
type Echo struct {
	// Set: the packet carries an echo.
	Set bool
	// Seq is the number of the newest packet that arrived.
	Seq uint16
	// HeldMicros is how long ago it arrived, in microseconds.
	HeldMicros uint32
	// Lead is how many ticks the sender predicts on average, in units of 1/PaceUnit
	// tick; negative where it holds inputs of ticks that it has not run. Load is the share
	// of a tick's time that its ticks cost it, in units of 1/PaceUnit of that time, or the
	// largest that can be said.
	Lead int16
	Load uint8
}

// PaceUnit is how many units of an [Echo]'s Lead and Load make a tick.
const PaceUnit = 64

// Run is what one participant did on Count consecutive ticks, First being the
// first of them.
type Run struct {
	Participant driftback.Participant
	First       driftback.Tick
	// Count is the number of ticks, from 1 to MaxRunTicks.
	Count int
	// Inputs holds Count inputs of stride bytes each, oldest first. After Parse it
	// is borrowed from the packet until the next Parse.
	Inputs []byte
	// Entries holds Count entries, one byte each and oldest first, or is empty if all
	// are none; after Parse it always is empty then, and borrowed like Inputs.
	Entries []byte
}

// Ack says that every input of a participant before Next has arrived, and that
// the one for Next has not.
type Ack struct {
	Participant driftback.Participant
	Next        driftback.Tick
}

// Sums are fingerprints of the sender's confirmed states.
type Sums struct {
	// First is the index of List[0] among the due fingerprints, which are numbered
	// from 0; at most MaxTick. It means nothing when List is empty.
	First uint64
	// List holds consecutive fingerprints; at most MaxSums. After Parse it is
	// borrowed from the packet until the next Parse.
	List []uint64
}

// SumAck says that every fingerprint before Next has arrived.
type SumAck struct {
	// Set: the packet carries one.
	Set bool
	// Next is an index among the due fingerprints, at most MaxTick.
	Next uint64
}

// A packet's first byte: a bit that no control message begins with, a bit for each
// part that follows, and one that says how inputs are written.
const (
	packetMark = 0x80

	hasEcho    = 0x01
	hasRuns    = 0x02
	hasAcks    = 0x04
	hasSums    = 0x08
	hasSumAck  = 0x10
	asChanges  = 0x20
	hasEntries = 0x40
)

// A run and an acknowledgement begin with a head: a byte that holds a participant, this
// bit when another one follows, and three bits above.
const moreFollow = 0x10

// The three bits above in the head of an acknowledgement are by how much its tick is more
// than the packet's first one; or ackApart, and the tick follows.
const (
	ackShift = 5
	ackApart = 7
)

// TagOf returns a packet's tag without looking further, and ok == false when b is
// no packet. A packet of another match may hold inputs of another size, so
// compare the tag before parsing.
func TagOf(b []byte) (tag uint16, ok bool) {
	if len(b) < HeaderSize || b[0]&packetMark == 0 {
		return 0, false
	}
	return binary.LittleEndian.Uint16(b[1:]), true
}

// Append appends the packet to b, each input being stride bytes. A packet that
// breaks a bound gives an error that wraps [ErrUnsendable], and b as it was.
//
// It keeps nothing of b or of the packet and does not allocate when b has room.
func (p *Packet) Append(b []byte, stride int) ([]byte, error) {
	if err := checkStride(ErrUnsendable, stride); err != nil {
		return b, err
	}
	w := writer{b: b}
	flags := byte(packetMark)
	if p.Echo.Set {
		flags |= hasEcho
	}
	var shapes [MaxRuns]shape
	changes, entries := false, false
	if len(p.Runs) > 0 {
		flags |= hasRuns
		if changes, entries = p.survey(&w, &shapes, stride); changes {
			flags |= asChanges
		}
		if entries {
			flags |= hasEntries
		}
	}
	if len(p.Acks) > 0 {
		flags |= hasAcks
	}
	if len(p.Sums.List) > 0 {
		flags |= hasSums
	}
	if p.SumAck.Set {
		flags |= hasSumAck
	}
	w.b = append(w.b, flags, byte(p.Tag), byte(p.Tag>>8), byte(p.Seq), byte(p.Seq>>8))
	if p.Echo.Set {
		w.b = binary.LittleEndian.AppendUint16(w.b, p.Echo.Seq)
		w.uvarint(uint64(p.Echo.HeldMicros))
		w.b = append(w.b, byte(p.Echo.Lead), byte(uint16(p.Echo.Lead)>>8), p.Echo.Load)
	}
	p.appendRuns(&w, &shapes, stride, changes)
	if entries && w.err == nil {
		p.appendEntries(&w)
	}
	p.appendAcks(&w)
	p.appendSums(&w)
	if w.err != nil {
		return b, w.err
	}
	return w.b, nil
}

// survey returns the shapes of the runs, whether their inputs are shorter as
// changes, and whether they have entries. It refuses runs that cannot be written.
func (p *Packet) survey(w *writer, shapes *[MaxRuns]shape, stride int) (changes, entries bool) {
	if n := len(p.Runs); n > MaxRuns {
		w.refuse("%d runs, and at most %d are allowed", n, MaxRuns)
		return false, false
	}
	decoded, total := 0, 0
	for i := range p.Runs {
		run := &p.Runs[i]
		if run.Count < 1 || run.Count > MaxRunTicks {
			w.refuse("the run of participant %d has %d ticks, and 1 to %d are allowed", run.Participant, run.Count, MaxRunTicks)
			return false, false
		}
		if len(run.Inputs) != run.Count*stride {
			w.refuse("the run of participant %d has %d bytes of input for %d ticks of %d bytes",
				run.Participant, len(run.Inputs), run.Count, stride)
			return false, false
		}
		if decoded += len(run.Inputs); decoded > MaxDecoded {
			w.refuse("the runs up to participant %d's hold %d bytes of input, and at most %d are allowed: split the packet",
				run.Participant, decoded, MaxDecoded)
			return false, false
		}
		var saves int
		shapes[i], saves = survey(run.Inputs, stride)
		total += saves
		entries = w.surveyEntries(run) || entries
	}
	return total > 0, entries
}

func (p *Packet) appendRuns(w *writer, shapes *[MaxRuns]shape, stride int, changes bool) {
	previous := -1
	for i := range p.Runs {
		if w.err != nil {
			return
		}
		run := &p.Runs[i]
		if run.First > MaxTick-driftback.Tick(run.Count) {
			w.refuse("the run of participant %d from tick %d ends beyond tick %d", run.Participant, run.First, MaxTick)
			return
		}
		w.head(run.Participant, previous, i < len(p.Runs)-1, shapes[i].form<<formShift)
		w.tick(run.First)
		w.appendRun(shapes[i], run.Inputs, stride, changes)
		previous = int(run.Participant)
	}
}

func (p *Packet) appendAcks(w *writer) {
	previous := -1
	for i := range p.Acks {
		if w.err != nil {
			return
		}
		ack := &p.Acks[i]
		d, short := ack.Next-w.base, byte(ackApart)
		if w.based && d >= 0 && d < ackApart && ack.Next <= MaxTick {
			short = byte(d)
		}
		w.head(ack.Participant, previous, i < len(p.Acks)-1, short<<ackShift)
		if short == ackApart {
			w.tick(ack.Next)
		}
		previous = int(ack.Participant)
	}
}

func (p *Packet) appendSums(w *writer) {
	if n := len(p.Sums.List); n > MaxSums {
		w.refuse("%d fingerprints, and at most %d are allowed: split the packet", n, MaxSums)
	} else if n > 0 {
		if p.Sums.First > uint64(MaxTick) {
			w.refuse("the index of a fingerprint is %d, and at most %d is allowed", p.Sums.First, MaxTick)
			return
		}
		if n == 1 {
			w.uvarint(p.Sums.First << 1)
		} else {
			w.uvarint(p.Sums.First<<1 | 1)
			w.b = append(w.b, byte(n))
		}
		for _, sum := range p.Sums.List {
			w.b = binary.LittleEndian.AppendUint64(w.b, sum)
		}
	}
	if p.SumAck.Set {
		w.number("the index of the next fingerprint", p.SumAck.Next, uint64(MaxTick))
	}
}

// Parse reads a packet that is the whole of b, each input being stride bytes. What
// the packet held before is gone, also when an error comes back, and then it is
// empty. An error wraps [ErrMalformed] and says what is wrong, at which byte.
//
// It keeps nothing of b. The slices of the packet are its own, good until the
// next Parse, which does not allocate once they are long enough.
func (p *Packet) Parse(b []byte, stride int) error {
	p.clear()
	if err := checkStride(ErrMalformed, stride); err != nil {
		return err
	}
	r := reader{b: b}
	p.parse(&r, stride)
	if err := r.end(); err != nil {
		p.clear()
		return err
	}
	return nil
}

func (p *Packet) clear() {
	p.Tag, p.Seq, p.Echo, p.SumAck = 0, 0, Echo{}, SumAck{}
	p.Runs, p.Acks, p.decoded, p.entries = p.Runs[:0], p.Acks[:0], p.decoded[:0], p.entries[:0]
	p.Sums.First, p.Sums.List = 0, p.Sums.List[:0]
}

func (p *Packet) parse(r *reader, stride int) {
	header := r.take(HeaderSize)
	if header == nil {
		return
	}
	flags := header[0]
	if flags&packetMark == 0 {
		r.refuse("the message does not begin as a packet does")
		return
	}
	p.Tag = binary.LittleEndian.Uint16(header[1:])
	p.Seq = binary.LittleEndian.Uint16(header[3:])
	if flags&hasEcho != 0 {
		p.Echo = Echo{
			Set: true, Seq: r.uint16(), HeldMicros: uint32(r.number("the time an echo was held", 1<<32-1)),
			Lead: int16(r.uint16()), Load: r.byte(),
		}
	}
	if flags&hasRuns != 0 {
		p.parseRuns(r, stride, flags&asChanges != 0)
	} else if flags&asChanges != 0 {
		r.refuse("inputs as changes, and no inputs")
	}
	if flags&hasEntries != 0 && r.err == nil {
		if flags&hasRuns == 0 {
			r.refuse("entries, and no inputs")
		}
		p.parseEntries(r)
	}
	if flags&hasAcks != 0 {
		p.parseAcks(r)
	}
	if flags&hasSums != 0 {
		p.parseSums(r)
	}
	if flags&hasSumAck != 0 {
		p.SumAck = SumAck{Set: true, Next: r.number("the index of the next fingerprint", uint64(MaxTick))}
	}
}

func (p *Packet) parseRuns(r *reader, stride int, changes bool) {
	previous := -1
	for more := true; more; {
		var run Run
		var form byte
		run.Participant, more, form = r.head(previous)
		run.First = r.tick()
		run.Inputs = p.parseRun(r, form, stride, changes)
		if r.err != nil {
			return
		}
		run.Count = len(run.Inputs) / stride
		if run.First > MaxTick-driftback.Tick(run.Count) {
			r.refuse("the run of participant %d from tick %d ends beyond tick %d", run.Participant, run.First, MaxTick)
			return
		}
		p.Runs = append(p.Runs, run)
		previous = int(run.Participant)
	}
	if changes != (r.saves > 0) {
		r.refuse("the inputs could be written shorter as changes, or are and could be without: the difference is %d bytes", r.saves)
	}
}

func (p *Packet) parseAcks(r *reader) {
	previous := -1
	for more := true; more; {
		var ack Ack
		var short byte
		ack.Participant, more, short = r.head(previous)
		if short == ackApart {
			apart := r.based
			ack.Next = r.tick()
			if d := ack.Next - r.base; apart && d >= 0 && d < ackApart {
				r.refuse("an acknowledged tick is written longer than it need be")
			}
		} else {
			ack.Next = r.near(driftback.Tick(short))
		}
		if r.err != nil {
			return
		}
		p.Acks = append(p.Acks, ack)
		previous = int(ack.Participant)
	}
}

func (p *Packet) parseSums(r *reader) {
	first := r.number("twice the index of a fingerprint", uint64(MaxTick)<<1|1)
	p.Sums.First = first >> 1
	n := 1
	if first&1 != 0 {
		if n = int(r.byte()); r.err == nil && (n < 2 || n > MaxSums) {
			r.refuse("a list of %d fingerprints, and 2 to %d are allowed", n, MaxSums)
		}
	}
	for list := r.take(n * SumSize); len(list) > 0; list = list[SumSize:] {
		p.Sums.List = append(p.Sums.List, binary.LittleEndian.Uint64(list))
	}
}
