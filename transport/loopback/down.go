package loopback

import (
	"fmt"

	"github.com/driftback/driftback"
)

// TakeDown takes the link between two peers down, whether or not they are open, as when
// a cable is pulled and both ends notice: each end that had it up sees Down with
// [ErrTakenDown], and whatever was on its way in either direction is gone. It stays down,
// also for peers that open anew, until [Network.BringUp]. Taking down twice is taking
// down once.
func (n *Network) TakeDown(a, b driftback.Peer) error {
	if err := twoPeers(a, b); err != nil {
		return err
	}
	there, back := n.line(a, b), n.line(b, a)
	if there.down {
		return nil
	}
	there.down, back.down = true, true
	n.sweep(func(m *message) bool { return m.line == there || m.line == back })
	for _, l := range []*line{there, back} {
		if e := n.ends[l.to]; e != nil {
			if e.links[l.from].up {
				l.stats.Downs++
			}
			e.fall(e.links[l.from].far, ErrTakenDown)
		}
	}
	return nil
}

// BringUp lets a link that was taken down come up again: each end sees Up once a message
// has crossed in both directions.
func (n *Network) BringUp(a, b driftback.Peer) error {
	if err := twoPeers(a, b); err != nil {
		return err
	}
	there, back := n.line(a, b), n.line(b, a)
	if !there.down {
		return nil
	}
	there.down, back.down = false, false
	if e := n.ends[a]; e != nil && n.ends[b] != nil {
		n.control(e, b, nil, hello)
	}
	return nil
}

func twoPeers(a, b driftback.Peer) error {
	if a >= driftback.MaxPeers || b >= driftback.MaxPeers || a == b {
		return fmt.Errorf("loopback: from peer %d to peer %d: want two peers below %d", a, b, driftback.MaxPeers)
	}
	return nil
}
