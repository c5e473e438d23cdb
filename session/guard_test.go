package session_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/snapshot"
	"github.com/driftback/driftback/transport/loopback"
)

// everything has a field of each kind that a state without memory of its own may have.
type everything struct {
	Ticks int64
	Bool  bool
	I     int
	I8    int8
	I16   int16
	I32   int32
	I64   int64
	U     uint
	U8    uint8
	U16   uint16
	U32   uint32
	U64   uint64
	F32   float32
	F64   float64
	C64   complex64
	C128  complex128
	Many  [3]struct {
		On   bool
		Deep [2]struct{ Last int16 }
	}
	hidden struct{ dice uint32 }
}

// alone is a match of one peer over a state of any type, which has run some ticks.
func alone[S any](t *testing.T, ticks int, step func(s *S), change func(c *session.Config[S, input])) *session.Lockstep[S, input] {
	t.Helper()
	c := session.Config[S, input]{
		Step: func(s *S, _ []input, _ *driftback.Pass) { step(s) }, Players: []driftback.Peer{0}, Guard: true,
	}
	if change != nil {
		change(&c)
	}
	m, err := session.New(c)
	require.NoError(t, err)
	for range ticks {
		r, err := m.Tick(0, input{})
		require.NoError(t, err)
		require.Equal(t, session.Advanced, r.Phase)
	}
	return m
}

// written returns what a session says of a write.
func written[S any](t *testing.T, m *session.Lockstep[S, input]) *session.WrittenError {
	t.Helper()
	r, err := m.Tick(0, input{})
	require.ErrorIs(t, err, session.ErrWritten)
	require.Equal(t, session.Ended, r.Phase)
	var w *session.WrittenError
	require.ErrorAs(t, err, &w)
	require.Contains(t, err.Error(), fmt.Sprintf("as tick %d was about to begin: %s was %s and is %s;", w.Tick, w.Path, w.Was, w.Is))
	_, again := m.Tick(0, input{})
	require.Equal(t, err, again, "it has ended")
	return w
}

func TestAWriteToAnyKindOfFieldIsFoundAndNamed(t *testing.T) {
	for path, c := range map[string]struct {
		write   func(s *everything)
		was, is string
	}{
		"Ticks":                {func(s *everything) { s.Ticks-- }, "5", "4"},
		"Bool":                 {func(s *everything) { s.Bool = true }, "false", "true"},
		"I":                    {func(s *everything) { s.I = -1 }, "0", "-1"},
		"I8":                   {func(s *everything) { s.I8 = -1 }, "0", "-1"},
		"I16":                  {func(s *everything) { s.I16 = 300 }, "0", "300"},
		"I32":                  {func(s *everything) { s.I32 = 1 << 20 }, "0", "1048576"},
		"I64":                  {func(s *everything) { s.I64 = 1 << 40 }, "0", "1099511627776"},
		"U":                    {func(s *everything) { s.U = 1 }, "0", "1"},
		"U8":                   {func(s *everything) { s.U8 = 255 }, "0", "255"},
		"U16":                  {func(s *everything) { s.U16 = 1 }, "0", "1"},
		"U32":                  {func(s *everything) { s.U32 = 1 }, "0", "1"},
		"U64":                  {func(s *everything) { s.U64 = 1 << 63 }, "0", "9223372036854775808"},
		"F32":                  {func(s *everything) { s.F32 = 0.5 }, "0", "0.5"},
		"F64":                  {func(s *everything) { s.F64 *= -1 }, "0", "-0"},
		"C64":                  {func(s *everything) { s.C64 = 2i }, "(0, 0)", "(0, 2)"},
		"C128":                 {func(s *everything) { s.C128 = 1 }, "(0, 0)", "(1, 0)"},
		"Many[2].On":           {func(s *everything) { s.Many[2].On = true }, "false", "true"},
		"Many[1].Deep[1].Last": {func(s *everything) { s.Many[1].Deep[1].Last = 9 }, "0", "9"},
		"hidden.dice":          {func(s *everything) { s.hidden.dice = 4 }, "0", "4"},
	} {
		t.Run(path, func(t *testing.T) {
			m := alone(t, 5, func(s *everything) { s.Ticks++ }, nil)
			c.write(m.State())
			require.Equal(t, &session.WrittenError{Tick: 5, Path: path, Was: c.was, Is: c.is}, written(t, m))
		})
	}
	// Whoever adds a kind of field to the type has to write to it above.
	require.Equal(t, 18, reflect.TypeFor[everything]().NumField())
}

// herd has memory of its own, and bytes of its own.
type herd struct {
	Ticks  int64
	Name   string
	Beasts []beast
	ByID   map[int]*beast
	Leader *beast
	cache  int // which follows from the rest, and is in no bytes
}

type beast struct {
	HP   int
	Path []int8
}

func (h *herd) step() {
	h.Ticks++
	h.cache++
	if h.Beasts == nil {
		h.Name = "cows"
		h.Beasts = []beast{{HP: 3}, {HP: 4, Path: []int8{1, 2}}}
		h.Leader = &beast{HP: 5}
		h.ByID = map[int]*beast{1: {HP: 6}, 2: {HP: 7}}
	}
}

// AppendBinary is JSON, whose maps are in the order of their keys.
func (h *herd) AppendBinary(b []byte) ([]byte, error) {
	j, err := json.Marshal(h)
	return append(b, j...), err
}

func (h *herd) read(b []byte) error {
	*h = herd{}
	return json.Unmarshal(b, h)
}

// Each can be copied in another way, or not at all.
type (
	readHerd   struct{ Herd herd }
	copiedHerd struct{ Herd herd }
	sealedHerd struct{ Herd herd }
)

func (h *readHerd) AppendBinary(b []byte) ([]byte, error)   { return h.Herd.AppendBinary(b) }
func (h *readHerd) UnmarshalBinary(b []byte) error          { return h.Herd.read(b) }
func (h *copiedHerd) AppendBinary(b []byte) ([]byte, error) { return h.Herd.AppendBinary(b) }
func (h *sealedHerd) AppendBinary(b []byte) ([]byte, error) { return h.Herd.AppendBinary(b) }

func (h *copiedHerd) CopyTo(to *copiedHerd) {
	b, err := h.AppendBinary(nil)
	if err == nil {
		err = to.Herd.read(b)
	}
	if err != nil {
		panic(err)
	}
	to.Herd.cache = h.Herd.cache
}

// sealing saves what says itself how it is saved no other way.
type sealing struct{ bytes [][]byte }

func (s *sealing) Save(i int, from *sealedHerd) (err error) {
	s.bytes[i], err = from.AppendBinary(nil)
	return err
}

func (s *sealing) Load(i int, into *sealedHerd) error { return into.Herd.read(s.bytes[i]) }

func TestAWriteToAStateWithBytesOfItsOwnIsFoundAndNamed(t *testing.T) {
	for path, c := range map[string]struct {
		write   func(h *herd)
		was, is string
	}{
		"Herd.Name":                          {func(h *herd) { h.Name = "cats" }, "cows", "cats"},
		"Herd.Beasts[0].HP":                  {func(h *herd) { h.Beasts[0].HP = 1 }, "3", "1"},
		"Herd.Beasts[1].Path[1]":             {func(h *herd) { h.Beasts[1].Path[1]++ }, "2", "3"},
		"Herd.Leader.HP":                     {func(h *herd) { h.Leader.HP-- }, "5", "4"},
		"Herd.ByID[2].HP":                    {func(h *herd) { h.ByID[2].HP = 0 }, "7", "0"},
		"Herd.ByID[1] (whether it is there)": {func(h *herd) { delete(h.ByID, 1) }, "true", "false"},
		"Herd.Beasts (its length)":           {func(h *herd) { h.Beasts = h.Beasts[:1] }, "2", "1"},
	} {
		want := &session.WrittenError{Tick: 5, Path: path, Was: c.was, Is: c.is}
		t.Run(path+", of bytes", func(t *testing.T) {
			m := alone(t, 5, func(h *readHerd) { h.Herd.step() }, nil)
			c.write(&m.State().Herd)
			require.Equal(t, want, written(t, m))
		})
		t.Run(path+", of a copy", func(t *testing.T) {
			m := alone(t, 5, func(h *copiedHerd) { h.Herd.step() }, nil)
			c.write(&m.State().Herd)
			require.Equal(t, want, written(t, m))
		})
		t.Run(path+", of neither", func(t *testing.T) {
			m := alone(t, 5, func(h *sealedHerd) { h.Herd.step() }, func(c *session.Config[sealedHerd, input]) {
				c.Save = func(places int) (snapshot.Store[sealedHerd], error) { return &sealing{make([][]byte, places)}, nil }
			})
			c.write(&m.State().Herd)
			require.Regexp(t, `^byte \d+$`, written(t, m).Path)
		})
	}
	t.Run("what is in no bytes is nobody's", func(t *testing.T) {
		m := alone(t, 5, func(h *readHerd) { h.Herd.step() }, nil)
		m.State().Herd.cache = 99
		_, err := m.Tick(0, input{})
		require.NoError(t, err)
	})
}

// moody makes other bytes each time that it is asked.
type moody struct {
	Herd  herd
	asked *int
}

func (m *moody) CopyTo(to *moody) { *to = *m }

func (m *moody) AppendBinary(b []byte) ([]byte, error) {
	*m.asked++
	return append(b, byte(*m.asked)&3), nil
}

func TestBytesThatDifferEachTimeAreNotTakenForAWrite(t *testing.T) {
	m := alone(t, 0, func(*moody) {}, func(c *session.Config[moody, input]) { c.Initial = &moody{asked: new(int)} })
	_, err := m.Tick(0, input{})
	require.NoError(t, err)
	_, err = m.Tick(0, input{})
	require.ErrorIs(t, err, session.ErrState)
	require.NotErrorIs(t, err, session.ErrWritten)
	require.ErrorContains(t, err, "its AppendBinary makes other bytes of the same world each time")
}

func TestAStateWithoutBytesCannotBeGuarded(t *testing.T) {
	type closed struct{ Any any }
	_, err := session.New(session.Config[closed, input]{
		Step: func(*closed, []input, *driftback.Pass) {}, Players: []driftback.Peer{0}, FingerprintEvery: session.None, Guard: true,
		Save: func(int) (snapshot.Store[closed], error) { return nil, errors.New("it is not saved here") },
	})
	require.ErrorContains(t, err, "session: Guard is true, and the world cannot be held against what it was: fingerprint: closed.Any is an interface")

	fails := alone(t, 4, func(b *brittle) { b.ticks = append(b.ticks, 1) }, func(c *session.Config[brittle, input]) {
		c.Initial, c.FingerprintEvery = &brittle{fails: 5}, session.None
	})
	_, err = fails.Tick(0, input{})
	require.ErrorIs(t, err, session.ErrState)
	require.ErrorIs(t, err, errNoBytes)
}

// draws is code that looks at the world to draw it, and moves something on the way.
func draws(s *state) { s.Held[3] += 5 }

// requireWritten requires that a peer has found what draws has written.
func requireWritten(t *testing.T, err error, at driftback.Tick) {
	t.Helper()
	var w *session.WrittenError
	require.ErrorAs(t, err, &w)
	require.Equal(t, "Held[3]", w.Path)
	require.Equal(t, at, w.Tick)
}

func TestAWriteIsFoundBetweenAnyTwoCalls(t *testing.T) {
	poll := func(p *peer) error { _, err := p.session.Poll(p.match.net.Now() + p.drift); return err }
	tick := func(p *peer) error { _, err := p.session.Tick(p.match.net.Now()+p.drift, input{}); return err }
	until := func(t driftback.Tick) func(m *match) *peer {
		return func(m *match) *peer { m.runUntil(t); return m.peers[0] }
	}
	for name, c := range map[string]struct {
		before func(m *match) *peer // what was before the write, and to whose world it is
		call   func(p *peer) error
	}{
		"before the first Tick": {func(m *match) *peer { return m.peers[0] }, tick},
		"before the first Poll": {func(m *match) *peer { return m.peers[0] }, poll},
		"while nobody has come": {func(m *match) *peer { require.NoError(m.t, poll(m.peers[0])); return m.peers[0] }, poll},
		"after a tick":          {until(50), tick},
		"between Tick and Poll": {until(50), poll},
		"between Poll and Tick": {func(m *match) *peer { p := until(50)(m); require.NoError(m.t, poll(p)); return p }, tick},
		"between Poll and Poll": {func(m *match) *peer { p := until(50)(m); require.NoError(m.t, poll(p)); return p }, poll},
		"while it stalls": {func(m *match) *peer {
			p := until(20)(m)
			m.peers[1].asleep = true
			for p.stalled = 0; p.stalled < 20; {
				m.run(1)
			}
			return p
		}, tick},
		"right after a rollback": {func(m *match) *peer {
			p := m.peers[1] // it runs ahead
			m.runWhile(2000, "never rolled back", func() bool { return p.session.Stats().Loop.Rollbacks < 10 })
			return p
		}, tick},
		"after the last tick": {func(m *match) *peer {
			p := until(20)(m)
			m.peers[1].asleep = true
			require.NoError(m.t, p.session.Finish(p.tick()+2))
			m.run(20)
			return p
		}, poll},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMatch(t, 2, func(c *session.Config[state, input]) { c.Guard = true })
			m.impair(loopback.Impairment{Latency: 60 * ms})
			p := c.before(m)
			require.NoError(t, p.err)
			at := p.tick()
			draws(p.session.State())
			requireWritten(t, c.call(p), at)
			require.Equal(t, at, p.tick(), "nothing has run on a world that somebody has written to")
		})
	}
}

func TestAWriteWhileTheMatchIsPausedIsFound(t *testing.T) {
	d := newDuo(t, 7, step, func(c *session.Config[state, input]) { c.Guard = true })
	for range 100 {
		d.frame()
	}
	m := d.peer[0]
	require.NoError(t, m.Pause())
	for range 100 {
		d.frame()
	}
	paused, _ := m.Paused()
	require.True(t, paused)
	at := m.Stats().Tick
	draws(m.State())
	_, err := m.Tick(d.net.Now(), input{})
	requireWritten(t, err, at)
}

func TestTheOthersAreToldWhatWasWrittenAndWithoutAGuardNobodyNoticesAtOnce(t *testing.T) {
	for _, guarded := range []bool{true, false} {
		m := newMatch(t, 2, func(c *session.Config[state, input]) { c.Guard = guarded && c.Self == 0 })
		m.impair(loopback.Impairment{Latency: 30 * ms})
		m.runUntil(100)
		drawing, other := m.peers[0], m.peers[1]
		draws(drawing.session.State())
		_, err := drawing.session.Poll(m.net.Now() + drawing.drift)
		if !guarded {
			require.NoError(t, err)
			continue
		}
		requireWritten(t, err, drawing.tick())
		drawing.err = err
		m.runWhile(200, "not told", func() bool { return other.err == nil })
		require.ErrorIs(t, other.err, session.ErrHalted)
		require.ErrorContains(t, other.err, "Held[3] was ")
	}
}

func TestAWriteToASpectatorsWorldEndsTheSpectatorAlone(t *testing.T) {
	m := newMatch(t, 2, watched(2))
	waiting, s, free := m.watch(8, nil), m.watch(9, nil), m.watch(10, func(c *session.WatchConfig[state, input]) { c.Guard = false })
	draws(waiting.session.State())
	_, err := waiting.session.Tick(0)
	requireWritten(t, err, 0)
	waiting.err = err

	m.runUntil(100)
	require.Positive(t, s.checked)
	s.asleep, free.asleep = true, true
	for _, s := range []*spectator{s, free} {
		draws(s.session.State())
		_, s.err = s.session.Tick(m.net.Now())
	}
	requireWritten(t, s.err, s.result.Tick)
	require.NoError(t, free.err, "this one is not guarded")
	_, again := s.session.Tick(m.net.Now())
	require.Equal(t, s.err, again)
	m.runUntil(200)
}

func TestAWriteToTheWorldOfOneThatComesBackIsFoundOnTheWayAndAfterwards(t *testing.T) {
	open := func(t *testing.T) (*match, *peer) {
		m := newReturnMatch(t, 3, func(c *session.Config[state, input]) { c.Guard = true })
		m.impair(loopback.Impairment{Latency: 30 * ms})
		m.runUntil(100)
		m.peers[2].crash()
		m.run(400)
		return m, m.comeBack(2, nil)
	}
	t.Run("on the way", func(t *testing.T) {
		m, p := open(t)
		m.runWhile(1000, "nothing to begin with", func() bool { return p.confirmed == 0 && p.err == nil })
		require.Nil(t, p.session)
		at := p.confirmed
		draws(p.joiner.State())
		_, err := p.joiner.Tick(m.net.Now() + p.drift)
		requireWritten(t, err, at)
		p.err = err
		m.runUntilOthers(p, 300)
	})
	t.Run("between the joiner's last call and the session's first", func(t *testing.T) {
		m, p := open(t)
		m.runWhile(1500, "not let in", func() bool { return p.session == nil && p.err == nil })
		draws(p.session.State())
		_, err := p.session.Tick(m.net.Now()+p.drift, input{})
		requireWritten(t, err, p.tick())
	})
}

// runUntilOthers runs until all but one have confirmed tick t.
func (m *match) runUntilOthers(but *peer, t driftback.Tick) {
	m.t.Helper()
	m.runWhile(3000, "not confirmed", func() bool {
		for _, p := range m.peers {
			if p != but && p.confirmed < t {
				require.NoError(m.t, p.err)
				return true
			}
		}
		return false
	})
}

// Two whose start states have memory in common write to each other's world.
func TestASessionThatWritesToAnothersWorldIsFound(t *testing.T) {
	shared := make([]beast, 1)
	open := func() *session.Lockstep[readHerd, input] {
		return alone(t, 0, func(h *readHerd) { h.Herd.Beasts[0].HP++ }, func(c *session.Config[readHerd, input]) {
			c.Initial = &readHerd{herd{Beasts: shared}}
		})
	}
	a, b := open(), open()
	for _, m := range []*session.Lockstep[readHerd, input]{a, b} {
		_, err := m.Tick(0, input{})
		require.NoError(t, err)
	}
	require.Equal(t, &session.WrittenError{Tick: 1, Path: "Herd.Beasts[0].HP", Was: "1", Is: "2"}, written(t, a))
}

// BenchmarkAGuardedWorld is what Guard costs: one call of Tick with it and one without, over states of a
// few sizes of which a step changes one word.
func BenchmarkAGuardedWorld(b *testing.B) {
	guardCost[[64]uint64](b, "512 B", func(s *[64]uint64) { s[0]++ })
	guardCost[[8 << 10]uint64](b, "64 KiB", func(s *[8 << 10]uint64) { s[0]++ })
	guardCost[[1 << 17]uint64](b, "1 MiB", func(s *[1 << 17]uint64) { s[0]++ })
}

func guardCost[S any](b *testing.B, name string, step func(s *S)) {
	var perOp [2]float64
	for i, guarded := range []bool{false, true} {
		b.Run(fmt.Sprint(name, ", guarded=", guarded), func(b *testing.B) {
			m, err := session.New(session.Config[S, input]{
				Step: func(s *S, _ []input, _ *driftback.Pass) { step(s) }, Players: []driftback.Peer{0}, Guard: guarded,
			})
			if err != nil {
				b.Fatal(err)
			}
			for b.Loop() {
				if _, err := m.Tick(0, input{}); err != nil {
					b.Fatal(err)
				}
			}
			perOp[i] = float64(b.Elapsed()) / float64(b.N)
			if i == 1 && perOp[0] > 0 {
				b.ReportMetric(perOp[1]/perOp[0], "of-unguarded")
			}
		})
	}
}
