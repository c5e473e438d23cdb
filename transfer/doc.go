// Package transfer hands a state and the inputs since from a peer that has them to one
// that comes late, over a reliable channel, without anybody waiting for it.
//
// What is handed over is one blob: the canonical bytes of a state, then those of a log.
// A [Sender] offers it, sends it in chunks no faster than it is told to and no further
// ahead than is acknowledged, and asks its [Source] for the bytes only as they go out.
// A [Receiver] takes the chunks one after the other into memory that grows with what
// has arrived, and gives nothing away before the hash of the whole is right. When the
// channel goes down both keep what they have, and go on from there when it is up again.
// A transfer that fails says by whom and why, on both sides.
//
// The package owns the order of the messages (their bytes are package wire's), the rate,
// and the memory of what has arrived. It refuses to own what the blob means, whether
// the state's fingerprint is the one that the peers agreed on, when to give up on a
// peer that is silent, and the channel: messages go in by Receive, and out by what Poll
// is given. Time is an argument too.
//
// Every message is checked, since it may come from a peer that is hostile. One that
// breaks the rules ends the transfer; what it can make this side allocate is bounded by
// what has really arrived.
//
// A Sender or a Receiver carries one blob, and belongs to one goroutine at a time.
package transfer
