// Package natpunch links peers that are behind home routers: it finds a path between
// each two of them and runs package transport/quic over it.
//
// A [Transport] has one UDP socket. Three kinds of traffic share it, told apart by
// their first bits: QUIC between the peers, connectivity checks (ICE), and questions
// to STUN servers. For each peer the Transport gathers the addresses at which it may be
// reached (its own, those that STUN servers see, and those of TURN relays), exchanges
// them with the other side through a [Signal] as they are found, tries all pairs, and
// uses the best one that works. To QUIC each peer has one address, which never
// changes; the socket translates it to wherever that peer's path leads now. So a match
// goes on when the path changes.
//
// Finding a path is done in rounds. A round has credentials, addresses and checks of its
// own, and both sides are in the same one. When nothing more is heard through the path,
// either side begins another; the old path stays in use, and is listened to for a while
// longer, until the new round has found one.
//
// # What is trusted
//
// Keys alone. A [Remote] is known by its pin, or by a one-time code, exactly as in
// transport/quic: a link that is up has been authenticated in both directions, and each
// side has heard the other's first message through it. Whoever carries the signals, and
// every STUN or TURN server, can keep peers apart and learns their addresses; none can
// read or alter what they say, or take a peer's place.
//
// Strangers are ignored: the socket passes on only checks that name a round of ours,
// answers to questions that it asked, and QUIC from addresses that have proved, with the
// round's credentials, to be a peer's. All else is dropped where it is read, without
// an allocation, and counted in [Counts]; so is what reaches a socket towards a relay and is
// not the relay's.
//
// The package owns the socket and the paths. It refuses to own what carries the signals
// (package signalling has some) and the protocol of links. Send, SendReliable, Receive
// and Close are called from the goroutine that owns the session; the other methods from
// any. None but Close waits for the network.
package natpunch
