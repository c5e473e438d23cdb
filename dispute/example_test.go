package dispute_test

import (
	"fmt"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/dispute"
)

// past is a history whose states are texts.
type past map[driftback.Tick]string

func (p past) Root(t driftback.Tick) (sum uint64, ok bool) {
	for _, c := range p[t] {
		sum = sum*31 + uint64(c)
	}
	_, ok = p[t]
	return sum, ok
}

func (p past) State(t driftback.Tick) ([]byte, bool) {
	s, ok := p[t]
	return []byte(s), ok
}

// Two peers agree on tick 8 and differ at tick 12. They look for where they part.
func Example() {
	here := dispute.New(8, 12, dispute.Same, past{9: "ready", 10: "steady", 11: "going", 12: "gone"})
	there := dispute.New(8, 12, dispute.Same, past{9: "ready", 10: "steady", 11: "doing", 12: "done"})
	for !here.Done() || !there.Done() {
		for b, ok := here.Next(nil); ok; b, ok = here.Next(nil) {
			if err := there.Take(b); err != nil {
				fmt.Println(err)
			}
		}
		for b, ok := there.Next(nil); ok; b, ok = there.Next(nil) {
			if err := here.Take(b); err != nil {
				fmt.Println(err)
			}
		}
	}
	f := here.Finding()
	fmt.Println("tick", f.Tick, "exactly:", f.Exact)
	for _, r := range f.Ranges {
		fmt.Printf("byte %d: %s here, %s there\n", r.Offset, r.Ours, r.Theirs)
	}
	// Output:
	// tick 11 exactly: true
	// byte 0: g here, d there
}
