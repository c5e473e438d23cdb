package natpunch

import (
	"encoding/binary"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/ipv4"
	"golang.org/x/sys/unix"
)

// control appends one control message.
func control(b []byte, level, typ int32, data []byte) []byte {
	at := len(b)
	b = append(b, make([]byte, unix.CmsgSpace(len(data)))...)
	word := unix.SizeofCmsghdr - 8
	if word == 8 {
		binary.NativeEndian.PutUint64(b[at:], uint64(unix.CmsgLen(len(data))))
	} else {
		binary.NativeEndian.PutUint32(b[at:], uint32(unix.CmsgLen(len(data))))
	}
	binary.NativeEndian.PutUint32(b[at+word:], uint32(level))
	binary.NativeEndian.PutUint32(b[at+word+4:], uint32(typ))
	copy(b[at+unix.CmsgLen(0):], data)
	return b
}

func fastPair(t *testing.T, local string) (s fastSocket, r *route, far *net.UDPConn) {
	t.Helper()
	addr, err := net.ResolveUDPAddr("udp", local)
	require.NoError(t, err)
	conn, err := net.ListenUDP("udp", addr)
	if err != nil {
		t.Skip("no such address here:", err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	far, err = net.ListenUDP("udp4", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	t.Cleanup(func() { _ = far.Close() })
	raw, err := far.SyscallConn()
	require.NoError(t, err)
	require.NoError(t, raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_RECVTOS, 1) }))
	require.NoError(t, err)
	require.NoError(t, far.SetReadDeadline(time.Now().Add(patience)))

	tr := &Transport{}
	tr.socket = newSocket(conn, &tr.routes, &tr.counts)
	r = newRoute(tr, 3)
	tr.routes[3] = r
	to := far.LocalAddr().(*net.UDPAddr).AddrPort()
	r.path.Store(&path{remote: netip.AddrPortFrom(to.Addr().Unmap(), to.Port())})
	s, ok := systemConn(tr.socket).(fastSocket)
	require.True(t, ok)
	return s, r, far
}

func TestMarksOfCongestionAndSeveralPacketsAtOncePass(t *testing.T) {
	for name, local := range map[string]string{"IPv4": "127.0.0.1:0", "both": "[::]:0"} {
		t.Run(name, func(t *testing.T) {
			s, r, far := fastPair(t, local)
			var mark [4]byte
			binary.NativeEndian.PutUint32(mark[:], 2)
			var size [2]byte
			binary.NativeEndian.PutUint16(size[:], 100)
			c := control(nil, unix.IPPROTO_UDP, unix.UDP_SEGMENT, size[:])
			require.Equal(t, 100, segmentSize(c))
			c = control(c, unix.IPPROTO_IPV6, unix.IPV6_TCLASS, mark[:])
			require.Equal(t, 100, segmentSize(c))
			n, _, err := s.WriteMsgUDP(make([]byte, 250), c, r.virtual)
			require.NoError(t, err)
			require.Equal(t, 250, n)
			for _, want := range []int{100, 100, 50} {
				var b, oob [1500]byte
				n, nn, _, _, err := far.ReadMsgUDP(b[:], oob[:])
				require.NoError(t, err)
				require.Equal(t, want, n)
				header, data, _, err := unix.ParseOneSocketControlMessage(oob[:nn])
				require.NoError(t, err)
				require.EqualValues(t, unix.IP_TOS, header.Type)
				require.EqualValues(t, 2, data[0])
			}
		})
	}
}

func TestWhatTheSystemSaysOfAPacketIsHandedOn(t *testing.T) {
	s, r, far := fastPair(t, "127.0.0.1:0")
	raw, err := s.SyscallConn()
	require.NoError(t, err)
	require.NoError(t, raw.Control(func(fd uintptr) { err = unix.SetsockoptInt(int(fd), unix.IPPROTO_IP, unix.IP_RECVTOS, 1) }))
	require.NoError(t, err)
	to := s.udp.LocalAddr().(*net.UDPAddr)
	var mark [4]byte
	binary.NativeEndian.PutUint32(mark[:], 1)
	packet := append([]byte{0x40}, "input"...)
	send := func() {
		_, _, err := far.WriteMsgUDP(packet, control(nil, unix.IPPROTO_IP, unix.IP_TOS, mark[:]), to)
		require.NoError(t, err)
	}
	messages := []ipv4.Message{{Buffers: [][]byte{make([]byte, maxPacket)}, OOB: make([]byte, 128)}}
	s.allow(r, canonical(far.LocalAddr().(*net.UDPAddr).AddrPort()))
	send()
	s.inject(r, []byte("relayed"))
	n, err := s.ReadBatch(messages, 0)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, "relayed", string(messages[0].Buffers[0][:messages[0].N]))
	require.Zero(t, messages[0].NN)

	n, err = s.ReadBatch(messages, 0)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, packet, messages[0].Buffers[0][:messages[0].N])
	require.Equal(t, r.virtual, messages[0].Addr)
	_, data, _, err := unix.ParseOneSocketControlMessage(messages[0].OOB[:messages[0].NN])
	require.NoError(t, err)
	require.EqualValues(t, 1, data[0])
}
