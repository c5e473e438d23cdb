package snapshot_test

import (
	"fmt"

	"github.com/driftback/driftback/snapshot"
)

// A board that never changes during a match need not be copied every tick: a
// join names what does.
func ExampleJoin() {
	type state struct {
		Tick   int
		Health [2]int16
		Walls  map[[2]int]bool
	}
	save := snapshot.Join(
		snapshot.Part(func(s *state) *int { return &s.Tick }, snapshot.For[int]),
		snapshot.Part(func(s *state) *[2]int16 { return &s.Health }, snapshot.For[[2]int16]),
	)
	store, err := save(8)
	if err != nil {
		fmt.Println(err)
		return
	}

	s := state{Tick: 3, Health: [2]int16{100, 80}}
	if err := store.Save(3%8, &s); err != nil {
		fmt.Println(err)
	}
	s.Tick, s.Health[1] = 4, 0
	if err := store.Load(3%8, &s); err != nil {
		fmt.Println(err)
	}
	fmt.Println(s.Tick, s.Health)

	_, err = snapshot.For[state](8)
	fmt.Println(err)
	// Output:
	// 3 [100 80]
	// snapshot: a copy of state.Walls would share its memory: use a fixed array, or give the state func (s *state) CopyTo(to *state), or both func (s *state) AppendBinary(b []byte) ([]byte, error) and func (s *state) UnmarshalBinary(b []byte) error
}
