package server

import (
	"bytes"
	"fmt"
	"net/http"
	"sync/atomic"
)

// counts are counters of what the server did and refused to do.
type counts struct {
	entered, messages, bytes                atomic.Uint64
	droppedRate, droppedSlow, droppedAbsent atomic.Uint64
	refusedRate, refusedFull, refusedTaken  atomic.Uint64
	guesses, wrong, flooded, silent, bus    atomic.Uint64
}

// Counts say what the server did, and what it dropped and refused, since it was made.
type Counts struct {
	// Rooms, Members and Connections are there now.
	Rooms, Members, Connections int
	// Entered counts members that came, or came back.
	Entered uint64
	// Messages and Bytes were carried.
	Messages, Bytes uint64
	// DroppedRate, DroppedSlow and DroppedAbsent count messages that were too many, whose receiver read too
	// slowly, and whose receiver was not there.
	DroppedRate, DroppedSlow, DroppedAbsent uint64
	// RefusedRate, RefusedFull and RefusedTaken count those who came too often, for whom there was no
	// room, and whose place another key had.
	RefusedRate, RefusedFull, RefusedTaken uint64
	// Guesses counts tries at rooms that do not exist.
	Guesses uint64
	// Wrong counts connections that said something that makes no sense, Flooded those that said too
	// much, Silent those that did not answer any more.
	Wrong, Flooded, Silent uint64
	// Bus counts notes that the bus did not take, or that made no sense.
	Bus uint64
}

// Counts returns the counts of now.
func (s *Server) Counts() Counts {
	k := &s.counts
	c := Counts{
		Entered: k.entered.Load(), Messages: k.messages.Load(), Bytes: k.bytes.Load(),
		DroppedRate: k.droppedRate.Load(), DroppedSlow: k.droppedSlow.Load(), DroppedAbsent: k.droppedAbsent.Load(),
		RefusedRate: k.refusedRate.Load(), RefusedFull: k.refusedFull.Load(), RefusedTaken: k.refusedTaken.Load(),
		Guesses: k.guesses.Load(), Wrong: k.wrong.Load(), Flooded: k.flooded.Load(), Silent: k.silent.Load(), Bus: k.bus.Load(),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c.Rooms, c.Connections = len(s.rooms), len(s.conns)
	for conn := range s.conns {
		if conn.room != nil {
			c.Members++
		}
	}
	return c
}

// serveMetrics writes the counts in Prometheus's text format.
func (s *Server) serveMetrics(w http.ResponseWriter, _ *http.Request) {
	c := s.Counts()
	var b bytes.Buffer
	family := func(name, kind, help string) {
		fmt.Fprintf(&b, "# HELP driftback_signal_%s %s\n# TYPE driftback_signal_%s %s\n", name, help, name, kind)
	}
	one := func(name, kind, help string, value any) {
		family(name, kind, help)
		fmt.Fprintf(&b, "driftback_signal_%s %v\n", name, value)
	}
	by := func(name, help string, reasons ...any) {
		family(name, "counter", help)
		for i := 0; i < len(reasons); i += 2 {
			fmt.Fprintf(&b, "driftback_signal_%s{reason=%q} %v\n", name, reasons[i], reasons[i+1])
		}
	}
	one("rooms", "gauge", "Rooms with members here.", c.Rooms)
	one("members", "gauge", "Members that are connected.", c.Members)
	one("connections", "gauge", "Connections, of members and others.", c.Connections)
	one("entered_total", "counter", "Members that came or came back.", c.Entered)
	one("messages_total", "counter", "Messages carried.", c.Messages)
	one("message_bytes_total", "counter", "Bytes in them.", c.Bytes)
	by("dropped_total", "Messages dropped.", "rate", c.DroppedRate, "slow", c.DroppedSlow, "absent", c.DroppedAbsent)
	by("refused_total", "Members and requests refused.", "rate", c.RefusedRate, "full", c.RefusedFull, "taken", c.RefusedTaken, "no_room", c.Guesses)
	by("ended_total", "Connections ended by the server.", "wrong", c.Wrong, "flood", c.Flooded, "silent", c.Silent)
	one("bus_errors_total", "counter", "Notes that the bus did not take, or that made no sense.", c.Bus)
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	_, _ = w.Write(b.Bytes()) // to somebody who may have gone
}
