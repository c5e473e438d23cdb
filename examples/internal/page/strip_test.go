package page

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/rewind"
	"github.com/driftback/driftback/session"
)

func TestTheStripSaysWhatBecameOfEachTick(t *testing.T) {
	var s Strip
	s.Note(&session.Result{Phase: session.Joining})
	for tick := range int64(4) {
		s.Note(&session.Result{Phase: session.Advanced, Tick: 1 + driftback.Tick(tick)})
	}
	s.Note(&session.Result{Phase: session.Stalled, Tick: 4})
	s.Note(&session.Result{Phase: session.Stalled, Tick: 4})
	s.Note(&session.Result{Phase: session.Advanced, Tick: 5, Rerun: rewind.Span{From: 2, To: 4}})
	require.Equal(t, "ccrrssp", s.Letters(4))
	require.Equal(t, "ccrrssc", s.Letters(5))
	for tick := range int64(200) {
		s.Note(&session.Result{Phase: session.Advanced, Tick: 6 + driftback.Tick(tick)})
	}
	require.Len(t, s.Letters(0), StripTicks)
}
