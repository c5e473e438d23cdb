package signalling_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/signalling"
)

func Example() {
	room := signalling.NewRoom()
	a, b := room.Join(0), room.Join(1)
	_ = a.Send(context.Background(), 1, []byte("where are you?"))
	from, data, err := b.Receive(context.Background())
	fmt.Println(from, string(data), err)
	// Output: 0 where are you? <nil>
}

func TestWhatASenderDoesWithItsMessageLaterDoesNotMatter(t *testing.T) {
	room := signalling.NewRoom()
	a, b := room.Join(0), room.Join(1)
	data := []byte("one")
	require.NoError(t, a.Send(t.Context(), 1, data))
	data[0] = 'x'
	_, got, err := b.Receive(t.Context())
	require.NoError(t, err)
	require.Equal(t, "one", string(got))
}

func TestMessagesToNobodyAreLostAndOnesTooLongRefused(t *testing.T) {
	a := signalling.NewRoom().Join(0)
	require.NoError(t, a.Send(t.Context(), 1, nil))
	require.NoError(t, a.Send(t.Context(), 255, nil))
	require.NoError(t, a.Send(t.Context(), 0, make([]byte, signalling.MaxMessage)))
	require.ErrorContains(t, a.Send(t.Context(), 0, make([]byte, signalling.MaxMessage+1)), "4097 bytes, and 4096 is the most")
}

func TestOfAFloodTheNewestAreKept(t *testing.T) {
	room := signalling.NewRoom()
	a, b := room.Join(0), room.Join(1)
	for n := range 1000 {
		require.NoError(t, a.Send(t.Context(), 1, fmt.Append(nil, n)))
	}
	var got []string
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	for {
		_, data, err := b.Receive(ctx)
		if err != nil {
			require.ErrorIs(t, err, context.DeadlineExceeded)
			break
		}
		got = append(got, string(data))
	}
	require.Len(t, got, 64)
	require.Equal(t, "936", got[0])
	require.Equal(t, "999", got[63])
}

func TestWhoHasLeftIsToldSo(t *testing.T) {
	room := signalling.NewRoom()
	first := room.Join(0)
	again := room.Join(0) // the peer came back
	_, _, err := first.Receive(t.Context())
	require.ErrorIs(t, err, signalling.ErrLeft)
	require.ErrorIs(t, first.Send(t.Context(), 1, nil), signalling.ErrLeft)
	first.Leave()
	require.NoError(t, again.Send(t.Context(), 1, nil), "the place is the newer one's")
	again.Leave()
	again.Leave()
	_, _, err = again.Receive(t.Context())
	require.ErrorIs(t, err, signalling.ErrLeft)
}
