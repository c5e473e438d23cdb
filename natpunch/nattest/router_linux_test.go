package nattest

import (
	"fmt"
	"strings"
)

// router is a kind of router, by how it translates.
type router struct {
	name string
	// ports is how it chooses a port for what goes out. Left to itself it gives a socket
	// the port that it has inside, if that is free.
	ports string
	// open: whatever comes for UDP goes to the one home that there is.
	open bool
}

var (
	// cone gives each socket one port outside, to whomever it sends. Like all that the
	// kernel does, it lets in only answers: a port-restricted cone.
	cone = router{name: "cone"}
	// symmetric draws another port for each address that is sent to.
	symmetric = router{name: "symmetric", ports: "fully-random"}
	// fullCone lets in whatever comes.
	fullCone = router{name: "full cone", open: true}
)

// rules returns the whole of what the router does for the home at an address.
func (r router) rules(home string) string {
	var open string
	if r.open {
		open = "chain before { type nat hook prerouting priority dstnat; iifname wan meta l4proto udp dnat to " + home + "; }"
	}
	// What is not let in must be dropped before it is noted: noted as the router's own, it
	// would take the port that the home's packets in the other direction are about to have.
	return fmt.Sprintf(`table ip router {
	chain source { type nat hook postrouting priority srcnat; oifname wan jump outside; }
	chain outside { masquerade %s; }
	chain own { type filter hook input priority filter; iifname wan ct state new drop; }
	chain through { type filter hook forward priority filter; jump blocked; iifname wan ct state new ct status & dnat == 0 drop; }
	chain blocked { }
	%s
}`, r.ports, open)
}

// block has both routers drop what goes straight to the other home.
func (w *world) block() {
	w.t.Helper()
	for i := range 2 {
		w.nft(w.routers[i], fmt.Sprintf("add rule ip router blocked meta l4proto udp ip daddr { %s } drop", strings.Join(outsideAddrs[1-i][:], ", ")))
	}
}

// unblock lets it through.
func (w *world) unblock() {
	w.t.Helper()
	for i := range 2 {
		w.nft(w.routers[i], "flush chain ip router blocked")
	}
}

// forget has a router forget all connections that it has noted, and give out other
// ports from now on.
func (w *world) forget(i int) {
	w.t.Helper()
	w.nft(w.routers[i], fmt.Sprintf("flush chain ip router outside; add rule ip router outside meta l4proto { tcp, udp } masquerade to :20000-29999 %s;", w.kinds[i].ports))
	if err := run("", in(w.routers[i], "conntrack", "-F")...); err != nil {
		w.t.Error(err)
	}
}

// readdress gives a router another address, as providers do; the kernel forgets what
// was translated to the old one.
func (w *world) readdress(i int) {
	w.t.Helper()
	w.ip(w.routers[i],
		"address delete "+outsideAddrs[i][0]+"/24 dev wan", // first, or the other would go with it
		"address add "+outsideAddrs[i][1]+"/24 dev wan",
	)
}

// silence has the relay carry nothing any more, though it answers as before.
func (w *world) silence() {
	w.t.Helper()
	w.nft(w.public, fmt.Sprintf(`table ip relay {
	chain to { type filter hook input priority filter; ip daddr %[1]s udp dport != %[2]d drop; }
	chain from { type filter hook output priority filter; ip saddr %[1]s udp sport != %[2]d drop; }
}`, turnAddr, serverPort))
}

// allocate is the type of the question for an address.
const allocate = 0x0003

// deafen has the relay give addresses, and answer nothing else: what is for its port
// and does not begin as such a request does is lost.
func (w *world) deafen() {
	w.t.Helper()
	w.silence()
	w.nft(w.public, fmt.Sprintf("add rule ip relay to ip daddr %s udp dport %d @th,64,16 != %#04x drop", turnAddr, serverPort, allocate))
}
