// Package relay is a peer that plays nobody and through which all others play: each of
// them sends what it publishes to the relay alone, and is sent everybody's inputs of every
// tick. Where peers cannot reach each other, or their upstream is too narrow for a packet
// to each of the others, this is one flow up and one down.
//
// The relay collects the inputs of a tick and closes it. What it has then is the tick's set,
// which confirms the tick for everybody, the owners of the inputs included: until it comes
// their own input is a guess. A tick closes when every input is there, or at its deadline,
// which is [Config.Deadline] after it started. It started when the first of its inputs came,
// but not sooner after the one before than 63/64 of a tick, and 7/8 where all were held up: who
// runs ahead makes nobody else late. In place of an input that is missing then stands the
// participant's last one in the set, with a mark, for everybody alike; what comes later is
// dropped. Of a peer that has been silent for PeerTimeout, or has left, nothing is awaited any more:
// its participants' inputs are zeros, and their status is Replaced.
//
// It never runs a step and knows nothing of the game: what it must know of a match the
// players tell it in their hellos. It owns the set, and refuses to own a clock, a socket or a
// state. All methods are called from one goroutine, and time is handed in: of a clock that
// goes on whatever the time of day does.
//
// Fingerprints are compared among the players: the relay takes for true what peers with more than
// half of the participants say, and cuts those that differ.
package relay
