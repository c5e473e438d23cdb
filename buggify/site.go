package buggify

// Site names one place in the engine.
type Site uint8

// The places. Every sentence says what happens when one fires.
const (
	// EarlyBeat: a peer with nothing new to say says it again before it is time.
	EarlyBeat Site = iota
	// EarlySums: fingerprints that are under way are sent again.
	EarlySums
	// EarlyInterruption: a peer that has not been silent for PeerTimeout counts as
	// interrupted until it is heard again. Only where it has a RejoinGrace: without
	// one the match would end.
	EarlyInterruption
	// OneMessage: one message is handled, and the others stay with the transport.
	OneMessage
	// OnePacket: a round of sending is one packet, and what is left goes on later.
	OnePacket
	// FullChannel: the reliable channel takes nothing now: a hello, a start, a finish or
	// a disagreement stays owed.
	FullChannel
	// FewUncompared: one fingerprint that waits to be compared is as many as may.
	FewUncompared
	// OneSum: a packet carries one of the fingerprints that are due.
	OneSum
	// FewEvents: an event that may be dropped finds no room.
	FewEvents
	// NoAcks: a round's packets acknowledge no input.
	NoAcks
	// NoSumAck: a packet does not acknowledge the fingerprints that came.
	NoSumAck
	// NoEcho: a packet does not echo.
	NoEcho
	// SmallDatagram: a round's packets are as small as a transport may make them.
	SmallDatagram
	// InputsAgain: inputs that have been acknowledged are sent again.
	InputsAgain
	// SkippedFlush: nothing is sent this time.
	SkippedFlush
	// LateNumbers: the packets to a peer are numbered from just before the numbers wrap.
	LateNumbers
	// SpareStall: a tick does not run, although the prediction window allows it.
	SpareStall
	// LateFinish: a peer that has confirmed the last tick says so at a later turn.
	LateFinish
	// WrongGuess: an input that has not come is guessed to be the zero input.
	WrongGuess

	// Count is the number of sites.
	Count = int(WrongGuess) + 1
)

var names = [Count]string{
	"early beat", "early sums", "early interruption", "one message", "one packet", "full channel",
	"few uncompared", "one sum", "few events", "no acks", "no sum ack", "no echo", "small datagram",
	"inputs again", "skipped flush", "late numbers", "spare stall", "late finish", "wrong guess",
}

// String returns the site as a few lower-case words.
func (s Site) String() string {
	if int(s) < len(names) {
		return names[s]
	}
	return "unknown site"
}
