package detlint

import (
	"go/types"
	"slices"
	"strings"
)

// stdRoots are the first parts of the import paths of the standard library.
var stdRoots = strings.Fields(`archive bufio builtin bytes cmp compress container context crypto database debug embed
	encoding errors expvar flag fmt go hash html image index internal io iter log maps math mime net os path plugin
	reflect regexp runtime simd slices sort strconv strings structs sync syscall testing text time unicode unique unsafe
	vendor weak cmd`)

// isStd says whether a package is of the standard library, which is judged by the tables below and
// not looked into.
func isStd(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return slices.Contains(stdRoots, first)
}

// unfit are the packages of which everything is unfit but what exempt lists.
var unfit = map[string]struct {
	code   Code
	what   string
	exempt string
}{
	"crypto/rand":   {Random, "draws from the system's randomness", ""},
	"hash/maphash":  {MapHash, "has a seed that differs from process to process", ""},
	"math/cmplx":    {Math, "gives other last bits on other architectures", "IsNaN IsInf Inf NaN Conj"},
	"os":            {Environment, "touches files or the process's environment", ""},
	"os/exec":       {Environment, "runs another program", ""},
	"os/signal":     {Environment, "waits for the system", ""},
	"os/user":       {Environment, "asks the system", ""},
	"io/ioutil":     {Environment, "touches files", "Discard NopCloser ReadAll"},
	"syscall":       {Environment, "asks the system", ""},
	"net":           {Environment, "touches the network", "ParseIP IPv4 ParseCIDR JoinHostPort SplitHostPort"},
	"net/http":      {Environment, "touches the network", "StatusText"},
	"plugin":        {Environment, "loads code from a file", ""},
	"log":           {Environment, "writes again each time that a tick is run again", ""},
	"log/slog":      {Environment, "writes again each time that a tick is run again", "String Int Int64 Uint64 Float64 Bool Any Group"},
	"flag":          {Environment, "reads the command line", ""},
	"runtime":       {Environment, "asks about the process or the machine", "KeepAlive"},
	"runtime/debug": {Environment, "asks about the process or the machine", ""},
	"database/sql":  {Environment, "touches a database", ""},
}

// words are single functions, variables and methods ("Type.Method") that are unfit, by package.
var words = map[string][]struct {
	code  Code
	what  string
	names string
}{
	"time": {
		{Clock, "reads a clock", "Now Since Until Time.Local Local LoadLocation"},
		{Clock, "waits for a clock", "Sleep After AfterFunc Tick NewTimer NewTicker Timer.Reset Timer.Stop Ticker.Reset Ticker.Stop"},
	},
	"context": {{Clock, "waits for a clock", "WithTimeout WithDeadline WithTimeoutCause WithDeadlineCause"}},
	"fmt": {{Environment, "touches a terminal, again each time that a tick is run again",
		"Print Printf Println Scan Scanf Scanln"}},
	"path/filepath":   {{Environment, "touches files", "Abs EvalSymlinks Glob Walk WalkDir"}},
	"encoding/binary": {{Unsafe, "has the machine's byte order", "NativeEndian"}},
	"encoding/gob":    {{MapRange, "writes maps in any order", "Encoder.Encode"}},
	"reflect": {
		{MapRange, "gives a map's entries in any order", "Value.MapRange Value.MapKeys Value.Seq Value.Seq2"},
		{Unsafe, "gives a machine's address", "Value.Pointer Value.UnsafePointer Value.UnsafeAddr"},
		{Channel, "uses a channel", "Select Value.Send Value.Recv Value.TrySend Value.TryRecv MakeChan"},
	},
	"sync": {
		{MapRange, "gives a map's entries in any order", "Map.Range"},
		{Goroutine, "depends on what other goroutines do", "Pool.Get WaitGroup.Go WaitGroup.Wait Cond.Wait Mutex.TryLock RWMutex.TryLock RWMutex.TryRLock"},
	},
	"weak": {{Environment, "asks the garbage collector", "Pointer.Value"}},
}

// exactMath are the functions of package math whose results are the same to the last bit everywhere: what
// they compute is exact, or rounded once. Others are written in assembly for some architectures, or add
// products that some compilers fuse.
var exactMath = strings.Fields(`Abs Ceil Copysign Dim FMA Float32bits Float32frombits Float64bits Float64frombits Floor Frexp
	Ilogb Inf IsInf IsNaN Ldexp Logb Max Min Mod Modf NaN Nextafter Nextafter32 Pow10 Remainder Round RoundToEven
	Signbit Sqrt Trunc`)

// globalRand says whether a function of math/rand or math/rand/v2 uses the process's own source.
func globalRand(name string) bool { return !strings.HasPrefix(name, "New") }

// judgeStd says what is unfit about an object of the standard library that a body mentions.
func judgeStd(obj types.Object) (Code, string) {
	if obj.Pkg() == nil {
		return "", ""
	}
	switch o := obj.(type) {
	case *types.Func:
	case *types.Var:
		if o.IsField() || strings.HasPrefix(o.Name(), "Err") {
			return "", ""
		}
	default:
		return "", ""
	}
	path, name := obj.Pkg().Path(), stdName(obj)
	shown := obj.Pkg().Name() + "." + name
	method := strings.Contains(name, ".")
	if u, ok := unfit[path]; ok && !slices.Contains(strings.Fields(u.exempt), name) {
		if method && !judgedMethods(path) {
			return "", ""
		}
		return u.code, shown + " " + u.what
	}
	for _, w := range words[path] {
		if slices.Contains(strings.Fields(w.names), name) {
			return w.code, shown + " " + w.what
		}
	}
	switch {
	case (path == "math/rand" || path == "math/rand/v2") && !method && globalRand(name):
		return Random, shown + " draws from a source that all of the process shares"
	case path == "math" && !slices.Contains(exactMath, name):
		return Math, shown + " gives other last bits on other architectures"
	case path == "unsafe":
		return Unsafe, shown + " shows how a machine lays out memory"
	}
	return "", ""
}

// judgedMethods says whether methods of a package's types are unfit too. Those of errors and of plain
// values (os.FileMode, net.IP) are not worth a word.
func judgedMethods(path string) bool {
	return path == "hash/maphash" || path == "log" || path == "log/slog" || path == "database/sql"
}

// stdName is "Func" or "Type.Method".
func stdName(obj types.Object) string {
	f, ok := obj.(*types.Func)
	if !ok {
		return obj.Name()
	}
	recv := f.Signature().Recv()
	if recv == nil {
		return f.Name()
	}
	if n := namedOf(recv.Type()); n != nil {
		return n.Obj().Name() + "." + f.Name()
	}
	return "." + f.Name()
}

// pureStd are packages whose functions change nothing that they are not given to change.
var pureStd = strings.Fields(`cmp errors math math/bits math/cmplx strconv strings unicode unicode/utf8 unicode/utf16 path fmt`)

// writesFirst are functions of the standard library that change what their first argument points to.
var writesFirst = map[string]string{
	"sort":   "Slice SliceStable Sort Stable Strings Ints Float64s",
	"slices": "Sort SortFunc SortStableFunc Reverse",
	"maps":   "Copy DeleteFunc Insert",
}

// quietStd are packages of whose values a method call is no change that a step could see.
var quietStd = strings.Fields(`regexp text/template html/template strings sync time reflect log go/types unicode math/big hash/crc32`)

// namedOf returns the named type that t is or points to.
func namedOf(t types.Type) *types.Named {
	t = types.Unalias(t)
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	n, _ := t.(*types.Named)
	return n
}
