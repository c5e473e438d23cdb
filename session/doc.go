// Package session plays one match of one game between peers: it puts the protocol
// of package mesh, the rewind loop, fingerprints and effects together behind one
// call that a game makes from its own loop.
//
//	match, err := session.New(session.Config[State, Input]{
//		Step: step, Initial: &start, Transport: tr, Self: 0, Players: []driftback.Peer{0, 1},
//		Match: id, Nonce: rand.Uint64(), InputDelay: 2,
//	})
//	for {
//		r, err := match.Tick(now, readInput()) // never blocks
//		…
//		draw(match.State())
//	}
//
// Each peer runs at once on guesses of what the others press, at most a prediction
// window ahead of what is confirmed. When an input arrives that was guessed wrongly
// the session rewinds and re-simulates, once for all that arrived together. Every
// few ticks the peers compare fingerprints of confirmed states and halt when they
// differ, having found out together from which tick on and in which fields: see [DesyncError]
// and [Lockstep.Report]. Every result says how fast to go on, so that all peers predict equally many
// ticks; package pacing has the arithmetic.
//
// What no tick depends on, such as a choice of characters, peers tell each other with
// Send, and Rematch plays the next match over the same links. A lobby is a match of which
// no tick is run: its peers call Poll and Send until they agree, and then Rematch.
//
// Pausing, resuming and changing the speed are inputs too: they ride with a peer's next
// one, and take effect at its tick for everybody. Who hears of one late takes back what it
// has run meanwhile.
//
// An input is used for the tick that is its delay away. A delay is its peer's own affair
// and may change at any tick: by hand, with [Lockstep.SetInputDelay], or as the links do,
// with [AdaptDelay]. Every tick has one input of each participant all the same.
// Peers that play nobody may watch: see [Watch].
// A peer whose process has died may come back while the others play on: see [Join].
//
// The package owns the order in which these things happen, the effects that are
// reported once, and statistics. It refuses to own clocks, sockets and goroutines:
// time is an argument, and a transport is handed in.
//
// A session belongs to one goroutine. A second one in the same process shares
// nothing with the first. Once warm, Tick and Poll allocate nothing unless the
// game's step, its saving policy or the transport does.
package session
