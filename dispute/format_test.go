package dispute_test

import (
	"bytes"
	"encoding/binary"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/dispute"
)

var rewrite = flag.Bool("rewrite", false, "write testdata anew")

// document is what FORMAT.md says that two peers say: it knows both histories, and nothing of this
// package.
type document struct {
	ours, theirs  history
	agreed, found driftback.Tick
	repeats       byte
}

// messages returns what the first peer sends.
func (d document) messages() (list [][]byte) {
	for round, answer := range d.answers() {
		for len(answer) > 0 {
			n := min(len(answer), 1023)
			list = append(list, append([]byte{byte(round)}, answer[:n]...))
			answer = answer[n:]
		}
	}
	return list
}

func (d document) answers() (list [][]byte) {
	// Round 0.
	var ticks []driftback.Tick
	for t := d.agreed + 1; t <= d.found && len(ticks) < 2048; t++ {
		ticks = append(ticks, t)
	}
	ticks[len(ticks)-1] = d.found
	known, sums := make([]byte, (len(ticks)+7)/8), []byte(nil)
	first := d.found
	for i, t := range ticks {
		sum, ok := d.ours.Root(t)
		if ok {
			known[i/8] |= 1 << (i % 8)
		}
		sums = binary.LittleEndian.AppendUint64(sums, sum)
		if other, has := d.theirs.Root(t); ok && has && sum != other && first == d.found {
			first = t
		}
	}
	list = append(list, bytes.Join([][]byte{{d.repeats}, known, sums}, nil))

	// Round 1.
	var lengths []byte
	var a, b []byte
	walked := false
	for _, t := range []driftback.Tick{first, d.found} {
		ours, okOurs := d.ours.State(t)
		theirs, okTheirs := d.theirs.State(t)
		length := uint32(0)
		if okOurs {
			length = uint32(len(ours) + 1)
		}
		lengths = binary.LittleEndian.AppendUint32(lengths, length)
		if okOurs && okTheirs && !walked {
			a, b, walked = ours, theirs, true
		}
		if first == d.found {
			break
		}
	}
	list = append(list, lengths)
	if max(len(a), len(b)) == 0 {
		return list
	}

	// The tree.
	size, height := 64, 0
	for size < max(len(a), len(b)) {
		size, height = size*64, height+1
	}
	parts := []int{0}
	of := func(s []byte, part int) []byte { return s[min(len(s), part*size):min(len(s), (part+1)*size)] }
	for ; height > 0; height-- {
		size /= 64
		most := 16
		if height == 1 {
			most = 64
		}
		var answer []byte
		var differ []int
		for _, p := range parts {
			for child := 64 * p; child < 64*p+64 && child*size < max(len(a), len(b)); child++ {
				ours, theirs := xxh3.Hash(of(a, child)), xxh3.Hash(of(b, child))
				answer = binary.LittleEndian.AppendUint64(answer, ours)
				if ours != theirs && len(differ) < most {
					differ = append(differ, child)
				}
			}
		}
		list, parts = append(list, answer), differ
	}
	var last []byte
	for _, p := range parts {
		last = append(last, of(a, p)...)
	}
	return append(list, last)
}

// said returns what two searches say.
func said(t require.TestingT, ours, theirs document) (messages [2][][]byte) {
	both := [2]*dispute.Search{
		dispute.New(ours.agreed, ours.found, dispute.Repeats(ours.repeats), ours.ours),
		dispute.New(theirs.agreed, theirs.found, dispute.Repeats(theirs.repeats), theirs.ours),
	}
	for !both[0].Done() || !both[1].Done() {
		said := false
		for i, s := range both {
			for b, ok := s.Next(nil); ok; b, ok = s.Next(nil) {
				said = true
				messages[i] = append(messages[i], b)
				require.NoError(t, both[1-i].Take(b))
			}
		}
		require.True(t, said, "neither has anything to say")
	}
	return messages
}

func TestASearchSaysWhatTheFormatSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := part(t)
		repeats := byte(rapid.IntRange(0, 2).Draw(t, "repeats"))
		ours := document{p.both[0], p.both[1], p.agreed, p.found, repeats}
		theirs := document{p.both[1], p.both[0], p.agreed, p.found, 1}
		messages := said(t, ours, theirs)
		require.Equal(t, ours.messages(), messages[0])
		require.Equal(t, theirs.messages(), messages[1])
	})
}

// TestSearchesReadAsTheyDid compares two searches with what they were when they were written
// down; -rewrite writes them anew.
func TestSearchesReadAsTheyDid(t *testing.T) {
	small := [2]history{one(16, 0x1111, []byte("a state of some bytes")), one(16, 0x2222, []byte("a state of more bytes!"))}
	for i, h := range small {
		for at := driftback.Tick(9); at < 16; at++ {
			h.roots[at] = 0xabcd
		}
		h.roots[14] += uint64(i)
		h.states[14] = h.states[16]
	}
	large := [2]history{one(8, 0x1111, make([]byte, 5000)), one(8, 0x2222, make([]byte, 5000))}
	for _, at := range []int{7, 100, 4999} {
		large[1].states[8][at] = 0xff
	}
	for name, h := range map[string][2]history{"small": small, "large": large} {
		t.Run(name, func(t *testing.T) {
			d := document{h[0], h[1], 8, 16, 1}
			if name == "large" {
				d = document{h[0], h[1], 0, 8, 2}
			}
			other := d
			other.ours, other.theirs, other.repeats = d.theirs, d.ours, 1
			var text strings.Builder
			for who, list := range said(t, d, other) {
				for _, b := range list {
					fmt.Fprintf(&text, "%c %d %x\n", 'a'+who, b[0], b[1:])
				}
			}
			file := filepath.Join("testdata", name+".txt")
			if *rewrite {
				require.NoError(t, os.WriteFile(file, []byte(text.String()), 0o644))
			}
			want, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, string(want), text.String())
		})
	}
}
