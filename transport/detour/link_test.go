package detour_test

import (
	"bytes"
	"crypto/ecdh"
	"encoding/hex"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/transport"
	"github.com/driftback/driftback/transport/detour"
)

var update = flag.Bool("update", false, "write the link anew")

const (
	linkFile = "testdata/link.txt"
	linkHead = `# A link through a third, as FORMAT.md has it: peers 0 and 1 have no direct link and peer 2
# reaches both. The label, each peer's pin, the private key that the caller drew, and then each
# message: from which neighbour to which, how it went, its bytes in hexadecimal, and what they mean.
# Written anew by: go test ./transport/detour -run Link -update
`
)

// letter is one message below.
type letter struct {
	from, to int
	as       transport.Kind
	b        []byte
}

// listen has a party keep all that goes between neighbours.
func listen(p *party) *[]letter {
	list := &[]letter{}
	for i := range p.all {
		p.change[i] = func(m *transport.Message) bool {
			if m.Kind == transport.Datagram || m.Kind == transport.Reliable {
				*list = append(*list, letter{int(m.From), i, m.Kind, bytes.Clone(m.Data)})
			}
			return true
		}
	}
	return list
}

// hears returns a reader that knows what the peers of these tests know.
func hears(peers int) *byDocument {
	d := newByDocument("test")
	for i := range peers {
		pin := people()[i].Pin()
		d.pins[i] = pin[:]
		random := rand.NewChaCha8([32]byte{byte(i)})
		for range 3 {
			private := make([]byte, 32)
			_, _ = random.Read(private)
			d.drawn[publicOf(private)] = private
		}
	}
	return d
}

func publicOf(private []byte) string {
	key, err := ecdh.X25519().NewPrivateKey(private)
	if err != nil {
		panic(err)
	}
	return string(key.PublicKey().Bytes())
}

// aLink is everything that can be said over a link: it comes up, both talk, one asks
// for a word, and the direct link takes its place.
func aLink(t *testing.T) []letter {
	p := newParty(t, 3, apart)
	list := listen(p)
	for i := range p.all {
		c := config(driftback.Peer(i))
		c.Patience = 4
		var err error
		p.all[i], err = detour.New(&changing{p.ends[i], p.change[i]}, c)
		require.NoError(t, err)
	}
	p.step(12)
	p.all[0].Send(1, []byte("a datagram"))
	p.all[1].Send(0, []byte("another"))
	require.NoError(t, p.all[0].SendReliable(1, []byte("a message")))
	p.step(3)
	for range 5 {
		p.all[0].Send(1, nil)
		p.step(2)
	}
	require.NoError(t, p.net.BringUp(0, 1))
	p.step(5)
	require.NoError(t, p.all[0].SendReliable(1, []byte("directly")))
	p.all[1].Send(0, []byte("so too"))
	p.step(2)
	return *list
}

func TestALinkIsWhatTestdataHas(t *testing.T) {
	d := hears(3)
	var messages strings.Builder
	for _, l := range aLink(t) {
		text, err := d.read(l.from, l.to, l.as, l.b)
		require.NoError(t, err, "the reader written from FORMAT.md refuses %x from %d to %d", l.b, l.from, l.to)
		fmt.Fprintf(&messages, "\n%d to %d, %v\n", l.from, l.to, l.as)
		for rest := hex.EncodeToString(l.b); rest != ""; rest = rest[min(len(rest), 96):] {
			fmt.Fprintf(&messages, "hex %s\n", rest[:min(len(rest), 96)])
		}
		messages.WriteString(text + "\n")
	}
	var b strings.Builder
	b.WriteString(linkHead + "\nlabel test\n")
	for i := range 3 {
		fmt.Fprintf(&b, "pin %d %x\n", i, d.pins[i])
	}
	fmt.Fprintf(&b, "drawn %x\n%s", d.drawn[string(d.call)], &messages)
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(linkFile, []byte(b.String()), 0o644))
	}
	golden, err := os.ReadFile(linkFile)
	require.NoError(t, err)
	require.Equal(t, string(golden), b.String(), "the format has changed: both ends and whoever is in between need the same one, so raise the version")
	for _, text := range []string{"Reach", "Call", "Answer", "Confirm", "Ready", "Data", "datagram 0", "Taken", "Ask", "Bye 2"} {
		require.Contains(t, b.String(), text, "the control: it was said")
	}
}

// The file alone is enough to read it.
func TestTheLinkInTestdataReadsAsItWasMeant(t *testing.T) {
	golden, err := os.ReadFile(linkFile)
	require.NoError(t, err)
	d := newByDocument("")
	parts := strings.Split(string(golden), "\n\n")
	require.Greater(t, len(parts), 30)
	for _, line := range strings.Split(parts[1], "\n") {
		words := strings.Fields(line)
		last, _ := hex.DecodeString(words[len(words)-1])
		switch words[0] {
		case "label":
			d.label = words[1]
		case "pin":
			d.pins[int(words[1][0]-'0')] = last
		case "drawn":
			d.drawn[publicOf(last)] = last
		}
	}
	for _, part := range parts[2:] {
		l, want := letter{}, ""
		for i, line := range strings.Split(strings.TrimSuffix(part, "\n"), "\n") {
			if i == 0 {
				l.from, l.to, l.as = int(line[0]-'0'), int(line[5]-'0'), transport.Datagram
				if strings.HasSuffix(line, "reliable") {
					l.as = transport.Reliable
				}
			} else if rest, ok := strings.CutPrefix(line, "hex "); ok {
				b, err := hex.DecodeString(rest)
				require.NoError(t, err)
				l.b = append(l.b, b...)
			} else {
				want = line
			}
		}
		text, err := d.read(l.from, l.to, l.as, l.b)
		require.NoError(t, err)
		require.Equal(t, want, text)
	}
}

// What is too long to be kept in a file reads as it was meant too, of both ways.
func TestLongMessagesReadAsTheyWereMeant(t *testing.T) {
	for name, apart := range map[string][][2]driftback.Peer{"directly": nil, "by detour": {apart}} {
		t.Run(name, func(t *testing.T) {
			p := newParty(t, 3, apart...)
			list := listen(p)
			p.step(30)
			most := transport.MaxReliable - 24 // of what goes in one by a detour
			for _, size := range []int{0, most, most + 1, transport.MaxReliable - 1, transport.MaxReliable} {
				require.NoError(t, p.all[0].SendReliable(1, make([]byte, size)))
				p.step(3)
			}
			d, halves, rests := hears(3), 0, 0
			for _, l := range *list {
				text, err := d.read(l.from, l.to, l.as, l.b)
				require.NoError(t, err)
				if strings.HasSuffix(text, "Half") {
					halves++
				}
				if strings.Contains(text, "the rest") {
					rests++
				}
			}
			want := 1
			if apart != nil {
				want = 3
			}
			require.Equal(t, want, halves)
			require.Equal(t, want, rests)
		})
	}
}
