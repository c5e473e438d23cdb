package mesh

// Refusal is a reason for which something that a peer sent was dropped. Each is
// counted; none of them ends a match by itself.
type Refusal uint8

const (
	// Malformed: the bytes are not a message.
	Malformed Refusal = iota
	// Stranger: the message came from a peer that the match does not have.
	Stranger
	// OtherMatch: the packet belongs to another match, or to another version.
	OtherMatch
	// Early: the message came before the handshake that makes it readable.
	Early
	// NotOwner: inputs for a participant that the sender does not play.
	NotOwner
	// FarAhead: inputs for ticks that the sender cannot have reached.
	FarAhead
	// BadInput: an input that the game does not know, or an entry that its participant may
	// not give.
	BadInput
	// BadAck: an acknowledgement of something that was never sent.
	BadAck
	// FarFingerprint: a fingerprint too far ahead of what this peer can compare.
	FarFingerprint
	// Flood: a game's message, or a piece of evidence, beyond those that may be on their way at once.
	Flood
	// CutOff: the message came from a peer that has been cut.
	CutOff
	// BadVote: a message about views that no member would send.
	BadVote
	// BadEvidence: evidence about nothing that is disputed with its sender, or after its last.
	BadEvidence

	// Refusals is the number of reasons.
	Refusals = int(BadEvidence) + 1
)

var refusalNames = [Refusals]string{
	"malformed", "from a stranger", "of another match", "too early", "not the owner's",
	"too far ahead", "not a valid input", "a false acknowledgement", "a fingerprint too far ahead",
	"one message too many", "from a peer that was cut", "not a vote", "evidence of nothing",
}

// String returns the reason as a few lower-case words.
func (r Refusal) String() string {
	if int(r) < len(refusalNames) {
		return refusalNames[r]
	}
	return "unknown refusal"
}
