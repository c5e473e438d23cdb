package rng_test

import (
	"reflect"
	"testing"

	"github.com/driftback/driftback/internal/golden"
	"github.com/driftback/driftback/rng"
)

// pinned are the hashes of 4,096 results of each function. They never change.
var pinned = map[string]uint64{
	"New":         0x181a49f6e13256f6,
	"PCG.Chance":  0x152ff0742184dd41,
	"PCG.IntN":    0x4b005c7cacc7f1b8,
	"PCG.Seed":    0xb8884b2e4187656e,
	"PCG.Uint32n": 0x3686c11018d9bf01,
	"PCG.Uint64":  0x641f74a7e36b3a48,
	"PCG.Uint64n": 0x2680e9f37ba9c47d,
}

func TestEveryFunctionGivesTheSameOnEveryArchitecture(t *testing.T) {
	functions := map[string]reflect.Value{"New": reflect.ValueOf(rng.New)}
	golden.Methods(functions, "PCG", reflect.TypeFor[rng.PCG]())
	golden.Hold(t, ".", pinned, functions)
}
