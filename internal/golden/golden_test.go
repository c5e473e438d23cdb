package golden_test

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/internal/golden"
	"github.com/driftback/driftback/rng"
)

func TestWhatCanBeCalledIsFoundInTheSource(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("a.go", `package a
type Num int
type hidden int
type Vec[T any] struct{ X T }
type Two[T, U any] struct{}
func Sin(Num) Num
func cos(Num) Num
func (a Num) Add(b Num) Num
func (a *Num) Set(b Num)
func (a Num) raw() int
func (a hidden) Add() Num
func (a Vec[T]) Dot(b Vec[T]) T
func (a *Two[T, U]) Swap()
`)
	write("b.go", "package a\nfunc Exp() Num\n")
	write("a_test.go", "package a\nfunc TestX() {}\n")
	write("notes.txt", "func No()")
	got, err := golden.Exported(dir)
	require.NoError(t, err)
	require.Equal(t, []string{"Exp", "Num.Add", "Num.Set", "Sin", "Two.Swap", "Vec.Dot"}, got)

	write("c.go", "package a\nfunc (")
	_, err = golden.Exported(dir)
	require.Error(t, err)
	_, err = golden.Exported(filepath.Join(dir, "nowhere"))
	require.Error(t, err)
}

func double(a int64) int64 { return 2 * a }

func TestWhatIsNotPinnedOrDiffersIsNamed(t *testing.T) {
	of := reflect.ValueOf(double)
	right := golden.Results(of)
	wrong := reflect.ValueOf(func(a int64) int64 {
		if a == math.MaxInt64 {
			return 2*a + 1
		}
		return 2 * a
	})
	for name, c := range map[string]struct {
		exported  []string
		pinned    map[string]uint64
		functions map[string]reflect.Value
		want      string
	}{
		"all is well": {[]string{"Double"}, map[string]uint64{"Double": right}, map[string]reflect.Value{"Double": of}, ""},
		"a new function": {
			[]string{"Double", "Half"}, map[string]uint64{"Double": right}, map[string]reflect.Value{"Double": of},
			"nothing pins Half, which is exported",
		},
		"a function that is no more": {
			[]string{}, map[string]uint64{"Double": right}, map[string]reflect.Value{"Double": of},
			"Double is pinned, and the source has no such function",
		},
		"a function without a golden": {
			[]string{"Double"}, nil, map[string]reflect.Value{"Double": of}, "there is no golden of Double",
		},
		"a golden without a function": {
			[]string{"Double"}, map[string]uint64{"Double": right, "Vec[Num].Dot": 1}, map[string]reflect.Value{"Double": of},
			"there is a golden of Vec[Num].Dot, and nothing that it is of",
		},
		"a result that differs by one, of one argument": {
			[]string{"Double"}, map[string]uint64{"Double": right}, map[string]reflect.Value{"Double": wrong},
			"the results of Double on ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := golden.Complaints(c.exported, c.pinned, c.functions)
			if c.want == "" {
				require.Empty(t, got)
				return
			}
			require.Len(t, got, 1)
			require.Contains(t, got[0], c.want)
		})
	}
}

type pair struct{ A, B int32 }

func (p *pair) Turn() bool { p.A, p.B = p.B, p.A; return p.A > 0 }

func TestAllThatACallLeavesBehindIsHashed(t *testing.T) {
	hash := func(f any) uint64 { return golden.Results(reflect.ValueOf(f)) }
	t.Run("what a pointer leads to", func(t *testing.T) {
		kept := hash(func(p *pair) bool { return p.B > 0 })
		functions := map[string]reflect.Value{}
		golden.Methods(functions, "pair", reflect.TypeFor[pair]())
		require.Len(t, functions, 1)
		require.NotEqual(t, kept, golden.Results(functions["pair.Turn"]), "the results are equal, and what was done to the pair is not")
	})
	t.Run("an int is as narrow as it is anywhere", func(t *testing.T) {
		wide, narrow := hash(func(a int64) int { return int(max(min(a, math.MaxInt), math.MinInt)) }), hash(func(a int64) int {
			return int(max(min(a, math.MaxInt32), math.MinInt32))
		})
		require.Equal(t, narrow, wide)
	})
	t.Run("the bits of a float", func(t *testing.T) {
		require.NotEqual(t, hash(func(int32) float64 { return 0 }), hash(func(int32) float64 { return math.Copysign(0, -1) }))
	})
	t.Run("text, and where it ends", func(t *testing.T) {
		require.NotEqual(t, hash(func(int32) (string, string) { return "ab", "c" }), hash(func(int32) (string, string) { return "a", "bc" }))
	})
	t.Run("nothing that it does not know", func(t *testing.T) {
		require.PanicsWithValue(t, "golden: nothing draws a map[int]int", func() { hash(func(map[int]int) {}) })
		require.PanicsWithValue(t, "golden: nothing hashes a []int", func() { hash(func(int32) []int { return nil }) })
	})
}

type world struct{ Sum, Draws int64 }

func match(step driftback.Step[world, int8]) golden.Match[world, int8] {
	r := rng.New(1, 1)
	return golden.Match[world, int8]{
		Step: step, Ticks: 500, Players: 3,
		Press: func(*world, int, driftback.Tick) int8 { return int8(r.IntN(3)) },
	}
}

func TestALongMatchIsRewoundAndEndsAlike(t *testing.T) {
	played, err := match(func(s *world, in []int8, _ *driftback.Pass) {
		for _, i := range in {
			s.Sum = 31*s.Sum + int64(i)
		}
	}).Play()
	require.NoError(t, err)
	require.NotZero(t, played.End.Sum)
	require.Equal(t, played.End, played.Rewound)
	require.Greater(t, played.Counts.Rollbacks, uint64(100))
	require.Greater(t, played.Counts.Deepest, 6)
	require.LessOrEqual(t, played.Counts.Deepest, 12, "no input is later")
}

func TestAStepThatCannotBeRewoundEndsOtherwise(t *testing.T) {
	outside := int64(0) // not in the snapshot
	played, err := match(func(s *world, in []int8, _ *driftback.Pass) {
		outside++
		s.Draws = outside
	}).Play()
	require.NoError(t, err)
	require.NotEqual(t, played.End, played.Rewound)
}
