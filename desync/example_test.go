package desync_test

import (
	"fmt"
	"os"

	"github.com/driftback/driftback/desync"
)

// A report is read, told in a sentence, and its tick run again with the game's own step.
func Example() {
	file, err := os.ReadFile("testdata/race.desync")
	if err != nil {
		fmt.Println(err)
		return
	}
	r, err := desync.Parse(file)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(r)
	o, err := desync.Rerun(r, step)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("this program comes to what peer", r.Self, "had:", o.Ours)
	// Output:
	// race: peers 0 and 1 differ as tick 6 began: Karts[1].Speed is 9 at peer 0 and 25 at peer 1
	// this program comes to what peer 0 had: true
}
