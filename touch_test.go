package driftback_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
)

type touchedWorld struct {
	Tick  uint64
	Units [64]uint64
	Last  uint32
}

// touchedBy returns the pages of 64 bytes that are touched, and whether all are.
func touchedBy(touch func(pass *driftback.Pass, w *touchedWorld)) (pages []int, all bool) {
	var t driftback.Touched
	t.Reset(8+64*8+8, 6, nil)
	t.Clear()
	var pass driftback.Pass
	pass.Track(&t)
	pass.Begin(5, nil)
	touch(&pass, new(touchedWorld))
	for i := range 9 {
		if t.Words()[0]>>i&1 == 1 {
			pages = append(pages, i)
		}
	}
	return pages, t.All()
}

func TestATouchMarksThePagesOfThePart(t *testing.T) {
	for name, c := range map[string]struct {
		touch func(pass *driftback.Pass, w *touchedWorld)
		pages []int
		all   bool
	}{
		"nothing":         {touch: func(*driftback.Pass, *touchedWorld) {}},
		"the first field": {touch: func(p *driftback.Pass, w *touchedWorld) { driftback.Touch(p, w, &w.Tick) }, pages: []int{0}},
		"across pages":    {touch: func(p *driftback.Pass, w *touchedWorld) { driftback.Touch(p, w, (*[3]uint64)(w.Units[6:])) }, pages: []int{0, 1}},
		"the last field":  {touch: func(p *driftback.Pass, w *touchedWorld) { driftback.Touch(p, w, &w.Last) }, pages: []int{8}},
		"all of it":       {touch: func(p *driftback.Pass, w *touchedWorld) { driftback.Touch(p, w, w) }, pages: []int{0, 1, 2, 3, 4, 5, 6, 7, 8}},
		"no bytes":        {touch: func(p *driftback.Pass, w *touchedWorld) { driftback.Touch(p, w, (*[0]uint64)(w.Units[6:])) }},
		"elsewhere":       {touch: func(p *driftback.Pass, w *touchedWorld) { driftback.Touch(p, w, new(uint64)) }, all: true},
		"of a copy": {touch: func(p *driftback.Pass, w *touchedWorld) {
			other := *w
			driftback.Touch(p, w, &other.Last)
		}, all: true},
		"without a pass": {touch: func(_ *driftback.Pass, w *touchedWorld) { driftback.Touch(nil, w, &w.Last) }},
	} {
		t.Run(name, func(t *testing.T) {
			pages, all := touchedBy(c.touch)
			require.Equal(t, c.pages, pages)
			require.Equal(t, c.all, all)
		})
	}
}

func TestATouchReturnsThePart(t *testing.T) {
	var w touchedWorld
	*driftback.Touch(nil, &w, &w.Units[3])++
	require.Equal(t, uint64(1), w.Units[3])
}
