package frame

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/driftback/driftback"
)

func Example() {
	b := (&Frame{Kind: Message, Peer: 1, Data: []byte("hi")}).Append(nil)
	var f Frame
	err := f.Parse(b)
	fmt.Printf("%x %d %s %v\n", b, f.Peer, f.Data, err)
	// Output: 06016869 1 hi <nil>
}

// any draws a frame with what its kind has.
func drawn(t *rapid.T) Frame {
	fill := func(dst []byte, name string) {
		copy(dst, rapid.SliceOfN(rapid.Byte(), len(dst), len(dst)).Draw(t, name))
	}
	f := Frame{Kind: Kind(rapid.IntRange(int(Hello), int(Leave)).Draw(t, "kind"))}
	peer := driftback.Peer(rapid.IntRange(0, driftback.MaxPeers-1).Draw(t, "peer"))
	switch f.Kind {
	case Hello:
		f.Version = rapid.Uint8().Draw(t, "version")
		fill(f.Nonce[:], "nonce")
	case Enter:
		f.Version, f.Make, f.Peer = rapid.Uint8().Draw(t, "version"), rapid.Bool().Draw(t, "make"), peer
		fill(f.Key[:], "key")
		fill(f.Proof[:], "proof")
		fill(f.Signature[:], "signature")
	case Welcome:
		f.Seconds = rapid.Uint32().Draw(t, "seconds")
		for range rapid.IntRange(0, MaxServers).Draw(t, "servers") {
			text := rapid.StringN(0, 60, MaxText)
			f.Servers = append(f.Servers, Server{text.Draw(t, "url"), text.Draw(t, "user"), text.Draw(t, "password")})
		}
	case Member:
		f.Peer = peer
		fill(f.Key[:], "key")
		fill(f.Proof[:], "proof")
	case Gone:
		f.Peer = peer
	case Message:
		f.Peer, f.Data = peer, rapid.SliceOfN(rapid.Byte(), 0, MaxData).Draw(t, "data")
	case Leave:
	}
	return f
}

func TestEveryFrameReadsBackAndNoPartOfItDoes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawn(t)
		b := f.Append(nil)
		var got Frame
		require.NoError(t, got.Parse(b))
		if len(f.Data) == 0 {
			f.Data, got.Data = nil, nil
		}
		require.Equal(t, f, got)
		if f.Kind == Message { // of which the end is the end
			return
		}
		require.ErrorIs(t, got.Parse(append(b, 0)), ErrMalformed)
		require.ErrorIs(t, got.Parse(b[:rapid.IntRange(0, len(b)-1).Draw(t, "cut")]), ErrMalformed)
	})
}

func TestTheLargestFramesAreAsLargeAsIsSaid(t *testing.T) {
	long := strings.Repeat("x", MaxText+1)
	f := Frame{Kind: Welcome}
	for range MaxServers + 1 {
		f.Servers = append(f.Servers, Server{long, long, long})
	}
	b := f.Append(nil)
	require.Len(t, b, Max)
	require.NoError(t, f.Parse(b))
	require.Len(t, f.Servers, MaxServers)
	require.ErrorIs(t, f.Parse(append(b, 0)), ErrMalformed)

	f = Frame{Kind: Message, Data: make([]byte, MaxData+1)}
	b = f.Append(nil)
	require.Len(t, b, MaxFromMember)
	require.ErrorIs(t, f.Parse(append(b, 0)), ErrMalformed)
	n := Note{Kind: NoteMessage, Data: make([]byte, MaxData+1)}
	b = n.Append(nil)
	require.Len(t, b, MaxNote)
	require.NoError(t, n.Parse(b))
	require.ErrorIs(t, n.Parse(append(b, 0)), ErrMalformed)
}

func TestWhatIsNoFrameIsRefused(t *testing.T) {
	for name, b := range map[string][]byte{
		"nothing":                {},
		"kind 0":                 {0},
		"kind 8":                 {8},
		"a peer above all":       {byte(Gone), driftback.MaxPeers},
		"a text without its end": {byte(Welcome), 0, 0, 0, 1, 1, 200, 'x'},
		"nine servers":           append([]byte{byte(Welcome), 0, 0, 0, 1, 9}, make([]byte, 27)...),
		"JSON":                   []byte(`{"type":"enter"}`),
		"an unknown flag":        append([]byte{byte(Enter), 1, 2, 0}, make([]byte, 128)...),
	} {
		t.Run(name, func(t *testing.T) { require.ErrorIs(t, new(Frame).Parse(b), ErrMalformed) })
	}
}

func TestTheNameOfARoomReadsBackAndIsWrittenInOneWay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var r Room
		copy(r[:], rapid.SliceOfN(rapid.Byte(), RoomSize, RoomSize).Draw(t, "room"))
		require.Len(t, r.String(), RoomChars)
		got, err := ParseRoom(r.String())
		require.NoError(t, err)
		require.Equal(t, r, got)
	})
	for _, s := range []string{"", strings.Repeat("0", 31), strings.Repeat("0", 33), strings.Repeat("A", 32), strings.Repeat("u", 32), strings.Repeat("é", 16)} {
		_, err := ParseRoom(s)
		require.Error(t, err, s)
	}
}

func FuzzFrame(f *testing.F) {
	for _, kind := range []Kind{Hello, Enter, Welcome, Member, Gone, Message, Leave} {
		f.Add((&Frame{Kind: kind, Version: 1, Peer: 3, Servers: []Server{{"stun:x", "u", "p"}}, Data: []byte("data")}).Append(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var got Frame
		if got.Parse(b) != nil {
			return
		}
		require.True(t, bytes.Equal(b, got.Append(nil)), "%x is also written %x", b, got.Append(nil))
	})
}

func FuzzNote(f *testing.F) {
	for _, kind := range []NoteKind{NoteWho, NotePresent, NoteGone, NoteMessage} {
		f.Add((&Note{Instance: 7, Kind: kind, Peer: 3, To: 4, Since: 99, Data: []byte("data")}).Append(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		var got Note
		if got.Parse(b) != nil {
			return
		}
		require.True(t, bytes.Equal(b, got.Append(nil)), "%x is also written %x", b, got.Append(nil))
	})
}
