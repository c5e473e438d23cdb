// Package mesh is the protocol between the peers of a match, over bytes: the
// handshake, publishing inputs with everything a peer has not acknowledged,
// acknowledging, confirming, comparing fingerprints, carrying what peers that differ have to
// tell each other of that, time-outs, how the others go on
// without a peer and let it in again, and the ways a match ends.
//
// Beside the match it carries messages between the games, and hands the links on to the
// next match.
//
// It owns what is held, acknowledged, contradicted and confirmed. It refuses to
// own the game: inputs are byte strings of one length and states are 64-bit
// fingerprints, so it has no type parameters and needs neither the step nor the
// state.
//
// The files under testdata are transcripts of what peers say to each other from
// the handshake to every end, and are the protocol's specification.
//
// A mesh reads no clock and starts no goroutine. The owner calls [Mesh.Poll] with
// the time, then publishes, then calls [Mesh.Flush]; all from one goroutine.
package mesh
