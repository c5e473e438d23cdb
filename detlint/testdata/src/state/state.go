package state

import (
	"fmt"
	"unsafe"

	"github.com/driftback/driftback"
)

type in struct{ b uint8 }

type Flat struct {
	Score  int        // want `intsize: Flat.Score is of type int.*: use a type of fixed width`
	Units  []Unit     // want `pointer: Flat.Units\[\] is reached through a slice`
	Target *Unit      // want `pointer: Flat.Target is reached through a pointer`
	Names  string     // want `pointer: Flat.Names is a string`
	Think  func()     // want `pointer: Flat.Think is a function`
	Events chan int32 // want `pointer: Flat.Events is a channel`
	Body   [4]Unit
	Ok     bool
	X      int64
}

type Unit struct {
	ID   uint // want `intsize: Flat.Body\[\].ID is of type uint`
	Flag uint8
}

func Step(s *Flat, _ []in, _ *driftback.Pass) {
	b := (*[8]byte)(unsafe.Pointer(&s.Body)) // want `padding: the bytes of \[4\]Unit have a gap after \[\].Flag that may hold anything` `unsafe: unsafe.Pointer shows`
	_ = b
	_ = fmt.Sprintf("%d %p", s.X, s) // want `format: %p shows an address`
	_ = fmt.Sprintf("%v %T", s.X, s)
	_ = fmt.Sprint(s.Body)
	_ = fmt.Sprint(map[*Unit]int{}, &s.Target) // want `format: fmt.Sprint shows an address in map` `format: fmt.Sprint shows an address`
	_ = fmt.Sprint(map[string]int32{})
}

// Rich copies and hashes itself.
type Rich struct {
	Units []int32
	Trail []int32
	ByID  map[int32]*Part
	Last  []in
	Tree  tree
	Count int // want `intsize: Rich.Count`
}

// tree holds itself.
type tree []tree

type Part struct{ N int32 }

func (r *Rich) AppendBinary(b []byte) ([]byte, error) {
	for id := range r.ByID { // want `maprange: .*\(from Rich.AppendBinary\)`
		b = append(b, byte(id))
	}
	return b, nil
}

func (r *Rich) CopyTo(to *Rich) {
	trail := to.Trail
	*to = *r // want `alias: the copy shares ByID with the state`
	to.Trail = append(trail[:0], r.Trail...)
	to.Units = r.Units // want `alias: the copy shares to.Units with the state, which goes on changing it: copy the elements`
	to.Last = nil
	to.Tree = nil
}

func Play(r *Rich, inputs []in, _ *driftback.Pass) {
	r.Last = inputs // want `alias: keeps inputs, which is lent for the tick alone`
	r.Count++
}
