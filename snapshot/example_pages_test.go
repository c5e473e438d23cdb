package snapshot_test

import (
	"fmt"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/inputlog"
	"github.com/driftback/driftback/rewind"
	"github.com/driftback/driftback/snapshot"
)

// A world of 64 KiB of which a tick changes a little: only that is copied.
func ExamplePages() {
	type world struct{ Cells [8 << 10]uint64 }
	step := func(w *world, in []byte, pass *driftback.Pass) {
		cell := driftback.Touch(pass, w, &w.Cells[in[0]])
		*cell++
	}
	log, err := inputlog.New(inputlog.Config[byte]{Participants: 1, Depth: 8})
	if err != nil {
		fmt.Println(err)
		return
	}
	// In a game's tests it is snapshot.CheckedPages.
	loop, err := rewind.New(rewind.Config[world, byte]{Step: step, Inputs: log, Depth: 4, Save: snapshot.Pages[world]})
	if err != nil {
		fmt.Println(err)
		return
	}
	for range 3 {
		if _, err := loop.Advance(); err != nil { // on the guess that nothing is pressed
			fmt.Println(err)
			return
		}
	}
	if err := loop.Supply(0, 1, 200); err != nil {
		fmt.Println(err)
		return
	}
	again, err := loop.Settle()
	fmt.Println(again, err, loop.State().Cells[0], loop.State().Cells[200])
	// Output: {1 3} <nil> 1 2
}
