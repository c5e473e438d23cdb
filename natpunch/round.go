package natpunch

import (
	"crypto/rand"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pion/ice/v4"
	"github.com/pion/stun/v4"
)

// How eagerly a round tries. ICE's own defaults are made for calls that may take their
// time: they wait two seconds before they take a relay.
const (
	checkEvery     = 50 * time.Millisecond
	keepAliveEvery = 250 * time.Millisecond
	gatherPatience = 3 * time.Second
	closePatience  = 300 * time.Millisecond
	// maxTries is how often each pair is tried, checkEvery apart.
	maxTries = 60
	// maxSources bounds the addresses that checks of a round may come from.
	maxSources = 32
	// checksPerLook bounds the checks that are passed on between two looks at a route.
	checksPerLook = 100
)

// waits are how long something better is waited for before an address that a server
// saw, or one that showed itself, is taken, and before a relay is.
type waits struct{ direct, relay time.Duration }

var (
	// firstWaits are for players who wait for each other at the beginning.
	firstWaits = waits{100 * time.Millisecond, 400 * time.Millisecond}
	// hurry is for a match that has lost its path.
	hurry = waits{20 * time.Millisecond, 100 * time.Millisecond}
	// leisure is for one that has a path.
	leisure = waits{100 * time.Millisecond, 1500 * time.Millisecond}
)

// round is one search for a path to a peer, and what it found.
type round struct {
	route           *route
	number          uint32
	ufrag, password string
	plain           bool // without relays of ours
	servers         *servers
	agent           *ice.Agent
	relays          *relayNet
	budget          atomic.Int32 // checks that may still be passed on before the next look
	reading         sync.WaitGroup

	// The rest is guarded by route.mu, but that the path's users read conn.

	conn       *ice.Conn // nil until the other end is known
	began      time.Time
	started    time.Time   // when conn was made
	candidates []candidate // our own, as they are found
	with       uint64      // instance of the other end, once there is conn
	tried      []candidate // the other end's
	selected   time.Time   // when it first had a path; zero before

	sourcesMu sync.Mutex
	sources   []netip.AddrPort // where checks have come from
}

// newRound starts to gather the addresses of our end of a round.
func (r *route) newRound(number uint32, plain bool, w waits, now time.Time) (*round, error) {
	n := &round{route: r, number: number, ufrag: randomText(ufragSize), password: randomText(passwordSize), plain: plain, servers: r.t.servers.Load(), began: now}
	n.budget.Store(checksPerLook)
	var err error
	n.relays = newRelayNet(r.t.network, &r.t.counts)
	kinds := r.t.kinds
	if n.plain && len(kinds) > 1 {
		kinds = kinds[:len(kinds)-1]
	}
	options := []ice.AgentOption{
		ice.WithNetworkTypes([]ice.NetworkType{ice.NetworkTypeUDP4, ice.NetworkTypeUDP6}),
		ice.WithCandidateTypes(kinds),
		ice.WithUDPMux(r.t.mux.UDPMuxDefault),
		ice.WithUDPMuxSrflx(r.t.mux),
		ice.WithMulticastDNSMode(ice.MulticastDNSModeDisabled),
		ice.WithDisableActiveTCP(),
		ice.WithLocalCredentials(n.ufrag, n.password),
		ice.WithLoggerFactory(r.t.quiet),
		ice.WithCheckInterval(checkEvery),
		ice.WithKeepaliveInterval(keepAliveEvery),
		ice.WithMaxBindingRequests(maxTries),
		ice.WithSTUNGatherTimeout(gatherPatience),
		ice.WithSrflxAcceptanceMinWait(w.direct),
		ice.WithPrflxAcceptanceMinWait(w.direct),
		ice.WithRelayAcceptanceMinWait(w.relay),
		// A round never fails by itself: the route decides when there is another.
		ice.WithDisconnectedTimeout(0),
		ice.WithFailedTimeout(0),
		ice.WithBindingRequestHandler(n.checked),
		ice.WithUrls(n.servers.urls),
		ice.WithNet(n.relays),
		ice.WithProxyDialer(&relayDialer{n.relays, n.servers.urls, r.t.roots}),
	}
	if r.t.loopback {
		options = append(options, ice.WithIncludeLoopback())
	}
	if n.agent, err = ice.NewAgentWithOptions(options...); err != nil {
		n.relays.cut()
		return nil, err
	}
	_ = n.agent.OnCandidate(n.found)
	_ = n.agent.OnSelectedCandidatePairChange(n.chosen)
	r.t.socket.know(n, true)
	if err = n.agent.GatherCandidates(); err != nil {
		n.close()
		return nil, err
	}
	return n, nil
}

// randomText returns n random letters and digits, nearly six bits each.
func randomText(n int) string { return (rand.Text() + rand.Text())[:n] }

// close ends the round and waits for what it has running. It must not be called with
// route.mu held, nor by ICE.
func (n *round) close() {
	n.route.t.socket.know(n, false)
	impatient := time.AfterFunc(closePatience, n.relays.cut)
	_ = n.agent.GracefulClose()
	impatient.Stop()
	n.relays.cut()
	n.reading.Wait()
}

// takes says whether a check of this round may come from an address, and is called
// by the socket's reader.
func (n *round) takes(from netip.AddrPort) bool {
	if n.budget.Add(-1) < 0 {
		return false
	}
	n.sourcesMu.Lock()
	defer n.sourcesMu.Unlock()
	if slices.Contains(n.sources, from) {
		return true
	}
	if len(n.sources) == maxSources {
		return false
	}
	n.sources = append(n.sources, from)
	return true
}

// checked is called by ICE for every check of the round that carries the right
// password. The address that it came from is the peer's.
func (n *round) checked(_ *stun.Message, local, remote ice.Candidate, _ *ice.CandidatePair) (choose bool) {
	if p := n.route.path.Load(); p == nil || p.round == n {
		n.route.received.Add(1) // another round's say nothing of the path in use
	}
	if local.Type() != ice.CandidateTypeRelay {
		if addr, ok := addressOf(remote); ok {
			n.route.t.socket.allow(n.route, addr)
		}
	}
	return false
}

// found is called by ICE for every address of our end, and with nil after the last.
func (n *round) found(c ice.Candidate) {
	if c == nil {
		return
	}
	addr, ok := addressOf(c)
	if !ok {
		return
	}
	ours := candidate{kind: kindOf(c.Type()), priority: c.Priority(), addr: addr}
	r := n.route
	r.mu.Lock()
	defer r.mu.Unlock()
	if !ours.valid() || len(n.candidates) == maxCandidates {
		return
	}
	n.candidates = append(n.candidates, ours)
	if r.current == n {
		r.changed()
	}
}

// chosen is called by ICE when the round has a path, or another than before.
func (n *round) chosen(local, remote ice.Candidate) {
	addr, ok := addressOf(remote)
	if !ok {
		return
	}
	n.route.use(&path{round: n, remote: addr, relayed: local.Type() == ice.CandidateTypeRelay, farRelayed: remote.Type() == ice.CandidateTypeRelay})
}

// start begins to try, once the other end is known. The caller holds route.mu.
func (n *round) start(ufrag, password string, now time.Time) {
	var err error
	if n.route.controlling {
		n.conn, err = n.agent.StartDial(ufrag, password)
	} else {
		n.conn, err = n.agent.StartAccept(ufrag, password)
	}
	if err != nil {
		n.route.t.log.Warn("a round cannot start", "peer", n.route.peer, "reason", err)
		return
	}
	n.started = now
	n.reading.Go(n.read)
}

// read takes what comes through a relay of ours; all else comes through the socket.
func (n *round) read() {
	var b [maxPacket]byte
	for {
		size, err := n.conn.Read(b[:])
		if err != nil {
			return
		}
		n.route.t.socket.inject(n.route, slices.Clone(b[:size]))
	}
}

// try adds an address of the other end. The caller holds route.mu.
func (n *round) try(c candidate) {
	if slices.Contains(n.tried, c) || len(n.tried) == maxCandidates || c.addr.Addr().IsLoopback() && !n.route.t.loopback {
		return
	}
	n.tried = append(n.tried, c)
	theirs, err := c.forICE()
	if err == nil {
		err = n.agent.AddRemoteCandidate(theirs)
	}
	if err != nil {
		n.route.t.log.Debug("an address cannot be tried", "peer", n.route.peer, "addr", c.addr, "reason", err)
	}
}

func kindOf(t ice.CandidateType) kind {
	switch t {
	case ice.CandidateTypeHost:
		return host
	case ice.CandidateTypeServerReflexive:
		return reflexive
	case ice.CandidateTypeRelay:
		return relay
	default:
		return 0
	}
}

// addressOf returns the address of a candidate; false if it is not over UDP.
func addressOf(c ice.Candidate) (netip.AddrPort, bool) {
	ip, err := netip.ParseAddr(c.Address())
	if err != nil || !c.NetworkType().IsUDP() {
		return netip.AddrPort{}, false
	}
	return canonical(netip.AddrPortFrom(ip, uint16(c.Port()))), true
}

// forICE returns the candidate as ICE wants it.
func (c candidate) forICE() (ice.Candidate, error) {
	address, port := c.addr.Addr().String(), int(c.addr.Port())
	const network, component = "udp", ice.ComponentRTP
	switch c.kind {
	case host:
		return ice.NewCandidateHost(&ice.CandidateHostConfig{
			Network: network, Address: address, Port: port, Component: component, Priority: c.priority,
		})
	case reflexive:
		return ice.NewCandidateServerReflexive(&ice.CandidateServerReflexiveConfig{
			Network: network, Address: address, Port: port, Component: component, Priority: c.priority,
		})
	default:
		return ice.NewCandidateRelay(&ice.CandidateRelayConfig{
			Network: network, Address: address, Port: port, Component: component, Priority: c.priority,
		})
	}
}
