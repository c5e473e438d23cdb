package planted

import (
	"math"
	"math/rand"
	"time"
	"unsafe"

	"github.com/driftback/driftback"
)

type in struct{}

type World struct {
	Units map[int32]int32
	Trail []int32
	X, V  float64
	Hits  int32
	Seed  int64
	Gap   struct {
		Small uint8
		Large uint64
	}
}

func (w *World) AppendBinary(b []byte) ([]byte, error) { return b, nil }

func (w *World) CopyTo(to *World) {
	*to = World{X: w.X, V: w.V, Hits: w.Hits, Seed: w.Seed}
	to.Trail = w.Trail // fault: alias
}

func Step(w *World, _ []in, _ *driftback.Pass) {
	for id := range w.Units { // fault: maprange
		w.Hits = id
	}
	w.Seed = time.Now().Unix()                 // fault: clock
	w.Seed = rand.Int63()                      // fault: random
	w.X = w.X*w.V + 1                          // fault: fuse
	w.V = math.Exp(w.X)                        // fault: math
	w.Hits = int32(w.V)                        // fault: floatint
	raw := (*[16]byte)(unsafe.Pointer(&w.Gap)) // fault: padding, unsafe
	w.Seed += int64(raw[3])
}
