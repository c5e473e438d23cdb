package natpunch

import (
	"fmt"
	"time"

	"github.com/pion/stun/v4"
)

// Server is a STUN or TURN server.
type Server struct {
	// URL is "stun:host:port", "turn:host:port", "turn:host:port?transport=tcp" or
	// "turns:host:port?transport=tcp". Without a port it is the standard one.
	URL string
	// Username and Password are for TURN.
	Username, Password string
	// Ends is when the password ends, by this machine's clock; zero is never. Others are asked
	// for ([Config].Renew) when two thirds of the time until then are over.
	Ends time.Time
}

// maxServers bounds the servers, each of which costs time and packets in every round.
const maxServers = 8

// parseServers reads the servers of a configuration.
func parseServers(list []Server) ([]*stun.URI, error) {
	if len(list) > maxServers {
		return nil, fmt.Errorf("natpunch: Config.Servers holds %d, and %d is the most", len(list), maxServers)
	}
	var urls []*stun.URI
	for _, s := range list {
		url, err := stun.ParseURI(s.URL)
		if err != nil {
			return nil, fmt.Errorf("natpunch: Config.Servers holds %q: %w", s.URL, err)
		}
		switch {
		case url.Scheme == stun.SchemeTypeSTUN && url.Proto == stun.ProtoTypeUDP:
		case url.Scheme == stun.SchemeTypeTURN, url.Scheme == stun.SchemeTypeTURNS && url.Proto == stun.ProtoTypeTCP:
			if s.Username == "" || s.Password == "" {
				return nil, fmt.Errorf("natpunch: Config.Servers holds %q without a user name and a password, which a relay wants", s.URL)
			}
			url.Username, url.Password = s.Username, s.Password
		default:
			// DTLS is left out on purpose: its implementation is the largest part of all this
			// that strangers could talk to, and QUIC encrypts anyway.
			return nil, fmt.Errorf("natpunch: Config.Servers holds %q: use stun, turn, or turns with transport=tcp", s.URL)
		}
		urls = append(urls, url)
	}
	return urls, nil
}
