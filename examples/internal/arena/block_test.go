package arena

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
)

func TestWhoHasNoDirectLinkIsReadFromTheCommandLine(t *testing.T) {
	for text, want := range map[string][]pair{
		"":        nil,
		"1-2":     {{0, 1}},
		"1-2,4-3": {{0, 1}, {2, 3}},
	} {
		list, err := parseBlock(text, 4)
		require.NoError(t, err)
		require.Equal(t, want, list, text)
	}
	for text, want := range map[string]string{
		"1":           `"1" is not two players, such as 1-2`,
		"1-2,":        `"" is not two players, such as 1-2`,
		"1-5":         `"5" is none of the players 1 to 4`,
		"0-1":         `"0" is none of the players 1 to 4`,
		"1-x":         `"x" is none of the players 1 to 4`,
		"2-2":         "nobody has a link with themselves",
		"1-2,3-1,2-4": "nobody has a direct link with both 1 and 2",
	} {
		_, err := parseBlock(text, 4)
		require.EqualError(t, err, want)
	}
}

func TestThroughWhomTwoPlayIsSaidOnceAndAgainWhenItIsAnother(t *testing.T) {
	var out bytes.Buffer
	var players []*player
	for seat, name := range []string{"first", "second", "third", "fourth"} {
		players = append(players, &player{seat: seat, name: name})
	}
	says := func(seat int, through map[driftback.Peer]driftback.Peer) string {
		out.Reset()
		players[seat].status.Through = through
		sayThrough(&out, players, players[seat])
		return out.String()
	}
	type way = map[driftback.Peer]driftback.Peer
	require.Empty(t, says(0, nil))
	require.Equal(t, "the first and the second have no direct link and play through the third\n", says(0, way{1: 2}))
	require.Empty(t, says(0, way{1: 2}))
	require.Empty(t, says(1, way{0: 2}), "the other end of the same")
	require.Equal(t, "the first and the fourth have no direct link and play through the third\n", says(0, way{1: 2, 3: 2}))
	require.Empty(t, says(0, nil))
	require.Equal(t, "the first and the second have no direct link and play through the fourth\n", says(0, way{1: 3}))
}
