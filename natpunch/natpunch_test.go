package natpunch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/transport/transporttest"
)

func TestPeersOnOneMachineFindEachOther(t *testing.T) {
	m := newMatch(t, 2)
	start := time.Now()
	m.meet()
	t.Log("linked after", time.Since(start))
	m.talk(0, 1)
	for i := range 2 {
		p := m.path(i, 1-i)
		require.False(t, p.Relayed)
		require.Equal(t, m.ends[1-i].LocalAddr().String(), p.Remote.String())
		require.Equal(t, 1, p.Changes)
		require.Equal(t, 1, p.Rounds)
	}
}

func TestNatpunchKeepsWhatTransportPromises(t *testing.T) {
	transporttest.Run(t, func(t *testing.T, peers int) transporttest.Match {
		m := newMatch(t, peers)
		given := transporttest.Match{Step: func() { time.Sleep(time.Millisecond) }}
		for i := range peers {
			given.Ends = append(given.Ends, m.open(m.config(i)))
		}
		return given
	})
}
