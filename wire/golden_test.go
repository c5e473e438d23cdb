package wire_test

import (
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/wire"
)

var update = flag.Bool("update", false, "write the golden vectors anew")

// A vector is a message and its bytes. Its text says in the second decoder's words
// what the bytes mean.
type vector struct {
	name   string
	stride int // 0: a control message
	bytes  []byte
	text   string
}

const goldenFile = "testdata/vectors.txt"

const goldenHead = `# Golden vectors of FORMAT.md: a name, the size of an input (0: a control message),
# the bytes in hexadecimal, and what they mean. Written anew by: go test ./wire -update
`

func TestTheGoldenVectorsAreWhatIsAppended(t *testing.T) {
	var b strings.Builder
	b.WriteString(goldenHead)
	for _, v := range builtVectors(t) {
		fmt.Fprintf(&b, "\nvector %s\nstride %d\n", v.name, v.stride)
		for rest := hex.EncodeToString(v.bytes); rest != ""; {
			n := min(len(rest), 96)
			fmt.Fprintf(&b, "hex %s\n", rest[:n])
			rest = rest[n:]
		}
		b.WriteString(v.text)
	}
	if *update {
		require.NoError(t, os.WriteFile(goldenFile, []byte(b.String()), 0o644))
	}
	require.Equal(t, goldenText(t), b.String(), "the format has changed: every peer needs the same one, so raise Version")
}

func TestTheGoldenVectorsReadAsTheyWereMeant(t *testing.T) {
	vectors := readVectors(t)
	require.Greater(t, len(vectors), 20)
	for _, v := range vectors {
		t.Run(v.name, func(t *testing.T) {
			text, err := decodeByDocument(v.bytes, v.stride)
			require.NoError(t, err, "the decoder written from FORMAT.md refuses it")
			require.Equal(t, v.text, text, "the decoder written from FORMAT.md reads something else")
			text, again, err := decodeByPackage(v.bytes, v.stride)
			require.NoError(t, err)
			require.Equal(t, v.text, text)
			require.Equal(t, v.bytes, again)
		})
	}
}

// Every vector is spoilt at every byte in many ways. Both decoders must refuse
// the same ones and read the same out of the rest.
func TestBothDecodersAgreeOnSpoiltVectors(t *testing.T) {
	read, refused := 0, 0
	for _, v := range readVectors(t) {
		if len(v.bytes) > 200 {
			continue
		}
		try := func(b []byte) {
			if agree(t, b, v.stride) {
				read++
			} else {
				refused++
			}
		}
		for i := range v.bytes {
			try(v.bytes[:i])
			spoilt := append([]byte(nil), v.bytes...)
			for bit := range 8 {
				spoilt[i] = v.bytes[i] ^ 1<<bit
				try(spoilt)
			}
			for _, c := range []byte{0, 1, 2, 0x7f, 0x80, 0xff} {
				spoilt[i] = c
				try(spoilt)
			}
			try(append(v.bytes[:i:i], v.bytes[i+1:]...))
			try(append(v.bytes[:i:i], append([]byte{0x80}, v.bytes[i:]...)...))
		}
	}
	require.Greater(t, read, 500)
	require.Greater(t, refused, 1500)
}

// agree fails the test unless both decoders take b alike, and says whether they
// read it. What the package reads it must also write again.
func agree(t *testing.T, b []byte, stride int) bool {
	t.Helper()
	ours, again, err := decodeByPackage(b, stride)
	document, documentErr := decodeByDocument(b, stride)
	// A packet is refused on the control channel and the other way round; the
	// second decoder does not ask which channel it reads.
	if isPacket := len(b) > 0 && b[0] >= 0x80; isPacket != (stride > 0) {
		require.Error(t, err)
		return false
	}
	require.Equal(t, documentErr == nil, err == nil, "%x: the document says %v, the package %v", b, documentErr, err)
	if err != nil {
		var theirs otherVersion
		var version *wire.VersionError
		if errors.As(documentErr, &theirs) {
			require.ErrorAs(t, err, &version)
			require.EqualValues(t, theirs.theirs, version.Theirs)
		} else {
			require.ErrorIs(t, err, wire.ErrMalformed)
		}
		return false
	}
	require.Equal(t, document, ours, "%x", b)
	require.Equal(t, b, again, "%x is read but written differently", b)
	return true
}

// decodeByPackage reads b, describes it in the second decoder's words, and
// appends it again.
func decodeByPackage(b []byte, stride int) (text string, again []byte, err error) {
	if stride > 0 {
		var p wire.Packet
		if err := p.Parse(b, stride); err != nil {
			return "", nil, err
		}
		again, err = p.Append(nil, stride)
		return describePacket(&p, stride), again, err
	}
	c, err := wire.ParseControl(b)
	if err != nil {
		return "", nil, err
	}
	again, err = wire.AppendControl(nil, c)
	return describeControl(c), again, err
}

func describePacket(p *wire.Packet, stride int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "packet tag %#04x seq %d\n", p.Tag, p.Seq)
	if p.Echo.Set {
		fmt.Fprintf(&b, "echo of %d held %d µs lead %d/64 load %d/64\n", p.Echo.Seq, p.Echo.HeldMicros, p.Echo.Lead, p.Echo.Load)
	}
	for _, r := range p.Runs {
		fmt.Fprintf(&b, "run of %d from %d for %d:", r.Participant, r.First, r.Count)
		for i := range r.Count {
			fmt.Fprintf(&b, " %x", r.Inputs[i*stride:(i+1)*stride])
		}
		b.WriteString("\n")
	}
	for i, r := range p.Runs {
		for at, e := range r.Entries {
			if e != 0 {
				fmt.Fprintf(&b, "entry for tick %d of run %d: %v\n", at, i, wire.Entry(e))
			}
		}
	}
	for _, a := range p.Acks {
		fmt.Fprintf(&b, "ack of %d next %d\n", a.Participant, a.Next)
	}
	if len(p.Sums.List) > 0 {
		fmt.Fprintf(&b, "sums from %d:", p.Sums.First)
		for _, s := range p.Sums.List {
			fmt.Fprintf(&b, " %016x", s)
		}
		b.WriteString("\n")
	}
	if p.SumAck.Set {
		fmt.Fprintf(&b, "sum ack next %d\n", p.SumAck.Next)
	}
	return b.String()
}

func describeControl(c wire.Control) string {
	sum := func(has bool, sum uint64) string {
		if !has {
			return "none"
		}
		return fmt.Sprintf("%016x", sum)
	}
	switch c := c.(type) {
	case wire.Hello:
		var b strings.Builder
		fmt.Fprintf(&b, "hello match %016x nonce %016x\n", c.Match, c.Nonce)
		for _, s := range c.Settings {
			fmt.Fprintf(&b, "setting %q is %q\n", s.Name, s.Value)
		}
		describeDelays(&b, c.Delays)
		return b.String()
	case wire.Start:
		return fmt.Sprintf("start digest %016x seed %016x state %s\n", c.Digest, c.Seed, sum(c.HasState, c.State))
	case wire.Finish:
		return fmt.Sprintf("finish at %d sum %s\n", c.At, sum(c.HasSum, c.Sum))
	case wire.Leave:
		return fmt.Sprintf("leave reason %d tick %d text %q\n", c.Reason, c.Tick, c.Text)
	case wire.Disagree:
		return fmt.Sprintf("disagree tick %d sum %016x\n", c.Tick, c.Sum)
	case wire.Evidence:
		return fmt.Sprintf("evidence tick %d data [%x]\n", c.Tick, c.Data)
	case wire.Message:
		return fmt.Sprintf("message taken %d data [%x]\n", c.Taken, c.Data)
	}
	if text := describeView(c); text != "" {
		return text
	}
	switch c.(type) {
	case wire.Watch, wire.Feed, wire.Status:
		return describeFeed(c)
	case wire.Apply, wire.Welcome:
		return describeJoin(c)
	}
	return describeTransfer(c)
}

// goldenText reads the file, whatever line ends it was checked out with.
func goldenText(t *testing.T) string {
	t.Helper()
	golden, err := os.ReadFile(goldenFile)
	require.NoError(t, err)
	return strings.ReplaceAll(string(golden), "\r\n", "\n")
}

func readVectors(t *testing.T) []vector {
	t.Helper()
	body, ok := strings.CutPrefix(goldenText(t), goldenHead)
	require.True(t, ok)
	var vectors []vector
	for line := range strings.Lines(body) {
		word, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		last := len(vectors) - 1
		switch word {
		case "":
		case "vector":
			vectors = append(vectors, vector{name: rest})
		case "stride":
			_, err := fmt.Sscan(rest, &vectors[last].stride)
			require.NoError(t, err)
		case "hex":
			b, err := hex.DecodeString(rest)
			require.NoError(t, err)
			vectors[last].bytes = append(vectors[last].bytes, b...)
		default:
			vectors[last].text += line
		}
	}
	return vectors
}

func builtVectors(t *testing.T) []vector {
	t.Helper()
	var vectors []vector
	for _, m := range packetVectors() {
		b, err := m.packet.Append(nil, m.stride)
		require.NoError(t, err, m.name)
		vectors = append(vectors, vector{m.name, m.stride, b, describePacket(&m.packet, m.stride)})
	}
	for _, m := range controlVectors() {
		b, err := wire.AppendControl(nil, m.control)
		require.NoError(t, err, m.name)
		vectors = append(vectors, vector{m.name, 0, b, describeControl(m.control)})
	}
	return vectors
}
