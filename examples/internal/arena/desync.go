package arena

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/driftback/driftback"
)

// step is the game's, and where the options ask for a desync one that is not pure at the last seat.
func (p *peer[S, I]) step() driftback.Step[S, I] {
	g, at := p.game, driftback.Tick(p.o.desync)
	if at == 0 || p.choosing != nil || int(p.self) != p.o.players-1 {
		return g.Step
	}
	return func(s *S, in []I, pass *driftback.Pass) {
		g.Step(s, in, pass)
		if pass.Tick() == at {
			g.Blot(s)
		}
	}
}

// reported writes what is known of a desync, if that is how the match has ended, and returns the
// error with where that is.
func (p *peer[S, I]) reported(err error) error {
	report, ok := p.match.Report()
	if !ok {
		return err
	}
	b, failed := report.Append(nil)
	var file *os.File
	if failed == nil {
		seat := strings.ReplaceAll(p.game.Seats[p.self], " ", "-")
		file, failed = os.CreateTemp(p.o.reports, fmt.Sprintf("%s-desync-tick-%d-%s-*.report", p.game.Name, report.Tick, seat))
	}
	if failed == nil {
		_, failed = file.Write(b)
		failed = errors.Join(failed, file.Close())
	}
	if failed != nil {
		return fmt.Errorf("%w; a report of it could not be written: %w", err, failed)
	}
	return fmt.Errorf("%w; what is known of it is in %s, which `driftback desync` opens", err, file.Name())
}
