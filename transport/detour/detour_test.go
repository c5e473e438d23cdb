package detour_test

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/detour"
	"github.com/driftback/driftback/transport/loopback"
)

// apart are the two that have no direct link in most of these tests.
var apart = [2]driftback.Peer{0, 1}

func TestTwoThatCannotReachEachOtherAreLinkedThroughTheLowestThatReachesBoth(t *testing.T) {
	p := newParty(t, 4, apart)
	secret := false
	p.change[2] = func(m *transport.Message) bool {
		secret = secret || bytes.Contains(m.Data, []byte("between us"))
		return true
	}
	p.step(30)
	require.ElementsMatch(t, []string{"up 1", "up 2", "up 3"}, p.take(0))
	require.ElementsMatch(t, []string{"up 0", "up 2", "up 3"}, p.take(1))
	require.ElementsMatch(t, []string{"up 0", "up 1", "up 3"}, p.take(2))
	p.via(0, 1, 2)
	p.via(1, 0, 2)
	_, ok := p.all[0].Via(2)
	require.False(t, ok, "there is a direct link")

	require.NoError(t, p.all[0].SendReliable(1, []byte("between us")))
	p.all[1].Send(0, []byte("between us too"))
	p.step(3)
	require.Equal(t, []string{"reliable 0 between us"}, p.take(1))
	require.Equal(t, []string{"datagram 1 between us too"}, p.take(0))
	require.Empty(t, p.take(2))
	require.False(t, secret, "the one in between can read it")
	require.Greater(t, p.all[2].Stats().Forwarded, uint64(5))
	require.Zero(t, p.all[3].Stats().Forwarded)
}

func TestADirectLinkIsPreferred(t *testing.T) {
	p := newParty(t, 3, apart)
	p.step(30)
	p.take(0)
	p.take(1)
	require.NoError(t, p.net.BringUp(0, 1))
	p.step(5)
	require.Equal(t, []string{"down 1 " + detour.ErrDirect.Error(), "up 1"}, p.take(0))
	require.Equal(t, []string{"down 0 " + detour.ErrDirect.Error(), "up 0"}, p.take(1))
	forwarded := p.all[2].Stats().Forwarded
	require.NoError(t, p.all[0].SendReliable(1, []byte("directly")))
	p.step(5)
	require.Equal(t, []string{"reliable 0 directly"}, p.take(1))
	require.Equal(t, forwarded, p.all[2].Stats().Forwarded)

	require.NoError(t, p.net.TakeDown(0, 1))
	p.step(30)
	require.Equal(t, []string{"down 1 " + loopback.ErrTakenDown.Error(), "up 1"}, p.take(0))
	require.Equal(t, []string{"down 0 " + loopback.ErrTakenDown.Error(), "up 0"}, p.take(1))
	p.via(0, 1, 2)
}

// One end may notice long before the other that the direct link is gone.
func TestACallThatComesBeforeTheDirectLinkIsDownWaitsForThat(t *testing.T) {
	p := newParty(t, 3)
	p.step(30)
	held := []transport.Message(nil)
	p.change[1] = func(m *transport.Message) bool {
		if m.Kind != transport.Down {
			return true
		}
		held = append(held, *m)
		return false
	}
	require.NoError(t, p.net.TakeDown(0, 1))
	p.take(1)
	p.step(100)
	require.Empty(t, p.take(1))
	require.Len(t, held, 1)
	p.change[1] = nil
	// What was held back comes now.
	require.NoError(t, p.net.BringUp(0, 1))
	p.change[1] = func(m *transport.Message) bool {
		if m.Kind == transport.Up && m.From == 0 {
			*m = held[0]
		}
		return true
	}
	p.change[0] = func(m *transport.Message) bool { return m.Kind != transport.Up }
	p.step(30)
	require.Equal(t, []string{"down 0 " + loopback.ErrTakenDown.Error(), "up 0"}, p.take(1))
	p.via(0, 1, 2)
	p.via(1, 0, 2)
}

func TestWhenTheOneInBetweenIsLostAnotherTakesItsPlace(t *testing.T) {
	for name, lose := range map[string]func(p *party){
		"it closes":                 func(p *party) { require.NoError(t, p.all[2].Close()) },
		"its link to one goes down": func(p *party) { require.NoError(t, p.net.TakeDown(2, 0)) },
		"its link to the other":     func(p *party) { require.NoError(t, p.net.TakeDown(2, 1)) },
		"it begins anew":            func(p *party) { p.ends[2].Crash(); p.open(2) },
	} {
		t.Run(name, func(t *testing.T) {
			p := newParty(t, 4, apart)
			p.step(30)
			p.via(0, 1, 2)
			lose(p)
			p.take(0)
			p.take(1)
			p.step(40)
			down := func(peer int) []string {
				return []string{fmt.Sprintf("down %d %v: peer 2", peer, detour.ErrNoWay), fmt.Sprintf("up %d", peer)}
			}
			about := func(peer int) (list []string) {
				for _, line := range p.take(1 - peer) {
					if line[len(line)-1] == byte('0'+peer) || bytes.Contains([]byte(line), fmt.Appendf(nil, "down %d", peer)) {
						list = append(list, line)
					}
				}
				return list
			}
			require.Equal(t, down(1), about(1))
			require.Equal(t, down(0), about(0))
			want := driftback.Peer(3)
			if name == "it begins anew" {
				want = p.betweenNow()
			}
			p.via(0, 1, want)
			p.via(1, 0, want)
			require.NoError(t, p.all[0].SendReliable(1, []byte("x")))
			p.step(5)
			require.Equal(t, []string{"reliable 0 x"}, p.take(1))
		})
	}
}

func (p *party) betweenNow() driftback.Peer {
	via, _ := p.all[0].Via(1)
	return via
}

func TestAnEndThatBeginsAnewIsDownThenUp(t *testing.T) {
	for end := range 2 {
		for name, leave := range map[string]func(p *party){
			"closed":  func(p *party) { require.NoError(t, p.all[end].Close()) },
			"crashed": func(p *party) { p.ends[end].Crash() },
		} {
			t.Run(fmt.Sprintf("peer %d, %s", end, name), func(t *testing.T) {
				p := newParty(t, 3, apart)
				p.step(30)
				p.take(1 - end)
				p.all[1-end].Send(driftback.Peer(end), []byte("nobody hears"))
				leave(p)
				p.step(1)
				p.open(end)
				p.step(50)
				got := p.take(1 - end)
				require.Len(t, got, 2)
				if name == "closed" {
					require.Equal(t, fmt.Sprintf("down %d %v", end, detour.ErrPeerClosed), got[0])
				}
				require.Contains(t, got[0], fmt.Sprintf("down %d", end))
				require.Equal(t, fmt.Sprintf("up %d", end), got[1])
				require.NoError(t, p.all[end].SendReliable(driftback.Peer(1-end), []byte("new")))
				p.step(5)
				require.Equal(t, []string{fmt.Sprintf("reliable %d new", end)}, p.take(1-end))
			})
		}
	}
}

func TestTheTailOfALongMessageWaitsForRoom(t *testing.T) {
	long := slices.Repeat([]byte("long"), transport.MaxReliable/4)
	for name, c := range map[string]struct {
		apart [][2]driftback.Peer
		fill  int // so that there is room for the first half, and for an empty message but not for the second half
	}{
		"directly":  {nil, loopback.MaxReliableBytes - transport.MaxReliable - 1},
		"by detour": {[][2]driftback.Peer{apart}, loopback.MaxReliableBytes - transport.MaxReliable - 40},
	} {
		t.Run(name, func(t *testing.T) {
			p := newParty(t, 3, c.apart...)
			p.step(30)
			next := driftback.Peer(1)
			if c.apart != nil {
				next = 2
			}
			for c.fill > 0 { // below, so that it is nobody's message
				n := min(c.fill, transport.MaxReliable)
				require.NoError(t, p.ends[0].SendReliable(next, make([]byte, n)))
				c.fill -= n
			}
			require.NoError(t, p.all[0].SendReliable(1, long))
			require.ErrorIs(t, p.all[0].SendReliable(1, nil), transport.ErrFull)
			arrived := 0
			p.change[1] = func(m *transport.Message) bool { return true }
			p.take(1)
			p.step(5)
			require.NoError(t, p.all[0].SendReliable(1, []byte("next")))
			p.step(5)
			for _, line := range p.take(1) {
				if line == "reliable 0 "+string(long[:40]) {
					arrived++
				}
			}
			require.Equal(t, 1, arrived)
		})
	}
}

func TestItSaysWhyThereIsNoLink(t *testing.T) {
	p := newParty(t, 3, apart, [2]driftback.Peer{0, 2})
	p.step(30)
	final, err := p.all[0].Why(1)
	require.False(t, final)
	require.NoError(t, err)
	require.NoError(t, p.net.TakeDown(1, 2))
	p.step(5)
	_, err = p.all[1].Why(2)
	require.ErrorIs(t, err, loopback.ErrTakenDown)

	refused := errors.New("refused")
	d := over(t, explaining{p.ends[0], refused}, 0)
	final, err = d.Why(1)
	require.True(t, final, "nobody reaches it, and the transport below says that it will not come")
	require.ErrorIs(t, err, refused)
	_, err = d.Why(200)
	require.NoError(t, err)
}

// explaining is a transport that knows that no link will come up.
type explaining struct {
	transport.Transport
	err error
}

func (e explaining) Why(driftback.Peer) (bool, error) { return true, e.err }

func TestNewRefuses(t *testing.T) {
	end := loopback.New(1).Open(0)
	for name, c := range map[string]struct {
		below  transport.Transport
		change func(c *detour.Config)
		want   string
	}{
		"nothing below":      {nil, func(*detour.Config) {}, "there is no transport below"},
		"a number too high":  {end, func(c *detour.Config) { c.Self = 64 }, "Self is 64: it must be below 64"},
		"nobody's key":       {end, func(c *detour.Config) { c.Identity = nil }, "Identity is nil"},
		"no pins":            {end, func(c *detour.Config) { c.Pin = nil }, "Pin is nil"},
		"a long label":       {end, func(c *detour.Config) { c.Label = string(make([]byte, 256)) }, "Label has 256 bytes: 255 is the most"},
		"no patience at all": {end, func(c *detour.Config) { c.Patience = -1 }, "Patience is -1"},
		"small datagrams":    {small{end}, func(*detour.Config) {}, "datagrams of 90 bytes: at least 91 are needed"},
	} {
		t.Run(name, func(t *testing.T) {
			with := config(0)
			c.change(&with)
			_, err := detour.New(c.below, with)
			require.ErrorContains(t, err, c.want)
		})
	}
}

type small struct{ transport.Transport }

func (small) MaxDatagram() int { return 90 }
