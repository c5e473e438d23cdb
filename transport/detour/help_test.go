package detour_test

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/detour"
	"github.com/driftback/driftback/transport/loopback"
)

const ms = time.Millisecond

// people are the identities of all peers of these tests, the same in every run, so that the
// bytes of a link are.
var people = sync.OnceValue(func() (list [driftback.MaxPeers]*identity.Identity) {
	dir, err := os.MkdirTemp("", "detour")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	for i := range list {
		der, err := x509.MarshalPKCS8PrivateKey(ed25519.NewKeyFromSeed(bytes.Repeat([]byte{byte(i)}, ed25519.SeedSize)))
		if err != nil {
			panic(err)
		}
		file := filepath.Join(dir, strconv.Itoa(i))
		if err = os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
			panic(err)
		}
		if list[i], err = identity.Load(file); err != nil {
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
	// change, if it is set, is what a peer does to a message before it looks at it: false
	// drops it.
	change []func(m *transport.Message) bool
	// full, if it is set, says for which messages of a peer there is no room below.
	full  []func(b []byte) bool
	extra []func() // called for a peer after it has received
}

// newParty opens n peers; those that apart names have no direct link with each other.
func newParty(t require.TestingT, n int, apart ...[2]driftback.Peer) *party {
	p := &party{
		t: t, net: loopback.New(1), got: make([][]string, n), ends: make([]*loopback.Endpoint, n),
		all: make([]*detour.Transport, n), change: make([]func(m *transport.Message) bool, n), extra: make([]func(), n), full: make([]func([]byte) bool, n),
	}
	for _, two := range apart {
		require.NoError(t, p.net.TakeDown(two[0], two[1]))
	}
	for i := range n {
		p.open(i)
	}
	return p
}

// open has a peer begin, or begin anew.
func (p *party) open(i int) {
	p.ends[i] = p.net.Open(driftback.Peer(i))
	p.all[i] = over(p.t, &crowded{&changing{p.ends[i], func(m *transport.Message) bool {
		return p.change[i] == nil || p.change[i](m)
	}}, func(b []byte) bool {
		return p.full[i] != nil && p.full[i](b)
	}}, driftback.Peer(i))
	p.got[i] = nil
}

// step lets time pass and everybody receive.
func (p *party) step(n int) {
	for range n {
		p.net.Advance(ms)
		for i := range p.all {
			p.receive(i)
			if p.extra[i] != nil {
				p.extra[i]()
			}
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

// via asserts through whom peer i is linked with peer j.
func (p *party) via(i int, j driftback.Peer, want driftback.Peer) {
	got, ok := p.all[i].Via(j)
	require.True(p.t, ok, "peer %d has no detour to peer %d", i, j)
	require.Equal(p.t, want, got, "peer %d is linked with peer %d through another", i, j)
}

// changing is a transport whose owner changes or drops what it receives.
type changing struct {
	*loopback.Endpoint
	change func(m *transport.Message) bool
}

func (c *changing) Receive() (transport.Message, bool) {
	for {
		m, ok := c.Endpoint.Receive()
		if !ok || c.change(&m) {
			return m, ok
		}
	}
}

// crowded is a transport that has no room for some reliable messages.
type crowded struct {
	transport.Transport
	full func(b []byte) bool
}

func (c *crowded) SendReliable(to driftback.Peer, b []byte) error {
	if c.full(b) {
		return transport.ErrFull
	}
	return c.Transport.SendReliable(to, b)
}
