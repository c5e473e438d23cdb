package arena

import (
	"fmt"
	"io"
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
	Score     string         `json:"score"`
	Paused    bool           `json:"paused"`
	Silent    int            `json:"silent"`  // how many others have not been heard for a second
	Gone      int            `json:"gone"`    // without how many the match goes on
	Through   int            `json:"through"` // how many others are linked through a third
}

func (p *peer[S, I]) status(r *session.Result) *status {
	s := p.match.Stats()
	st := &status{
		Phase: r.Phase.String(), Tick: s.Tick, Confirmed: s.Confirmed, Hands: p.hands.String(),
		Rollbacks: s.Loop.Rollbacks, Deepest: p.deepest, Stalls: s.Stalled,
		Score: p.game.Score(p.match.State()),
	}
	if p.choosing != nil && r.Phase != session.Joining {
		st.Phase = page.PhaseChoosing
	}
	st.Paused, _ = p.match.Paused()
	for i := range s.Peers {
		l := &s.Peers[i]
		if p.gone(l.Peer) {
			st.Gone++
			continue
		}
		st.RoundTrip, st.Loss = max(st.RoundTrip, l.RoundTrip), max(st.Loss, l.Loss)
		if p.via != nil {
			if _, ok := p.via(l.Peer); ok {
				st.Through++
			}
		}
		if l.Silence > time.Second {
			st.Silent++
		}
	}
	return st
}

// printAll writes one line about all who play: one value where they say the same, both of
// two, and the least and the most of more.
func printAll(w io.Writer, list []status) {
	joining, choosing, paused, silent, gone, through := true, false, false, 0, 0, 0
	for i := range list {
		choosing = choosing || list[i].Phase == page.PhaseChoosing
		paused = paused || list[i].Paused
		joining = joining && list[i].Phase == session.Joining.String()
		silent, gone, through = max(silent, list[i].Silent), max(gone, list[i].Gone), max(through, list[i].Through)
	}
	if joining {
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
	if paused {
		fmt.Fprint(w, " | paused")
	}
	if silent > 0 {
		fmt.Fprintf(w, " | %d not heard", silent)
	}
	if through > 0 {
		fmt.Fprintf(w, " | %d through a third", through)
	}
	if gone > 0 {
		fmt.Fprintf(w, " | %d gone", gone)
	}
	fmt.Fprintln(w)
}
