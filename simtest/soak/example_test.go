package soak_test

import (
	"context"
	"fmt"

	"github.com/driftback/driftback/simtest"
	"github.com/driftback/driftback/simtest/soak"
)

// Ten matches of a game, on all cores, and each played twice.
func Example() {
	game := simtest.Witness() // your own, from its step and its workload
	summary, err := soak.Run(context.Background(), game, soak.Options{Count: 10})
	fmt.Println(summary.Matches, "matches,", summary.Traces, "of them different,", summary.Failed, "failed,", err)
	// Output: 10 matches, 10 of them different, 0 failed, <nil>
}
