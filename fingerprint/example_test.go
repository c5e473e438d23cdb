package fingerprint_test

import (
	"encoding/binary"
	"fmt"

	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/layout"
)

func ExampleHasher() {
	type fighter struct {
		X      int32
		Health int16
	}
	type state struct{ Fighters [2]fighter }

	h, err := fingerprint.New[state]()
	if err != nil {
		fmt.Println(err)
		return
	}
	ours := state{Fighters: [2]fighter{{X: 1, Health: 100}, {X: 9, Health: 30}}}
	theirs := ours
	fmt.Println(h.Sum(&ours) == h.Sum(&theirs), h.Sum(&ours))

	theirs.Fighters[1].Health = 20
	fmt.Println(h.Sum(&ours) == h.Sum(&theirs))
	for _, d := range h.Diff(nil, &ours, &theirs) {
		fmt.Println(d)
	}
	// Output:
	// true 5a0309bc6a41c862
	// false
	// Fighters[1].Health: 30 or 20
}

// A row says which part of a state differs without comparing fields, and is small enough to
// be kept for every tick.
func ExampleHasher_Row() {
	type unit struct {
		X, Y   int32
		Health int16
	}
	type state struct {
		Tick    uint64
		Random  [2]uint64
		Units   [50]unit
		Terrain [16][16]uint8
	}
	h, err := fingerprint.New[state]()
	if err != nil {
		fmt.Println(err)
		return
	}
	var s state
	before := h.Row(nil, &s)
	s.Tick++
	s.Units[7].Health = 30
	after := h.Row(nil, &s)
	for i, name := range h.Subsystems() {
		fmt.Println(name, before[i] == after[i])
	}
	fmt.Println(h.Root(before) == h.Root(after))
	// Output:
	// Tick to Random false
	// Units false
	// Terrain true
	// false
}

// A squad has bytes of its own, because it is a slice, and says what they are.
type squad struct {
	tick  uint32
	units []soldier
}

type soldier struct {
	X      int32
	Health int16
}

var soldiers, _ = layout.Of[soldier]() // it has a layout: see the fields

func (s *squad) AppendBinary(b []byte) ([]byte, error) {
	b = binary.LittleEndian.AppendUint32(b, s.tick)
	for i := range s.units {
		b = soldiers.Append(b, &s.units[i])
	}
	return b, nil
}

func (s *squad) AppendParts(dst []fingerprint.Part) []fingerprint.Part {
	n := len(s.units)
	return append(dst,
		fingerprint.Part{Path: "Tick", Size: 4},
		fingerprint.Part{Path: "Units", Size: n * soldiers.Size(), List: true, Count: n, Of: soldiers},
	)
}

func ExampleParted() {
	h, err := fingerprint.New[squad]()
	if err != nil {
		fmt.Println(err)
		return
	}
	ours := squad{tick: 9, units: []soldier{{X: 1, Health: 100}, {X: 9, Health: 30}}}
	theirs := squad{tick: 9, units: []soldier{{X: 1, Health: 100}, {X: 9, Health: 20}, {}}}
	for _, d := range h.Diff(nil, &ours, &theirs) {
		fmt.Println(d)
	}
	fmt.Println(h.Subsystems(), h.Err())
	// Output:
	// len(Units): 2 or 3
	// Units[1].Health: 30 or 20
	// [Tick Units] <nil>
}
