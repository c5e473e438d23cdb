package udplink

import (
	"container/heap"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestEqualTimesAreSentOnInTheOrderOfOffers(t *testing.T) {
	var w waiting
	for number := range uint64(100) {
		heap.Push(&w, &datagram{at: time.Duration(number % 2), number: number})
	}
	var order []uint64
	for w.Len() > 0 {
		order = append(order, heap.Pop(&w).(*datagram).number)
	}
	var want []uint64
	for _, first := range []uint64{0, 1} {
		for number := first; number < 100; number += 2 {
			want = append(want, number)
		}
	}
	require.Equal(t, want, order)
}
