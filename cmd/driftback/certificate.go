package main

import (
	"crypto/tls"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/driftback/driftback/internal/cmdline"
)

// certificateEvery is how often the files of a certificate are looked at, which is renewed every
// few weeks.
const certificateEvery = time.Minute

// certificateOf returns a TLS configuration of a certificate in two files, or nil if there
// are none. When the files change it follows.
func certificateOf(cert, key string) (*tls.Config, error) {
	if cert == "" && key == "" {
		return nil, nil
	}
	if cert == "" || key == "" {
		return nil, cmdline.Usagef("-cert and -key go together: give both for TLS, and neither behind a proxy that does it")
	}
	loaded, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, cmdline.Usagef("-cert %q and -key %q: %v", cert, key, err)
	}
	var mu sync.Mutex
	looked := time.Now()
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			mu.Lock()
			defer mu.Unlock()
			if now := time.Now(); now.Sub(looked) > certificateEvery {
				looked = now
				if again, err := tls.LoadX509KeyPair(cert, key); err == nil { // or it is being written
					loaded = again
				}
			}
			return &loaded, nil
		},
	}, nil
}

// secretOf returns a secret from the environment, without the newline that comes with a file's.
func secretOf(name string) string { return strings.TrimSpace(os.Getenv(name)) }
