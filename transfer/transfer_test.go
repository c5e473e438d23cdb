package transfer_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/driftback/driftback/transfer"
	"github.com/driftback/driftback/wire"
)

func TestAStateAndALogArrive(t *testing.T) {
	for _, size := range []struct{ state, log, chunk int }{
		{1, 0, 1}, {1, 1, 1}, {100, 50, 7}, {64 << 10, 0, 16 << 10}, {64<<10 + 1, 3, 32 << 10}, {200_000, 100_000, 1000},
	} {
		t.Run(fmt.Sprintf("%+v", size), func(t *testing.T) {
			p := newPair(t, size.state, size.log, size.chunk)
			require.NoError(t, p.run(transfer.Unlimited, 1000))
			require.NoError(t, p.check())
			blob, _ := p.receiver.Blob()
			state, err := io.ReadAll(blob.State())
			require.NoError(t, err)
			require.True(t, bytes.Equal(p.blob[:size.state], state))
			log, err := io.ReadAll(blob.Log())
			require.NoError(t, err)
			require.True(t, bytes.Equal(p.blob[size.state:], log))
			require.Equal(t, len(p.blob), p.sender.Acked())
			_, err = blob.ReadAt(make([]byte, 1), int64(len(p.blob)))
			require.ErrorIs(t, err, io.EOF)
			_, err = blob.ReadAt(make([]byte, 1), -1)
			require.EqualError(t, err, "transfer: the blob begins at byte 0, and was read at -1")
		})
	}
}

// play is a transfer with whatever a channel and a source may do to it.
type play struct {
	state, log, chunk int
	window, slice     int
	rate, room        int
	ops               []int // what happens at a tick: 0 down, 1 nothing is delivered, else so many messages are
	hesitates         bool
}

var plays = rapid.Custom(func(t *rapid.T) play {
	p := play{
		state: rapid.IntRange(1, 3000).Draw(t, "state"), log: rapid.IntRange(0, 500).Draw(t, "log"),
		chunk: rapid.IntRange(1, 300).Draw(t, "chunk"),
		rate:  rapid.SampledFrom([]int{transfer.Unlimited, 5000, 50_000, math.MaxInt}).Draw(t, "rate"), room: rapid.IntRange(1, 8).Draw(t, "room"),
		hesitates: rapid.Bool().Draw(t, "hesitates"),
	}
	p.window = p.chunk + rapid.IntRange(0, 2000).Draw(t, "window")
	p.slice = p.chunk + rapid.IntRange(0, 1000).Draw(t, "slice")
	p.ops = rapid.SliceOfN(rapid.IntRange(0, 9), 0, 120).Draw(t, "ops")
	return p
})

// run plays it with what is planted, and returns what is wrong.
func (c play) run(t testing.TB, plant func(p *pair)) (*pair, error) {
	p := newPair(t, c.state, c.log, c.chunk, func(s *transfer.SenderConfig, _ *transfer.ReceiverConfig) {
		s.Window, s.Slice = c.window, c.slice
	})
	p.room = c.room
	if c.hesitates {
		calls := 0
		p.source.hesitates = func() int {
			calls++
			return []int{1000, 0, 13, 1000, 1}[calls%5]
		}
	}
	if plant != nil {
		plant(p)
	}
	for _, op := range c.ops {
		if op == 0 {
			p.down()
			p.poll(c.rate) // with nowhere to send
			p.up()
		}
		p.poll(c.rate)
		if op > 1 {
			p.deliver(op - 1)
		}
		if p.most > c.slice {
			return p, fmt.Errorf("one Poll asked the source for %d bytes, and a slice has %d", p.most, c.slice)
		}
		if in := p.source.reached - p.sender.Acked(); in > c.window+c.chunk && p.downs == 0 {
			return p, fmt.Errorf("%d bytes are on their way, and the window has %d", in, c.window)
		}
		if blob, ok := p.receiver.Blob(); ok && blob.Size() != c.state+c.log {
			return p, fmt.Errorf("a blob of %d bytes was given away, of %d", blob.Size(), c.state+c.log)
		}
	}
	if err := p.run(c.rate, 20_000); err != nil {
		return p, err
	}
	return p, p.check()
}

func TestABlobArrivesWhenTheChannelGoesDownAnywhere(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		if _, err := plays.Draw(rt, "play").run(t, nil); err != nil {
			rt.Fatal(err)
		}
	})
}

// The control of the property above: its channels do go down in the middle, and are full.
func TestTheTransfersComparedHoldWhatTheyAreFor(t *testing.T) {
	var downs, resumed, refused, again int
	for seed := range 200 {
		p, err := plays.Example(seed).run(t, nil)
		require.NoError(t, err)
		downs += p.downs
		resumed += p.resumed
		refused += p.refused
		again += p.source.again
	}
	require.Greater(t, downs, 50)
	require.Greater(t, resumed, 20, "a part had arrived, and the rest followed")
	require.Greater(t, refused, 100)
	require.Positive(t, again)
	t.Logf("%d downs, %d in the middle, %d messages refused, %d bytes made again", downs, resumed, refused, again)
}

func TestTheComparisonOfTransfersNoticesEveryPlantedFault(t *testing.T) {
	for name, plant := range map[string]func(p *pair){
		"a bit is flipped on the way":       func(p *pair) { p.spoil = func(b []byte) { b[len(b)-1] ^= 1 } },
		"a chunk goes to the wrong blob":    func(p *pair) { p.spoil = func(b []byte) { b[1] ^= 1 } },
		"a source that says something else": func(p *pair) { p.blob = append([]byte(nil), p.blob...); p.blob[0]++ },
		"a source that fails":               func(p *pair) { p.source.err = errors.New("no more") },
		"a receiver that gives up":          func(p *pair) { p.receiver.Stop() },
	} {
		t.Run(name, func(t *testing.T) {
			c := plays.Example(3)
			_, err := c.run(t, nil)
			require.NoError(t, err)
			_, err = c.run(t, plant)
			require.Error(t, err)
		})
	}
}

// Down after every number of messages: none of them is a bad one.
func TestDownAfterEveryMessage(t *testing.T) {
	for stop := range 40 {
		for sends := range 3 {
			p := newPair(t, 900, 100, 100)
			p.room = 4
			for range stop {
				if p.sender.Phase().Over() && p.receiver.Phase().Over() {
					break
				}
				p.poll(transfer.Unlimited)
				p.deliver(1)
			}
			for range sends {
				p.poll(transfer.Unlimited) // more is on its way, and is lost
			}
			p.down()
			had := p.receiver.Have()
			p.up()
			p.source.again = 0
			require.NoError(t, p.run(transfer.Unlimited, 200))
			require.NoError(t, p.check())
			require.LessOrEqual(t, p.source.again, 1000-had, "what had arrived is not made again")
		}
	}
}

func TestASenderIsNoFasterThanItIsTold(t *testing.T) {
	for _, rate := range []int{0, 30, 1000, 6000, 1 << 20, math.MaxInt} {
		t.Run(fmt.Sprint(rate, " bytes per second"), func(t *testing.T) {
			const slice, seconds = 500, 3
			p := newPair(t, 1<<20, 0, 100, func(s *transfer.SenderConfig, _ *transfer.ReceiverConfig) { s.Slice = slice })
			for range 60 * seconds {
				p.poll(rate)
				p.deliver(p.room)
				require.LessOrEqual(t, p.most, slice)
				require.LessOrEqual(t, float64(p.source.reached), float64(rate)*p.now.Seconds()+slice)
			}
			if fastest := 60 * seconds * slice; rate < fastest/seconds {
				require.Greater(t, float64(p.source.reached), 0.97*float64(rate*seconds)-101, "and no slower")
			} else {
				require.Greater(t, p.source.reached, fastest*9/10)
			}
		})
	}
	t.Run("what is not used is not saved up", func(t *testing.T) {
		p := newPair(t, 1<<20, 0, 100, func(s *transfer.SenderConfig, _ *transfer.ReceiverConfig) { s.Slice = 500 })
		for range 3 {
			p.poll(6000)
			p.deliver(p.room)
		}
		sent := p.source.reached
		p.now += time.Hour
		p.poll(6000)
		require.Equal(t, sent+500, p.source.reached)
		p.now -= 2 * time.Hour // a clock that goes back fills nothing
		p.deliver(p.room)
		p.poll(6000)
		require.Equal(t, sent+500, p.source.reached)
		p.poll(0)
		p.poll(1)
		require.Equal(t, sent+500, p.source.reached)
	})
}

func TestTheWindowHoldsASenderBack(t *testing.T) {
	p := newPair(t, 10_000, 0, 100, func(s *transfer.SenderConfig, _ *transfer.ReceiverConfig) { s.Window = 1000 })
	p.room = 1000
	p.poll(transfer.Unlimited)
	p.deliver(1)
	p.poll(transfer.Unlimited)
	p.deliver(1)
	for range 10 {
		p.sender.Poll(p.now, transfer.Unlimited, p.send(&p.forth))
	}
	require.Equal(t, 1000, p.source.reached)
	p.deliver(3)
	p.poll(transfer.Unlimited)
	p.deliver(1)
	p.poll(transfer.Unlimited)
	require.Equal(t, 1300, p.source.reached, "three chunks were acknowledged")
	require.NoError(t, p.run(transfer.Unlimited, 500))
	require.NoError(t, p.check())
}

// A state as large as there can be is handed over; what it costs is the blob once, and
// no call is long.
func TestSixtyFourMebibytesArriveForTheirSizeAndAConstant(t *testing.T) {
	if testing.Short() {
		t.Skip("it hands over 80 MiB")
	}
	const chunk = 32 << 10
	blob := make([]byte, wire.MaxTransferState+wire.MaxTransferLog)
	for i := 0; i < len(blob); i += 997 {
		blob[i] = byte(i >> 10)
	}
	sender, err := transfer.NewSender(transfer.SenderConfig{
		Offer:  wire.TransferOffer{ID: 1, State: wire.MaxTransferState, Log: wire.MaxTransferLog, Chunk: chunk},
		Source: transfer.Bytes(blob), Window: 512 << 10, Slice: 256 << 10,
	})
	require.NoError(t, err)
	receiver, err := transfer.NewReceiver(transfer.ReceiverConfig{})
	require.NoError(t, err)
	sender.Up()
	receiver.Up()
	var queue [16][]byte // of the channel, warm from the start
	for i := range queue {
		queue[i] = make([]byte, 0, chunk+64)
	}
	queued := 0
	forth := func(c wire.Control) bool {
		if queued == len(queue) {
			return false
		}
		queue[queued], err = wire.AppendControl(queue[queued][:0], c)
		queued++
		return err == nil
	}
	back := func(c wire.Control) bool { return sender.Receive(c) == nil }

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	polls, longest, started := 0, time.Duration(0), time.Now()
	for now := time.Duration(0); !sender.Phase().Over(); now += time.Second / 60 {
		polls++
		call := time.Now()
		sender.Poll(now, transfer.Unlimited, forth)
		longest = max(longest, time.Since(call))
		for i := range queued {
			c, err := wire.ParseControl(queue[i])
			require.NoError(t, err)
			require.NoError(t, receiver.Receive(c))
		}
		queued = 0
		receiver.Poll(back)
		require.Less(t, polls, 1000)
	}
	took := time.Since(started)
	runtime.ReadMemStats(&after)
	require.NoError(t, sender.Err())
	require.Equal(t, transfer.Done, receiver.Phase())
	got, _ := receiver.Blob()
	p := make([]byte, 1<<20)
	for at := 0; at < len(blob); at += len(p) {
		_, err := got.ReadAt(p, int64(at))
		require.NoError(t, err)
		require.True(t, bytes.Equal(blob[at:at+len(p)], p))
	}
	allocated := after.TotalAlloc - before.TotalAlloc
	t.Logf("%d bytes in %d polls and %v; both sides allocated %d more than that; the longest poll took %v",
		len(blob), polls, took.Round(time.Millisecond), allocated-uint64(len(blob)), longest)
	require.GreaterOrEqual(t, allocated, uint64(len(blob)))
	require.Less(t, allocated, uint64(len(blob)+2<<20))
	require.GreaterOrEqual(t, polls, len(blob)/(256<<10))
}
