package arena

import (
	"context"
	"net/netip"

	"github.com/driftback/driftback/examples/internal/udplink"
	"github.com/driftback/driftback/transport/impair"
)

// links are the bad links between the players of one machine, one for each two.
type links struct{ list []*udplink.Link }

// add puts another link in front of a player and returns the address to call there.
func (l *links) add(ctx context.Context, target netip.AddrPort, o *options) (string, error) {
	// Each has a schedule of its own: they would all lose the same datagrams.
	seed := o.seed + uint64(len(l.list))<<32
	link, err := udplink.Start(ctx, udplink.Config{Target: target, Seed: seed, ToTarget: o.link, FromTarget: o.link})
	if err != nil {
		return "", err
	}
	l.list = append(l.list, link)
	return link.Addr().String(), nil
}

// set changes what every link does.
func (l *links) set(im impair.Impairment) {
	for _, link := range l.list {
		_ = link.Set(im, im) // it has been parsed, which is all that a link asks for
	}
}

func (l *links) close() {
	for _, link := range l.list {
		_ = link.Close()
	}
}
