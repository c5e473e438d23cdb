package natpunch

import (
	"net"
	"net/netip"
	"testing"

	"github.com/pion/stun/v4"
	"github.com/stretchr/testify/require"
)

func build(t testing.TB, attributes ...stun.Setter) []byte {
	t.Helper()
	m, err := stun.Build(attributes...)
	require.NoError(t, err)
	return m.Raw
}

func TestWhatTheLibraryBuildsIsUnderstood(t *testing.T) {
	b := build(t, stun.BindingRequest, stun.TransactionID, stun.NewUsername("theirs:ours"), stun.NewShortTermIntegrity("secret"), stun.Fingerprint)
	typ, id, username, ok := parseSTUN(b)
	require.True(t, ok)
	require.EqualValues(t, stunRequest, typ)
	require.Equal(t, "theirs:ours", string(username))
	require.Equal(t, b[8:20], id[:])

	typ, _, username, ok = parseSTUN(build(t, stun.BindingSuccess, stun.TransactionID, &stun.XORMappedAddress{IP: net.IPv4(1, 2, 3, 4), Port: 5}))
	require.True(t, ok)
	require.EqualValues(t, stunSuccess, typ)
	require.Nil(t, username)

	for n := range b {
		_, _, _, ok := parseSTUN(b[:n])
		require.False(t, ok, "cut after %d bytes", n)
	}
}

func TestAnAnswerNeedsAQuestion(t *testing.T) {
	q := questions{sent: map[transaction]netip.AddrPort{}}
	server, other := netip.MustParseAddrPort("192.0.2.1:3478"), netip.MustParseAddrPort("192.0.2.1:3479")
	question := build(t, stun.BindingRequest, stun.TransactionID)
	_, id, _, _ := parseSTUN(question)
	require.False(t, q.answered(id, server))
	q.asked(question, server)
	q.asked(question, server) // sent again
	require.False(t, q.answered(id, other), "from elsewhere")
	require.True(t, q.answered(id, server))
	require.False(t, q.answered(id, server), "once")

	for range 3 * maxQuestions {
		q.asked(build(t, stun.BindingRequest, stun.TransactionID), server)
	}
	require.Len(t, q.sent, maxQuestions)
	q.asked(build(t, stun.BindingSuccess, stun.TransactionID), server)
	require.Len(t, q.sent, maxQuestions, "an answer of ours waits for none")
}

func FuzzSTUN(f *testing.F) {
	f.Add(build(f, stun.BindingRequest, stun.TransactionID, stun.NewUsername("theirs:ours"), stun.Fingerprint))
	f.Add(build(f, stun.BindingSuccess, stun.TransactionID, &stun.XORMappedAddress{IP: net.IPv4(1, 2, 3, 4), Port: 5}))
	f.Fuzz(func(t *testing.T, b []byte) {
		typ, id, username, ok := parseSTUN(b)
		if !ok {
			return
		}
		// What is passed on, the library understands in the same way.
		m := &stun.Message{Raw: b}
		require.NoError(t, m.Decode())
		require.Equal(t, typ, m.Type.Value())
		require.EqualValues(t, id, m.TransactionID)
		theirs, err := m.Get(stun.AttrUsername)
		require.Equal(t, err == nil, username != nil)
		require.Equal(t, string(theirs), string(username))
	})
}
