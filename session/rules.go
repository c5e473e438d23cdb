package session

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/layout"
	"github.com/driftback/driftback/wire"
)

// rules are what everybody goes by who has to do with a match, those who watch included:
// its settings, and which inputs there are.
type rules[S any, I comparable] struct {
	cfg    Config[S, I]
	inputs *layout.Layout[I]
	in     I // one input, here because what a layout is given is taken to escape
}

func newRules[S any, I comparable](c Config[S, I]) (r rules[S, I], err error) {
	r.cfg = c
	if r.inputs, err = layout.OfInput[I](); err != nil {
		return r, fmt.Errorf("session: an input cannot be sent: %w", err)
	}
	return r, nil
}

// settings are what must be alike on every peer.
func (r *rules[S, I]) settings() []wire.Setting {
	state := "by its own bytes"
	if l, err := layout.Of[S](); err == nil {
		state = fmt.Sprintf("%016x", l.Hash())
	}
	settings := []wire.Setting{
		{Name: "game", Value: r.cfg.Game},
		{Name: "build", Value: r.build()},
		{Name: "state layout", Value: state},
		{Name: "input layout", Value: fmt.Sprintf("%016x", r.inputs.Hash())},
		{Name: "may pause", Value: r.cfg.mayPauseSetting()},
		{Name: "tick rate", Value: strconv.Itoa(r.cfg.TickRate)},
		{Name: "prediction window", Value: orNone(r.cfg.PredictionWindow)},
		{Name: "fingerprint interval", Value: r.cfg.intervalSetting()},
		{Name: "when a peer is lost", Value: r.cfg.whenLostSetting()},
	}
	slices.SortFunc(settings, func(a, b wire.Setting) int { return strings.Compare(a.Name, b.Name) })
	return settings
}

// build returns the id of the game's build, or "" if it is not known.
func (r *rules[S, I]) build() string {
	if r.cfg.Build == "" {
		return buildOf(debug.ReadBuildInfo())
	}
	return r.cfg.Build
}

// whenLostSetting says in words what happens when a peer is lost.
func (c *Config[S, I]) whenLostSetting() string {
	if c.Rejoin {
		return c.WhenLost.String() + ", and let it return"
	}
	return c.WhenLost.String()
}

func orNone(v int) string {
	if v == None {
		return "none"
	}
	return strconv.Itoa(v)
}

// valid reports whether bytes are an input that the game knows.
func (r *rules[S, I]) valid(b []byte) bool {
	return r.inputs.Parse(b, &r.in) == nil && (r.cfg.Valid == nil || r.cfg.Valid(r.in))
}

// mayPause reports whether participant p may give the entry.
func (r *rules[S, I]) mayPause(p driftback.Participant, _ wire.Entry) bool {
	return r.cfg.MayPause == 0 || r.cfg.MayPause != None && r.cfg.MayPause>>p&1 != 0
}
