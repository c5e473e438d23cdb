package inputlog

import "github.com/driftback/driftback"

// Suggest makes in the guess of participant p's input for tick t, which no step has used yet:
// for whoever knows what was meant, while others decide what counts. It is a guess like any
// other, wrong where something else is confirmed. Of a tick that is confirmed, or has
// run on a guess already, or is outside the window, it changes nothing.
func (l *Log[I]) Suggest(p driftback.Participant, t driftback.Tick, in I) {
	if int(p) >= l.n || t < l.oldest || t >= l.end {
		return
	}
	row, bit := int(t)&l.mask, uint16(1)<<p
	if m := &l.marks[row]; (m.held|m.guessed)&bit == 0 {
		m.suggested |= bit
		l.rows[row*l.n+int(p)] = in
	}
}
