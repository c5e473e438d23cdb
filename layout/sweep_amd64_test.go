package layout

import "testing"

func TestWithoutVectorsTheSameNaNsAreFound(t *testing.T) {
	if !hasAVX2 {
		t.Skip("this processor has no AVX2, so that the other tests of a sweep are without vectors")
	}
	hasAVX2 = false
	defer func() { hasAVX2 = true }()
	t.Run("random", TestEveryNaNOfAStretchIsFoundWhereverItIs)
	t.Run("each place", TestOneNaNIsFoundAtEveryPlaceAmongOrdinaryNumbers)
}
