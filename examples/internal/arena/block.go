package arena

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// pair is the seats of two players, the lower one first.
type pair [2]int

// parseBlock reads which players have no direct link: 1-2,3-4.
func parseBlock(s string, players int) (list []pair, err error) {
	if s == "" {
		return nil, nil
	}
	for text := range strings.SplitSeq(s, ",") {
		p, err := parsePair(text, players)
		if err != nil {
			return nil, err
		}
		list = append(list, p)
	}
	for _, p := range list {
		if !reached(p, list, players) {
			return nil, fmt.Errorf("nobody has a direct link with both %d and %d", p[0]+1, p[1]+1)
		}
	}
	return list, nil
}

func parsePair(s string, players int) (p pair, err error) {
	low, high, ok := strings.Cut(s, "-")
	if !ok {
		return p, fmt.Errorf("%q is not two players, such as 1-2", s)
	}
	for i, text := range []string{low, high} {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > players {
			return p, fmt.Errorf("%q is none of the players 1 to %d", text, players)
		}
		p[i] = n - 1
	}
	if p[0] == p[1] {
		return p, errors.New("nobody has a link with themselves")
	}
	return pair{min(p[0], p[1]), max(p[0], p[1])}, nil
}

// reached reports whether somebody has a direct link with both.
func reached(p pair, blocked []pair, players int) bool {
	linked := func(a, b int) bool { return a != b && !slices.Contains(blocked, pair{min(a, b), max(a, b)}) }
	for q := range players {
		if linked(q, p[0]) && linked(q, p[1]) {
			return true
		}
	}
	return false
}
