package detour

// windowSize is how many of the newest datagrams a window tells apart: more than a burst
// of the 64 that every queue takes can be overtaken by.
const windowSize = 256

// window remembers which of the newest datagrams have come.
type window struct {
	next uint64 // one more than the highest that has come
	seen [windowSize / 64]uint64
}

// fresh says whether datagram n has not come yet and is not too old to tell.
func (w *window) fresh(n uint64) bool {
	if n >= w.next {
		return true
	}
	return w.next-n <= windowSize && w.seen[n/64%uint64(len(w.seen))]&(1<<(n%64)) == 0
}

// note remembers that datagram n, which is fresh, has come.
func (w *window) note(n uint64) {
	if n >= w.next {
		from := w.next
		if n-from >= windowSize {
			from, w.seen = n, [windowSize / 64]uint64{}
		}
		for ; from <= n; from++ {
			w.seen[from/64%uint64(len(w.seen))] &^= 1 << (from % 64)
		}
		w.next = n + 1
	}
	w.seen[n/64%uint64(len(w.seen))] |= 1 << (n % 64)
}
