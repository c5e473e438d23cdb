package mesh

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/driftback/driftback/transport"
)

// rough makes messages late, and loses some datagrams.
func (tb *table) rough(t *rapid.T) {
	r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	slowest := rapid.IntRange(1, 120).Draw(t, "slowest, ms")
	losing := rapid.IntRange(0, 25).Draw(t, "lost, %")
	tb.latency = func() time.Duration { return time.Duration(r.IntN(slowest)) * time.Millisecond }
	tb.loses = func() bool { return r.IntN(100) < losing }
}

// broke requires that a match has ended for no reason that would be a fault of the mesh's.
func (p *player) broke() {
	if p.mesh == nil || p.mesh.Phase() != Ended {
		return
	}
	err := p.mesh.Err()
	var conflict *ConflictError
	var desync *DesyncError
	if errors.As(err, &conflict) || errors.As(err, &desync) || errors.Is(err, ErrInternal) || errors.Is(err, ErrRefused) {
		p.match.t.Fatalf("peer %d: %v", p.self, err)
	}
}

// survive requires that nobody's match has ended but that of one who was let in and came
// too late, whose process is gone then.
func (tb *table) survive() {
	tb.t.Helper()
	for _, p := range tb.players {
		if p.broke(); p.closed || p.mesh == nil || p.mesh.Phase() != Ended {
			continue
		}
		require.ErrorIs(tb.t, p.mesh.Err(), ErrCutOff, "peer %d", p.self)
		require.NotZero(tb.t, p.mesh.From(), "peer %d: %v", p.self, p.mesh.Err())
		p.closed = true
	}
}

// out are those that are not in the newest view, as another member than who sees it.
func (tb *table) out() (n int) {
	members := tb.members()
	for _, p := range tb.players {
		in := false
		for _, q := range members {
			in = in || p == q
		}
		if !in || len(members) > 0 && !members[0].mesh.Member(p.self) {
			n++
		}
	}
	return n
}

// mishap does something to the table; wild: whatever it may be.
func (tb *table) mishap(t *rapid.T, wild bool) {
	n := len(tb.players)
	p := tb.players[rapid.IntRange(0, n-1).Draw(t, "who")]
	over := p.closed || p.mesh != nil && p.mesh.Phase() == Ended
	switch rapid.IntRange(0, 3).Draw(t, "what") {
	case 0:
		most := max(1, (n-1)/2)
		if !over && (wild || p.mesh == nil || tb.out() < most) {
			p.closed = true
		}
	case 1:
		if over || wild && rapid.IntRange(0, 9).Draw(t, "at once") == 0 {
			p.closed = true
			for _, q := range tb.players {
				q.inbox = append(q.inbox, transport.Message{Kind: transport.Down, From: p.self})
			}
			tb.back(int(p.self))
			p.lag = 0
			if rapid.Bool().Draw(t, "far behind") {
				p.lag = 30
			}
		}
	case 2:
		q := tb.players[rapid.IntRange(0, n-1).Draw(t, "and who")]
		if p != q && !p.closed && !q.closed {
			tb.relink(p, q)
		}
	}
}

func TestWhoeverVanishesWheneverItIsNoTwoMembersDiffer(t *testing.T) {
	ended, returned := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 5).Draw(t, "peers")
		tb := newTable(t, n, func(c *Config) { c.RejoinGrace = 500 * time.Millisecond })
		tb.rough(t)
		for range rapid.IntRange(1, 30).Draw(t, "mishaps") {
			tb.turns(rapid.IntRange(1, 60).Draw(t, "turns"))
			tb.mishap(t, true)
			tb.agree()
			for _, p := range tb.players {
				p.broke()
				if p.mesh != nil && p.mesh.From() > 0 && p.mesh.Phase() == Playing {
					returned++
				}
				if p.mesh != nil && p.mesh.Phase() == Ended {
					ended++
				}
			}
		}
		tb.turns(100)
		tb.agree()
	})
	t.Logf("looked %d times at somebody who had come back, and %d times at one who had ended", returned, ended)
	require.NotZero(t, returned)
}

func TestWhileFewAreOutAllComeBackAndPlay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 5).Draw(t, "peers")
		tb := newTable(t, n, func(c *Config) {
			if n == 2 {
				c.RejoinGrace = time.Hour
			}
		})
		tb.rough(t)
		for range rapid.IntRange(1, 20).Draw(t, "mishaps") {
			tb.turns(rapid.IntRange(1, 100).Draw(t, "turns"))
			tb.mishap(t, false)
			tb.survive()
		}
		tb.until("all play", func() bool {
			tb.survive()
			for _, p := range tb.players {
				if p.closed {
					tb.back(int(p.self))
				}
			}
			return len(tb.members()) == n && tb.out() == 0
		})
		before := tb.players[0].mesh.Confirmed()
		tb.turns(300)
		tb.agree()
		for _, p := range tb.players {
			require.Greater(t, p.mesh.Confirmed(), before+50, "peer %d", p.self)
		}
	})
}
