package buggify

import "github.com/driftback/driftback/rng"

// A site is active in one of oneIn Sites, and then fires one of oneIn times.
const oneIn = 4

// Sites says which sites are active in one session, and when they fire. Nil is none.
type Sites struct {
	rand   rng.PCG
	active [Count]bool
	fired  [Count]uint64
}

// New draws which sites are active. Equal seeds give equal sites, which fire alike when
// they are asked alike.
func New(seed uint64) *Sites {
	s := &Sites{rand: rng.New(seed, 0)}
	for i := range s.active {
		s.active[i] = s.rand.Chance(1, oneIn)
	}
	return s
}

// Only returns sites of which one is active, for tests of what it does.
func Only(seed uint64, site Site) *Sites {
	s := &Sites{rand: rng.New(seed, 0)}
	s.active[site] = true
	return s
}

// Fires reports whether a rare path is to be taken now. It is false where s is nil.
func (s *Sites) Fires(site Site) bool { return s != nil && s.fires(site) }

// fires is apart so that the comparison with nil is compiled into the caller.
func (s *Sites) fires(site Site) bool {
	// What is not active draws nothing, so that it is as if it were not there.
	if !s.active[site] || !s.rand.Chance(1, oneIn) {
		return false
	}
	s.fired[site]++
	return true
}

// Active reports whether a site may fire.
func (s *Sites) Active(site Site) bool { return s != nil && s.active[site] }

// Fired returns how often a site has fired.
func (s *Sites) Fired(site Site) uint64 {
	if s == nil {
		return 0
	}
	return s.fired[site]
}
