package natpunch

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/pion/logging"
	"github.com/pion/stun/v4"
	"github.com/pion/turn/v5"
	"github.com/stretchr/testify/require"
)

// serveStream starts a TURN server on a listener on the loopback interface.
func serveStream(t testing.TB, l net.Listener) {
	t.Helper()
	quiet := logging.NewDefaultLoggerFactory()
	quiet.DefaultLogLevel = logging.LogLevelDisabled
	server, err := turn.NewServer(turn.ServerConfig{
		Realm: "driftback", LoggerFactory: quiet,
		AuthHandler: func(a *turn.RequestAttributes) (string, []byte, bool) {
			return a.Username, turn.GenerateAuthKey(a.Username, a.Realm, "secret"), a.Username == "player"
		},
		ListenerConfigs: []turn.ListenerConfig{{
			Listener: l, RelayAddressGenerator: &turn.RelayAddressGeneratorStatic{RelayAddress: net.IPv4(127, 0, 0, 1), Address: "127.0.0.1"},
		}},
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Close()) })
}

// certified is a certificate for loopback addresses, and who vouches for it.
func certified() (*tls.Config, *x509.CertPool) {
	s := httptest.NewTLSServer(nil)
	defer s.Close()
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	return &tls.Config{Certificates: s.TLS.Certificates, MinVersion: tls.VersionTLS13}, roots
}

func TestPeersMeetThroughARelayOverAStream(t *testing.T) {
	own, roots := certified()
	plain, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	serveStream(t, plain)
	secret, err := tls.Listen("tcp4", "127.0.0.1:0", own)
	require.NoError(t, err)
	serveStream(t, secret)
	for name, url := range map[string]string{
		"TCP": "turn:" + plain.Addr().String() + "?transport=tcp",
		"TLS": "turns:" + secret.Addr().String() + "?transport=tcp",
	} {
		t.Run(name, func(t *testing.T) {
			m := newMatch(t, 2)
			for i := range 2 {
				c := m.config(i)
				c.relayOnly, c.roots = true, roots
				c.Servers = []Server{{URL: url, Username: "player", Password: "secret"}}
				m.open(c)
			}
			m.meet()
			m.talk(0, 1)
			require.True(t, m.path(0, 1).Relayed && m.path(1, 0).Relayed)
		})
	}
}

// dialer is that of one round, which knows one relay.
func dialer(t testing.TB, url string, roots *x509.CertPool) *relayDialer {
	t.Helper()
	parsed, err := stun.ParseURI(url)
	require.NoError(t, err)
	system, err := newSystemNet()
	require.NoError(t, err)
	relays := newRelayNet(system, nil)
	t.Cleanup(relays.cut)
	return &relayDialer{relays, []*stun.URI{parsed}, roots}
}

func TestARelayOverTLSMustHaveACertificateOfItsName(t *testing.T) {
	own, roots := certified()
	l, err := tls.Listen("tcp4", "127.0.0.1:0", own)
	require.NoError(t, err)
	serveStream(t, l)
	url := "turns:" + l.Addr().String() + "?transport=tcp"

	conn, err := dialer(t, url, roots).Dial("tcp4", l.Addr().String())
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	var unknown x509.UnknownAuthorityError
	_, err = dialer(t, url, nil).Dial("tcp4", l.Addr().String())
	require.ErrorAs(t, err, &unknown, "nobody whom the system knows vouches for it")
	var other x509.HostnameError
	_, port, err := net.SplitHostPort(l.Addr().String())
	require.NoError(t, err)
	_, err = dialer(t, "turns:localhost:"+port+"?transport=tcp", roots).Dial("tcp4", "localhost:"+port)
	require.ErrorAs(t, err, &other)
}

// A server that accepts a connection and says nothing would hold up the end of the round.
func TestAConnectionToARelayIsNotWaitedForWhenItsRoundEnds(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = l.Close() }()
	d := dialer(t, "turns:"+l.Addr().String()+"?transport=tcp", nil)
	failed := make(chan error)
	go func() {
		_, err := d.Dial("tcp4", l.Addr().String())
		failed <- err
	}()
	conn, err := l.Accept()
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	d.relays.cut()
	select {
	case err := <-failed:
		require.Error(t, err)
	case <-time.After(patience):
		require.FailNow(t, "it waits")
	}
	_, err = d.Dial("tcp4", l.Addr().String())
	require.Error(t, err, "nothing is opened any more")
}

func TestAQuestionOverAStreamThatIsInVainIsSentAllTheSame(t *testing.T) {
	near, far := net.Pipe()
	defer func() { _ = near.Close() }()
	c := &relayStream{Conn: near}
	ask := func() error {
		failed := make(chan error)
		go func() {
			_, err := c.Write(question(1))
			failed <- err
		}()
		var b [stunHeader]byte
		_, err := far.Read(b[:])
		require.NoError(t, err)
		require.Equal(t, question(1), b[:])
		return <-failed
	}
	require.NoError(t, ask())
	require.ErrorIs(t, ask(), errRelaySilent)
	go func() { _, _ = far.Write([]byte("an answer after all")) }()
	_, err := c.Read(make([]byte, 100))
	require.NoError(t, err)
	require.False(t, c.silent)
	require.Positive(t, c.roundTrip)
	require.NoError(t, far.Close())
}
