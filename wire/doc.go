// Package wire turns what peers tell each other into bytes and back, and refuses
// bytes that break the format. FORMAT.md beside this file gives every byte.
//
// There are two sorts of message. A [Packet] goes out on every tick, or every few, as a
// datagram that may be lost: inputs, acknowledgements and fingerprints. A [Control] goes over
// the reliable channel when a match begins, ends or comes apart, and when somebody
// who comes late is given the state (package transfer).
//
// It owns the bytes and their bounds. It refuses to own what to do about a
// message: whether its sender plays the participant it speaks for, whether a tick
// is inside the window, whether a tag is the match's. An input is stride opaque
// bytes here, so nothing in this package has a type parameter.
//
// Every message has exactly one encoding: a parser consumes all it is given, and
// appending what it returned gives the same bytes again. A parser never trusts a
// length or a count before it has been compared with a constant, so what hostile
// bytes can make it allocate is bounded ([MaxDecoded] for a packet).
//
// Nothing here is safe for use by several goroutines at once, and nothing is
// shared between values: each goroutine may use packets of its own.
package wire
