package simtest

import (
	"fmt"
	"slices"

	"github.com/driftback/driftback"
)

func (s *Scenario) validateDiverge(fault int, f Fault) error {
	switch {
	case s.has(Equivocate, Misreport):
		return fmt.Errorf("simtest: fault %d (diverge) and a peer that tells others another input or fingerprint: nobody could say which was found", fault)
	case len(f.From) != 1:
		return fmt.Errorf("simtest: fault %d (diverge) names the peers %v: it is one peer's", fault, f.From)
	case len(s.Peers) < 2:
		return fmt.Errorf("simtest: fault %d (diverge) is the only peer's: there is no other to differ from", fault)
	case s.FingerprintEvery == None:
		return fmt.Errorf("simtest: fault %d (diverge) and fingerprintEvery is %d: nobody would notice", fault, None)
	}
	for _, other := range s.Faults[:fault] {
		if other.Kind == Diverge {
			return fmt.Errorf("simtest: fault %d (diverge) is the second: one world may be another", fault)
		}
	}
	return nil
}

// doubled returns a step that runs one tick twice.
func doubled[S, I any](step driftback.Step[S, I], at driftback.Tick) driftback.Step[S, I] {
	return func(s *S, in []I, pass *driftback.Pass) {
		if pass.Tick() == at {
			first := *pass // what this one raises is not told
			step(s, in, &first)
		}
		step(s, in, pass)
	}
}

// doubles returns the tick that a peer runs twice, and the fault that says so, which is −1
// if none does.
func (s *Scenario) doubles(peer int) (t driftback.Tick, fault int) {
	fault = slices.IndexFunc(s.Faults, func(f Fault) bool { return f.Kind == Diverge && f.From[0] == peer })
	if fault >= 0 {
		t = driftback.Tick(s.Faults[fault].Tick)
	}
	return t, fault
}

// diverged notes whether running a tick twice has made the peer's world another.
func (p *peer[S, I]) diverged() {
	t, fault := p.m.s.doubles(int(p.self))
	if fault >= 0 && p.final > t && p.truth.at(t+1).sum != p.m.truth.at(t+1).sum {
		p.m.happens[fault] = true
	}
}
