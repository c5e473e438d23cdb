package quic

import (
	"github.com/quic-go/quic-go/qlog"
	"github.com/quic-go/quic-go/qlogwriter"
)

// strays is told by quic-go of the packets that belong to no connection, and counts
// those that begin none either.
type strays struct{ *counts }

var _ qlogwriter.Recorder = strays{}

// RecordEvent counts a packet that was dropped.
func (s strays) RecordEvent(e qlogwriter.Event) {
	if _, ok := e.(qlog.PacketDropped); ok {
		s.strays.Add(1)
	}
}

// Close does nothing.
func (strays) Close() error { return nil }
