// Package golden makes what the tests pin: hashes of what functions return and ends of
// long matches, which have to be the same on every architecture.
//
// Tests that hold such a hash against a constant have names that end in
// OnEveryArchitecture; .ci/architectures runs all of them on each. The package owns how
// arguments are drawn and results are hashed, and refuses to own the constants: they
// stand beside the tests. Nothing but tests imports it.
package golden

import (
	"fmt"
	"math"
	"reflect"

	"github.com/driftback/driftback/rng"
)

// draws is how many results of a function its hash covers.
const draws = 4096

// hash mixes words, one after the other.
type hash uint64

func (h *hash) add(word uint64) {
	mixed := (uint64(*h) ^ word) * 0x9e3779b97f4a7c15
	*h = hash(mixed ^ mixed>>29)
}

// Results returns a hash of what f, a function or a method expression, returns for 4,096
// draws of its arguments, the same draws everywhere. Arguments are integers, structs of
// them, and pointers to such structs, whose contents after the call count as results. It
// panics where f takes or gives anything else: a test must know how to pin it.
func Results(f reflect.Value) uint64 {
	of := f.Type()
	r, sum := rng.New(2026, 6), hash(0xcbf29ce484222325)
	arguments := make([]reflect.Value, of.NumIn())
	for range draws {
		for i := range arguments {
			arguments[i] = draw(&r, of.In(i))
		}
		for _, result := range f.Call(arguments) {
			sum.value(result)
		}
		for _, a := range arguments {
			if a.Kind() == reflect.Pointer {
				sum.value(a.Elem())
			}
		}
	}
	return uint64(sum)
}

// Methods adds the exported methods of t, by "name.Method", to functions. Those of
// pointers are among them.
func Methods(functions map[string]reflect.Value, name string, t reflect.Type) {
	if has := reflect.PointerTo(t); has.NumMethod() > t.NumMethod() {
		t = has
	}
	for i := range t.NumMethod() {
		functions[name+"."+t.Method(i).Name] = t.Method(i).Func
	}
}

// draw gives a value of type t. An int has 32 bits at most, wherever it would have more.
func draw(r *rng.PCG, t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	switch t.Kind() {
	case reflect.Int64:
		v.SetInt(integer(r, 64))
	case reflect.Int32, reflect.Int:
		v.SetInt(integer(r, 32))
	case reflect.Uint64:
		v.SetUint(uint64(integer(r, 64)))
	case reflect.Uint32:
		v.SetUint(uint64(uint32(integer(r, 32))))
	case reflect.Struct:
		for i := range t.NumField() {
			v.Field(i).Set(draw(r, t.Field(i).Type))
		}
	case reflect.Pointer:
		v.Set(reflect.New(t.Elem()))
		v.Elem().Set(draw(r, t.Elem()))
	default:
		panic(fmt.Sprintf("golden: nothing draws a %v", t))
	}
	return v
}

// integer is of any length, and now and then one at the edge.
func integer(r *rng.PCG, bits int) int64 {
	if r.Chance(1, 16) {
		low := int64(math.MinInt64) >> (64 - bits)
		return [...]int64{low, low + 1, -1, 0, 1, 1 << 16, -1 - low}[r.IntN(7)]
	}
	return int64(r.Uint64()) >> (64 - bits) >> r.IntN(bits)
}

// value adds v. What is an int has 32 bits on some machines and saturates there, by its
// documentation: so it does here.
func (h *hash) value(v reflect.Value) {
	switch v.Kind() {
	case reflect.Int:
		h.add(uint64(max(min(v.Int(), math.MaxInt32), math.MinInt32)))
	case reflect.Int64, reflect.Int32:
		h.add(uint64(v.Int()))
	case reflect.Uint64, reflect.Uint32:
		h.add(v.Uint())
	case reflect.Bool:
		if v.Bool() {
			h.add(1)
		} else {
			h.add(0)
		}
	case reflect.Float64:
		h.add(math.Float64bits(v.Float()))
	case reflect.String:
		for _, b := range []byte(v.String()) {
			h.add(uint64(b))
		}
		h.add(uint64(v.Len()))
	case reflect.Struct:
		for i := range v.NumField() {
			h.value(v.Field(i))
		}
	default:
		panic(fmt.Sprintf("golden: nothing hashes a %v", v.Type()))
	}
}
