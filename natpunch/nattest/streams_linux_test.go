package nattest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pion/turn/v5"
	"github.com/stretchr/testify/require"
)

// tlsPort is where the relay speaks TLS; TCP it speaks at serverPort.
const tlsPort = 5349

// relayURLs are the ways to the relay.
var relayURLs = map[string]string{
	"UDP": fmt.Sprintf("turn:%s:%d", turnAddr, serverPort),
	"TCP": fmt.Sprintf("turn:%s:%d?transport=tcp", turnAddr, serverPort),
	"TLS": fmt.Sprintf("turns:%s:%d?transport=tcp", turnAddr, tlsPort),
}

// certVariable names the file with the relay's certificate and key, and trustVariable that with the certificates that
// the system's library takes for good.
const certVariable, trustVariable = "DRIFTBACK_NATTEST_CERTIFICATE", "SSL_CERT_FILE"

// certify makes a certificate for the relay, and returns its file.
func certify(t testing.TB) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.ParseIP(turnAddr)}, IsCA: true, BasicConstraintsValid: true,
	}
	cert, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	name := filepath.Join(t.TempDir(), "relay.pem")
	both := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret})...)
	require.NoError(t, os.WriteFile(name, both, 0o600))
	return name
}

// streams are the listeners of a relay over TCP and TLS. Once deaf is set they hear no question but that for
// an address.
func streams(addr string, deaf *atomic.Bool) (listeners []net.Listener, err error) {
	plain, err := net.Listen("tcp4", fmt.Sprintf("%s:%d", addr, serverPort))
	if err != nil {
		return nil, err
	}
	listeners = append(listeners, &deafListener{plain, deaf})
	name := os.Getenv(certVariable)
	if name == "" {
		return listeners, nil
	}
	cert, err := tls.LoadX509KeyPair(name, name)
	if err != nil {
		return nil, err
	}
	secret, err := tls.Listen("tcp4", fmt.Sprintf("%s:%d", addr, tlsPort), &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS13})
	if err != nil {
		return nil, err
	}
	return append(listeners, &deafListener{secret, deaf}), nil
}

type deafListener struct {
	net.Listener
	deaf *atomic.Bool
}

func (l *deafListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &deafConn{Conn: conn, frames: turn.NewSTUNConn(conn), deaf: l.deaf}, nil
}

// deafConn is a relay's end of a connection.
type deafConn struct {
	net.Conn
	frames *turn.STUNConn
	deaf   *atomic.Bool
	buffer [2048]byte
	rest   []byte
}

func (c *deafConn) Read(b []byte) (int, error) {
	for len(c.rest) == 0 {
		n, _, err := c.frames.ReadFrom(c.buffer[:])
		if err != nil {
			return 0, err
		}
		if !c.deaf.Load() || n > 1 && binary.BigEndian.Uint16(c.buffer[:]) == allocate {
			c.rest = c.buffer[:n]
		}
	}
	n := copy(b, c.rest)
	c.rest = c.rest[n:]
	return n, nil
}
