package main

import (
	"fmt"
	"runtime"
	"slices"
	"sync"

	"github.com/driftback/driftback/simtest"
)

// A match is ten minutes at 60 ticks a second, and a figure is the mean of three, which
// differ in their seed alone.
const (
	minutes = 10
	ticks   = minutes * 60 * 60
	frame   = simtest.Second / 60
	seeds   = 3
)

// row is a number of players on links that are all alike.
type row struct {
	players           int
	loss              float64        // of each direction
	roundTrip, jitter simtest.Micros // of both directions together
	published         int            // bytes per second and player with inputs of 4 bytes
}

// rows are those for which figures have been published.
var rows = []row{
	{2, 0, 10 * simtest.Millisecond, 0, 4_843},
	{2, 0.01, 50 * simtest.Millisecond, 20 * simtest.Millisecond, 5_363},
	{2, 0.05, 100 * simtest.Millisecond, 20 * simtest.Millisecond, 6_001},
	{4, 0.01, 50 * simtest.Millisecond, 20 * simtest.Millisecond, 18_212},
	{4, 0.15, 200 * simtest.Millisecond, 20 * simtest.Millisecond, 7_119},
}

func (r row) String() string {
	link := fmt.Sprintf("%g %%, %d", 100*r.loss, r.roundTrip/simtest.Millisecond)
	if r.jitter > 0 {
		link += fmt.Sprintf(" ± %d", r.jitter/simtest.Millisecond)
	}
	return fmt.Sprintf("%d players, %s ms", r.players, link)
}

// scenario is one match of a row. Each direction has half of the round trip and half of
// its jitter, and the players' frames are spread evenly over the time of one.
func (r row) scenario(w workload, seed uint64) simtest.Scenario {
	s := simtest.Scenario{
		Version: simtest.Version, Seed: seed, Ticks: ticks, Frame: frame, Hold: w.hold(),
	}
	for i := range r.players {
		s.Peers = append(s.Peers, simtest.Peer{
			Plays: []int{i}, Phase: frame * simtest.Micros(i) / simtest.Micros(r.players),
		})
		for j := range r.players {
			if i != j {
				s.Links = append(s.Links, simtest.Link{From: i, To: j, Latency: r.roundTrip / 2, Jitter: r.jitter / 2, Loss: r.loss})
			}
		}
	}
	return s
}

// cell is one row with one size of input and one workload.
type cell struct {
	row      row
	size     int
	workload workload
}

// cells are all that is measured, in the order of the document.
func cells() (all []cell) {
	for _, w := range []workload{held, buttons, random} {
		for _, size := range []int{4, 32} {
			for _, r := range rows {
				all = append(all, cell{r, size, w})
			}
		}
	}
	return all
}

func (c cell) play(seed uint64) (simtest.Report, error) {
	if c.size == 4 {
		return simtest.Play(game[[4]byte](c.workload), c.row.scenario(c.workload, seed))
	}
	return simtest.Play(game[[32]byte](c.workload), c.row.scenario(c.workload, seed))
}

// changes is how often the cell's inputs change, per tick.
func (c cell) changes() float64 {
	if c.size == 4 {
		return changes[[4]byte](c.workload)
	}
	return changes[[32]byte](c.workload)
}

// figures are what a cell's matches come to. Those of a player are means of all.
type figures struct {
	rollbacks float64 // per 100 ticks
	depth     int     // that 99 of 100 rollbacks do not exceed
	stalls    float64 // turns that ran no tick, per minute
	datagrams float64 // per second
	bytes     float64 // per second, to all others together
	perTick   float64 // bytes per link and confirmed tick
	bare      float64 // bytes per second of the inputs that had to be said, and nothing else
}

// measure plays a cell's matches. A rule that does not hold is an error, as in any
// other match.
func (c cell) measure() (f figures, err error) {
	var sum simtest.PeerReport
	var confirmed float64
	for seed := range uint64(seeds) {
		r, err := c.play(seed)
		switch {
		case err != nil:
			return f, fmt.Errorf("%v, seed %d: %w", c.row, seed, err)
		case r.Violation != nil:
			return f, fmt.Errorf("%v, seed %d: %w", c.row, seed, r.Violation)
		}
		for _, p := range r.Peers {
			if sum.Depths == nil {
				sum.Depths = make([]uint64, len(p.Depths))
			}
			for i, n := range p.Depths {
				sum.Depths[i] += n
			}
			sum.Playing += p.Playing
			sum.Ticks += p.Ticks
			sum.Rollbacks += p.Rollbacks
			sum.Stalls += p.Stalls
			sum.Carried += p.Carried
			sum.Sent.Datagrams += p.Sent.Datagrams
			sum.Sent.Bytes += p.Sent.Bytes
			confirmed += float64(p.Confirmed)
		}
	}
	seconds := sum.Playing.Seconds()
	// A datagram has to bring each value that is not known to have come, equal ones in
	// a row once, and of each the bytes that differ from the one before.
	values := float64(sum.Sent.Datagrams) + (float64(sum.Carried)-float64(sum.Sent.Datagrams))*c.changes()
	return figures{
		rollbacks: 100 * float64(sum.Rollbacks) / float64(sum.Ticks),
		depth:     sum.Depth(99),
		stalls:    float64(sum.Stalls) / (seconds / 60),
		datagrams: float64(sum.Sent.Datagrams) / seconds,
		bytes:     float64(sum.Sent.Bytes) / seconds,
		perTick:   float64(sum.Sent.Bytes) / float64(c.row.players-1) / confirmed,
		bare:      values * float64(c.workload.differ(c.size)) / seconds,
	}, nil
}

// measureAll measures cells on all processors; each is the same whoever does it.
func measureAll(all []cell) ([]figures, error) {
	out, errs := make([]figures, len(all)), make([]error, len(all))
	next := make(chan int)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for i := range next {
				out[i], errs[i] = all[i].measure()
			}
		})
	}
	for i := range all {
		next <- i
	}
	close(next)
	workers.Wait()
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		return nil, errs[i]
	}
	return out, nil
}
