package arena

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// printFresh writes a line once all who play have said how they are doing.
func printFresh(stdout io.Writer, players []*player) {
	var list []status
	for _, p := range players {
		switch {
		case p.gone:
			continue
		case !p.fresh:
			return
		}
		list = append(list, p.status)
	}
	if len(list) == 0 {
		return
	}
	printAll(stdout, list)
	for _, p := range players {
		p.fresh = false
	}
}

// judge says how the match ended, from what each of the players found.
func judge(players []*player, stdout io.Writer) error {
	var missing, reasons []string
	var differ bool
	var first *outcome
	for _, p := range players {
		if p.ended == nil {
			missing = append(missing, fmt.Sprintf("the %s: %s", p.name, p.why()))
			reasons = append(reasons, p.why())
			continue
		}
		fmt.Fprintf(stdout, "%-12s  finished: tick %d is confirmed with fingerprint %v\n", p.name, p.ended.Tick, p.ended.Sum)
		if first == nil {
			first = p.ended
		}
		differ = differ || *p.ended != *first
	}
	all := fmt.Sprintf("all %d", len(players))
	if len(players) == 2 {
		all = "both"
	}
	if first != nil && first.Without != "" && !differ {
		fmt.Fprintf(stdout, "They went on %s.\n", first.Without)
	}
	switch {
	case len(missing) == len(players) && len(slices.Compact(reasons)) == 1:
		return fmt.Errorf("%s players say: %s", all, reasons[0])
	case differ:
		return errors.New("the players have finished in different worlds")
	case len(missing) > 0:
		if left := len(players) - len(missing); left > 1 {
			fmt.Fprintf(stdout, "The %d that are left agree.\n", left)
		}
		return fmt.Errorf("not everybody finished: %s", strings.Join(missing, "; "))
	case len(players) == 2:
		fmt.Fprintln(stdout, "The two agree.")
	default:
		fmt.Fprintf(stdout, "The %d agree.\n", len(players))
	}
	return nil
}
