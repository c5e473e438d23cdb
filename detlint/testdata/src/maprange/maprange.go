package maprange

import (
	"maps"
	"slices"
	"sort"
	"strings"

	"github.com/driftback/driftback"
)

type State struct {
	Sum   int64
	First int32
	Total float64
}

type in struct{}

var units = map[string]int32{"a": 1, "b": 2}

func Step(s *State, _ []in, _ *driftback.Pass) {
	bad(s)
	good(s)
	keys(s)
}

func bad(s *State) {
	for _, n := range units { // want `maprange: the order of a map differs from run to run, and here the last one to be set stays: range over sorted keys.*\(from Step → bad\)`
		s.First = n
	}
	for k := range units { // want `it calls what may depend on the order`
		println2(k)
	}
	for _, n := range units { // want `floats are summed`
		s.Total += float64(n)
	}
	for _, n := range units { // want `the loop may end before it has seen all`
		s.Sum += int64(n)
		if n > 1 {
			break
		}
	}
	for _, n := range units { // want `the last one to be set stays`
		if n > 1 {
			s.First = n
			return
		}
	}
	_ = first()
	for range maps.Keys(units) { // want `maps.Keys goes through a map`
	}
	type unit struct {
		name string
		age  int
	}
	var all []unit
	for k := range units { // want `what is collected is not sorted afterwards, or by less than all`
		all = append(all, unit{k, len(k)})
	}
	slices.SortFunc(all, func(a, b unit) int { return a.age - b.age })
	byValue := map[int32]string{}
	for k, v := range units { // want `entries may overwrite each other`
		byValue[v] = k
	}
}

func first() int32 {
	for _, n := range units { // want `it returns whichever comes first`
		return n
	}
	return 0
}

func pick(n int32) int32 { return n }

func println2(string) { count++ } // want `outside: changes the package variable count`

var count int

func good(s *State) {
	most, gone := int32(0), map[string]bool{}
	for k, n := range units {
		if n == 0 {
			delete(gone, k)
			continue
		}
		s.Sum += int64(n)
		most = max(most, n)
		if n > s.First {
			s.First = n
		}
	}
	for range units {
		s.Sum++
	}
	found := false
	for _, n := range units {
		if n == 7 {
			found = true
			break
		}
	}
	_ = found
	double := map[string]int32{}
	for k, n := range units {
		double[k] = 2 * pick(n)
	}
	seen := map[int32]bool{}
	for _, n := range units {
		seen[n] = true
	}
}

func keys(s *State) {
	var ks []string
	for k := range units {
		ks = append(ks, k)
	}
	sort.Strings(ks)
	var others []string
	for k := range units {
		others = append(others, k)
	}
	sort.Slice(others, func(i, j int) bool { return others[i] < others[j] })
	var more []string
	for k := range units {
		more = append(more, k)
	}
	slices.SortFunc(more, strings.Compare)
	again := slices.Collect(maps.Keys(units))
	slices.Sort(again)
	unsorted := slices.Collect(maps.Keys(units)) // want `maps.Keys goes through a map`
	s.First += int32(len(unsorted[0]))
	for _, k := range slices.Sorted(maps.Keys(units)) {
		s.First = units[k]
	}
}
