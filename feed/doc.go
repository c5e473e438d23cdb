// Package feed shows a match to peers that play nobody, be it that they only watch, or that
// they are coming back to play.
//
// A [Feeder] has the match: it keeps an [Archive] of what is confirmed, and gives each
// watcher a state on which the players have agreed (or the beginning, while the archive
// still reaches there) and then the confirmed inputs of all participants. A [Follower] is
// the watcher's side: it asks one feeder after the other, and puts what it is given into
// an Archive of its own, from which it can be fed to others.
//
// The package owns the messages of a feed, how much is under way, and when a watcher or a
// feeder is given up. It refuses to own the state, which is bytes here, and the
// transport's Receive: messages are handed in. Nothing that a watcher does reaches the
// match; it costs the feeder a bounded share of memory and of each call.
//
// Like package mesh it reads no clock and starts no goroutine.
package feed
