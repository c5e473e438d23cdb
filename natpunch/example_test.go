package natpunch_test

import (
	"context"
	"fmt"
	"log"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/natpunch"
	"github.com/driftback/driftback/signalling"
	"github.com/driftback/driftback/transport"
)

// Two peers that know each other's pins meet in a room, here in one process.
func Example() {
	room := signalling.NewRoom()
	ids := [2]*identity.Identity{must(identity.Generate()), must(identity.Generate())}
	var ends [2]*natpunch.Transport
	for i := range ends {
		self, other := driftback.Peer(i), driftback.Peer(1-i)
		member := room.Join(self)
		defer member.Leave()
		ends[i] = must(natpunch.Listen(context.Background(), natpunch.Config{
			Self: self, Identity: ids[i], Signal: member,
			Peers: []natpunch.Remote{{Peer: other, Pin: ids[other].Pin()}},
			Addr:  "127.0.0.1:0", // "" on a real network, and Servers
		}))
		defer func() { _ = ends[i].Close() }()
	}

	for ; ; time.Sleep(time.Millisecond) { // a game asks once a frame
		if m, ok := ends[0].Receive(); ok && m.Kind == transport.Up {
			if err := ends[0].SendReliable(m.From, []byte("hello")); err != nil {
				panic(err)
			}
		}
		if m, ok := ends[1].Receive(); ok && m.Kind == transport.Reliable {
			fmt.Printf("%s\n", m.Data)
			return
		}
	}
	// Output: hello
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatal(err)
	}
	return v
}
