package golden

import (
	"fmt"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// Hold fails t unless pinned has, for every one of functions, the hash of its results, and
// functions everything that can be called of the package in dir.
func Hold(t *testing.T, dir string, pinned map[string]uint64, functions map[string]reflect.Value) {
	t.Helper()
	exported, err := Exported(dir)
	require.NoError(t, err)
	for _, complaint := range complaints(exported, pinned, functions) {
		t.Error(complaint)
	}
}

func complaints(exported []string, pinned map[string]uint64, functions map[string]reflect.Value) (list []string) {
	without, stale := Missing(exported, slices.Collect(maps.Keys(functions)))
	for _, name := range without {
		list = append(list, fmt.Sprintf("nothing pins %s, which is exported: name it in this test", name))
	}
	for _, name := range stale {
		list = append(list, fmt.Sprintf("%s is pinned, and the source has no such function", name))
	}
	for _, name := range slices.Sorted(maps.Keys(functions)) {
		got := Results(functions[name])
		switch want, ok := pinned[name]; {
		case !ok:
			list = append(list, fmt.Sprintf("there is no golden of %s; here it is\n\t%q: %#x,", name, name, got))
		case got != want:
			list = append(list, fmt.Sprintf("the results of %s on %s differ from the golden ones: %#x and not %#x", name, runtime.GOARCH, got, want))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(pinned)) {
		if _, ok := functions[name]; !ok {
			list = append(list, fmt.Sprintf("there is a golden of %s, and nothing that it is of", name))
		}
	}
	return list
}
