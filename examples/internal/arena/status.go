package arena

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/examples/internal/page"
	"github.com/driftback/driftback/session"
)

// status is how one player is doing, once a second.
type status struct {
	Phase     string         `json:"phase"`
	Tick      driftback.Tick `json:"tick"`
	Confirmed driftback.Tick `json:"confirmed"`
	Hands     string         `json:"hands"`
	RoundTrip time.Duration  `json:"roundTrip"` // of the slowest link
	Loss      float64        `json:"loss"`      // of the worst link
	Rollbacks uint64         `json:"rollbacks"`
	Deepest   int            `json:"deepest"` // since the last status
	Stalls    uint64         `json:"stalls"`
	Late      uint64         `json:"late"` // of its inputs, for a relay
	Score     string         `json:"score"`
	Paused    bool           `json:"paused"`
	Silent    int            `json:"silent"`    // how many others have not been heard for a second
	Gone      int            `json:"gone"`      // without how many the match goes on
	Returning int            `json:"returning"` // how many of them are coming back
	// Through is through whom others are linked that are not linked directly.
	Through map[driftback.Peer]driftback.Peer `json:"through,omitempty"`
}

func (p *peer[S, I]) status(r *session.Result) *status {
	s := p.match.Stats()
	st := &status{
		Phase: p.phase(r, nil), Tick: s.Tick, Confirmed: s.Confirmed, Hands: p.hands.String(),
		Rollbacks: s.Loop.Rollbacks, Deepest: p.deepest, Stalls: s.Stalled,
		Score: p.game.Score(p.state()),
	}
	st.Paused, _ = p.match.Paused()
	if s.Late != nil {
		st.Late = s.Late[p.self]
	}
	for q, l := range p.others(s.Peers) {
		if p.gone(q) {
			st.Gone++
			if p.returns(q) {
				st.Returning++
			}
			continue
		}
		st.RoundTrip, st.Loss = max(st.RoundTrip, l.RoundTrip), max(st.Loss, l.Loss)
		if l.Silence > time.Second {
			st.Silent++
		}
		if via, ok := p.through(q); ok {
			if st.Through == nil {
				st.Through = map[driftback.Peer]driftback.Peer{}
			}
			st.Through[q] = via
		}
	}
	return st
}

// printAll writes one line about all who play: one value where they say the same, both of
// two, and the least and the most of more. Who comes back has nothing to say yet.
func printAll(w io.Writer, list []status) {
	all := list
	list = slices.DeleteFunc(slices.Clone(list), func(s status) bool {
		return s.Phase == page.PhaseComingBack || s.Phase == session.Joining.String()
	})
	returning := 0
	for i := range all {
		if all[i].Phase == page.PhaseComingBack {
			returning++
		}
	}
	if len(list) == 0 && returning > 0 {
		fmt.Fprintln(w, "coming back to the match")
		return
	}
	joining := len(all) - len(list) - returning
	choosing, paused, silent, gone := false, false, 0, 0
	for i := range list {
		choosing = choosing || list[i].Phase == page.PhaseChoosing
		paused = paused || list[i].Paused
		silent, gone = max(silent, list[i].Silent), max(gone, list[i].Gone)
		returning = max(returning, list[i].Returning)
	}
	if len(list) == 0 {
		fmt.Fprintln(w, "the players are joining")
		return
	}
	if choosing {
		fmt.Fprintln(w, "the players are choosing")
		return
	}
	of := func(f func(s *status) int64) string {
		least, most := f(&list[0]), f(&list[0])
		for i := range list {
			least, most = min(least, f(&list[i])), max(most, f(&list[i]))
		}
		switch {
		case least == most:
			return strconv.FormatInt(least, 10)
		case len(list) == 2:
			return fmt.Sprintf("%d/%d", f(&list[0]), f(&list[1]))
		}
		return fmt.Sprintf("%d–%d", least, most)
	}
	fmt.Fprintf(w, "tick %s | confirmed %s | round trip %s ms | lost %s %% | rollbacks %s, %s deep | stalled %s | %s",
		of(func(s *status) int64 { return int64(s.Tick) }), of(func(s *status) int64 { return int64(s.Confirmed) }),
		of(func(s *status) int64 { return s.RoundTrip.Milliseconds() }), of(func(s *status) int64 { return int64(100*s.Loss + 0.5) }),
		of(func(s *status) int64 { return int64(s.Rollbacks) }), of(func(s *status) int64 { return int64(s.Deepest) }),
		of(func(s *status) int64 { return int64(s.Stalls) }), list[0].Score)
	if late := of(func(s *status) int64 { return int64(s.Late) }); late != "0" {
		fmt.Fprintf(w, " | late %s", late)
	}
	if joining > 0 {
		fmt.Fprintf(w, " | %d joining", joining)
	}
	if paused {
		fmt.Fprint(w, " | paused")
	}
	if silent > 0 {
		fmt.Fprintf(w, " | %d not heard", silent)
	}
	if gone > returning {
		fmt.Fprintf(w, " | %d gone", gone-returning)
	}
	if returning > 0 {
		fmt.Fprintf(w, " | %d coming back", returning)
	}
	fmt.Fprintln(w)
}
