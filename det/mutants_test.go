package det_test

import (
	"testing"

	"github.com/driftback/driftback/internal/mutant"
)

// What the tests of this package find, if one fault is planted at a time in its source.
func TestFaultsPlantedInTheSourceAreFound(t *testing.T) { mutant.Find(t, "..", "det") }
