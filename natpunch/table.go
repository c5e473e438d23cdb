package natpunch

import (
	"maps"
	"net"
	"net/netip"
	"slices"

	"github.com/driftback/driftback"
)

// table is what the socket's reader knows of the peers.
type table struct {
	owners map[netip.AddrPort]*route // who may send QUIC from where
	rounds map[string]*round         // by the name of our end
}

// allow accepts QUIC from an address as a peer's. One that another peer's path leads
// to stays the other's.
func (s *socket) allow(r *route, addr netip.AddrPort) {
	if s.table.Load().owners[addr] == r {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.table.Load()
	owner := old.owners[addr]
	if owner == r {
		return
	}
	if owner != nil {
		if p := owner.path.Load(); p != nil && p.remote == addr {
			s.counts.contested.Add(1)
			return
		}
		owner.addresses = slices.DeleteFunc(owner.addresses, func(a netip.AddrPort) bool { return a == addr })
	}
	t := &table{owners: maps.Clone(old.owners), rounds: old.rounds}
	if t.owners == nil {
		t.owners = map[netip.AddrPort]*route{}
	}
	if len(r.addresses) == maxAddresses {
		oldest := 0
		if p := r.path.Load(); p != nil && p.remote == r.addresses[0] {
			oldest = 1
		}
		delete(t.owners, r.addresses[oldest])
		r.addresses = slices.Delete(r.addresses, oldest, oldest+1)
	}
	r.addresses = append(r.addresses, addr)
	t.owners[addr] = r
	s.table.Store(t)
}

// know lets checks through that name a round, or no longer.
func (s *socket) know(n *round, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.table.Load()
	t := &table{owners: old.owners, rounds: maps.Clone(old.rounds)}
	if t.rounds == nil {
		t.rounds = map[string]*round{}
	}
	if known {
		t.rounds[n.ufrag] = n
	} else {
		delete(t.rounds, n.ufrag)
	}
	s.table.Store(t)
}

// virtualPrefix begins the constant addresses: a local range of IPv6 that is on no
// wire and in no table, since only QUIC ever sees it.
var virtualPrefix = [15]byte{0xfd, 'd', 'r', 'i', 'f', 't', 'b', 'a', 'c', 'k'}

// virtual returns the constant address of a peer.
func virtual(p driftback.Peer) *net.UDPAddr {
	return &net.UDPAddr{IP: append(virtualPrefix[:len(virtualPrefix):len(virtualPrefix)], byte(p)), Port: 1}
}

// routeTo returns the route of a peer by its constant address.
func (s *socket) routeTo(a net.Addr) *route {
	udp, ok := a.(*net.UDPAddr)
	if !ok || len(udp.IP) != 16 || [15]byte(udp.IP) != virtualPrefix || int(udp.IP[15]) >= len(s.routes) {
		return nil
	}
	return s.routes[udp.IP[15]]
}
