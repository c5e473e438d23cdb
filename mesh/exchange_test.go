package mesh_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/mesh"
	"github.com/driftback/driftback/transport/loopback"
)

// exchange is a warm match of two over a loopback network.
type exchange struct {
	net    *loopback.Network
	meshes [2]*mesh.Mesh
	input  [2]byte
}

func newExchange(tb testing.TB) *exchange {
	e := &exchange{net: loopback.New(1)}
	require.NoError(tb, e.net.Impair(0, 1, loopback.Impairment{Latency: 40 * time.Millisecond}))
	require.NoError(tb, e.net.Impair(1, 0, loopback.Impairment{Latency: 40 * time.Millisecond}))
	for i := range e.meshes {
		m, err := mesh.New(mesh.Config{
			Transport: e.net.Open(driftback.Peer(i)), Self: driftback.Peer(i), Players: []driftback.Peer{0, 1},
			Stride: 2, Window: 8, Redundancy: 1, FingerprintEvery: 8, History: 4096, Nonce: uint64(i + 1),
			PeerTimeout: time.Second, JoinTimeout: time.Second,
		})
		require.NoError(tb, err)
		e.meshes[i] = m
	}
	for range 1000 {
		require.NoError(tb, e.tick())
	}
	return e
}

// tick lets a sixtieth of a second pass and gives both peers a turn.
func (e *exchange) tick() error {
	e.net.Advance(time.Second / 60)
	for i, m := range e.meshes {
		m.Poll(e.net.Now())
		if m.Phase() == mesh.Agreeing {
			_ = m.Begin(1, true) // once it has begun it says so again and nothing happens
		}
		if p := driftback.Participant(i); m.Phase() == mesh.Playing && m.Held(p) < m.Confirmed()+8 {
			if m.Held(p)%4 == 0 {
				e.input[0]++
			}
			if err := m.Publish(p, m.Held(p), e.input[:]); err != nil {
				return err
			}
		}
		for t, ok := m.Due(); ok && t <= m.Confirmed() && m.Phase() == mesh.Playing; t, ok = m.Due() {
			if err := m.Fingerprint(t, uint64(t)); err != nil {
				return err
			}
		}
		m.Flush()
		if m.Err() != nil {
			return m.Err()
		}
	}
	return nil
}

func TestAWarmExchangeAllocatesNothing(t *testing.T) {
	e := newExchange(t)
	before := e.meshes[0].Confirmed()
	var err error
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		if err == nil {
			err = e.tick()
		}
	}))
	require.NoError(t, err)
	require.Greater(t, e.meshes[0].Confirmed(), before+900, "the control: ticks were played")
	require.Greater(t, e.meshes[0].Agreed(), before)
	stats, ok := e.meshes[0].Link(1)
	require.True(t, ok)
	require.InDelta(t, 80*time.Millisecond, stats.RoundTrip, float64(34*time.Millisecond))
	require.Zero(t, stats.Lost)
	require.Less(t, float64(stats.BytesSent)/float64(stats.PacketsSent), 24.0)
}

// BenchmarkExchange is one tick of two peers 40 ms apart: each polls, publishes,
// acknowledges and sends.
func BenchmarkExchange(b *testing.B) {
	e := newExchange(b)
	b.ReportAllocs()
	start, _ := e.meshes[0].Link(1)
	for b.Loop() {
		if err := e.tick(); err != nil {
			b.Fatal(err)
		}
	}
	end, _ := e.meshes[0].Link(1)
	b.ReportMetric(float64(end.BytesSent-start.BytesSent)/float64(end.PacketsSent-start.PacketsSent), "B/packet")
}

func TestAPeerHearsHowTheOtherKeepsUp(t *testing.T) {
	e := newExchange(t)
	said, ok := e.meshes[1].Pace(0)
	require.True(t, ok)
	require.Zero(t, said.Lead)
	_, ok = e.meshes[1].Pace(2)
	require.False(t, ok, "nobody")
	e.meshes[0].Report(-3.25, 1.5)
	for range 30 {
		require.NoError(t, e.tick())
	}
	said, ok = e.meshes[1].Pace(0)
	require.True(t, ok)
	require.InDelta(t, -3.25, said.Lead, 0)
	require.InDelta(t, 1.5, said.Load, 0)
	require.LessOrEqual(t, said.Age, 150*time.Millisecond)
	require.NoError(t, e.net.Impair(0, 1, loopback.Impairment{Blocked: true}))
	for range 30 {
		require.NoError(t, e.tick())
	}
	said, _ = e.meshes[1].Pace(0)
	require.InDelta(t, -3.25, said.Lead, 0)
	require.Greater(t, said.Age, 400*time.Millisecond)
}
