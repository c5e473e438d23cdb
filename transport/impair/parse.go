package impair

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// maxText bounds the text that ParseImpairment reads.
const maxText = 4096

// units are the units of a time, the longest name first so that "s" does not
// match the end of "ms".
var units = []struct {
	name string
	unit time.Duration
}{
	{"ms", time.Millisecond}, {"us", time.Microsecond}, {"ns", time.Nanosecond}, {"s", time.Second},
}

// ParseImpairment reads an impairment as a person types it, in any order:
//
//	latency=60ms,jitter=10ms,loss=5%,reorder=10%,reorderby=30ms,duplicate=1%,rate=100000
//
// A time has the unit s, ms, us or ns; a share is a percentage or a number from
// 0 to 1; rate is in bytes per second; the word blocked stands alone. "" and
// "perfect" impair nothing. An error is a sentence that names the part at fault.
func ParseImpairment(s string) (Impairment, error) {
	var im Impairment
	if len(s) > maxText {
		return Impairment{}, fmt.Errorf("impair: a link of %d characters: want at most %d", len(s), maxText)
	}
	if s = strings.TrimSpace(s); s == "" || s == "perfect" {
		return im, nil
	}
	seen := map[string]bool{}
	for part := range strings.SplitSeq(s, ",") {
		key, value, hasValue := strings.Cut(strings.TrimSpace(part), "=")
		if seen[key] {
			return Impairment{}, fmt.Errorf("impair: %q is given twice", key)
		}
		seen[key] = true
		if err := im.set(key, value, hasValue); err != nil {
			return Impairment{}, fmt.Errorf("impair: %q: %w", part, err)
		}
	}
	if err := im.Validate(); err != nil {
		return Impairment{}, err
	}
	return im, nil
}

func (im *Impairment) set(key, value string, hasValue bool) (err error) {
	switch key {
	case "latency":
		im.Latency, err = parseTime(value)
	case "jitter":
		im.Jitter, err = parseTime(value)
	case "reorderby":
		im.ReorderBy, err = parseTime(value)
	case "loss":
		im.Loss, err = parseShare(value)
	case "reorder":
		im.Reorder, err = parseShare(value)
	case "duplicate":
		im.Duplicate, err = parseShare(value)
	case "rate":
		if im.BytesPerSecond, err = strconv.Atoi(value); err != nil {
			err = errors.New("want a whole number of bytes per second, such as 100000")
		}
	case "blocked":
		if im.Blocked = true; hasValue {
			err = errors.New("blocked stands alone")
		}
	default:
		err = errors.New("want latency, jitter, reorderby, loss, reorder, duplicate, rate or blocked")
	}
	return err
}

// String returns the impairment as [ParseImpairment] reads it.
func (im Impairment) String() string {
	var parts []string
	add := func(key, value string) { parts = append(parts, key+"="+value) }
	addTime := func(key string, d time.Duration) {
		if d != 0 {
			add(key, formatTime(d))
		}
	}
	addShare := func(key string, p float64) {
		if p != 0 {
			add(key, formatShare(p))
		}
	}
	addTime("latency", im.Latency)
	addTime("jitter", im.Jitter)
	addShare("loss", im.Loss)
	addShare("reorder", im.Reorder)
	addTime("reorderby", im.ReorderBy)
	addShare("duplicate", im.Duplicate)
	if im.BytesPerSecond != 0 {
		add("rate", strconv.Itoa(im.BytesPerSecond))
	}
	if im.Blocked {
		parts = append(parts, "blocked")
	}
	if len(parts) == 0 {
		return "perfect"
	}
	return strings.Join(parts, ",")
}

func parseTime(s string) (time.Duration, error) {
	if s == "0" {
		return 0, nil
	}
	for _, u := range units {
		number, ok := strings.CutSuffix(s, u.name)
		if !ok {
			continue
		}
		v, ok := parseDecimal(number, "")
		if ns := v * float64(u.unit); ok && ns <= float64(MaxDelay) {
			return time.Duration(ns + 0.5), nil
		}
		return 0, fmt.Errorf("want a time from 0s to %v, such as 60ms or 1.5s", MaxDelay)
	}
	return 0, errors.New("want a time with its unit, such as 60ms or 1.5s")
}

func formatTime(d time.Duration) string {
	for _, u := range []int{3, 0, 1} { // s, ms, us
		if d%units[u].unit == 0 {
			return strconv.FormatInt(int64(d/units[u].unit), 10) + units[u].name
		}
	}
	return strconv.FormatInt(int64(d), 10) + "ns"
}

func parseShare(s string) (float64, error) {
	number, percent := strings.CutSuffix(s, "%")
	exponent := ""
	if percent {
		exponent = "e-2" // exact, where dividing the parsed number would round twice
	}
	p, ok := parseDecimal(number, exponent)
	if !ok || p > 1 {
		return 0, errors.New("want a share from 0% to 100%, such as 5% or 0.05")
	}
	return p, nil
}

func formatShare(p float64) string {
	s := strconv.FormatFloat(p*100, 'f', -1, 64) + "%"
	if back, err := parseShare(s); err == nil && back == p {
		return s
	}
	return strconv.FormatFloat(p, 'f', -1, 64)
}

// parseDecimal reads digits with at most one point. Signs, exponents and the
// words that strconv takes for floats are refused.
func parseDecimal(s, exponent string) (float64, bool) {
	if s == "" {
		return 0, false
	}
	for _, c := range s {
		if c != '.' && (c < '0' || c > '9') {
			return 0, false
		}
	}
	v, err := strconv.ParseFloat(s+exponent, 64)
	return v, err == nil
}
