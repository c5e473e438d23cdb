package detlint_test

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/driftback/driftback/detlint"
)

func TestEveryKindIsFoundAndWhatIsHarmlessIsNot(t *testing.T) {
	for _, kind := range []string{"maprange", "order", "floats", "state", "outside", "calls", "directive"} {
		t.Run(kind, func(t *testing.T) {
			analysistest.Run(t, analysistest.TestData(), detlint.Analyzer, kind)
		})
	}
}
