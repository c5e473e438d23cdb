package mesh

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/wire"
)

func TestATransferThatNobodyAskedForIsRefusedAndCounted(t *testing.T) {
	m := playing(t, 2, nil)
	a, b := m.seats[0], m.seats[1]
	for i, c := range []wire.Control{
		wire.TransferOffer{State: wire.MaxTransferState, Chunk: wire.MaxTransferChunk}, wire.TransferTake{},
		wire.TransferChunk{Bytes: []byte{1}}, wire.TransferAck{}, wire.TransferEnd{}, wire.TransferStop{},
	} {
		a.give(b, c)
		a.turn()
		require.EqualValues(t, i+1, a.mesh.Refused()[Malformed])
	}
	m.turns(4)
	require.Equal(t, Playing, a.mesh.Phase(), "%v", a.mesh.Err())
}
