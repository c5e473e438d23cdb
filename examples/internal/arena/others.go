package arena

import (
	"iter"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/examples/internal/page"
	"github.com/driftback/driftback/session"
)

// others are the other players, each with the link to it. Through a relay all have the same
// one: what else there is to know of them comes over it.
func (p *peer[S, I]) others(links []session.PeerStats) iter.Seq2[driftback.Peer, *session.PeerStats] {
	return func(yield func(driftback.Peer, *session.PeerStats) bool) {
		for i := range links {
			if links[i].Peer != p.o.relay || p.o.relay == 0 {
				if !yield(links[i].Peer, &links[i]) {
					return
				}
				continue
			}
			for q := range driftback.Peer(p.o.players) {
				if q != p.self && !yield(q, &links[i]) {
					return
				}
			}
		}
	}
}

// throughWhom says through whom another is linked, for a page.
func (p *peer[S, I]) throughWhom(q driftback.Peer) int {
	if p.o.relay != 0 {
		return page.Relay
	}
	if via, ok := p.through(q); ok {
		return int(via)
	}
	return page.Nobody
}
