// Package dispute finds, together with one other peer, where two histories of one match part:
// the first tick at whose beginning the states differ, and the bytes in which they do. It is
// what follows when two fingerprints differ.
//
// Both peers run a [Search] over the same two ticks, the last on which they agree and one at
// which they differ, and hand each other its messages, whose bytes are in [FORMAT.md]. Nobody asks
// and nobody answers: each round has one answer from either side, and from both answers both
// compute what the next round is about, so that both come to the same end. First they tell each
// other the fingerprints of all ticks between the two; then how large the states are of the first
// tick that differs; then the sums of ever smaller parts of these; and at last the bytes.
//
//	s := dispute.New(agreed, found, repeats, witness)
//	for b, ok := s.Next(nil); ok; b, ok = s.Next(nil) { … send b … }
//	err := s.Take(received) // and send again
//	if s.Done() { … s.Finding() … }
//
// The package owns the search and its messages. It refuses to own the histories, which a [Witness]
// has, what a byte means, which package fingerprint knows, and the time that a search may take. A
// peer that lies is believed: there is no telling which of two is right. But it can do no more than
// lie: whatever comes, a Search neither panics, nor holds more than about 128 KiB, nor goes on for
// more than [MaxRounds] rounds of a known length each, nor sums more than the whole state once in each of these.
//
// A Search belongs to one goroutine.
//
// [FORMAT.md]: https://github.com/driftback/driftback/blob/main/dispute/FORMAT.md
package dispute
