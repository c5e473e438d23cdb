package desync

import (
	"fmt"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/dispute"
)

// meaning says what it means that the ticks repeat or do not, and what to do next.
func (r *Report) meaning() string {
	ours, theirs := r.Repeats[0], r.Repeats[1]
	const (
		itself = "so what it had did not come from state and inputs alone: the step reads something else (a clock, a global, a map's order, chance outside the state), " +
			"or something outside of the step wrote to the state (drawing code, a goroutine, a slice that is shared), or a snapshot left a field out"
		look = "What to do: run detlint over the game (docs/detlint.md) and simtest.SyncTest over its step (docs/simtest.md), " +
			"and look for whoever writes the fields above."
	)
	switch {
	case ours == dispute.Different && theirs == dispute.Different:
		return fmt.Sprintf("Neither peer can repeat itself, %s.\n%s\n", itself, look)
	case ours == dispute.Different:
		return fmt.Sprintf("Peer %d cannot repeat itself, %s.\n%s\n", r.Self, itself, look)
	case theirs == dispute.Different:
		return fmt.Sprintf("Peer %d cannot repeat itself, %s. Its own report names the fields.\n%s\n", r.Peer, itself, look)
	case ours == dispute.Same && theirs == dispute.Same:
		return "Both repeat themselves, so each step does the same again on its own machine, and the two are not the same program there: " +
			"other code, other data that the step reads, floats that another architecture or compiler rounds otherwise, or a global that was set before the match.\n" +
			"What to do: compare build and platform below with those of the other peer's report; run this file again on both machines, with the command that has the game " +
			"(docs/desync.md), and see who comes to what; if they are of one build, look for floats, for int, and for package variables with detlint (docs/detlint.md).\n"
	case ours == dispute.Same:
		return r.oneSide(r.Self, r.Peer)
	case theirs == dispute.Same:
		return r.oneSide(r.Peer, r.Self)
	}
	return "Whether they repeat themselves is not known.\nWhat to do: run this file again, with the command that has the game (docs/desync.md); " +
		"and run detlint (docs/detlint.md) and simtest.SyncTest (docs/simtest.md).\n"
}

// oneSide is for when only one peer's answer is known, and it repeats itself.
func (r *Report) oneSide(known, unknown driftback.Peer) string {
	return fmt.Sprintf("Peer %d repeats itself. Whether peer %d does is not known.\nWhat to do: look at the other peer's report, and run this file again on both machines (docs/desync.md).\n",
		known, unknown)
}
