package driftback_test

import (
	"fmt"
	"os"
	"path/filepath"
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
	prose := regexp.MustCompile("(?s)```.*?```").ReplaceAllString(string(readme), "")
	links := regexp.MustCompile(`\]\(([^)#]+)(?:#([^)]+))?\)`).FindAllStringSubmatch(prose, -1)
	require.NotEmpty(t, links)
	for _, link := range links {
		if strings.Contains(link[1], "://") {
			continue
		}
		_, err := os.Stat(link[1])
		require.NoError(t, err, "README links to %s", link[1])
		if link[2] != "" {
			require.Contains(t, anchors(t, link[1]), link[2], "README links to a heading of %s", link[1])
		}
	}
}

// anchors returns what links to a page's headings end in.
func anchors(t *testing.T, file string) (list []string) {
	b, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(b), -1) {
		plain := regexp.MustCompile(`[^a-z0-9 -]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		list = append(list, strings.ReplaceAll(plain, " ", "-"))
	}
	return list
}

// docs/faults.md names tests as its proof; each of them exists.
func TestEveryTestThatTheFaultsNameExists(t *testing.T) {
	faults, err := os.ReadFile("docs/faults.md")
	require.NoError(t, err)
	names := regexp.MustCompile("`([a-z]+)\\.((?:Test|Fuzz)[A-Za-z0-9]+)`").FindAllStringSubmatch(string(faults), -1)
	require.Greater(t, len(names), 50)
	sources := map[string]string{}
	for _, name := range names {
		if _, ok := sources[name[1]]; !ok {
			files, err := filepath.Glob(filepath.Join(name[1], "*_test.go"))
			require.NoError(t, err)
			for _, file := range files {
				b, err := os.ReadFile(file)
				require.NoError(t, err)
				sources[name[1]] += string(b)
			}
		}
		require.Contains(t, sources[name[1]], fmt.Sprintf("func %s(", name[2]), "%s has no such test", name[1])
	}
}
