package wire

import (
	"fmt"
	"unicode/utf8"

	"github.com/driftback/driftback"
)

// Version is the version of the format that this package speaks. Peers of
// different versions tell so from the first bytes of a [Hello], which never
// change, and from nothing else.
const Version uint16 = 1

// Bounds of a control message. One beyond them is neither appended nor parsed.
// The longest Hello fits a reliable message of every transport.
const (
	MaxSettings   = 128         // settings of a Hello
	MaxName       = 64          // bytes of a setting's name
	MaxValue      = 256         // bytes of a setting's value
	MaxText       = 256         // bytes of a Leave's text
	MaxDelayTicks = MaxRunTicks // ticks of input delay
	MaxMessage    = 1024        // bytes of a Message's data
	MaxEvidence   = 1024        // bytes of an Evidence's data
)

// Control is a message of the reliable channel, as a value: a [Hello], [Start],
// [Finish], [Leave], [Disagree], [Evidence] or [Message], one about views ([Accuse] and those
// beside it), or one of a transfer ([TransferOffer] and those beside it) or of a feed ([Watch],
// [Feed] and [Status]), or of a join ([Apply] and [Welcome]).
type Control interface{ control() }

// Hello is the first message that a peer sends over a link: what must be alike on
// every peer, for the other side to compare.
type Hello struct {
	// Match is the full id of the match.
	Match uint64
	// Nonce is this peer's share of the seed.
	Nonce uint64
	// Settings are in ascending order of name (as bytes), each name once. At most
	// MaxSettings.
	Settings []Setting
	// Delays are the input delays of the participants that this peer plays, in
	// ascending order of participant.
	Delays []Delay
}

// Setting is something that must be alike on every peer. Both texts are valid
// UTF-8 without control characters, the name not empty.
type Setting struct{ Name, Value string }

// Delay is how many ticks after a participant's input was read it takes effect,
// from 0 to MaxDelayTicks.
type Delay struct {
	Participant driftback.Participant
	Ticks       int
}

// Start says that a peer has heard every other one and could begin.
type Start struct {
	// Digest is a hash of all that was agreed.
	Digest uint64
	// Seed is the hash of every peer's nonce.
	Seed uint64
	// State is the fingerprint of the start state. It counts only if HasState is
	// set.
	State    uint64
	HasState bool
}

// Finish names the last tick of a match.
type Finish struct {
	// At is the first tick that will not run.
	At driftback.Tick
	// Sum is the fingerprint of the state as At would begin. It counts only if
	// HasSum is set.
	Sum    uint64
	HasSum bool
}

// Leave says that a peer is going, and why.
type Leave struct {
	// Reason means what the protocol above says it means.
	Reason uint8
	// Tick is the first tick that the sender has no input for.
	Tick driftback.Tick
	// Text is for people: at most MaxText bytes of valid UTF-8 without control
	// characters.
	Text string
}

// Disagree says that the sender's fingerprint of the state as Tick began differs
// from the one that it was sent.
type Disagree struct {
	Tick driftback.Tick
	// Sum is the sender's own.
	Sum uint64
}

// Evidence is what two peers whose fingerprints differ tell each other to find out where
// their states do.
type Evidence struct {
	// Tick is that of the Disagree which it is about.
	Tick driftback.Tick
	// Data means what package dispute says it means: at most MaxEvidence bytes. Without any
	// it says that its sender knows all that it can know, and has told all that it has to.
	Data []byte
}

// Message is something that the sender's game says to the other's, and belongs to
// no match. Without data it only says what has been taken.
type Message struct {
	// Taken is how many messages with data the sender has handed to its game since the
	// link came up; at most MaxTaken.
	Taken uint64
	// Data means what the games say it means: at most MaxMessage bytes.
	Data []byte
}

// MaxTaken is the largest number of messages of one link.
const MaxTaken = 1 << 62

func (Hello) control()    {}
func (Start) control()    {}
func (Finish) control()   {}
func (Leave) control()    {}
func (Disagree) control() {}
func (Evidence) control() {}
func (Message) control()  {}

// VersionError means that the other side speaks another version of the format.
// Nothing beyond the version was read.
type VersionError struct{ Ours, Theirs uint16 }

// Error names both versions.
func (e *VersionError) Error() string {
	return fmt.Sprintf("wire: the peer speaks version %d of the format and we speak version %d: both need the same build",
		e.Theirs, e.Ours)
}

// A control message's first byte.
const (
	kindHello = iota + 1
	kindStart
	kindFinish
	kindLeave
	kindDisagree
	kindMessage

	kindEvidence = 24 // after those of views, transfers, feeds and joins
)

// helloMagic follows a Hello's first byte, and the version follows it.
const helloMagic = "drift"

// AppendControl appends a control message to b. One that breaks a bound gives an
// error that wraps [ErrUnsendable], and b as it was. It keeps nothing of either.
func AppendControl(b []byte, c Control) ([]byte, error) {
	w := writer{b: b}
	switch c := c.(type) {
	case Hello:
		w.hello(&c)
	case Start:
		w.b = append(w.b, kindStart, bit(c.HasState))
		w.uint64(c.Digest)
		w.uint64(c.Seed)
		if c.HasState {
			w.uint64(c.State)
		}
	case Finish:
		w.b = append(w.b, kindFinish, bit(c.HasSum))
		w.tick(c.At)
		if c.HasSum {
			w.uint64(c.Sum)
		}
	case Leave:
		w.b = append(w.b, kindLeave, c.Reason)
		w.tick(c.Tick)
		w.text("the text", c.Text, MaxText)
	case Disagree:
		w.b = append(w.b, kindDisagree)
		w.tick(c.Tick)
		w.uint64(c.Sum)
	case Evidence:
		w.b = append(w.b, kindEvidence)
		w.tick(c.Tick)
		w.data(c.Data, MaxEvidence)
	case Message:
		w.message(&c)
	default:
		if !w.view(c) && !w.transfer(c) && !w.feed(c) && !w.join(c) {
			w.refuse("%T is no control message as a value", c)
		}
	}
	if w.err != nil {
		return b, w.err
	}
	return w.b, nil
}

func (w *writer) hello(h *Hello) {
	if len(h.Settings) > MaxSettings {
		w.refuse("%d settings, and at most %d are allowed", len(h.Settings), MaxSettings)
		return
	}
	w.b = append(w.b, kindHello)
	w.b = append(w.b, helloMagic...)
	w.b = append(w.b, byte(Version), byte(Version>>8))
	w.uint64(h.Match)
	w.uint64(h.Nonce)
	w.b = append(w.b, byte(len(h.Settings)))
	previous := ""
	for _, s := range h.Settings {
		if s.Name <= previous {
			w.refuse("the setting %q after %q: names must ascend", s.Name, previous)
			return
		}
		w.text("the name of a setting", s.Name, MaxName)
		w.text("the value of a setting", s.Value, MaxValue)
		previous = s.Name
	}
	w.delays(h.Delays)
}

func (w *writer) delays(list []Delay) {
	w.b = append(w.b, byte(len(list)))
	last := -1
	for _, d := range list {
		if d.Ticks < 0 || d.Ticks > MaxDelayTicks {
			w.refuse("participant %d's delay is %d ticks, and 0 to %d are allowed", d.Participant, d.Ticks, MaxDelayTicks)
			return
		}
		w.head(d.Participant, last, false, 0)
		w.uvarint(uint64(d.Ticks))
		last = int(d.Participant)
	}
}

func (w *writer) message(m *Message) {
	w.b = append(w.b, kindMessage)
	w.number("the number of messages taken", m.Taken, MaxTaken)
	w.data(m.Data, MaxMessage)
}

func (w *writer) data(b []byte, limit int) {
	if len(b) > limit {
		w.refuse("the data has %d bytes, and at most %d are allowed", len(b), limit)
		return
	}
	w.uvarint(uint64(len(b)))
	w.b = append(w.b, b...)
}

// ParseControl reads a control message that is the whole of b and returns it as a
// value. It keeps nothing of b, but for the bytes of a [Message], an [Evidence] and a [TransferChunk]. An error wraps [ErrMalformed], or is a
// [*VersionError] when b is a Hello of another version.
func ParseControl(b []byte) (Control, error) {
	r := reader{b: b}
	c := r.control()
	if err := r.end(); err != nil {
		return nil, err
	}
	return c, nil
}

func (r *reader) control() Control {
	switch kind := r.byte(); kind {
	case kindHello:
		return r.hello()
	case kindStart:
		has := r.bool()
		s := Start{Digest: r.uint64(), Seed: r.uint64(), HasState: has}
		if has {
			s.State = r.uint64()
		}
		return s
	case kindFinish:
		f := Finish{HasSum: r.bool()}
		f.At = r.tick()
		if f.HasSum {
			f.Sum = r.uint64()
		}
		return f
	case kindLeave:
		return Leave{Reason: r.byte(), Tick: r.tick(), Text: r.text("the text", MaxText)}
	case kindDisagree:
		return Disagree{Tick: r.tick(), Sum: r.uint64()}
	case kindMessage:
		return Message{Taken: r.number("the number of messages taken", MaxTaken), Data: r.data(MaxMessage)}
	case kindEvidence:
		return Evidence{Tick: r.tick(), Data: r.data(MaxEvidence)}
	case kindTransferOffer, kindTransferTake, kindTransferChunk, kindTransferAck, kindTransferEnd, kindTransferStop:
		return r.transfer(kind)
	case kindWatch, kindFeed, kindStatus:
		return r.feed(kind)
	case kindApply, kindWelcome:
		return r.join(kind)
	default:
		if c := r.view(kind); c != nil {
			return c
		}
		r.refuse("a control message of kind %d, which does not exist", kind)
		return nil
	}
}

func (r *reader) hello() Control {
	if magic := r.take(len(helloMagic)); r.err == nil && string(magic) != helloMagic {
		r.refuse("a hello that is not ours")
	}
	if version := r.uint16(); r.err == nil && version != Version {
		r.fail(&VersionError{Ours: Version, Theirs: version})
	}
	h := Hello{Match: r.uint64(), Nonce: r.uint64()}
	settings := int(r.byte())
	if settings > MaxSettings {
		r.refuse("%d settings, and at most %d are allowed", settings, MaxSettings)
	}
	previous := ""
	for range settings {
		s := Setting{Name: r.text("the name of a setting", MaxName), Value: r.text("the value of a setting", MaxValue)}
		if r.err != nil {
			return nil
		}
		if s.Name <= previous {
			r.refuse("the setting %q after %q: names must ascend", s.Name, previous)
			return nil
		}
		h.Settings = append(h.Settings, s)
		previous = s.Name
	}
	if h.Delays = r.delays(); r.err != nil {
		return nil
	}
	return h
}

func (r *reader) delays() (list []Delay) {
	last := -1
	for range r.byte() {
		d := Delay{Participant: r.participant(r.byte(), last), Ticks: int(r.number("an input delay", MaxDelayTicks))}
		if r.err != nil {
			return nil
		}
		list = append(list, d)
		last = int(d.Participant)
	}
	return list
}

// data returns bytes that are borrowed, or nil if there are none.
func (r *reader) data(limit int) []byte {
	if n := int(r.number("the length of the data", uint64(limit))); n > 0 {
		return r.take(n)
	}
	return nil
}

func bit(set bool) byte {
	if set {
		return 1
	}
	return 0
}

func (r *reader) bool() bool {
	b := r.byte()
	if b > 1 {
		r.refuse("a flag of %d, and 0 or 1 is allowed", b)
	}
	return b == 1
}

func (w *writer) text(what, s string, limit int) {
	if len(s) > limit {
		w.refuse("%s has %d bytes, and at most %d are allowed", what, len(s), limit)
		return
	}
	if why := illText(s); why != "" {
		w.refuse("%s %s", what, why)
		return
	}
	w.uvarint(uint64(len(s)))
	w.b = append(w.b, s...)
}

func (r *reader) text(what string, limit int) string {
	s := string(r.take(int(r.number("the length of "+what, uint64(limit)))))
	if why := illText(s); why != "" {
		r.refuse("%s %s", what, why)
		return ""
	}
	return s
}

// illText says why a text may not cross the network. What a text may hold must
// not change with the Unicode tables of a Go version, so it asks none.
func illText(s string) string {
	if !utf8.ValidString(s) {
		return "is not valid UTF-8"
	}
	for _, c := range s {
		if c < 0x20 || c >= 0x7f && c <= 0x9f {
			return fmt.Sprintf("holds the control character %U", c)
		}
	}
	return ""
}
