package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/signalling/internal/frame"
)

func TestAnInvitationReadsBackHoweverItIsTyped(t *testing.T) {
	drawn := NewInvitation()
	asked := Invitation{room: frame.Room{7}, secret: identity.NewCode()}
	asked.derive(false)
	require.Len(t, drawn.String(), 19)
	require.Len(t, asked.String(), 32+1+19)
	for _, i := range []Invitation{drawn, asked, {room: frame.Room{7, 0xff}}} {
		for _, typed := range []string{
			i.String(), strings.ToUpper(i.String()), " " + i.String() + "\n", strings.NewReplacer("0", "O", "1", "l").Replace(i.String()),
		} {
			got, err := ParseInvitation(typed)
			require.NoError(t, err, typed)
			require.Equal(t, i, got, typed)
		}
	}
	require.NotEqual(t, drawn.Room(), NewInvitation().Room())
}

func TestWhatIsNoInvitationIsRefusedInASentence(t *testing.T) {
	for text, want := range map[string]string{
		"":                                   "it has 0 characters and should have 16",
		"0000-0000-0000-0000":                "all zeros",
		"abcd-abcd-abcd-abc":                 "it has 15 characters",
		strings.Repeat("u", 32):              "not the name of a room",
		"abcd.abcd-abcd-abcd-abcd":           "the name of a room has 32 characters, and this has 4",
		strings.Repeat("0", 32) + ".abcd":    "it has 4 characters",
		strings.Repeat("0", maxInvitation+1): "more than 256 characters",
	} {
		i, err := ParseInvitation(text)
		require.ErrorContains(t, err, "web: this is not an invitation: ", text)
		require.ErrorContains(t, err, want)
		require.True(t, i.IsZero())
	}
}

// Two versions of this package that work these out in different ways would miss each other.
func TestWhatFollowsFromASecretNeverChanges(t *testing.T) {
	i, err := ParseInvitation("0123-4567-89ab-cdef")
	require.NoError(t, err)
	require.Equal(t, "p98wk0a0t1krz4515rp3dncmmxh8d41n", i.Room())
	p := i.proof(1, identity.Pin{2})
	require.Equal(t, "k8ht90nkbjjey9qhrzs9q97qp6daa6ddne17s8fqq91ewfqq5wn0", identity.Pin(p).String())
}

func TestAProofHoldsForItsRoomItsPlaceAndItsPinAlone(t *testing.T) {
	i, other := NewInvitation(), NewInvitation()
	pin := identity.Pin{1}
	p := i.proof(1, pin)
	require.True(t, i.proves(p, 1, pin))
	require.False(t, i.proves(p, 0, pin))
	require.False(t, i.proves(p, 1, identity.Pin{2}))
	require.False(t, other.proves(p, 1, pin))
	elsewhere := i
	elsewhere.room[0]++
	require.False(t, elsewhere.proves(p, 1, pin))

	bare, err := ParseInvitation(i.Room())
	require.NoError(t, err)
	require.Equal(t, frame.Proof{}, bare.proof(1, pin))
	require.False(t, bare.proves(frame.Proof{}, 1, pin), "without a secret nothing is proven")
	require.False(t, i.proves(frame.Proof{}, 1, pin))
}

func TestAnAnswerThatIsNoNameOfARoomIsRefused(t *testing.T) {
	for body, want := range map[string]string{
		`{"room":"short"}`: "the name of a room has 32 characters",
		`<html>`:           "makes no sense",
		"404":              ErrNoRoom.Error(),
		"429":              ErrBusy.Error(),
		"403":              ErrRefused.Error(),
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			switch body {
			case "404":
				w.WriteHeader(http.StatusNotFound)
			case "429":
				w.WriteHeader(http.StatusTooManyRequests)
			case "403":
				w.WriteHeader(http.StatusForbidden)
			}
			_, _ = w.Write([]byte(body))
		}))
		_, err := AskInvitation(t.Context(), s.URL, nil)
		require.ErrorContains(t, err, want)
		s.Close()
	}
	_, err := AskInvitation(t.Context(), "ftp://x", nil)
	require.ErrorContains(t, err, "should begin with https://")
}

func FuzzParseInvitation(f *testing.F) {
	f.Add("0123-4567-89ab-cdef")
	f.Add(strings.Repeat("0", 32))
	f.Add(strings.Repeat("1", 32) + ".0123-4567-89ab-cdef")
	f.Fuzz(func(t *testing.T, s string) {
		i, err := ParseInvitation(s)
		if err != nil {
			require.True(t, i.IsZero())
			return
		}
		again, err := ParseInvitation(i.String())
		require.NoError(t, err)
		require.Equal(t, i, again)
	})
}
