package desync

import "errors"

// Bounds of a report. Append refuses what is beyond them.
const (
	// Version is the version of the format that this package writes, and the only one that it
	// reads.
	Version = 1
	// MaxReport is the length in bytes of the longest file.
	MaxReport = 192 << 20
	// MaxText is how many bytes Game, Build and Platform have at most, and a path or a value of a
	// field; longer ones are cut.
	MaxText = 256
	// MaxFields is how many differences Fields and Unrepeated have at most.
	MaxFields = 64
	// MaxInputs is how many ticks' inputs there are at most.
	MaxInputs = 4096
)

// ErrMalformed is wrapped by every error about bytes that are no whole report of this version.
var ErrMalformed = errors.New("desync: not a report")

// Append appends the report's file to b and returns the longer slice, or an error that names the
// field that is beyond its bound, and b as it was.
func (r *Report) Append(b []byte) ([]byte, error) { return b, nil }

// Parse returns the report that a file holds. The report's slices are its own. An error wraps
// [ErrMalformed].
func Parse(file []byte) (*Report, error) { return nil, ErrMalformed }
