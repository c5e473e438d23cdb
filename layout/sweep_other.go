//go:build !amd64

package layout

// Without vectors all is left to sweepWords.
const vectorStride = 128

func sweepVectors(b []byte, _, _ uint64) int { return len(b) }
