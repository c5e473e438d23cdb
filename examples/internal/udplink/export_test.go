package udplink

import "time"

// Age makes every client seem to have been silent for d longer.
func (l *Link) Age(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.clients {
		c.heard -= d
	}
}

// Wait returns when the link's goroutines have ended.
func (l *Link) Wait() { l.running.Wait() }
