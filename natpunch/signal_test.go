package natpunch

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/signalling"
)

// forgotten is a signal whose connection a router has forgotten: what is sent first is
// lost, and then it is known that nothing comes any more; after that all is well.
type forgotten struct {
	*signalling.Member
	mu     sync.Mutex
	sent   []time.Time
	broken chan struct{} // holds a token once the first message is lost
}

func (f *forgotten) Send(ctx context.Context, to driftback.Peer, b []byte) error {
	f.mu.Lock()
	f.sent = append(f.sent, time.Now())
	first := len(f.sent) == 1
	f.mu.Unlock()
	if first {
		f.broken <- struct{}{}
		return nil
	}
	return f.Member.Send(ctx, to, b)
}

func (f *forgotten) Receive(ctx context.Context) (driftback.Peer, []byte, error) {
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	var lost bool
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-f.broken:
			lost = true
			cancel()
		case <-inner.Done():
		}
	})
	from, b, err := f.Member.Receive(inner)
	cancel()
	watching.Wait()
	if lost {
		return 0, nil, errors.New("the connection is lost")
	}
	return from, b, err
}

func TestWhatWasSentBeforeTheSignalFailedIsSentAgainAtOnce(t *testing.T) {
	m := newMatch(t, 2)
	c := m.config(0)
	signals := &forgotten{Member: m.room.Join(0), broken: make(chan struct{}, 1)}
	t.Cleanup(signals.Leave)
	c.Signal = signals
	m.open(c)
	sent := func() []time.Time {
		signals.mu.Lock()
		defer signals.mu.Unlock()
		return signals.sent
	}
	until(t, "it to be sent again", func() bool { return len(sent()) > 1 })
	require.Less(t, sent()[1].Sub(sent()[0]), minResend)
	m.meet()
}
