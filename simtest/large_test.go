package simtest_test

import (
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/simtest"
)

// vast is so large that the stack which the test below leaves holds three of it at the most.
type vast struct {
	Digest uint64
	Land   [160 << 10]uint64
}

func TestAStackHoldsAWorldOnlyAsInitialReturnsIt(t *testing.T) {
	was := debug.SetMaxStack(4 << 20)
	defer debug.SetMaxStack(was)
	g := simtest.Game[vast, simtest.WitnessInput]{
		Name: "vast",
		Initial: func() (s vast) {
			s.Land[1] = 7
			return s
		},
		Start: func(seed uint64, s *vast) { s.Land[0] = seed },
		Input: simtest.Witness().Input,
		Step: func(s *vast, in []simtest.WitnessInput, pass *driftback.Pass) {
			for p, i := range in {
				s.Digest = (s.Digest ^ uint64(i.Buttons) ^ uint64(p)<<16) * 0x9e3779b97f4a7c15
			}
			s.Land[s.Digest%uint64(len(s.Land))]++
		},
	}
	s := two()
	s.Ticks = 40
	r, err := simtest.Play(g, s)
	require.NoError(t, err)
	require.Nil(t, r.Violation)
	require.Positive(t, r.Rollbacks)
	sync, err := simtest.SyncTest(g, s)
	require.NoError(t, err)
	require.Nil(t, sync.Finding)
	require.Positive(t, sync.Resimulated)
}
