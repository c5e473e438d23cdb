package fingerprint_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/fingerprint"
	"github.com/driftback/driftback/layout"
)

// named is a state with bytes of its own, from which it can be made.
type named struct{ name *string }

var errNoName = errors.New("there is no name")

func (n *named) AppendBinary(b []byte) ([]byte, error) { return append(b, *n.name...), nil }

func (n *named) UnmarshalBinary(b []byte) error {
	if len(b) == 0 {
		return errNoName
	}
	text := string(b)
	n.name = &text
	return nil
}

func section(b []byte) *io.SectionReader {
	return io.NewSectionReader(bytes.NewReader(b), 0, int64(len(b)))
}

func TestAStateIsMadeOfItsBytes(t *testing.T) {
	type plain struct {
		A uint16
		B bool
	}
	require.True(t, fingerprint.Fillable[plain]())
	var p plain
	require.NoError(t, fingerprint.Fill(section([]byte{5, 1, 1}), &p))
	require.Equal(t, plain{0x105, true}, p)
	require.ErrorIs(t, fingerprint.Fill(section([]byte{5, 1, 2}), &p), layout.ErrMalformed)
	require.Equal(t, plain{0x105, true}, p, "it is as it was")

	require.True(t, fingerprint.Fillable[named]())
	var n named
	require.NoError(t, fingerprint.Fill(section([]byte("kart")), &n))
	require.Equal(t, "kart", *n.name)
	require.ErrorIs(t, fingerprint.Fill(section(nil), &n), errNoName)

	type pointing struct{ Next *int }
	require.False(t, fingerprint.Fillable[pointing]())
	require.EqualError(t, fingerprint.Fill(section(nil), &pointing{}),
		"fingerprint: a fingerprint_test.pointing cannot be made of its bytes: it needs a method func (s *State) UnmarshalBinary(b []byte) error")
}
