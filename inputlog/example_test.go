package inputlog_test

import (
	"fmt"

	"github.com/driftback/driftback/inputlog"
)

// Two participants, of whom the second is one tick of latency away.
func Example() {
	type input struct{ Left, Right bool }
	log, err := inputlog.New(inputlog.Config[input]{Participants: 2, Depth: 16})
	if err != nil {
		panic(err)
	}
	in := make([]input, 2)

	_, _ = log.Confirm(0, 0, input{Left: true})
	_ = log.Inputs(0, in) // a step is about to run tick 0
	fmt.Printf("tick 0 ran on %+v\n", in)

	changed, _ := log.Confirm(1, 0, input{Right: true}) // late, and not what was guessed
	fmt.Println("run it again:", changed)
	_ = log.Inputs(0, in)
	fmt.Printf("tick 0 ran on %+v\n", in)
	fmt.Println("confirmed:", log.Confirmed())

	_, err = log.Confirm(1, 1_000_000, input{})
	fmt.Println(err)
	// Output:
	// tick 0 ran on [{Left:true Right:false} {Left:false Right:false}]
	// run it again: true
	// tick 0 ran on [{Left:true Right:false} {Left:false Right:true}]
	// confirmed: 1
	// inputlog: outside the window: tick 1000000 is not in [0, 16)
}
