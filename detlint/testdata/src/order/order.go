package order

import (
	crand "crypto/rand"
	"fmt"
	"hash/maphash"
	"math/rand/v2"
	"os"
	"time"

	"github.com/driftback/driftback"
)

type State struct{ X int64 }

type in struct{}

var (
	ticks = make(chan int, 1) // want `channel: a channel is for other goroutines`
	began = time.Now()        // want `clock: time.Now reads a clock: count ticks in the state.*\(from Step → began\)`
)

func Step(s *State, _ []in, _ *driftback.Pass) {
	select { // want `select: a select takes whichever is ready`
	case <-ticks: // want `channel: what is received`
	default:
	}
	ticks <- 1                  // want `channel: a send waits`
	go func() {}()              // want `goroutine: a goroutine runs in an order`
	s.X = time.Now().UnixNano() // want `clock: time.Now reads a clock`
	s.X = began.Unix()
	s.X += int64(rand.IntN(6))                 // want `random: rand.IntN draws from a source that all of the process shares: keep a generator in the state`
	_, _ = crand.Read(nil)                     // want `random: rand.Read draws from the system's randomness`
	_ = os.Getenv("HOME")                      // want `environment: os.Getenv touches files`
	fmt.Println(s.X)                           // want `environment: fmt.Println touches a terminal`
	_ = maphash.String(maphash.MakeSeed(), "") // want `maphash: maphash.String has a seed` `maphash: maphash.MakeSeed has a seed`
	time.Sleep(time.Second)                    // want `clock: time.Sleep waits for a clock`

	// A generator of one's own and a duration are harmless.
	r := rand.New(rand.NewPCG(1, 2))
	s.X += int64(r.IntN(6)) + int64(2*time.Second)
	_ = fmt.Sprint(s.X)
}

// idle is reached from no step.
func idle() int64 { return time.Now().Unix() }

var _ = idle
