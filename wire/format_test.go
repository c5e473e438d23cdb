package wire_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

// byDocument is a second decoder, written from FORMAT.md alone: it shares nothing
// with the package, takes every number apart as a big integer so that it cannot
// share an overflow either, and answers in text. It stands in for a program of
// somebody else's that speaks the format.
type byDocument struct {
	rest  []byte
	first *big.Int // the first tick of the message
	out   strings.Builder
}

// refusal is what the second decoder panics with and decodeByDocument recovers.
type refusal struct{ error }

func refuse(why string) { panic(refusal{errors.New(why)}) }

func decodeByDocument(b []byte, stride int) (text string, err error) {
	defer func() {
		if r := recover(); r != nil {
			why, ok := r.(refusal)
			if !ok {
				panic(r)
			}
			text, err = "", why.error
		}
	}()
	d := &byDocument{rest: b}
	switch kind := d.u8(); {
	case kind == 1:
		d.hello()
	case kind == 2:
		d.start()
	case kind == 3:
		d.finish()
	case kind == 4:
		d.leave()
	case kind == 5:
		d.disagree()
	case kind == 6:
		d.message()
	case kind >= 7 && kind <= 12:
		d.view(kind)
	case kind >= 13 && kind <= 18:
		d.transfer(kind)
	case kind >= 19 && kind <= 21:
		d.feed(kind)
	case kind >= 22 && kind <= 23:
		d.join(kind)
	case kind == 24:
		d.line("evidence tick %d data [%x]", d.tick(), d.bytes(d.small(1024)))
	case kind >= 0x80 && kind <= 0xff:
		d.packet(kind, stride)
	default:
		refuse("first byte")
	}
	if len(d.rest) > 0 {
		refuse("something follows")
	}
	return d.out.String(), nil
}

func (d *byDocument) line(format string, args ...any) { fmt.Fprintf(&d.out, format+"\n", args...) }

func (d *byDocument) bytes(n int) []byte {
	if n > len(d.rest) {
		refuse("short")
	}
	b := d.rest[:n]
	d.rest = d.rest[n:]
	return b
}

func (d *byDocument) u8() int { return int(d.bytes(1)[0]) }

func (d *byDocument) little(n int) uint64 {
	v := uint64(0)
	for i, c := range d.bytes(n) {
		v += uint64(c) << (8 * i)
	}
	return v
}

func power(n uint) *big.Int { return new(big.Int).Lsh(big.NewInt(1), n) }

func (d *byDocument) uvarint(most *big.Int) *big.Int {
	v := new(big.Int)
	for shift := uint(0); ; shift += 7 {
		c := d.u8()
		v.Add(v, new(big.Int).Lsh(big.NewInt(int64(c%128)), shift))
		if c >= 128 {
			continue
		}
		if c == 0 && shift > 0 {
			refuse("not minimal")
		}
		if v.Cmp(most) > 0 {
			refuse("too large")
		}
		return v
	}
}

func (d *byDocument) small(most int64) int { return int(d.uvarint(big.NewInt(most)).Int64()) }

func (d *byDocument) tick() *big.Int {
	if d.first == nil {
		d.first = d.uvarint(power(62))
		return d.first
	}
	z := d.uvarint(new(big.Int).Sub(power(64), big.NewInt(1)))
	t := new(big.Int)
	if z.Bit(0) == 0 {
		t.Add(d.first, new(big.Int).Rsh(z, 1)) // z = 2d
	} else {
		t.Add(z, big.NewInt(1)) // z = −2d − 1
		t.Rsh(t, 1)
		t.Sub(d.first, t)
	}
	if t.Sign() < 0 || t.Cmp(power(62)) > 0 {
		refuse("tick out of range")
	}
	return t
}

func (d *byDocument) flag() bool {
	v := d.u8()
	if v > 1 {
		refuse("flag")
	}
	return v == 1
}

func (d *byDocument) text(most int64) string {
	b := d.bytes(d.small(most))
	for rest := b; len(rest) > 0; {
		r, n := utf8.DecodeRune(rest)
		if r == utf8.RuneError && n == 1 {
			refuse("UTF-8")
		}
		if r <= 0x1f || r >= 0x7f && r <= 0x9f {
			refuse("control character")
		}
		rest = rest[n:]
	}
	return string(b)
}

func (d *byDocument) packet(flags, stride int) {
	if stride < 1 || stride > 256 {
		refuse("stride")
	}
	d.line("packet tag %#04x seq %d", d.little(2), d.little(2))
	if flags&1 != 0 {
		seq := d.little(2)
		held := d.uvarint(new(big.Int).Sub(power(32), big.NewInt(1)))
		lead := int(d.little(2))
		if lead >= 1<<15 {
			lead -= 1 << 16
		}
		d.line("echo of %d held %d µs lead %d/64 load %d/64", seq, held, lead, d.u8())
	}
	if flags&2 != 0 {
		lengths := d.runs(stride, flags&0x20 != 0)
		if flags&0x40 != 0 {
			d.entries(lengths)
		}
	} else if flags&0x60 != 0 {
		refuse("no inputs")
	}
	if flags&4 != 0 {
		d.headed(func(participant, above int) {
			var next *big.Int
			if above < 7 {
				if d.first == nil {
					refuse("near to nothing")
				}
				next = new(big.Int).Add(d.first, big.NewInt(int64(above)))
				if next.Cmp(power(62)) > 0 {
					refuse("tick out of range")
				}
			} else {
				first := d.first
				next = d.tick()
				if first != nil {
					if away := new(big.Int).Sub(next, first); away.Sign() >= 0 && away.Cmp(big.NewInt(6)) <= 0 {
						refuse("an acknowledgement could be shorter")
					}
				}
			}
			d.line("ack of %d next %d", participant, next)
		})
	}
	if flags&8 != 0 {
		v := d.uvarint(new(big.Int).Add(power(63), big.NewInt(1)))
		n := 1
		if v.Bit(0) == 1 {
			if n = d.u8(); n < 2 || n > 64 {
				refuse("count of sums")
			}
		}
		d.out.WriteString("sums from " + new(big.Int).Rsh(v, 1).String() + ":")
		for range n {
			fmt.Fprintf(&d.out, " %016x", d.little(8))
		}
		d.out.WriteString("\n")
	}
	if flags&16 != 0 {
		d.line("sum ack next %d", d.uvarint(power(62)))
	}
}

func (d *byDocument) headed(item func(participant, above int)) {
	for least := 0; ; {
		h := d.u8()
		if h&15 < least {
			refuse("head")
		}
		least = h&15 + 1
		item(h&15, h>>5)
		if h&16 == 0 {
			return
		}
	}
}

// runs reads the runs of a packet, and compares what their values take in the other
// way of writing them. It returns the number of ticks of each.
func (d *byDocument) runs(stride int, changes bool) (lengths []int) {
	total, plain, changed := 0, 0, 0
	d.headed(func(participant, form int) {
		first := d.tick()
		var inputs [][]byte
		one := func() []byte {
			before := make([]byte, stride)
			if len(inputs) > 0 {
				before = inputs[len(inputs)-1]
			}
			in := d.bytes
			if changes {
				in = func(int) []byte { return d.change(before) }
			}
			v := in(stride)
			if len(inputs) > 0 && bytes.Equal(v, before) {
				refuse("a value equals the one before")
			}
			plain += stride
			changed += sizeOfChange(before, v)
			return v
		}
		switch form {
		case 0:
			d.groups(&inputs, one)
		case 7:
			pattern := d.u8()
			ticks := len(strconv.FormatInt(int64(pattern), 2))
			if strings.Count(strconv.FormatInt(int64(pattern), 2), "1") < 2 {
				refuse("pattern")
			}
			inputs = append(inputs, one())
			for i := range ticks - 1 {
				if pattern>>i&1 == 1 {
					inputs = append(inputs, one())
				} else {
					inputs = append(inputs, inputs[i])
				}
			}
		default:
			inputs = repeated(one(), form)
		}
		end := new(big.Int).Add(first, big.NewInt(int64(len(inputs))))
		if end.Cmp(power(62)) > 0 {
			refuse("end of run")
		}
		if total += len(inputs) * stride; total > 65536 {
			refuse("inputs")
		}
		lengths = append(lengths, len(inputs))
		var text strings.Builder
		for _, in := range inputs {
			fmt.Fprintf(&text, " %x", in)
		}
		d.line("run of %d from %d for %d:%s", participant, first, len(inputs), text.String())
	})
	if changes != (changed < plain) {
		refuse("the other way is shorter")
	}
	return lengths
}

// entries reads the entries of runs of so many ticks.
func (d *byDocument) entries(lengths []int) {
	var ticks []string // what each of the runs' ticks is called
	for run, n := range lengths {
		for i := range n {
			ticks = append(ticks, fmt.Sprintf("tick %d of run %d", i, run))
		}
	}
	for more, number := true, 0; more; number++ {
		h := d.small(1 << 30)
		more = h%2 == 1
		if number += h / 2; number >= len(ticks) {
			refuse("an entry for no tick")
		}
		value, means := d.u8(), ""
		switch {
		case value == 1:
			means = "pause"
		case value == 2:
			means = "resume"
		case value >= 3 && value <= 34:
			means = fmt.Sprintf("speed %d/8", value-2)
		case value == 35:
			means = "late"
		case value == 36:
			means = "gone"
		default:
			refuse("an entry that means nothing")
		}
		d.line("entry for %s: %s", ticks[number], means)
	}
}

func repeated(in []byte, times int) (list [][]byte) {
	for range times {
		list = append(list, in)
	}
	return list
}

// change reads how a value differs from the one before.
func (d *byDocument) change(before []byte) []byte {
	v := append([]byte(nil), before...)
	marks := []bool{true}
	if len(v) > 8 {
		marks = d.mask((len(v) + 7) / 8)
	}
	for i, marked := range marks {
		if !marked {
			continue
		}
		differs := d.mask(min(8, len(v)-8*i))
		some := false
		for j, differ := range differs {
			if differ {
				some = true
				flip := d.u8()
				if flip == 0 {
					refuse("flips nothing")
				}
				v[8*i+j] ^= byte(flip)
			}
		}
		if !some && len(v) > 8 {
			refuse("mask of nothing")
		}
	}
	return v
}

// mask reads n bits, lowest first, and the zeros that fill the last byte.
func (d *byDocument) mask(n int) (bits []bool) {
	for len(bits) < n {
		b := d.u8()
		for i := range 8 {
			bits = append(bits, b>>i&1 == 1)
		}
	}
	for _, b := range bits[n:] {
		if b {
			refuse("mask of more than there is")
		}
	}
	return bits[:n]
}

func sizeOfChange(a, b []byte) (n int) {
	blocks := map[int]bool{}
	for i := range a {
		if a[i] != b[i] {
			n++
			blocks[i/8] = true
		}
	}
	if len(a) <= 8 {
		return n + 1
	}
	return n + len(blocks) + (len(a)+63)/64
}

// groups reads a run's values in groups.
func (d *byDocument) groups(inputs *[][]byte, one func() []byte) {
	groups, repeats := 0, false
	for wasRow, last := false, false; !last; groups++ {
		h := d.small(1 << 20)
		row := h&1 != 0
		last = h&2 != 0
		n := h>>2 + 2
		if row {
			n--
		}
		// The number is limited before it is used: a long one comes from nowhere.
		if len(*inputs)+n > 512 {
			refuse("run too long")
		}
		if row && wasRow {
			refuse("a row after a row")
		}
		if row {
			for range n {
				*inputs = append(*inputs, one())
			}
		} else {
			*inputs = append(*inputs, repeated(one(), n)...)
		}
		wasRow, repeats = row, !row
	}
	least := 9
	if groups == 1 && repeats {
		least = 7
	}
	if len(*inputs) < least {
		refuse("the run could be shorter")
	}
}

// otherVersion is what the second decoder says of a Hello it cannot read.
type otherVersion struct{ theirs int }

func (o otherVersion) Error() string { return fmt.Sprintf("version %d", o.theirs) }

func (d *byDocument) hello() {
	if string(d.bytes(5)) != "drift" {
		refuse("magic")
	}
	if v := int(d.little(2)); v != 1 {
		panic(refusal{otherVersion{v}})
	}
	d.line("hello match %016x nonce %016x", d.little(8), d.little(8))
	n := d.u8()
	if n > 128 {
		refuse("settings")
	}
	previous := ""
	for range n {
		name := d.text(64)
		if name == "" || strings.Compare(name, previous) <= 0 {
			refuse("order of names")
		}
		previous = name
		d.line("setting %q is %q", name, d.text(256))
	}
	d.delays()
}

func (d *byDocument) delays() {
	n := d.u8()
	if n > 16 {
		refuse("delays")
	}
	least := 0
	for range n {
		p := d.u8()
		if p > 15 || p < least {
			refuse("participant")
		}
		least = p + 1
		d.line("delay of %d is %d", p, d.small(512))
	}
}

func (d *byDocument) sumIf(has bool) string {
	if !has {
		return "none"
	}
	return fmt.Sprintf("%016x", d.little(8))
}

func (d *byDocument) start() {
	has := d.flag()
	d.line("start digest %016x seed %016x state %s", d.little(8), d.little(8), d.sumIf(has))
}

func (d *byDocument) finish() {
	has := d.flag()
	at := d.tick()
	d.line("finish at %d sum %s", at, d.sumIf(has))
}

func (d *byDocument) leave() {
	reason := d.u8()
	at := d.tick()
	d.line("leave reason %d tick %d text %q", reason, at, d.text(256))
}

func (d *byDocument) message() {
	taken := d.uvarint(power(62))
	d.line("message taken %d data [%x]", taken, d.bytes(d.small(1024)))
}

func (d *byDocument) disagree() {
	at := d.tick()
	d.line("disagree tick %d sum %016x", at, d.little(8))
}
