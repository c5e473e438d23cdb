package transfer_test

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/transfer"
	"github.com/driftback/driftback/wire"
)

// blobOf returns n bytes that say where they are.
func blobOf(n int) []byte {
	b := make([]byte, n)
	r := rand.New(rand.NewPCG(uint64(n), 7))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// pair is a sender and a receiver, and a channel between them that carries bytes in
// order, takes only so many messages at once, and may go down with all that is in it.
type pair struct {
	t        testing.TB
	blob     []byte
	sender   *transfer.Sender
	receiver *transfer.Receiver
	room     int
	now      time.Duration
	forth    [][]byte // to the receiver
	back     [][]byte
	// spoil may change what is on its way to the receiver.
	spoil func(b []byte)
	// What happened, so that tests can tell that something did.
	downs, resumed, refused, chunks, most int
	source                                *countingSource
	errors                                []error
}

// countingSource counts what it is asked for, and gives fewer bytes than it is asked for
// every now and then.
type countingSource struct {
	blob      []byte
	hesitates func() int // 0: gives all
	asked     int        // bytes given since the last Poll
	again     int        // bytes given a second time
	reached   int
	err       error
}

func (s *countingSource) Slice(dst []byte, at int) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	if s.hesitates != nil {
		dst = dst[:min(len(dst), s.hesitates())]
	}
	n := copy(dst, s.blob[at:])
	s.asked += n
	s.again += max(0, min(at+n, s.reached)-at)
	s.reached = max(s.reached, at+n)
	return n, nil
}

// newPair returns a pair whose channel is up.
func newPair(t testing.TB, state, log, chunk int, set ...func(s *transfer.SenderConfig, r *transfer.ReceiverConfig)) *pair {
	t.Helper()
	p := &pair{t: t, blob: blobOf(state + log), room: 64}
	p.source = &countingSource{blob: p.blob}
	sc := transfer.SenderConfig{
		Offer:  wire.TransferOffer{ID: 42, Tick: 3600, Sum: 9, State: state, Log: log, Chunk: chunk},
		Source: p.source,
	}
	var rc transfer.ReceiverConfig
	for _, change := range set {
		change(&sc, &rc)
	}
	var err error
	p.sender, err = transfer.NewSender(sc)
	require.NoError(t, err)
	p.receiver, err = transfer.NewReceiver(rc)
	require.NoError(t, err)
	p.up()
	return p
}

func (p *pair) up() {
	p.sender.Up()
	p.receiver.Up()
}

// down loses whatever is on its way.
func (p *pair) down() {
	p.downs++
	if p.receiver.Have() > 0 && !p.receiver.Phase().Over() {
		p.resumed++
	}
	p.forth, p.back = nil, nil
	p.sender.Down()
	p.receiver.Down()
}

func (p *pair) send(queue *[][]byte) func(wire.Control) bool {
	return func(c wire.Control) bool {
		if len(*queue) >= p.room {
			p.refused++
			return false
		}
		b, err := wire.AppendControl(nil, c)
		require.NoError(p.t, err)
		if _, ok := c.(wire.TransferChunk); ok {
			p.chunks++
			if p.spoil != nil {
				p.spoil(b)
			}
		}
		*queue = append(*queue, b)
		return true
	}
}

// deliver hands over at most n messages each way.
func (p *pair) deliver(n int) {
	take := func(queue *[][]byte, to func(wire.Control) error) {
		for range min(n, len(*queue)) {
			c, err := wire.ParseControl((*queue)[0])
			require.NoError(p.t, err)
			if err := to(c); err != nil {
				p.errors = append(p.errors, err)
			}
			clear((*queue)[0]) // what was borrowed has been copied, or the blob will be wrong
			*queue = (*queue)[1:]
		}
	}
	take(&p.forth, p.receiver.Receive)
	take(&p.back, p.sender.Receive)
}

// poll lets both send. A tick has passed.
func (p *pair) poll(bytesPerSecond int) {
	p.now += time.Second / 60
	p.source.asked = 0
	p.sender.Poll(p.now, bytesPerSecond, p.send(&p.forth))
	p.most = max(p.most, p.source.asked)
	p.receiver.Poll(p.send(&p.back))
}

// run plays ticks until both sides are done or have failed and nothing is on its way.
func (p *pair) run(bytesPerSecond, ticks int) error {
	for range ticks {
		p.poll(bytesPerSecond)
		p.deliver(p.room)
		if p.sender.Phase().Over() && p.receiver.Phase().Over() && len(p.forth)+len(p.back) == 0 {
			return nil
		}
	}
	return fmt.Errorf("after %d ticks the sender is %v with %d bytes acknowledged, and the receiver %v with %d bytes",
		ticks, p.sender.Phase(), p.sender.Acked(), p.receiver.Phase(), p.receiver.Have())
}

// check returns what is wrong with a transfer that is over and ought to have worked.
func (p *pair) check() error {
	if len(p.errors) > 0 {
		return errors.Join(p.errors...)
	}
	if p.sender.Phase() != transfer.Done || p.receiver.Phase() != transfer.Done {
		return fmt.Errorf("the sender is %v (%w) and the receiver %v (%w)", p.sender.Phase(), p.sender.Err(), p.receiver.Phase(), p.receiver.Err())
	}
	blob, ok := p.receiver.Blob()
	if !ok {
		return errors.New("the receiver is done and has no blob")
	}
	got, err := io.ReadAll(io.NewSectionReader(blob, 0, int64(blob.Size())))
	if err != nil {
		return err
	}
	if string(got) != string(p.blob) {
		return fmt.Errorf("%d bytes arrived, and they are not the %d that were sent", len(got), len(p.blob))
	}
	return nil
}
