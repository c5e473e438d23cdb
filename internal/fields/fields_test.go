package fields_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/internal/fields"
)

type unit struct {
	HP    int32
	spell *unit
}

type world struct {
	Ticks  int64
	Pos    [2]struct{ X, Y float64 }
	Units  []unit
	ByName map[string]*unit
	ByCell map[[2]int8]uint8
	Of     map[*unit]bool
	Any    any
	hidden struct{ dice uint64 }
	Think  func()
}

func made() *world {
	boss := &unit{HP: 9, spell: &unit{HP: 3}}
	return &world{
		Units:  []unit{{HP: 1}, {HP: 2, spell: &unit{HP: 4}}},
		ByName: map[string]*unit{"a": {HP: 5}, "b": {HP: 6}},
		ByCell: map[[2]int8]uint8{{1, 2}: 3},
		Of:     map[*unit]bool{boss: true},
		Any:    boss,
	}
}

func TestTheFieldThatDiffersIsNamedHoweverItIsReached(t *testing.T) {
	for want, change := range map[string]func(w *world){
		"Ticks: 0 or 7":                                     func(w *world) { w.Ticks = 7 },
		"Pos[1].Y: 0 or -2.5":                               func(w *world) { w.Pos[1].Y = -2.5 },
		"Pos[0].X: 0 or NaN":                                func(w *world) { w.Pos[0].X = math.NaN() },
		"Units (its length): 2 or 1":                        func(w *world) { w.Units = w.Units[:1] },
		"Units[1].spell.HP: 4 or 5":                         func(w *world) { w.Units[1].spell.HP++ },
		"Units[0].spell (whether it is nil): true or false": func(w *world) { w.Units[0].spell = &unit{} },
		"ByName[b].HP: 6 or 0":                              func(w *world) { w.ByName["b"].HP = 0 },
		"ByName[c] (whether it is there): false or true":    func(w *world) { w.ByName["c"] = nil },
		"ByCell[[1 2]]: 3 or 4":                             func(w *world) { w.ByCell[[2]int8{1, 2}] = 4 },
		"Of (its length): 1 or 0":                           func(w *world) { clear(w.Of) },
		"Any (its type): *fields_test.unit or int":          func(w *world) { w.Any = 1 },
		"Any.spell.HP: 3 or 2":                              func(w *world) { w.Any.(*unit).spell.HP-- },
		"hidden.dice: 0 or 1":                               func(w *world) { w.hidden.dice = 1 },
	} {
		t.Run(want, func(t *testing.T) {
			a, b := made(), made()
			_, ok := fields.Between(a, b)
			require.False(t, ok, "two that were made alike are alike, though their addresses differ")
			change(b)
			d, ok := fields.Between(a, b)
			require.True(t, ok)
			require.Equal(t, want, d.String())
		})
	}
}

func TestAValueThatHoldsItselfEndsTheSearch(t *testing.T) {
	a, b := &unit{}, &unit{}
	a.spell, b.spell = a, b
	_, ok := fields.Between(a, b)
	require.False(t, ok)

	n, m := 1, 2
	d, ok := fields.Between(&n, &m)
	require.True(t, ok)
	require.Equal(t, "(state): 1 or 2", d.String())
}

func ExampleBetween() {
	type world struct{ Names map[int]string }
	d, _ := fields.Between(&world{map[int]string{1: "Ada", 2: "Grace"}}, &world{map[int]string{1: "Ada", 2: "Alan"}})
	fmt.Println(d)
	// Output: Names[2]: Grace or Alan
}
