package layout_test

import (
	"fmt"

	"github.com/driftback/driftback/layout"
)

func ExampleOf() {
	type fighter struct {
		Alive  bool
		Health int16
		X      int
	}
	type state struct{ Fighters [2]fighter }

	l, err := layout.Of[state]()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range l.Fields() {
		fmt.Println(f.Path, f.Kind, f.Offset, f.Size)
	}

	s := state{Fighters: [2]fighter{{Alive: true, Health: 100, X: 7}, {X: -1}}}
	b := l.Append(nil, &s)
	fmt.Printf("%d bytes: % x\n", len(b), b)

	b[11] = 2
	fmt.Println(l.Parse(b, &s))
	// Output:
	// Fighters[0:2].Alive bool 0 1
	// Fighters[0:2].Health int16 1 2
	// Fighters[0:2].X int 3 8
	// 22 bytes: 01 64 00 07 00 00 00 00 00 00 00 00 00 00 ff ff ff ff ff ff ff ff
	// layout: malformed bytes: state.Fighters[1].Alive is 02, which is no bool here
}

func ExampleOf_refused() {
	type fighter struct{ Name string }
	type state struct{ Fighters [2]fighter }

	_, err := layout.Of[state]()
	fmt.Println(err)
	// Output:
	// layout: state.Fighters[0:2].Name is a string, which keeps its bytes outside the value; use a fixed array of bytes such as [16]byte
}

func ExampleLayout_Parts() {
	type state struct {
		Tick     uint32
		Paused   bool
		Fighters [2]struct{ X, Health int16 }
		Tiles    [300]uint8
	}
	l, err := layout.Of[state]()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range l.Parts(8, 200) {
		fmt.Println(p.Path, p.Offset, p.Size)
	}
	// Output:
	// Tick to Paused 0 5
	// Fighters 5 8
	// Tiles[0:150] 13 150
	// Tiles[150:300] 163 150
}
