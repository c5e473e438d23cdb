package fingerprint_test

import (
	"fmt"

	"github.com/driftback/driftback/fingerprint"
)

func ExampleHasher() {
	type fighter struct {
		X      int32
		Health int16
	}
	type state struct{ Fighters [2]fighter }

	h, err := fingerprint.New[state]()
	if err != nil {
		fmt.Println(err)
		return
	}
	ours := state{Fighters: [2]fighter{{X: 1, Health: 100}, {X: 9, Health: 30}}}
	theirs := ours
	fmt.Println(h.Sum(&ours) == h.Sum(&theirs), h.Sum(&ours))

	theirs.Fighters[1].Health = 20
	fmt.Println(h.Sum(&ours) == h.Sum(&theirs))
	for _, d := range h.Diff(nil, &ours, &theirs) {
		fmt.Println(d)
	}
	// Output:
	// true 5a0309bc6a41c862
	// false
	// Fighters[1].Health: 30 or 20
}
