package detour_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/detour"
	"github.com/driftback/driftback/transport/loopback"
)

const ms = time.Millisecond

// people are the identities of all peers of these tests.
var people = sync.OnceValue(func() (list [driftback.MaxPeers]*identity.Identity) {
	for i := range list {
		var err error
		if list[i], err = identity.Generate(); err != nil {
			panic(err)
		}
	}
	return list
})

func pinOf(p driftback.Peer) (identity.Pin, bool) { return people()[p].Pin(), true }

func config(self driftback.Peer) detour.Config {
	return detour.Config{
		Self: self, Identity: people()[self], Pin: pinOf, Label: "test",
		Random: rand.NewChaCha8([32]byte{byte(self)}),
	}
}

// over returns peer self's transport over another.
func over(t require.TestingT, below transport.Transport, self driftback.Peer) *detour.Transport {
	d, err := detour.New(below, config(self))
	require.NoError(t, err)
	return d
}

// party is some peers over one network, all of which receive at every step.
type party struct {
	t    require.TestingT
	net  *loopback.Network
	ends []*loopback.Endpoint
	all  []*detour.Transport
	got  [][]string
}

// newParty opens n peers; those that apart names have no direct link with each other.
func newParty(t require.TestingT, n int, apart ...[2]driftback.Peer) *party {
	p := &party{t: t, net: loopback.New(1), got: make([][]string, n)}
	for _, two := range apart {
		require.NoError(t, p.net.TakeDown(two[0], two[1]))
	}
	for i := range driftback.Peer(n) {
		p.ends = append(p.ends, p.net.Open(i))
		p.all = append(p.all, over(t, p.ends[i], i))
	}
	return p
}

// step lets time pass and everybody receive.
func (p *party) step(n int) {
	for range n {
		p.net.Advance(ms)
		for i := range p.all {
			p.receive(i)
		}
	}
}

func (p *party) receive(i int) {
	for m, ok := p.all[i].Receive(); ok; m, ok = p.all[i].Receive() {
		line := fmt.Sprintf("%v %d", m.Kind, m.From)
		if len(m.Data) > 0 {
			line += " " + string(m.Data[:min(len(m.Data), 40)])
		}
		if m.Err != nil {
			line += " " + m.Err.Error()
		}
		p.got[i] = append(p.got[i], line)
	}
}

// take returns what peer i has received, and forgets it.
func (p *party) take(i int) []string {
	list := p.got[i]
	p.got[i] = nil
	return list
}

// reopen has a peer begin anew, as after a crash.
func (p *party) reopen(i int) {
	p.ends[i].Crash()
	p.ends[i] = p.net.Open(driftback.Peer(i))
	p.all[i] = over(p.t, p.ends[i], driftback.Peer(i))
	p.got[i] = nil
}

// via asserts through whom peer i is linked with peer j.
func (p *party) via(i int, j driftback.Peer, want driftback.Peer) {
	got, ok := p.all[i].Via(j)
	require.True(p.t, ok, "peer %d has no detour to peer %d", i, j)
	require.Equal(p.t, want, got, "peer %d is linked with peer %d through another", i, j)
}

// changing is a transport whose owner alters or drops what it receives, or counts it.
type changing struct {
	transport.Transport
	change func(m transport.Message) (transport.Message, bool)
}

func (c *changing) Receive() (transport.Message, bool) {
	for {
		m, ok := c.Transport.Receive()
		if !ok {
			return m, false
		}
		if m, ok = c.change(m); ok {
			return m, true
		}
	}
}

func skipLong(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
}
