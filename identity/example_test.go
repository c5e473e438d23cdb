package identity_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/driftback/driftback/identity"
)

// A player keeps one identity in a file and hands its pin to friends.
func Example() {
	dir, err := os.MkdirTemp("", "identity")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = os.RemoveAll(dir) }()

	id, err := identity.Open(filepath.Join(dir, "key.pem")) // made the first time
	if err != nil {
		fmt.Println(err)
		return
	}
	again, err := identity.Open(filepath.Join(dir, "key.pem")) // loaded from then on
	if err != nil {
		fmt.Println(err)
		return
	}
	pin, err := identity.ParsePin(id.Pin().String())
	fmt.Println(len(id.Pin().String()), pin.Equal(again.Pin()), err)

	_, err = identity.ParsePin("k3n7")
	fmt.Println(err)
	// Output:
	// 52 true <nil>
	// identity: this is not a pin: it has 4 characters and should have 52
}
