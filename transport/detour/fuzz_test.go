package detour_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/detour"
)

// FuzzMessage: the package and the reader written from FORMAT.md take the same messages of a
// neighbour for well formed.
func FuzzMessage(f *testing.F) {
	for _, l := range linkForFuzz(f) {
		f.Add(l.as == transport.Datagram, l.b)
	}
	f.Add(false, []byte{noWay, 1, 0})
	f.Add(false, []byte{noWay, 1, 64})
	f.Add(false, append([]byte{half}, make([]byte, 65535)...))
	f.Add(false, make([]byte, 65537))
	f.Fuzz(func(t *testing.T, lossy bool, b []byte) {
		as := transport.Reliable
		if lossy {
			as = transport.Datagram
		}
		// The reader stands beside a neighbour that sends on, where nothing can be opened.
		_, err := newByDocument("").read(60, 61, as, b)
		if len(b) > 2 && b[0] >= call && b[2] == 61 {
			return // it takes this one for an end's
		}
		require.Equal(t, err == nil, detour.WellFormed(as, b), "%v", err)
	})
}

func linkForFuzz(t require.TestingT) []letter {
	p := newParty(t, 3, apart)
	list := listen(p)
	p.step(12)
	p.all[0].Send(1, []byte("a datagram"))
	require.NoError(t, p.all[0].SendReliable(1, []byte("a message")))
	p.step(3)
	return *list
}

// FuzzSealed: what an end seals, anything at all, is refused or handed over as the reader has it,
// and the link stays but for a Bye.
func FuzzSealed(f *testing.F) {
	f.Add([]byte("\x02hello"), []byte{5}, []byte("\x04\x01\x00\x00\x00\x00\x00\x00\x00"), byte(0))
	f.Add([]byte{3}, []byte("\x02rest"), []byte{2}, byte(1))
	f.Add([]byte{3}, []byte{3}, []byte("\x02x"), byte(3))
	f.Add([]byte{3}, []byte("\x02more than can be left of it"), []byte("\x02x"), byte(1))
	f.Add([]byte{6, 4}, []byte{6, 9}, []byte{1}, byte(0))
	f.Add([]byte("\x04\x04\x00\x00\x00\x00\x00\x00\x00"), []byte("\x04\x03\x00\x00\x00\x00\x00\x00\x00"), []byte("\x04\x02\x00\x00\x00\x00\x00\x00\x00"), byte(0))
	f.Add([]byte{7}, []byte{0, 1}, []byte{5, 5}, byte(0))
	f.Fuzz(func(t *testing.T, first, second, third []byte, long byte) {
		p := newParty(t, 3, apart)
		p.step(30)
		p.take(1)
		const sent = 3 // by peer 1, so that a Taken of as many can be true
		for range sent {
			require.NoError(t, p.all[1].SendReliable(0, []byte("x")))
		}
		p.step(3)
		reads, taken := &sealing{}, uint64(0)
		for i, b := range [][]byte{first, second, third} {
			const most = transport.MaxReliable - 23
			if len(b) == 0 || len(b) > most {
				continue
			}
			if long>>i&1 == 1 {
				b = append(bytes.Clone(b), make([]byte, most-len(b))...)
			}
			text, refused := reads.read(b)
			if b[0] == 4 && !refused {
				n := binary.LittleEndian.Uint64(b[1:])
				if refused = n < taken || n > sent; !refused {
					taken = n
				}
			}
			before := p.all[1].Stats()
			require.NoError(t, p.all[0].Seal(1, b))
			p.step(3)
			after := p.all[1].Stats()
			require.Equal(t, refused, after.Refused == before.Refused+1, "%q", text)
			require.Equal(t, before.Broken, after.Broken)
			got := p.take(1)
			switch {
			case refused || b[0] != 2 && b[0] != 6:
				require.Empty(t, got)
			case b[0] == 6:
				require.NotEmpty(t, got)
				require.Contains(t, got[0], "down 0")
				return
			default:
				require.Len(t, got, 1)
				require.Contains(t, got[0], "reliable 0")
			}
		}
		require.NoError(t, p.all[1].SendReliable(0, []byte("still there")))
		p.step(3)
		require.Contains(t, p.take(0), "reliable 1 still there")
	})
}

// read says what an opened message holds, or that it is refused.
func (s *sealing) read(plain []byte) (text string, refused bool) {
	defer func() {
		if r := recover(); r != nil {
			if _, ok := r.(refusal); !ok {
				panic(r)
			}
			refused = true
		}
	}()
	return s.message(plain), false
}

// FuzzNeighbour: whatever a neighbour sends, the link of two others through somebody else stays, and
// what is said over it arrives.
func FuzzNeighbour(f *testing.F) {
	for _, l := range linkForFuzz(f) {
		f.Add(append([]byte{byte(l.to) << 1, byte(len(l.b))}, l.b...))
		f.Add(append([]byte{1, byte(len(l.b))}, l.b...))
	}
	f.Add([]byte{0, 9, reach, 0xff, 0, 0, 0, 0, 0, 0, 0, 2, 9, reach, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, script []byte) {
		p := newParty(t, 4, apart)
		// Peer 3 is the hostile one: it never stands in between, as its number is higher.
		p.step(30)
		p.via(0, 1, 2)
		for i := range 3 {
			p.take(i)
		}
		for i := byte(0); len(script) > 2; i++ {
			how, size := script[0], min(int(script[1]), len(script)-2)
			b := bytes.Clone(script[2 : 2+size])
			script = script[2+size:]
			to := driftback.Peer(how >> 1 % 3)
			if how%2 == 0 {
				_ = p.ends[3].SendReliable(to, b)
			} else {
				p.ends[3].Send(to, b)
			}
			word := fmt.Sprint(i)
			require.NoError(t, p.all[0].SendReliable(1, []byte(word)))
			p.all[1].Send(0, []byte(word))
			p.step(3)
			for peer, want := range []string{"datagram 1 " + word, "reliable 0 " + word} {
				got := slices.DeleteFunc(p.take(peer), func(line string) bool { return line != want && strings.Fields(line)[1] == "3" })
				require.Equal(t, []string{want}, got)
			}
			p.take(2)
		}
		p.via(0, 1, 2)
		p.via(1, 0, 2)
	})
}
