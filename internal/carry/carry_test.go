package carry_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/internal/carry"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/relay"
	"github.com/driftback/driftback/transport/loopback"
)

func forOne(t *testing.T, joinTimeout time.Duration) *relay.Relay {
	r, err := relay.New(relay.Config{
		Transport: loopback.New(1).Open(carry.Peer), Self: carry.Peer, Players: []driftback.Peer{0}, Nonce: 1, JoinTimeout: joinTimeout,
	})
	require.NoError(t, err)
	return r
}

func TestAMatchIsCarriedToItsEnd(t *testing.T) {
	r := forOne(t, 20*time.Millisecond)
	require.ErrorIs(t, carry.Match(t.Context(), r), mesh.ErrNeverJoined, "nobody has come")
}

func TestAMatchEndsForEverybodyWhenItsRelayIsStopped(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	stop(errors.New("stopped"))
	r := forOne(t, time.Minute)
	require.ErrorIs(t, carry.Match(ctx, r), context.Canceled)
	require.ErrorIs(t, r.Err(), mesh.ErrHalted)
}
