package server

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/pion/turn/v5"

	"github.com/driftback/driftback/identity"
	"github.com/driftback/driftback/signalling/internal/frame"
)

// Servers are the STUN and TURN servers that members are told of, 8 at most.
type Servers struct {
	// STUN are URLs of STUN servers: "stun:host:port".
	STUN []string
	// TURN are URLs of TURN servers which have Secret: "turn:host:port", or with "?transport=tcp", or
	// "turns:…?transport=tcp".
	TURN []string
	// Secret is what the TURN servers make passwords from (coturn's static-auth-secret), at least 16 bytes. Members are
	// not told: each gets a password of its own, which works for PasswordLifetime.
	Secret string
	// PasswordLifetime is how long one works; at half of it the member gets another, if it is there. A relay
	// stops when its password does, so let half of it be longer than this server may be away. 0 is 6 h.
	PasswordLifetime time.Duration
}

const passwordLifetime = 6 * time.Hour

func (s *Servers) validate() error {
	if n := len(s.STUN) + len(s.TURN); n > frame.MaxServers {
		return fmt.Errorf("server: Config.Servers holds %d URLs, and %d is the most", n, frame.MaxServers)
	}
	if s.PasswordLifetime == 0 {
		s.PasswordLifetime = passwordLifetime
	}
	if s.PasswordLifetime < time.Second || s.PasswordLifetime > maxTime {
		return fmt.Errorf("server: Config.Servers.PasswordLifetime is %v: 1s to %v are allowed, and 0 for %v", s.PasswordLifetime, maxTime, passwordLifetime)
	}
	if len(s.TURN) > 0 && len(s.Secret) < minKey {
		return fmt.Errorf("server: Config.Servers.Secret has %d bytes, and %d is the least for a TURN server", len(s.Secret), minKey)
	}
	for _, list := range []struct {
		urls    []string
		name    string
		schemes []string
	}{{s.STUN, "STUN", []string{"stun:"}}, {s.TURN, "TURN", []string{"turn:", "turns:"}}} {
		for _, url := range list.urls {
			ok := false
			for _, scheme := range list.schemes {
				ok = ok || len(url) > len(scheme) && strings.HasPrefix(url, scheme)
			}
			if !ok || len(url) > frame.MaxText {
				return fmt.Errorf("server: Config.Servers.%s holds %q, and should hold %shost:port", list.name, url, list.schemes[0])
			}
		}
	}
	return nil
}

// welcome is what a member with a key is told when it has entered.
func (s *Servers) welcome(key identity.Key) (frame.Frame, error) {
	f := frame.Frame{Kind: frame.Welcome, Seconds: uint32(min(s.PasswordLifetime/time.Second, math.MaxUint32))}
	for _, url := range s.STUN {
		f.Servers = append(f.Servers, frame.Server{URL: url})
	}
	if len(s.TURN) == 0 {
		return f, nil
	}
	// The relay's bounds are by user, and so a member is one however often it comes.
	user, password, err := turn.GenerateLongTermTURNRESTCredentials(s.Secret, key.Pin().String()[:userChars], s.PasswordLifetime)
	if err != nil {
		return f, fmt.Errorf("server: no password for the relay: %w", err)
	}
	for _, url := range s.TURN {
		f.Servers = append(f.Servers, frame.Server{URL: url, Username: user, Password: password})
	}
	return f, nil
}

// userChars is how much of a pin names a member to relays.
const userChars = 16
