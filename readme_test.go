package driftback_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// README shows a program; the same lines are compiled here as an Example.
func TestREADMEShowsTheProgramThatIsCompiled(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	example, err := os.ReadFile("example_embedding_test.go")
	require.NoError(t, err)

	shown := regexp.MustCompile("(?s)```go\n(.*?)```").FindSubmatch(readme)
	require.NotNil(t, shown, "README shows no program")
	want := strings.NewReplacer("package driftback_test", "package main", "func Example_embedding()", "func main()").Replace(string(example))
	require.Equal(t, want, string(shown[1]))
}

// Every file and folder that README links to exists.
func TestREADMELinksToWhatExists(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	require.NoError(t, err)
	links := regexp.MustCompile(`\]\(([^)#]+)\)`).FindAllStringSubmatch(string(readme), -1)
	require.NotEmpty(t, links)
	for _, link := range links {
		if strings.Contains(link[1], "://") {
			continue
		}
		_, err := os.Stat(link[1])
		require.NoError(t, err, "README links to %s", link[1])
	}
}
