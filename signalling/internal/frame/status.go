package frame

// Status is the code with which a server closes a member's connection, from the range that
// WebSocket leaves to applications. The reason that goes with it is a sentence for people.
type Status int

// Statuses.
const (
	// NoRoom: there is no such room, and the member did not ask to make it.
	NoRoom Status = 4001 + iota
	// Taken: a member with another key has the place.
	Taken
	// Replaced: the same member has come again.
	Replaced
	// Full: the server, or what one address may have of it, is used up for now.
	Full
	// Expired: the room's time is over.
	Expired
	// Wrong: the member said something that is no frame, or out of turn, or with a bad signature.
	Wrong
	// Flood: the member said too much.
	Flood
	// Slow: the member did not read what it was sent.
	Slow
	// OtherVersion: the two speak different versions.
	OtherVersion
)
