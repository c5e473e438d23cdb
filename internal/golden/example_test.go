package golden_test

import (
	"fmt"
	"reflect"

	"github.com/driftback/driftback/internal/golden"
)

// What a function returns is one number, on every machine.
func ExampleResults() {
	half := func(n int32) int32 { return n / 2 }
	shifted := func(n int32) int32 { return n >> 1 } // another one below zero
	fmt.Printf("%#x\n", golden.Results(reflect.ValueOf(half)))
	fmt.Println(golden.Results(reflect.ValueOf(half)) == golden.Results(reflect.ValueOf(shifted)))
	// Output:
	// 0x6b9b8057b667095a
	// false
}
