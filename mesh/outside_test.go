package mesh

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/transport"
)

func TestWhatPeersThatPlayNobodySendTakesNobodysPlace(t *testing.T) {
	for name, outside := range map[string]bool{"handed on": true, "dropped": false} {
		t.Run(name, func(t *testing.T) {
			given := 0
			m := playing(t, 2, func(c *Config) {
				if outside {
					c.Outside = func(transport.Message) { given++ }
				}
			})
			a, b := m.seats[0], m.seats[1]
			flood := func(n int) (list []transport.Message) {
				for range n {
					list = append(list, transport.Message{Kind: transport.Datagram, From: 40, Data: []byte{1}})
				}
				return list
			}
			held := a.mesh.Held(1)
			b.publish(1)
			b.mesh.Flush()
			require.NotEmpty(t, a.inbox)
			a.inbox = append(flood(maxDrain+100), a.inbox...)
			a.turn()
			require.Greater(t, a.mesh.Held(1), held, "a player's input comes through")
			if outside {
				require.Equal(t, maxDrain+100, given)
				require.Zero(t, a.mesh.Refused()[Stranger])
			} else {
				require.EqualValues(t, maxDrain+100, a.mesh.Refused()[Stranger])
			}
			a.inbox = append(a.inbox, flood(10*maxDrain)...)
			a.turn()
			require.NotEmpty(t, a.inbox, "no call lasts for ever")
		})
	}
}
