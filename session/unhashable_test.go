package session_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/pacing"
	"github.com/driftback/driftback/session"
)

var errNoBytes = errors.New("no bytes today")

// brittle is a state with bytes of its own, which it has not on every tick.
type brittle struct {
	ticks []byte // one for each tick that ran, so that the type has no layout
	fails int
}

func (b *brittle) CopyTo(to *brittle) {
	to.ticks, to.fails = append(to.ticks[:0], b.ticks...), b.fails
}

func (b *brittle) AppendBinary(out []byte) ([]byte, error) {
	if len(b.ticks) == b.fails {
		return nil, errNoBytes
	}
	return append(out, b.ticks...), nil
}

func TestAStateThatCannotBeFingerprintedEndsTheMatchWhateverTickItBegins(t *testing.T) {
	for name, fails := range map[string]int{"the start": 0, "a due tick": 4, "the last": 6} {
		t.Run(name, func(t *testing.T) {
			m, err := session.New(session.Config[brittle, input]{
				Step:    func(b *brittle, _ []input, _ *driftback.Pass) { b.ticks = append(b.ticks, 1) },
				Initial: &brittle{fails: fails}, Players: []driftback.Peer{0}, FingerprintEvery: 4,
			})
			require.NoError(t, err)
			require.NoError(t, m.Finish(6))
			for range 10 {
				if _, err = m.Tick(0, input{}); err != nil {
					break
				}
			}
			require.ErrorIs(t, err, session.ErrState)
			require.ErrorIs(t, err, errNoBytes)
			require.Len(t, m.State().ticks, fails, "it ends there and then")
		})
	}
}

func TestAnInputThatIsRefusedStillSaysHowFarTheMatchIs(t *testing.T) {
	m, err := session.New(session.Config[state, input]{
		Step: step, Players: []driftback.Peer{0}, Valid: func(in input) bool { return in.Buttons < 8 },
	})
	require.NoError(t, err)
	for range 3 {
		_, err = m.Tick(0, input{})
		require.NoError(t, err)
	}
	for name, local := range map[string][]input{"one too many": {{}, {}}, "one that Valid refuses": {{Buttons: 8}}} {
		r, err := m.Tick(0, local...)
		require.Error(t, err, name)
		require.Equal(t, session.Result{Phase: session.Stalled, Tick: 3, Confirmed: 3, Pace: pacing.Advice{Rate: 1}}, r, name)
	}
	r, err := m.Tick(0, input{})
	require.NoError(t, err)
	require.Equal(t, session.Advanced, r.Phase)
}
