package layout

import "unsafe"

// copyColumn copies n bytes times over, stepping through both slices. The
// lengths that pieces cuts runs into each have a loop in which the copy is one
// load and one store.
func copyColumn(to, from []byte, toStep, fromStep, n, times int) {
	switch n {
	case 1:
		copyWords[[1]byte](to, from, toStep, fromStep, times)
	case 2:
		copyWords[[2]byte](to, from, toStep, fromStep, times)
	case 4:
		copyWords[[4]byte](to, from, toStep, fromStep, times)
	case 8:
		copyWords[[8]byte](to, from, toStep, fromStep, times)
	case 16:
		copyWords[[16]byte](to, from, toStep, fromStep, times)
	default:
		for i := range times {
			copy(to[i*toStep:][:n], from[i*fromStep:])
		}
	}
}

// copyWords checks its bounds once, before the loop: checking in it takes three
// times as long. An array of bytes, unlike a number, may lie at any address on
// any architecture.
func copyWords[W [1]byte | [2]byte | [4]byte | [8]byte | [16]byte](to, from []byte, toStep, fromStep, times int) {
	var w W
	to = to[:(times-1)*toStep+len(w)]
	from = from[:(times-1)*fromStep+len(w)]
	t, f := unsafe.Pointer(unsafe.SliceData(to)), unsafe.Pointer(unsafe.SliceData(from))
	toAt, fromAt := 0, 0
	for range times {
		*(*W)(unsafe.Add(t, toAt)) = *(*W)(unsafe.Add(f, fromAt))
		toAt, fromAt = toAt+toStep, fromAt+fromStep
	}
}
