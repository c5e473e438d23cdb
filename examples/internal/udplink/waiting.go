package udplink

import (
	"container/heap"
	"time"
)

// datagram is one copy that waits for its time.
type datagram struct {
	way    direction
	client *client
	at     time.Duration
	number uint64 // in the order of offers, for equal times
	data   []byte
}

// waiting holds datagrams, the next to be sent on first.
type waiting []*datagram

func (w waiting) Len() int { return len(w) }

func (w waiting) Less(i, j int) bool {
	if w[i].at != w[j].at {
		return w[i].at < w[j].at
	}
	return w[i].number < w[j].number
}

func (w waiting) Swap(i, j int) { w[i], w[j] = w[j], w[i] }

// Push is for container/heap.
func (w *waiting) Push(d any) { *w = append(*w, d.(*datagram)) }

// Pop is for container/heap.
func (w *waiting) Pop() any {
	last := len(*w) - 1
	d := (*w)[last]
	(*w)[last] = nil
	*w = (*w)[:last]
	return d
}

// queue puts one copy of b among those that wait. The lock is held.
func (l *Link) queue(d direction, c *client, b []byte, at time.Duration) {
	var copied *datagram
	if last := len(l.spare) - 1; last >= 0 {
		copied, l.spare = l.spare[last], l.spare[:last]
	} else {
		copied = &datagram{}
	}
	copied.way, copied.client, copied.at, copied.number = d, c, at, l.number
	copied.data = append(copied.data[:0], b...)
	l.number++
	heap.Push(&l.waiting, copied)
}

// sendOn sends every datagram on when its time has come.
func (l *Link) sendOn(done <-chan struct{}) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		timer.Reset(l.sendDue())
		select {
		case <-timer.C:
		case <-l.wake:
		case <-done:
			return
		}
	}
}

// sendDue sends on what is due and returns how long the next one has to wait.
func (l *Link) sendDue() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	for range MaxWaiting { // and no longer, so that a flood cannot keep Close waiting
		if len(l.waiting) == 0 {
			return time.Hour
		}
		if wait := l.waiting[0].at - l.now(); wait > 0 {
			return wait
		}
		d := heap.Pop(&l.waiting).(*datagram)
		l.mu.Unlock() // a send may wait for room in the socket
		err := l.send(d)
		l.mu.Lock()
		if err != nil {
			l.ways[d.way].dropped++
		} else {
			l.ways[d.way].passed++
		}
		l.spare = append(l.spare, d)
	}
	return 0
}

func (l *Link) send(d *datagram) (err error) {
	if d.way == toTarget {
		_, err = d.client.back.Write(d.data)
	} else {
		_, err = l.front.WriteToUDPAddrPort(d.data, d.client.addr)
	}
	return err
}
