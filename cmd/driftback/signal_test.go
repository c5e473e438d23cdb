package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/pion/logging"
	"github.com/pion/turn/v5"
	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/signalling/web"
)

// selfSigned writes a certificate for this machine and its key, and returns their files and who trusts them.
func selfSigned(t *testing.T) (cert, key string, trust *x509.CertPool) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	require.NoError(t, err)
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	cert, key = filepath.Join(t.TempDir(), "cert.pem"), filepath.Join(t.TempDir(), "key.pem")
	certPEM := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	require.NoError(t, os.WriteFile(cert, certPEM, 0o600))
	require.NoError(t, os.WriteFile(key, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER}), 0o600))
	trust = x509.NewCertPool()
	require.True(t, trust.AppendCertsFromPEM(certPEM))
	return cert, key, trust
}

func TestPlayersMeetOverTheCommandAndUseItsRelayInAnotherProcess(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("a process cannot be interrupted from outside")
	}
	cert, key, trust := selfSigned(t)
	c := exec.CommandContext(t.Context(), os.Args[0], "signal", "-addr", "127.0.0.1:0", "-cert", cert, "-key", key,
		"-turn", "127.0.0.1:0", "-turn-host", "127.0.0.1", "-stun", "stun:stun.example.org")
	c.Env = append(os.Environ(), "DRIFTBACK_TEST=1")
	said, err := c.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	lines := bufio.NewScanner(said)
	require.True(t, lines.Scan())
	at := regexp.MustCompile(`msg=serving address=(\S+) tls=true .*relay=(\S+)`).FindStringSubmatch(lines.Text())
	require.NotNil(t, at, lines.Text())
	var rest strings.Builder
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for lines.Scan() {
			rest.WriteString(lines.Text() + "\n")
		}
	}()

	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trust}, ForceAttemptHTTP2: true} // as the default client does
	defer tr.CloseIdleConnections()
	i := web.NewInvitation()
	var members [2]*web.Member
	for self := range members {
		me, err := identity.Generate()
		require.NoError(t, err)
		members[self], err = web.Join(ctx, web.Config{
			Server: "https://" + at[1], Invitation: i, Make: self == 0, Self: driftback.Peer(self), Identity: me, Client: &http.Client{Transport: tr},
		})
		require.NoError(t, err)
		defer members[self].Leave()
	}
	met, err := members[1].Meet(ctx, 0)
	require.NoError(t, err)
	require.True(t, met.Proven)
	servers := members[1].Servers()
	require.Len(t, servers, 3)
	require.Equal(t, web.Server{URL: "stun:stun.example.org"}, servers[0])
	require.Equal(t, "stun:"+at[2], servers[1].URL)
	require.Equal(t, "turn:"+at[2], servers[2].URL)
	allocate(t, at[2], servers[2].Username, servers[2].Password)

	require.NoError(t, c.Process.Signal(os.Interrupt))
	<-ended
	require.NoError(t, c.Wait(), rest.String())
	require.Contains(t, rest.String(), "shut down")
	require.NotContains(t, rest.String(), i.String(), "a secret is not logged")
	require.NotContains(t, rest.String(), i.Room(), "nor the name of a room")
	for end := time.Now().Add(20 * time.Second); !errors.Is(members[0].Err(), web.ErrAway); time.Sleep(time.Millisecond) {
		require.True(t, time.Now().Before(end))
	}
}

// allocate gets a port of a relay and gives it back.
func allocate(t *testing.T, relay, user, password string) {
	conn, err := net.ListenPacket("udp4", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	quiet := logging.NewDefaultLoggerFactory()
	quiet.DefaultLogLevel = logging.LogLevelDisabled
	client, err := turn.NewClient(&turn.ClientConfig{TURNServerAddr: relay, Conn: conn, Username: user, Password: password, LoggerFactory: quiet})
	require.NoError(t, err)
	defer client.Close()
	require.NoError(t, client.Listen())
	relayed, err := client.Allocate()
	require.NoError(t, err)
	require.NoError(t, relayed.Close())
}

func TestSignalSaysWhatIsWrongWithItsFlagsInAnotherProcess(t *testing.T) {
	for want, args := range map[string][]string{
		"driftback: signal takes no arguments, and was given \"x\".\n":                                                     {"x"},
		"driftback: -cert and -key go together: give both for TLS, and neither behind a proxy that does it.\n":             {"-cert", "x"},
		"driftback: -turn-host is \"\": give the IP address by which players reach the relay.\n":                           {"-turn", "127.0.0.1:0"},
		"driftback: -turn-ports is \"9\": give two ports such as 49152-65535.\n":                                           {"-turn", "127.0.0.1:0", "-turn-host", "127.0.0.1", "-turn-ports", "9"},
		"driftback: server: Config.MaxMembers is 65: 2 to 64 are allowed, and 0 for 16.\n":                                 {"-max-members", "65"},
		"driftback: server: Config.Servers.Secret has 0 bytes, and 16 is the least for a TURN server.\n":                   {"-turn-url", "turn:x"},
		"driftback: server: Config.Servers.STUN holds \"x\", and should hold stun:host:port.\n":                            {"-stun", "x"},
		"driftback: -addr is \"127.0.0.1:99999\": listen tcp: address 99999: invalid port.\n":                              {"-addr", "127.0.0.1:99999"},
		"driftback: -cert \"nowhere\" and -key \"nowhere\": open nowhere: no such file or directory.\n":                    {"-cert", "nowhere", "-key", "nowhere"},
		"driftback: turnserver: Config.PublicIP is 0.0.0.0, and should be the address that peers reach this machine by.\n": {"-turn", "127.0.0.1:0", "-turn-host", "0.0.0.0"},
	} {
		code, _, errs := run(t, append([]string{"signal"}, args...)...)
		require.Equal(t, want, errs)
		require.Equal(t, 2, code)
	}
}
