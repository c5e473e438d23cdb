package loopback

// OnTheirWay returns how many messages of any kind wait for their time, for a
// block to end, or to be received.
func (n *Network) OnTheirWay() int {
	count := len(n.flying)
	for from := range n.lines {
		for _, l := range n.lines[from] {
			if l != nil {
				count += l.held.n
			}
		}
	}
	for _, e := range n.ends {
		if e != nil {
			count += e.inbox.n
		}
	}
	return count
}
