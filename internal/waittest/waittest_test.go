package waittest

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/loopback"
)

// counting is a transport over a network whose clock goes on as it is asked for messages.
type counting struct {
	transport.Transport
	net *loopback.Network
}

func (c *counting) Counts() int { return 7 }

func (c *counting) Receive() (transport.Message, bool) {
	c.net.Advance(time.Millisecond)
	return c.Transport.Receive()
}

// failing is a test that ends when it fails, and says how.
type failing struct {
	testing.TB
	said string
}

func (f *failing) Helper()                      {}
func (f *failing) Errorf(s string, args ...any) { f.said += fmt.Sprintf(s, args...) }
func (f *failing) FailNow()                     { panic(f) }

// saysOf returns what a test says that fails.
func saysOf(t *testing.T, test func(t testing.TB)) string {
	f := &failing{TB: t}
	require.PanicsWithValue(t, f, func() { test(f) })
	return f.said
}

func TestAMessageOfTheKindIsWaitedFor(t *testing.T) {
	net := loopback.New(1)
	a, b := &counting{net.Open(0), net}, net.Open(1)
	net.Advance(time.Millisecond) // in which the link comes up
	require.NoError(t, b.SendReliable(0, []byte("hello")))
	m := Message(t, a, transport.Reliable)
	require.Equal(t, "hello", string(m.Data), "what came before it is dropped")
	said := saysOf(t, func(t testing.TB) { message(t, a, transport.Datagram, 5*time.Millisecond) })
	require.Contains(t, said, "nothing of the kind came")
	require.Contains(t, said, "its counts: 7")
}

func TestAConditionIsWaitedFor(t *testing.T) {
	looks := 0
	Until(t, "the third look", func() bool { looks++; return looks == 3 })
	require.Equal(t, 3, looks)
	said := saysOf(t, func(t testing.TB) { until(t, "the sky to fall", func() bool { return false }, 5*time.Millisecond) })
	require.Contains(t, said, "5ms for the sky to fall")
}
