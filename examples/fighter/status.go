package main

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
)

// status is how one side is doing, once a second.
type status struct {
	Phase      string         `json:"phase"`
	Tick       driftback.Tick `json:"tick"`
	Confirmed  driftback.Tick `json:"confirmed"`
	Hands      string         `json:"hands"`
	RoundTrip  time.Duration  `json:"roundTrip"`
	Loss       float64        `json:"loss"`
	Rollbacks  uint64         `json:"rollbacks"`
	Deepest    int            `json:"deepest"` // since the last status
	Stalls     uint64         `json:"stalls"`
	Health     [2]int         `json:"health"`
	Wins       [2]int         `json:"wins"`
	LinkBroken bool           `json:"linkBroken"`
	Paused     bool           `json:"paused"`
}

func (p *peer) status(r *session.Result) *status {
	s, v := p.match.Stats(), p.match.State().View()
	st := &status{
		Phase: r.Phase.String(), Tick: s.Tick, Confirmed: s.Confirmed, Hands: p.hands.String(),
		Rollbacks: s.Loop.Rollbacks, Deepest: p.deepest, Stalls: s.Stalled,
	}
	if p.choosing != nil && r.Phase != session.Joining {
		st.Phase = phaseChoosing
	}
	st.Paused, _ = p.match.Paused()
	for _, peer := range s.Peers {
		st.RoundTrip, st.Loss = peer.RoundTrip, peer.Loss
		st.LinkBroken = peer.Silence > time.Second
	}
	for side := range v.Fighters {
		st.Health[side], st.Wins[side] = v.Fighters[side].Health, v.Fighters[side].Wins
	}
	return st
}

// print writes the line for one side.
func (s *status) print(w io.Writer) {
	fmt.Fprintf(w, "tick %d, confirmed %d | round trip %v, lost %.0f %% | rollbacks %d, %d deep | stalled %d | health %d:%d, rounds %d:%d%s\n",
		s.Tick, s.Confirmed, s.RoundTrip.Round(time.Millisecond), 100*s.Loss, s.Rollbacks, s.Deepest, s.Stalls,
		s.Health[0], s.Health[1], s.Wins[0], s.Wins[1], s.besides())
}

// besides is what else there is to say.
func (s *status) besides() (text string) {
	if s.Paused {
		text = " | paused"
	}
	if s.LinkBroken {
		text += " | the other side is silent"
	}
	return text
}

// printBoth writes one line for both sides, left before right where they differ.
func printBoth(w io.Writer, s *[2]status) {
	if s[0].Phase == session.Joining.String() && s[1].Phase == session.Joining.String() {
		fmt.Fprintln(w, "the two are joining")
		return
	}
	if s[0].Phase == phaseChoosing || s[1].Phase == phaseChoosing {
		fmt.Fprintln(w, "the two are choosing")
		return
	}
	pair := func(f func(s *status) string) string {
		if a, b := f(&s[0]), f(&s[1]); a != b {
			return a + "/" + b
		}
		return f(&s[0])
	}
	fmt.Fprintf(w, "tick %s | confirmed %s | round trip %s ms | lost %s %% | rollbacks %s, %s deep | stalled %s | health %d:%d, rounds %d:%d%s\n",
		pair(func(s *status) string { return strconv.FormatInt(int64(s.Tick), 10) }),
		pair(func(s *status) string { return strconv.FormatInt(int64(s.Confirmed), 10) }),
		pair(func(s *status) string { return strconv.FormatInt(s.RoundTrip.Milliseconds(), 10) }),
		pair(func(s *status) string { return fmt.Sprintf("%.0f", 100*s.Loss) }),
		pair(func(s *status) string { return strconv.FormatUint(s.Rollbacks, 10) }),
		pair(func(s *status) string { return strconv.Itoa(s.Deepest) }),
		pair(func(s *status) string { return strconv.FormatUint(s.Stalls, 10) }),
		s[0].Health[0], s[0].Health[1], s[0].Wins[0], s[0].Wins[1], s[0].besides())
}
