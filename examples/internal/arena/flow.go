package arena

import (
	"fmt"
	"io"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
)

// flow is what a player has sent over all its links while a match was played, in datagrams of the
// engine: what carries them has bytes of its own beside that.
type flow struct {
	To      []driftback.Peer `json:"to"` // the other ends of the links
	Packets uint64           `json:"packets"`
	Bytes   uint64           `json:"bytes"`
	Took    time.Duration    `json:"took"`
}

// sentTo adds up what has gone over links.
func sentTo(links []session.PeerStats) (f flow) {
	for i := range links {
		f.To = append(f.To, links[i].Peer)
		f.Packets, f.Bytes = f.Packets+links[i].PacketsSent, f.Bytes+links[i].BytesSent
	}
	return f
}

// since returns what has been sent since an earlier flow, up to now.
func (f flow) since(before *flow, now time.Duration) flow {
	f.Packets, f.Bytes, f.Took = f.Packets-before.Packets, f.Bytes-before.Bytes, now-before.Took
	return f
}

// noteFlow remembers what had been sent when the first tick of a match ran.
func (p *peer[S, I]) noteFlow(r *session.Result, now time.Duration) {
	if p.before == nil && r.Phase == session.Advanced {
		f := sentTo(p.match.Stats().Peers)
		f.Took = now
		p.before = &f
	}
}

// flow returns what has been sent since then; nil before that.
func (p *peer[S, I]) flow(now time.Duration) *flow {
	if p.before == nil {
		return nil
	}
	f := sentTo(p.match.Stats().Peers).since(p.before, now)
	return &f
}

// printFlows says what each player has sent.
func printFlows(w io.Writer, players []*player, relay driftback.Peer) {
	for _, p := range players {
		if f := p.sent; f != nil && f.Took > 0 {
			fmt.Fprintf(w, "%-12s  sent %.0f bytes in %.0f packets a second over %s\n",
				p.name, float64(f.Bytes)/f.Took.Seconds(), float64(f.Packets)/f.Took.Seconds(), f.links(relay))
		}
	}
}

// links says in words over what that went.
func (f *flow) links(relay driftback.Peer) string {
	switch {
	case len(f.To) != 1:
		return fmt.Sprintf("%d links", len(f.To))
	case relay != 0 && f.To[0] == relay:
		return "its one link, to the relay"
	}
	return "its one link"
}
