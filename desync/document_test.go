package desync_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zeebo/xxh3"
	"pgregory.net/rapid"

	"github.com/driftback/driftback/desync"
)

// document reads a file as FORMAT.md says, and knows nothing of package desync. It panics at what is
// not a file; it need not say why.
type document struct {
	b   []byte
	out strings.Builder
}

func (d *document) take(n int) (b []byte) {
	b, d.b = d.b[:n], d.b[n:]
	return b
}

func (d *document) u8() int     { return int(d.take(1)[0]) }
func (d *document) u64() uint64 { return binary.LittleEndian.Uint64(d.take(8)) }

func (d *document) number() (v int64) {
	for shift := 0; ; shift += 7 {
		b := d.u8()
		v |= int64(b&0x7f) << shift
		if b < 0x80 {
			return v
		}
	}
}

func (d *document) text() string { return string(d.take(int(d.number()))) }

func (d *document) say(format string, args ...any) { fmt.Fprintf(&d.out, format+"\n", args...) }

func (d *document) differences(name string) {
	for range d.number() {
		d.say("%s %q %q %q", name, d.text(), d.text(), d.text())
	}
}

func byDocument(b []byte) string {
	if xxh3.Hash(b[:len(b)-8]) != binary.LittleEndian.Uint64(b[len(b)-8:]) {
		panic("the sum is wrong")
	}
	d := &document{b: b[:len(b)-8]}
	d.say("%s %d", d.take(16), d.u8())
	if d.u64() != uint64(len(b)) {
		panic("the length is wrong")
	}
	d.say("who %q %q %q", d.text(), d.text(), d.text())
	for range d.number() {
		d.say("setting %q %q", d.text(), d.text())
	}
	d.say("match %x %x self %d peer %d", d.u64(), d.u64(), d.number(), d.number())
	players := d.number()
	for range players {
		d.say("player %d", d.number())
	}
	flags := d.u8()
	agreed, found, tick := d.number(), d.number(), d.number()
	d.say("exact %t compared %t more %t agreed %d found %d tick %d", flags&1 > 0, flags&2 > 0, flags&4 > 0, agreed, found, tick)
	d.say("ours %x theirs %x repeats %d %d", d.u64(), d.u64(), d.u8(), d.u8())
	for range d.number() {
		known, at := d.u8(), d.number()
		d.say("root %d", agreed+at)
		for range []int{0, 1, 1, 2}[known] {
			d.say(" %x", d.u64())
		}
	}
	d.differences("unrepeated")
	d.say("at %d sizes %d %d", d.number(), d.number(), d.number())
	d.differences("field")
	size := int(d.number())
	d.say("input %d %x state %x", size, d.u64(), d.u64())
	if n := d.number(); n > 0 {
		first := d.number()
		for i := range int(n) {
			d.say("tick %d paused %d speed %d", first+int64(i), d.u8(), d.u8())
			for range players {
				d.say(" %x %d %d", d.take(size), d.u8(), d.u8())
			}
		}
	}
	has := d.u8()
	d.say("start %d end %d", d.number(), d.number())
	for flag := 1; flag <= 2; flag++ {
		if has&flag > 0 {
			d.say("state %x", d.take(int(d.number())))
		}
	}
	if len(d.b) > 0 {
		panic("something follows the end")
	}
	return d.out.String()
}

// asDocument is what byDocument has to say of a report.
func asDocument(r *desync.Report) string {
	d := &document{}
	d.say("driftback desync 1")
	d.say("who %q %q %q", r.Game, r.Build, r.Platform)
	for _, s := range r.Settings {
		d.say("setting %q %q", s.Name, s.Value)
	}
	d.say("match %x %x self %d peer %d", r.Match, r.Seed, r.Self, r.Peer)
	for _, p := range r.Players {
		d.say("player %d", p)
	}
	d.say("exact %t compared %t more %t agreed %d found %d tick %d", r.Exact, r.Compared, r.MoreFields, r.Agreed, r.Found, r.Tick)
	d.say("ours %x theirs %x repeats %d %d", uint64(r.Ours), uint64(r.Theirs), uint8(r.Repeats[0]), uint8(r.Repeats[1]))
	for _, p := range r.Roots {
		d.say("root %d", p.Tick)
		if p.OursKnown {
			d.say(" %x", p.Ours)
		}
		if p.TheirsKnown {
			d.say(" %x", p.Theirs)
		}
	}
	for _, f := range r.Unrepeated {
		d.say("unrepeated %q %q %q", f.Path, f.A, f.B)
	}
	d.say("at %d sizes %d %d", r.At, r.OursSize, r.TheirsSize)
	for _, f := range r.Fields {
		d.say("field %q %q %q", f.Path, f.A, f.B)
	}
	d.say("input %d %x state %x", r.InputSize, r.InputLayout, r.StateLayout)
	for _, in := range r.Inputs {
		paused := 0
		if in.Paused {
			paused = 1
		}
		d.say("tick %d paused %d speed %d", in.Tick, paused, in.Speed)
		for _, g := range in.Given {
			d.say(" %x %d %d", g.Input, uint8(g.Entry), uint8(g.Status))
		}
	}
	d.say("start %d end %d", r.Start, r.End)
	for _, state := range [][]byte{r.Before, r.After} {
		if state != nil {
			d.say("state %x", state)
		}
	}
	return d.out.String()
}

func TestAReaderWrittenFromTheFormatReadsEveryReport(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawn(t)
		require.Equal(t, asDocument(r), byDocument(file(t, r)))
	})
	golden, err := os.ReadFile(filepath.Join("testdata", "race.desync"))
	require.NoError(t, err)
	r, err := desync.Parse(golden)
	require.NoError(t, err)
	require.Equal(t, asDocument(r), byDocument(golden))
}
