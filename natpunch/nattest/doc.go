// Package nattest plays matches of the fighter through real routers: two homes, each in
// a network namespace of its own, behind routers in two more that translate addresses
// with the kernel's own nftables, and a namespace with the servers in public. A home may
// have IPv6 too, behind a firewall that translates nothing.
//
// It holds tests alone, in a module of its own, since they need Linux, root, and the
// programs ip (iproute2), nft (nftables) and conntrack:
//
//	go test -count=1 -v -parallel 4 ./...
//
// Where something of that is missing they are skipped and say what; with
// DRIFTBACK_NAMESPACES=1 that is a failure. The commands fighter and driftback, which one of them runs, are built for it
// unless DRIFTBACK_COMMANDS names a folder that has them. All that they make is theirs, and is gone
// when they end: namespaces, and with these whatever is in them.
package nattest
