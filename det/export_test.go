package det

import "math"

// What the planted faults spoil.
const (
	Sine0 = sine0
	Sine1 = sine1
	Sine2 = sine2
	Sine3 = sine3
	Sine4 = sine4
	Sine5 = sine5
)

// SpoilExpTable changes the last digit of one entry, until what it returns is called.
func SpoilExpTable() (whole func()) {
	was := expTable[17].hi
	expTable[17].hi = math.Nextafter(was, 2)
	return func() { expTable[17].hi = was }
}
