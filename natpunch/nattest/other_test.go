//go:build !linux

package nattest

import "testing"

func TestMatchesThroughRealRouters(t *testing.T) {
	t.Skip("the routers are Linux's: network namespaces with nftables")
}
