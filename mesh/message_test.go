package mesh

import (
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/wire"
)

// heard returns what the last Poll of a seat was told, as text.
func (s *seat) heard() (said []string) {
	for _, m := range s.mesh.Messages() {
		said = append(said, fmt.Sprintf("%d: %s", m.From, m.Data))
	}
	return said
}

func TestWhatIsSentToAndByOneWhoWasJustLetInArrives(t *testing.T) {
	tb := gone(t, 4, nil)
	tb.slowly()
	tb.back(3)
	j := tb.players[3]
	a, late := tb.players[0], tb.players[1]
	tb.until("that is decided", func() bool { return a.mesh.View() == 2 })
	for _, p := range []*player{a, tb.players[2]} { // one hears of it later
		p.apart = map[driftback.Peer]bool{1: true}
		late.later = slices.DeleteFunc(late.later, func(l later) bool { return l.msg.From == p.self })
	}
	tb.until("it knows that it is let in", func() bool { return j.mesh != nil })
	require.Equal(t, 1, late.mesh.View())
	sent, arrived, refused := map[string]bool{}, map[string]int{}, 0
	for turn := range 100 {
		if turn == 10 {
			a.apart, tb.players[2].apart = nil, nil
		}
		for _, p := range tb.players {
			for _, q := range tb.players {
				name := fmt.Sprintf("%d to %d", p.self, q.self)
				if sent[name] || p == q || p != j && q != j {
					continue
				}
				err := p.mesh.Send(q.self, []byte(name))
				if sent[name] = err == nil; err != nil {
					require.ErrorIs(t, err, ErrNoLink)
					refused++
				}
			}
		}
		tb.turns(1)
		for _, p := range tb.players {
			for _, m := range p.mesh.Messages() {
				arrived[string(m.Data)]++
			}
		}
	}
	require.Equal(t, map[string]int{"0 to 3": 1, "1 to 3": 1, "2 to 3": 1, "3 to 0": 1, "3 to 1": 1, "3 to 2": 1}, arrived)
	require.Positive(t, refused, "some did not know yet")
}

func TestAMessageIsRefusedByName(t *testing.T) {
	m := playing(t, 2, nil)
	a := m.seats[0].mesh
	require.EqualError(t, a.Send(1, nil), "mesh: a message of 0 bytes to peer 1: from 1 to 1024 are allowed")
	require.EqualError(t, a.Send(1, make([]byte, 1025)), "mesh: a message of 1025 bytes to peer 1: from 1 to 1024 are allowed")
	require.EqualError(t, a.Send(9, []byte("x")), "mesh: a message to peer 9, which this match does not have")
	require.EqualError(t, a.Send(0, []byte("x")), "mesh: a message to peer 0, which this match does not have")
	require.NoError(t, a.Send(1, make([]byte, 1024)))

	for _, c := range []struct {
		says, want error
	}{
		{transport.ErrFull, ErrFull}, {transport.ErrNoLink, ErrNoLink}, {transport.ErrClosed, transport.ErrClosed},
	} {
		m.seats[0].refuses = c.says
		require.ErrorIs(t, a.Send(1, []byte("x")), c.want)
	}
}

func TestMessagesThatNobodyTakesFillNothing(t *testing.T) {
	m := playing(t, 2, nil)
	a, b := m.seats[0], m.seats[1]
	sent := 0
	for range 500 { // b sleeps
		a.mesh.Poll(m.now)
		err := a.mesh.Send(1, []byte{byte(sent)})
		a.mesh.Flush()
		m.now += frame
		if sent == MaxUntaken {
			require.ErrorIs(t, err, ErrFull)
			require.EqualError(t, err, "mesh: no more messages to this peer now: peer 1 has not taken 32")
			continue
		}
		require.NoError(t, err)
		sent++
	}
	require.Equal(t, MaxUntaken, sent)
	b.turn()
	require.Len(t, b.mesh.Messages(), MaxUntaken)
	for i, m := range b.mesh.Messages() {
		require.Equal(t, []byte{byte(i)}, m.Data, "in order")
	}
	a.turn()
	require.NoError(t, a.mesh.Send(1, []byte("x")), "they have been taken")
	b.turn()
	require.Equal(t, []string{"0: x"}, b.heard())
	b.turn()
	require.Empty(t, b.mesh.Messages(), "once")
}

func TestMessagesAreHeldToARate(t *testing.T) {
	m := playing(t, 2, nil)
	a, b := m.seats[0], m.seats[1]
	size, bytes := 1000, 0
	data := make([]byte, size)
	const seconds = 10
	for until := m.now + seconds*time.Second; m.now < until; {
		for a.mesh.Send(1, data) == nil {
			bytes += size + messageCost
		}
		m.turn()
	}
	require.LessOrEqual(t, bytes, (seconds+1)*MessageRate)
	require.Greater(t, bytes, seconds*MessageRate*9/10, "and no lower")
	require.Zero(t, a.mesh.Refused())
	require.Zero(t, b.mesh.Refused())
	require.LessOrEqual(t, len(b.mesh.letters), MaxUntaken*MaxMessage)
}

func TestAFloodOfMessagesIsDroppedAndCountedAndGrowsNothing(t *testing.T) {
	m := playing(t, 3, nil)
	a, b, c := m.seats[0], m.seats[1], m.seats[2]
	for i := range 200 {
		for range 500 {
			a.give(b, wire.Message{Data: bytes.Repeat([]byte("f"), MaxMessage)})
		}
		require.NoError(t, c.mesh.Send(0, []byte("hello")))
		for _, s := range m.seats {
			s.publish(1)
		}
		m.turn()
		require.EqualValues(t, i, a.mesh.Confirmed(), "inputs come as soon as without it")
		require.Len(t, a.mesh.Messages(), MaxUntaken+1, "and so do another peer's messages")
		require.LessOrEqual(t, cap(a.mesh.letters), 4*MaxUntaken*MaxMessage)
	}
	require.EqualValues(t, 200*(500-MaxUntaken), a.mesh.Refused()[Flood])
	require.Equal(t, Playing, a.mesh.Phase())
}

func TestAMessageBeforeAHelloOrWithAFalseCountIsDroppedAndCounted(t *testing.T) {
	m := newMatch(t, 2, nil)
	a, b := m.seats[0], m.seats[1]
	a.up(b)
	a.give(b, wire.Message{Data: []byte("early")})
	a.turn()
	require.Empty(t, a.mesh.Messages())
	require.EqualValues(t, 1, a.mesh.Refused()[Early])

	m = playing(t, 2, nil)
	a, b = m.seats[0], m.seats[1]
	require.NoError(t, a.mesh.Send(1, []byte("one")))
	for _, taken := range []uint64{2, wire.MaxTaken} {
		a.give(b, wire.Message{Taken: taken, Data: []byte("x")})
	}
	a.give(b, wire.Message{Taken: 1, Data: []byte("y")})
	a.give(b, wire.Message{Taken: 0, Data: []byte("z")})
	a.turn()
	require.Equal(t, []string{"1: y"}, a.heard())
	require.EqualValues(t, 3, a.mesh.Refused()[BadAck])
}

func TestMessagesChangeNothingAboutTheMatch(t *testing.T) {
	play := func(talk bool) (packets []string) {
		m := playing(t, 2, nil)
		for i := range 100 {
			for _, s := range m.seats {
				s.publish(1)
				if talk && i%3 == 0 {
					require.NoError(t, s.mesh.Send(1-s.self, []byte("blah")))
				}
			}
			m.turn()
			for _, s := range m.seats {
				for _, p := range s.packets() {
					packets = append(packets, fmt.Sprint(*p))
				}
			}
		}
		return packets
	}
	require.Equal(t, play(false), play(true))
}

func TestMessagesAllocateNothingUntilThereAreSome(t *testing.T) {
	m := playing(t, 2, nil)
	m.turns(5)
	require.Nil(t, m.seats[0].mesh.letters)
	require.Nil(t, m.seats[0].mesh.messages)
}
