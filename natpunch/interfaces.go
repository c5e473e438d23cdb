package natpunch

import (
	iface "github.com/pion/transport/v5"
	"github.com/pion/transport/v5/stdnet"
)

// systemNet is the system's network with the interfaces that there are now: a home may be given
// another network during a match, or a player go over to a telephone's. The library's own remembers those of when it
// was made.
type systemNet struct{ *stdnet.Net }

// newSystemNet returns the system's network.
func newSystemNet() (systemNet, error) {
	n, err := stdnet.NewNet()
	return systemNet{n}, err
}

// Interfaces returns the interfaces of now. Any goroutine may call it.
func (systemNet) Interfaces() ([]*iface.Interface, error) {
	n, err := stdnet.NewNet()
	if err != nil {
		return nil, err
	}
	return n.Interfaces()
}
