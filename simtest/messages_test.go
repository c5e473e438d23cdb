package simtest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/simtest"
	"github.com/driftback/driftback/wire"
)

func TestGamesSendMessagesInSomeScenariosAndEveryRuleHolds(t *testing.T) {
	playSome(t, func(s *simtest.Scenario) bool { return s.MessageEvery > 0 })
}

// mailing is a scenario in which two send messages often, over a link that is down for a while.
func mailing() simtest.Scenario {
	s := two()
	s.MessageEvery, s.PeerTimeout = 3, simtest.MinPeerTimeout
	s.Faults = []simtest.Fault{{Kind: simtest.Down, At: simtest.Second, For: simtest.Second}}
	return s
}

// letters changes every message that has something to say, of peer 0.
func letters(change func(b []byte) []byte) func(self driftback.Peer, c *config) {
	return from(meddler{reliable: func(b []byte) []byte {
		if c, err := wire.ParseControl(b); err == nil {
			if m, ok := c.(wire.Message); ok && len(m.Data) > 8 {
				return change(b)
			}
		}
		return b
	}})
}

func TestAMessageThatIsLostAlteredOrOutOfOrderBreaksARule(t *testing.T) {
	n, kept := 0, []byte(nil)
	for name, c := range map[string]struct {
		plant func(self driftback.Peer, c *config)
		sound bool
	}{
		"nothing": {plant: letters(func(b []byte) []byte { return b }), sound: true},
		"one is lost": {plant: letters(func(b []byte) []byte {
			if n++; n == 4 {
				return nil
			}
			return b
		})},
		"one is altered": {plant: letters(func(b []byte) []byte {
			if n++; n == 4 {
				b[len(b)-1]++
			}
			return b
		})},
		"one comes in place of the next": {plant: letters(func(b []byte) []byte {
			if n++; n == 4 {
				kept = append([]byte(nil), b...)
			} else if n == 5 {
				return kept
			}
			return b
		})},
	} {
		t.Run(name, func(t *testing.T) {
			n = 0
			r, err := simtest.Play(simtest.Witness().Plant(c.plant), mailing())
			require.NoError(t, err)
			if c.sound {
				require.Nil(t, r.Violation)
				return
			}
			require.NotNil(t, r.Violation)
			require.Equal(t, simtest.RuleMessage, r.Violation.Rule, "%v", r.Violation)
		})
	}
}
