//go:build !linux

package natpunch

import "net"

// systemConn returns the system's socket in the form in which QUIC makes the most of it.
func systemConn(s *socket) net.PacketConn { return systemSocket{s} }
