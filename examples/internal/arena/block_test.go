package arena

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhoHasNoDirectLinkIsReadFromTheCommandLine(t *testing.T) {
	list, err := parseBlock("1-2,4-3", 4)
	require.NoError(t, err)
	require.Equal(t, []pair{{0, 1}, {2, 3}}, list)
	list, err = parseBlock("", 4)
	require.NoError(t, err)
	require.Empty(t, list)
	for text, want := range map[string]string{
		"1":           `"1" is not two players, such as 1-2`,
		"1-5":         `"5" is none of the players 1 to 4`,
		"0-1":         `"0" is none of the players 1 to 4`,
		"1-x":         `"x" is none of the players 1 to 4`,
		"2-2":         "nobody has a link with themselves",
		"1-2,,":       `"" is not two players, such as 1-2`,
		"1-2,1-3,2-4": "nobody has a direct link with both 1 and 2",
	} {
		_, err := parseBlock(text, 4)
		require.EqualError(t, err, want)
	}
}
