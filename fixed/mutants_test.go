package fixed_test

import (
	"testing"

	"github.com/driftback/driftback/internal/mutant"
)

// What the tests of this package find, if one fault is planted at a time.
func TestPlantedFaultsAreFound(t *testing.T) {
	mutant.Find(t, "..", "fixed", "-rapid.checks=3000", "-rapid.nofailfile", "-rapid.shrinktime=0s")
}
