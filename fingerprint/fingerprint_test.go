package fingerprint_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/layout"
)

// Fighter has a field of every kind of number, padding and a blank.
type Fighter struct {
	Alive  bool
	Health int16
	X, Y   int64
	Stun   uint8
	speed  float32
	_      [3]uint64
	Angle  float64
	Aim    complex64
	Lens   complex128
	Layer  int8
	Team   uint16
	Points int
	Taken  uint
	Skin   uint32
	Bounty int32
	Steam  uint64
}

type Match struct {
	tick     uint32
	Fighters [2]Fighter
	random   rand.PCG
}

func hasher[S any](t testing.TB) *fingerprint.Hasher[S] {
	t.Helper()
	h, err := fingerprint.New[S]()
	require.NoError(t, err)
	return h
}

// busy is a match none of whose fields is zero.
func busy() *Match {
	fighter := Fighter{
		Alive: true, Health: 30, X: -5, Y: 6, Stun: 7, speed: 0.5, Angle: -0.25, Aim: complex(1, 2), Lens: complex(3, 4),
		Layer: -1, Team: 2, Points: -3, Taken: 4, Skin: 5, Bounty: -6, Steam: 7,
	}
	return &Match{tick: 9, Fighters: [2]Fighter{fighter, fighter}, random: *rand.NewPCG(1, 2)}
}

// own is a state without a layout and with bytes of its own.
type own struct {
	body []byte
	err  error
}

var errBroken = errors.New("broken")

func (o *own) AppendBinary(b []byte) ([]byte, error) { return append(b, o.body...), o.err }

// sums are of values that other processes and architectures must agree on.
func sums(t *testing.T) string {
	nan := busy()
	nan.Fighters[1].Angle = math.Float64frombits(0xfff0000000000001)
	nan.Fighters[0].speed = float32(math.Copysign(0, -1))
	button := uint16(0x1234)
	return fmt.Sprint(
		hasher[Match](t).Sum(&Match{}), hasher[Match](t).Sum(busy()), hasher[Match](t).Sum(nan),
		hasher[uint16](t).Sum(&button), hasher[struct{}](t).Sum(&struct{}{}), hasher[[3]int](t).Sum(&[3]int{-1, 0, 1}),
		hasher[own](t).Sum(&own{body: []byte("a state")}),
	)
}

func TestASumIsTheSameOnEveryArchitecture(t *testing.T) {
	require.Equal(t, "9292c47835f64621 86ecb1a039e2521f f8c35f644a877df1 b5fada9396afc87b "+
		"2d06800538d394c2 5cc737190d1c1471 936d112abbd4d0e5", sums(t))
}

func TestASumIsTheSameInAnotherProcess(t *testing.T) {
	const asked = "DRIFTBACK_SUMS"
	if os.Getenv(asked) != "" {
		fmt.Printf("sums: %s\n", sums(t))
		return
	}
	again := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$", "-test.v")
	again.Env = append(os.Environ(), asked+"=1")
	out, err := again.CombinedOutput()
	if errors.Is(err, syscall.ENOEXEC) {
		t.Skip("this test runs under an emulator, and the system cannot run it without")
	}
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "sums: "+sums(t)+"\n")
}

func TestASumPrintsAsSixteenDigits(t *testing.T) {
	require.Equal(t, "00000000000000ff", fingerprint.Sum(255).String())
	require.Equal(t, "ffffffffffffffff", fmt.Sprint(fingerprint.Sum(math.MaxUint64)))
}

func TestNaNsHashAlikeAndMinusZeroApart(t *testing.T) {
	h := hasher[Match](t)
	quiet, loud := busy(), busy()
	quiet.Fighters[0].speed, loud.Fighters[0].speed = math.Float32frombits(0x7fc00000), math.Float32frombits(0xff800001)
	quiet.Fighters[1].Angle, loud.Fighters[1].Angle = math.NaN(), math.Float64frombits(0xfff0000000000001)
	require.Equal(t, h.Sum(quiet), h.Sum(loud))
	require.Empty(t, h.Diff(nil, quiet, loud))

	zero, minus := busy(), busy()
	zero.Fighters[1].Angle, minus.Fighters[1].Angle = 0, math.Copysign(0, -1)
	require.NotEqual(t, h.Sum(zero), h.Sum(minus))
	require.Equal(t, []fingerprint.Difference{{Path: "Fighters[1].Angle", A: "0", B: "-0"}}, h.Diff(nil, zero, minus))
}

func TestASumIsOfTheValueHoweverItCameAbout(t *testing.T) {
	// In place and copied, written at once and field by field into what another
	// value left behind.
	h := hasher[[2]Fighter](t)
	fresh, reused := busy().Fighters, [2]Fighter{{Alive: true, Stun: 255, Layer: -128}, {Lens: complex(9, 9)}}
	for i := range reused {
		f, to := &fresh[i], &reused[i]
		to.Alive, to.Health, to.X, to.Y, to.Stun, to.speed, to.Angle, to.Aim = f.Alive, f.Health, f.X, f.Y, f.Stun, f.speed, f.Angle, f.Aim
		to.Lens, to.Layer, to.Team, to.Points, to.Taken = f.Lens, f.Layer, f.Team, f.Points, f.Taken
		require.NotEqual(t, h.Sum(&fresh), h.Sum(&reused), "before the last three fields")
		to.Skin, to.Bounty, to.Steam = f.Skin, f.Bounty, f.Steam
	}
	require.Equal(t, h.Sum(&fresh), h.Sum(&reused))
}

func TestASingleBitInAnyFieldIsFoundAndNamed(t *testing.T) {
	l, err := layout.Of[Match]()
	require.NoError(t, err)
	h := hasher[Match](t)
	clean := l.Append(nil, busy())
	kinds, flips := map[reflect.Kind]bool{}, 0
	want := h.Sum(busy())
	for bit := range 8 * len(clean) {
		b := slices.Clone(clean)
		b[bit/8] ^= 1 << (bit % 8)
		faulty := busy()
		if l.Parse(b, faulty) != nil {
			continue // the bit makes a bool of 2, or a number that no int here holds
		}
		f, err := l.At(bit / 8)
		require.NoError(t, err)
		require.NotEqual(t, want, h.Sum(faulty), "bit %d of %s", bit, f.Path)
		require.Equal(t, []fingerprint.Difference{{
			Path: f.Path, A: f.Format(clean[f.Offset:][:f.Size]), B: f.Format(b[f.Offset:][:f.Size]),
		}}, h.Diff(nil, busy(), faulty))
		kinds[f.Kind] = true
		flips++
	}
	require.Greater(t, flips, 7*len(clean)/2)
	require.Len(t, kinds, 15, "a kind was never tried: %v", kinds)
}

func TestDiffNamesTheFieldWithBothValues(t *testing.T) {
	h := hasher[Match](t)
	for name, c := range map[string]struct {
		change func(*Match)
		want   string
	}{
		"an array element":    {func(m *Match) { m.Fighters[1].Health = 20 }, "Fighters[1].Health: 30 or 20"},
		"an unexported field": {func(m *Match) { m.tick = 10 }, "tick: 9 or 10"},
		"a bool":              {func(m *Match) { m.Fighters[0].Alive = false }, "Fighters[0].Alive: true or false"},
		"a float":             {func(m *Match) { m.Fighters[0].speed = -0.125 }, "Fighters[0].speed: 0.5 or -0.125"},
		"a complex number":    {func(m *Match) { m.Fighters[1].Aim = complex(1, -2) }, "Fighters[1].Aim: (1, 2) or (1, -2)"},
		"a generator that moved": {
			func(m *Match) { m.random = *rand.NewPCG(1, 3) }, "random.lo: 2 or 3",
		},
		"two fields, in order": {
			func(m *Match) { m.Fighters[1].X, m.Fighters[0].Steam = 1, 1 },
			"Fighters[0].Steam: 7 or 1, Fighters[1].X: -5 or 1",
		},
		"nothing": {func(*Match) {}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			other := busy()
			c.change(other)
			var got []string
			before := []fingerprint.Difference{{Path: "kept"}}
			all := h.Diff(before, busy(), other)
			require.Equal(t, "kept", all[0].Path)
			for _, d := range all[1:] {
				got = append(got, d.String())
			}
			require.Equal(t, c.want, strings.Join(got, ", "))
		})
	}
	a, b := 3, 4
	require.Equal(t, []fingerprint.Difference{{Path: "(state)", A: "3", B: "4"}}, hasher[int](t).Diff(nil, &a, &b))
}

func TestDiffIsBounded(t *testing.T) {
	var a, b [1000]uint16
	for i := range b {
		b[i] = 0xffff
	}
	got := hasher[[1000]uint16](t).Diff(nil, &a, &b)
	require.Len(t, got, fingerprint.MaxDifferences)
	require.Equal(t, fingerprint.Difference{Path: "[63]", A: "0", B: "65535"}, got[63])
}

func TestEqualSumsMeanNoDifferenceAndOtherSumsSome(t *testing.T) {
	h := hasher[Match](t)
	l, err := layout.Of[Match]()
	require.NoError(t, err)
	rapid.Check(t, func(t *rapid.T) {
		a, b := busy(), busy()
		changed := map[string]bool{}
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			i, v := rapid.IntRange(0, 1).Draw(t, "fighter"), rapid.Int64Range(-6, -4).Draw(t, "x")
			b.Fighters[i].X = v
			changed[fmt.Sprintf("Fighters[%d].X", i)] = v != -5
		}
		want := 0
		for _, is := range changed {
			if is {
				want++
			}
		}
		diff := h.Diff(nil, a, b)
		require.Len(t, diff, want)
		require.Equal(t, want == 0, h.Sum(a) == h.Sum(b))
		require.Equal(t, want == 0, slices.Equal(l.Append(nil, a), l.Append(nil, b)))
	})
}

func TestAStateWithoutALayoutIsHashedByItsOwnBytes(t *testing.T) {
	h := hasher[own](t)
	sum := func(body string) fingerprint.Sum { return h.Sum(&own{body: []byte(body)}) }
	require.Equal(t, sum("state"), sum("state"))
	require.NotEqual(t, sum("state"), sum("stat"))
	for name, c := range map[string]struct {
		a, b string
		want []fingerprint.Difference
	}{
		"equal":            {"state", "state", nil},
		"one byte":         {"state", "stage", []fingerprint.Difference{{Path: "byte 3", A: "0x74", B: "0x67"}}},
		"the first of two": {"state", "xtage", []fingerprint.Difference{{Path: "byte 0", A: "0x73", B: "0x78"}}},
		"a shorter one":    {"state", "st", []fingerprint.Difference{{Path: "byte 2", A: "0x61", B: "nothing: it ends after 2 bytes"}}},
		"an empty one":     {"", "s", []fingerprint.Difference{{Path: "byte 0", A: "nothing: it ends after 0 bytes", B: "0x73"}}},
	} {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, c.want, h.Diff(nil, &own{body: []byte(c.a)}, &own{body: []byte(c.b)}))
		})
	}
	require.NoError(t, h.Err())
}

func TestAFailingAppendBinaryIsNoSum(t *testing.T) {
	h := hasher[own](t)
	broken, first := errBroken, &own{body: []byte("x")}
	require.NotZero(t, h.Sum(first))
	require.Zero(t, h.Sum(&own{err: broken}))
	require.EqualError(t, h.Err(), "fingerprint: the state's AppendBinary: broken")
	require.ErrorIs(t, h.Err(), broken)
	require.Empty(t, h.Diff(nil, first, &own{err: broken}))
	require.NotZero(t, h.Sum(first), "the hasher is of no more use")
	require.ErrorIs(t, h.Err(), broken, "the first error was forgotten")

	long := hasher[endless](t)
	require.Zero(t, long.Sum(&endless{1}))
	require.EqualError(t, long.Err(), "fingerprint: the state's AppendBinary: it made 67108865 bytes, and at most 67108864 are allowed")
}

type endless []byte

func (*endless) AppendBinary([]byte) ([]byte, error) {
	return make([]byte, fingerprint.MaxEncoded+1), nil
}

// misshapen has a method that looks right.
type misshapen struct{ list []byte }

func (m *misshapen) AppendBinary(b []byte) []byte { return append(b, m.list...) }

type Clock struct{ left byte }

func (c *Clock) AppendBinary(b []byte) ([]byte, error) { return append(b, c.left), nil }

func TestAStateWithNeitherNamesTheFieldAndTheWaysOut(t *testing.T) {
	type unit struct{ Name string }
	type world struct{ Units [3]unit }
	_, err := fingerprint.New[world]()
	require.EqualError(t, err, "fingerprint: world.Units[0:3].Name is a string, which keeps its bytes outside the value; "+
		"use a fixed array of bytes such as [16]byte, or give the state func (s *world) AppendBinary(b []byte) ([]byte, error)")
	var refused *layout.RefusedError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, "world.Units[0:3].Name", refused.Path)

	_, err = fingerprint.New[misshapen]()
	require.ErrorContains(t, err, "func (s *misshapen) AppendBinary(b []byte) ([]byte, error); the AppendBinary that it has is func([]uint8) []uint8")

	type hollow struct {
		Clock
		Units []unit
	}
	_, err = fingerprint.New[hollow]()
	require.ErrorContains(t, err, "fingerprint: hollow.Units is a slice, which")
	require.ErrorContains(t, err, "the embedded hollow.Clock has an AppendBinary method, which stands for that field alone: give it a name")
}

func TestASumAllocatesNothingOnceWarm(t *testing.T) {
	match, state := hasher[Match](t), hasher[own](t)
	m, o := busy(), &own{body: make([]byte, 100)}
	require.Zero(t, testing.AllocsPerRun(100, func() {
		match.Sum(m)
		state.Sum(o)
	}))
}
