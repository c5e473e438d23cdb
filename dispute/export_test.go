package dispute

// Expects returns the number of the round and how long the next message has to be: 0 if none is to
// come. Only who lies well needs to know.
func (s *Search) Expects() (round byte, size int) {
	left := s.want - len(s.heard)
	if s.err != nil || left == 0 {
		return s.number, 0
	}
	return s.number, 1 + pieceSize(left)
}

// Held returns how many bytes a search holds, its finding included.
func (s *Search) Held() int {
	const pair, span = 40, 56
	return cap(s.answer) + cap(s.heard) + 8*cap(s.walk.parts) + pair*cap(s.finding.Roots) + span*cap(s.finding.Ranges)
}
