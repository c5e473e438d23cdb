package arena

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/driftback/driftback"
)

// pair is the seats of two players, the lower one first.
type pair [2]int

func pairOf(a, b int) pair { return pair{min(a, b), max(a, b)} }

// parseBlock reads which players have no direct link, from 1: 1-2,3-4.
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
		if !joined(p, list, players) {
			return nil, fmt.Errorf("nobody has a direct link with both %d and %d", p[0]+1, p[1]+1)
		}
	}
	return list, nil
}

func parsePair(s string, players int) (pair, error) {
	var seats [2]int
	low, high, ok := strings.Cut(s, "-")
	if !ok {
		return pair{}, fmt.Errorf("%q is not two players, such as 1-2", s)
	}
	for i, text := range []string{low, high} {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > players {
			return pair{}, fmt.Errorf("%q is none of the players 1 to %d", text, players)
		}
		seats[i] = n - 1
	}
	if seats[0] == seats[1] {
		return pair{}, errors.New("nobody has a link with themselves")
	}
	return pairOf(seats[0], seats[1]), nil
}

// joined reports whether somebody has a direct link with both of two.
func joined(two pair, blocked []pair, players int) bool {
	for q := range players {
		if q != two[0] && q != two[1] && !slices.Contains(blocked, pairOf(q, two[0])) && !slices.Contains(blocked, pairOf(q, two[1])) {
			return true
		}
	}
	return false
}

// sayThrough says in words through whom a player plays with others, where that is new. Of two
// the earlier one's word is enough.
func sayThrough(w io.Writer, players []*player, p *player) {
	for _, q := range players[p.seat+1:] {
		via, ok := p.status.Through[driftback.Peer(q.seat)]
		if was, said := p.through[q.seat]; !ok || said && was == via {
			continue
		}
		if p.through == nil {
			p.through = map[int]driftback.Peer{}
		}
		p.through[q.seat] = via
		fmt.Fprintf(w, "the %s and the %s have no direct link and play through the %s\n", p.name, q.name, players[via].name)
	}
}
