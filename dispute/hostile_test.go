package dispute_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/dispute"
	"github.com/driftback/driftback/layout"
)

// lie returns a message as long as the next one has to be, or nil if none is to come.
func lie(s *dispute.Search, r *rand.Rand, bits int) []byte {
	round, size := s.Expects()
	if size == 0 {
		return nil
	}
	b := make([]byte, size)
	for i := range b {
		b[i] = byte(r.Uint32() >> max(0, 32-bits))
	}
	b[0] = round
	if round == 0 {
		b[1] = 0 // repeats
		for i := 2; i < size; i++ {
			b[i] = 0xff
		}
		if r.IntN(2) == 0 { // no fingerprint known but perhaps some
			clear(b[1:])
		}
	}
	if round == 1 { // sizes
		for i := 1; i+4 <= size; i += 4 {
			binary.LittleEndian.PutUint32(b[i:], r.Uint32N(dispute.MaxState+2)>>r.IntN(32))
		}
	}
	return b
}

func TestTheLongestStateIsThatOfALayout(t *testing.T) {
	require.Equal(t, layout.MaxSize, dispute.MaxState)
}

// at16 is a search over 16 ticks and a state of 100 bytes, and what it says at first.
func at16(t require.TestingT) (*dispute.Search, []byte) {
	s := dispute.New(0, 16, dispute.Same, one(16, 5, make([]byte, 100)))
	b, ok := s.Next(nil)
	require.True(t, ok)
	return s, b
}

func TestWhatIsNotToComeEndsTheSearchWithASentence(t *testing.T) {
	_, first := at16(t)
	require.Len(t, first, 1+1+2+16*8)
	change := func(at int, to byte) []byte {
		b := append([]byte(nil), first...)
		b[at] = to
		return b
	}
	for says, b := range map[string][]byte{
		"an empty message in round 0":                                 {},
		"a message of round 1 in round 0":                             change(0, 1),
		"a message of 131 bytes in round 0, and 132 are to come":      first[:131],
		"a message of 133 bytes in round 0, and 132 are to come":      append(change(0, 0), 0),
		"it says 3 of whether ticks repeat, and at most 2 is allowed": change(1, 3),
		"the fingerprint of tick 1 is not known, and is not 0":        change(4, 1),
		"the fingerprint of tick 16 is not known, and is not 0":       change(3, 0),
		"a message of 1 bytes in round 0, and 132 are to come":        first[:1],
	} {
		s, _ := at16(t)
		require.EqualError(t, s.Take(b), "dispute: malformed: "+says)
		require.ErrorIs(t, s.Take(first), dispute.ErrMalformed, "it stays so")
		require.True(t, s.Done())
		_, ok := s.Next(nil)
		require.False(t, ok, "there is nothing more to say")
		require.Equal(t, driftback.Tick(16), s.Finding().Tick)
	}

	nine := dispute.New(0, 9, dispute.Same, one(9, 5, nil))
	b, _ := nine.Next(nil)
	b[3] |= 0x80
	require.EqualError(t, nine.Take(b), "dispute: malformed: a fingerprint is known of a tick that was not asked for")

	s, _ := at16(t)
	require.NoError(t, s.Take(first))
	b, ok := s.Next(nil)
	require.True(t, ok)
	require.Len(t, b, 1+4)
	b[4] = 0xff
	require.EqualError(t, s.Take(b), "dispute: malformed: a state of 4278190180 bytes, and at most 67108864 are allowed")
	for _, size := range []uint32{dispute.MaxState, dispute.MaxState + 1} {
		s, _ = at16(t)
		require.NoError(t, s.Take(first))
		err := s.Take(binary.LittleEndian.AppendUint32([]byte{1}, size+1))
		require.Equal(t, size > dispute.MaxState, err != nil, "%d bytes: %v", size, err)
	}
}

func TestAMessageIsRefusedWhileNoneIsToCome(t *testing.T) {
	_, first := at16(t)
	s := dispute.New(0, 16, dispute.Same, one(16, 5, make([]byte, 100)))
	require.NoError(t, s.Take(first), "before this one has said anything")
	require.EqualError(t, s.Take([]byte{1, 0, 0, 0, 0}), "dispute: malformed: a message of 5 bytes, and none is to come in round 0")

	a, b := dispute.New(0, 16, dispute.Same, one(16, 5, []byte("one"))), dispute.New(0, 16, dispute.Same, one(16, 6, []byte("two")))
	settle(t, [2]*dispute.Search{a, b}, nil)
	require.True(t, a.Done())
	before := a.Finding()
	require.Equal(t, []dispute.Range{{Offset: 0, Ours: []byte("one"), Theirs: []byte("two")}}, before.Ranges)
	require.ErrorContains(t, a.Take([]byte{2, 0, 0, 0}), "dispute: malformed: a message of 4 bytes, and none is to come in round 2")
	require.Equal(t, before, a.Finding(), "what was found stays")
}

func TestEveryTruncationOfEveryMessageIsRefused(t *testing.T) {
	ours, theirs := make([]byte, 9000), make([]byte, 9000)
	theirs[5000] = 1
	refused := 0
	for stop := range 100 {
		both := [2]*dispute.Search{dispute.New(0, 8, dispute.Same, one(8, 1, ours)), dispute.New(0, 8, dispute.Same, one(8, 2, theirs))}
		number := 0
		for !both[0].Done() {
			a, okA := both[0].Next(nil)
			b, okB := both[1].Next(nil)
			require.True(t, okA || okB)
			if okA {
				require.NoError(t, both[1].Take(a))
			}
			if number++; number > stop && okB {
				b = b[:len(b)-1-stop%len(b)]
				require.ErrorIs(t, both[0].Take(b), dispute.ErrMalformed)
				refused++
				break
			}
			if okB {
				require.NoError(t, both[0].Take(b))
			}
		}
	}
	require.GreaterOrEqual(t, refused, 5, "one message of each round")
}

func TestTicksThatMakeNoSenseAreNoHarm(t *testing.T) {
	for _, at := range [][2]driftback.Tick{{5, 5}, {9, 3}, {-1 << 63, 1<<63 - 1}, {1<<63 - 1, -1 << 63}, {-1 << 63, -1 << 63}} {
		both := [2]*dispute.Search{dispute.New(at[0], at[1], dispute.Same, one(at[1], 1, nil)), dispute.New(at[0], at[1], dispute.Same, one(at[1], 2, nil))}
		settle(t, both, nil)
		require.True(t, both[0].Done())
		require.Equal(t, at[1], both[0].Finding().Tick)
	}
}

// A witness that forgets the state after it has told its length.
type forgetful struct {
	history
	asked int
}

func (f *forgetful) State(t driftback.Tick) ([]byte, bool) {
	if f.asked++; f.asked > 1 {
		return nil, false
	}
	return f.history.State(t)
}

func TestAWitnessThatForgetsIsNoHarm(t *testing.T) {
	state := make([]byte, 10_000)
	state[700] = 1
	both := [2]*dispute.Search{
		dispute.New(0, 8, dispute.Same, &forgetful{history: one(8, 1, state)}), dispute.New(0, 8, dispute.Same, one(8, 2, state)),
	}
	settle(t, both, nil)
	require.True(t, both[0].Done())
	require.True(t, both[1].Done())
	mirrored(t, both[0].Finding(), both[1].Finding())
}

func TestASearchHoldsNoMoreThanItSays(t *testing.T) {
	h := history{roots: map[driftback.Tick]uint64{}, states: map[driftback.Tick][]byte{}}
	for at := driftback.Tick(1); at <= 5000; at++ {
		h.roots[at] = uint64(at)
	}
	h.states[5000] = make([]byte, 1<<20)
	s := dispute.New(0, 5000, dispute.Same, h)
	r := rand.New(rand.NewPCG(1, 2))
	most := 0
	for !s.Done() {
		for _, ok := s.Next(nil); ok; _, ok = s.Next(nil) {
		}
		b := lie(s, r, 32)
		if round, _ := s.Expects(); round == 1 {
			binary.LittleEndian.PutUint32(b[len(b)-4:], dispute.MaxState+1)
		}
		require.NoError(t, s.Take(b))
		most = max(most, s.Held())
	}
	require.Len(t, s.Finding().Roots, dispute.MaxRoots)
	require.True(t, s.Finding().More)
	require.LessOrEqual(t, most, 128<<10)
}

func FuzzTake(f *testing.F) {
	_, first := at16(&testing.T{})
	f.Add(uint8(16), uint32(100), append([]byte{132}, first...))
	f.Add(uint8(1), uint32(9000), []byte{11, 0, 1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 5, 1, 0x29, 0x23, 0, 0})
	f.Fuzz(func(t *testing.T, span uint8, size uint32, script []byte) {
		state := make([]byte, size%(1<<18))
		at := driftback.Tick(span) + 1
		s := dispute.New(0, at, dispute.Same, one(at, 1, state))
		sent := 0
		for len(script) > 0 && !s.Done() {
			for b, ok := s.Next(nil); ok; b, ok = s.Next(nil) {
				require.LessOrEqual(t, len(b), dispute.MaxMessage)
				sent += len(b)
			}
			// A piece as long as the script says, or as the search expects.
			n := int(script[0])
			if round, want := s.Expects(); n&1 == 1 && want > 0 {
				piece := make([]byte, want)
				copy(piece[1:], script[1:])
				piece[0] = round
				script = script[min(len(script), want):]
				_ = s.Take(piece)
				continue
			}
			n = min(n, len(script)-1)
			_ = s.Take(script[1:][:n])
			script = script[1+n:]
		}
		require.LessOrEqual(t, sent, 64<<10)
		got := s.Finding()
		require.LessOrEqual(t, s.Held(), 128<<10)
		for i, r := range got.Ranges {
			require.LessOrEqual(t, max(len(r.Ours), len(r.Theirs)), dispute.BlockSize)
			require.True(t, i == 0 || got.Ranges[i-1].Offset < r.Offset)
		}
	})
}
