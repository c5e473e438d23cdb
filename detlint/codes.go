package detlint

// Code names a kind of finding. It is what a comment gives that asks for one to be ignored, and does not
// change between releases.
type Code string

// The codes.
const (
	MapRange    Code = "maprange"
	Select      Code = "select"
	Channel     Code = "channel"
	Goroutine   Code = "goroutine"
	Clock       Code = "clock"
	Random      Code = "random"
	Environment Code = "environment"
	Fuse        Code = "fuse"
	Math        Code = "math"
	FloatInt    Code = "floatint"
	IntSize     Code = "intsize"
	Pointer     Code = "pointer"
	Padding     Code = "padding"
	Alias       Code = "alias"
	Outside     Code = "outside"
	Unsafe      Code = "unsafe"
	MapHash     Code = "maphash"
	Format      Code = "format"
	Foreign     Code = "foreign"
	Dynamic     Code = "dynamic"
	Directive   Code = "directive"
)

// advice has for each code what to do instead. It is the second half of a finding's sentence.
var advice = map[Code]string{
	MapRange:    "range over sorted keys, slices.Sorted(maps.Keys(m)), or keep a slice",
	Select:      "let what arrives come as an input",
	Channel:     "let what arrives come as an input, and pass values by calls",
	Goroutine:   "do the work in the step itself, one piece after the other",
	Clock:       "count ticks in the state, or ask pass.Tick",
	Random:      "keep a generator in the state, such as driftback's rng.PCG",
	Environment: "read it before the match into the start state, or report with pass.Raise",
	Fuse:        "round the product with a conversion, float64(x*y) + z",
	Math:        "use driftback's package det, or fixed",
	FloatInt:    "clamp the float to the integer's range first",
	IntSize:     "use a type of fixed width, int32 or int64",
	Pointer:     "use values, arrays and indices, or give the state AppendBinary with CopyTo or UnmarshalBinary",
	Padding:     "hash field by field, or fill the gaps with fields of your own",
	Alias:       "copy the elements, append(to[:0], from...)",
	Outside:     "keep it in the state",
	Unsafe:      "use values of fixed width and encoding/binary",
	MapHash:     "use a hash without a seed, such as hash/fnv",
	Format:      "format the fields, not where they lie",
	Foreign:     "write it in Go, or ignore this with the reason why it gives the same bits everywhere",
	Dynamic:     "look at what may be called, and mark it with //detlint:step if it is reached by no other way",
	Directive:   "mend or remove the comment",
}

// Codes returns every code with what to do about it.
func Codes() map[Code]string {
	all := make(map[Code]string, len(advice))
	for c, a := range advice {
		all[c] = a
	}
	return all
}
