package dispute

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/driftback/driftback"
)

// ticks are those of which fingerprints are told: count of them from first on, and the last one in
// place of the last of these.
type ticks struct {
	first, last driftback.Tick
	count       int
}

func (t ticks) at(i int) driftback.Tick {
	if i == t.count-1 {
		return t.last
	}
	return t.first + driftback.Tick(i)
}

// size returns the length of what is said of them.
func (t ticks) size() int { return 1 + (t.count+7)/8 + 8*t.count }

func (s *Search) rootTicks() ticks {
	// Of ticks far apart the difference may be anything, and then there are as many as can be.
	n := MaxRoots
	if d := s.found - s.agreed; d > 0 && d < MaxRoots {
		n = int(d)
	}
	return ticks{first: s.agreed + 1, last: s.found, count: n}
}

// appendRoots appends whether the ticks repeat; then a bit for each tick, which is set if its
// fingerprint is known, the first in the lowest bit of the first byte; then the fingerprints, of
// which one that is not known is 0.
func appendRoots(b []byte, repeats Repeats, t ticks, w Witness) []byte {
	start := len(b)
	b = append(b, make([]byte, t.size())...)
	b[start] = byte(repeats)
	known, sums := rootFields(b[start:], t)
	for i := range t.count {
		if sum, ok := w.Root(t.at(i)); ok {
			known[i/8] |= 1 << (i % 8)
			binary.LittleEndian.PutUint64(sums[8*i:], sum)
		}
	}
	return b
}

func rootFields(b []byte, t ticks) (known, sums []byte) {
	sums = b[len(b)-8*t.count:]
	return b[1 : len(b)-len(sums)], sums
}

func root(known, sums []byte, i int) (sum uint64, ok bool) {
	return binary.LittleEndian.Uint64(sums[8*i:]), known[i/8]>>(i%8)&1 == 1
}

// checkRoots refuses what could have been written otherwise.
func checkRoots(b []byte, t ticks) error {
	if r := Repeats(b[0]); r > Different {
		return fmt.Errorf("it says %d of whether ticks repeat, and at most %d is allowed", r, Different)
	}
	known, sums := rootFields(b, t)
	for i := range t.count {
		if sum, ok := root(known, sums, i); !ok && sum != 0 {
			return fmt.Errorf("the fingerprint of tick %d is not known, and is not 0", t.at(i))
		}
	}
	if n := t.count % 8; n != 0 && known[len(known)-1]>>n != 0 {
		return errors.New("a fingerprint is known of a tick that was not asked for")
	}
	return nil
}

// takeRoots finds the first tick that differs.
func (s *Search) takeRoots() {
	f, t := &s.finding, s.rootTicks()
	f.Repeats[1] = Repeats(s.heard[0])
	ourKnown, ourSums := rootFields(s.answer, t)
	theirKnown, theirSums := rootFields(s.heard, t)
	f.Tick, f.Exact, f.Roots = s.found, false, make([]RootPair, 0, t.count)
	alike := true // all so far, and none was left out
	for i := range t.count {
		p := RootPair{Tick: t.at(i)}
		p.Ours, p.OursKnown = root(ourKnown, ourSums, i)
		p.Theirs, p.TheirsKnown = root(theirKnown, theirSums, i)
		if p.OursKnown || p.TheirsKnown {
			f.Roots = append(f.Roots, p)
		}
		last := i == t.count-1
		if last && t.first+driftback.Tick(i) != t.last {
			alike = false
		}
		if f.Tick == s.found && !f.Exact && (p.Differ() || last) {
			f.Tick, f.Exact = p.Tick, alike
		}
		alike = alike && p.OursKnown && p.TheirsKnown && !p.Differ()
	}
}

// stateTicks returns the ticks whose states may be walked, the one that is preferred first.
func (s *Search) stateTicks() []driftback.Tick {
	if s.finding.Tick == s.found {
		return []driftback.Tick{s.found}
	}
	return []driftback.Tick{s.finding.Tick, s.found}
}

// appendSizes appends for each of the states one more than its length, or 0 if it is not kept.
func (s *Search) appendSizes(b []byte) []byte {
	for _, t := range s.stateTicks() {
		size := uint32(0)
		if state, ok := s.witness.State(t); ok && len(state) <= MaxState {
			size = uint32(len(state)) + 1
		}
		b = binary.LittleEndian.AppendUint32(b, size)
	}
	return b
}

func checkSizes(b []byte) error {
	for ; len(b) > 0; b = b[4:] {
		if size := binary.LittleEndian.Uint32(b); size > MaxState+1 {
			return fmt.Errorf("a state of %d bytes, and at most %d are allowed", size-1, MaxState)
		}
	}
	return nil
}

// takeSizes chooses the states that are walked.
func (s *Search) takeSizes() {
	f := &s.finding
	for i, t := range s.stateTicks() {
		ours := int(binary.LittleEndian.Uint32(s.answer[4*i:]))
		theirs := int(binary.LittleEndian.Uint32(s.heard[4*i:]))
		if ours > 0 && theirs > 0 {
			f.At, f.Compared, f.OursSize, f.TheirsSize = t, true, ours-1, theirs-1
			s.walk.begin(f.OursSize, f.TheirsSize)
			return
		}
	}
}
