package sim

import (
	"encoding/binary"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/driftback/driftback"
	"github.com/driftback/driftback/fixed"
)

var _ driftback.Step[State, Input] = Step

// faults returns a sentence for each rule about states that s breaks.
func faults(s *State) []string {
	var list []string
	check := func(ok bool, format string, args ...any) {
		if !ok {
			list = append(list, fmt.Sprintf(format, args...))
		}
	}
	check(s.Phase <= MatchOver, "phase %d", s.Phase)
	check(s.Clock >= 0 && s.Clock <= RoundTicks, "clock %d", s.Clock)
	check(s.Pause >= 0 && s.Pause <= matchTicks, "pause %d", s.Pause)
	check(s.Round >= 1 && s.Round <= 2*WinsNeeded-1, "round %d", s.Round)
	check(s.Match >= 1, "match %d", s.Match)
	check(s.Winner >= NoWinner && s.Winner < Sides, "winner %d", s.Winner)
	check((s.Phase == Fight) == (s.Pause == 0), "pause %d in phase %v", s.Pause, s.Phase)
	check(s.Phase != Fight || s.Clock > 0, "fighting on after the time is up")
	for side := range s.Fighters {
		f, foe, shot := &s.Fighters[side], &s.Fighters[1-side], &s.Shots[side]
		if f.Action >= actions {
			return append(list, fmt.Sprintf("side %d: action %d", side, f.Action)) // which has no boxes
		}
		check(f.Health >= 0 && f.Health <= MaxHealth, "side %d: health %d", side, f.Health)
		check(f.Health > 0 || s.Phase >= RoundOver, "side %d: fights on without health", side)
		check(f.X >= -wall && f.X <= wall, "side %d: X %v", side, f.X)
		check(f.Y >= 0 && f.Y <= 200*px, "side %d: Y %v", side, f.Y)
		check(f.Y == 0 || f.airborne(), "side %d: %v at height %v", side, f.Action, f.Y)
		check(f.VX.Abs() <= 8*px && f.VY.Abs() <= 20*px, "side %d: velocity %v, %v", side, f.VX, f.VY)
		check(f.Age >= 0 && f.Age <= maxAge, "side %d: age %d", side, f.Age)
		check(!f.strikes() || f.Age <= moves[f.Action].total(), "side %d: %v of age %d", side, f.Action, f.Age)
		check(f.Stun >= 0 && f.Stun <= 30, "side %d: stun %d", side, f.Stun)
		check(f.HitStop >= 0 && f.HitStop <= 10, "side %d: hit-stop %d", side, f.HitStop)
		check(f.Safe >= 0 && f.Safe <= safeTicks, "side %d: safe %d", side, f.Safe)
		check(f.Combo >= 0 && f.Combo <= maxCombo, "side %d: combo %d", side, f.Combo)
		check(f.Damage >= 0 && f.Damage <= MaxHealth, "side %d: damage %d", side, f.Damage)
		check(f.Facing == 1 || f.Facing == -1, "side %d: facing %d", side, f.Facing)
		check(f.Held == Input{f.Held}.clean(), "side %d: held %#x", side, f.Held)
		check(f.Buffered&^strikes == 0 && f.Buffer <= bufferTicks, "side %d: buffered %#x for %d", side, f.Buffered, f.Buffer)
		check((f.Buffered == 0) == (f.Buffer == 0), "side %d: buffered %#x for %d", side, f.Buffered, f.Buffer)
		check(f.Contact <= Landed, "side %d: contact %d", side, f.Contact)
		check(f.Wins <= WinsNeeded, "side %d: wins %d", side, f.Wins)
		check(f.Action != Caught || foe.Action == Hurl && foe.Age <= hurlTicks, "side %d: caught by %v", side, foe.Action)
		check(f.Action != Hurl || f.Age >= hurlTicks || foe.Action == Caught, "side %d: hurls %v", side, foe.Action)
		check(shot.Life >= 0 && shot.Life <= shotTicks, "side %d: shot for %d", side, shot.Life)
		check(shot.Life > 0 && shot.Dir*shot.Dir == 1 || *shot == Shot{}, "side %d: shot %v", side, *shot)
		check(shot.X.Abs() <= StageHalfWidth*px, "side %d: shot at %v", side, shot.X)
		check(shot.Life == 0 || s.Phase == Fight, "side %d: shot in phase %v", side, s.Phase)
	}
	a, b := s.Fighters[0].push(), s.Fighters[1].push()
	check(!a.meets(&b), "the fighters overlap: %v at %v, %v and %v at %v, %v", s.Fighters[0].Action,
		s.Fighters[0].X, s.Fighters[0].Y, s.Fighters[1].Action, s.Fighters[1].X, s.Fighters[1].Y)
	return list
}

// mashing draws buttons that reach far into the game: held for a while, often an
// attack, often a bot's, and sometimes any 16 bits at all.
type mashing struct {
	bots [Sides]Bot
	held [Sides]uint16
	left [Sides]int
	mode [Sides]int
}

func (m *mashing) next(t *rapid.T, s *State) [Sides]Input {
	var in [Sides]Input
	for side := range in {
		if m.left[side]--; m.left[side] < 0 {
			m.left[side] = rapid.IntRange(0, 40).Draw(t, "ticks")
			m.mode[side] = rapid.IntRange(0, 3).Draw(t, "mode")
			m.held[side] = rapid.Uint16().Draw(t, "buttons")
		}
		bot := m.bots[side].Input(s, side)
		switch m.mode[side] {
		case 0:
			in[side] = Input{m.held[side]}
		case 1: // the same, with its strikes pressed afresh
			in[side] = Input{m.held[side]}
			if m.left[side]%3 == 0 {
				in[side].Buttons &^= strikes
			}
		default:
			in[side] = bot
		}
	}
	return in
}

func mirrored(s State) State {
	s.Fighters[0], s.Fighters[1] = s.Fighters[1], s.Fighters[0]
	s.Shots[0], s.Shots[1] = s.Shots[1], s.Shots[0]
	for side := range s.Fighters {
		f, shot := &s.Fighters[side], &s.Shots[side]
		f.X, f.VX, f.Facing = -f.X, -f.VX, -f.Facing
		f.Held = swapped(f.Held)
		shot.X, shot.Dir = -shot.X, -shot.Dir
	}
	if s.Winner != NoWinner {
		s.Winner = 1 - s.Winner
	}
	return s
}

func swapped(buttons uint16) uint16 {
	return buttons&^(Left|Right) | buttons&Left<<1 | buttons&Right>>1
}

func TestWhateverIsPressedTheStateStaysSound(t *testing.T) {
	reached := map[Action]int{}
	var phases [MatchOver + 1]int
	rapid.Check(t, func(t *rapid.T) {
		seed := rapid.Uint64().Draw(t, "seed")
		s := New(seed)
		s.Pause = 1
		apart := fixed.FromInt(rapid.IntRange(2*pushHalf, 2*StartDistance).Draw(t, "pixels apart"))
		place := fixed.Num(rapid.Int64Range(-int64(wall), int64(wall-apart)).Draw(t, "place of side 0"))
		s.Fighters[0].X, s.Fighters[1].X = place, place+apart
		if rapid.Bool().Draw(t, "near the end") {
			s.Clock = int32(rapid.IntRange(1, 300).Draw(t, "clock"))
			s.Fighters[0].Health = int16(rapid.IntRange(1, 200).Draw(t, "health 0"))
			s.Fighters[1].Health = int16(rapid.IntRange(1, 200).Draw(t, "health 1"))
			s.Fighters[0].Wins, s.Fighters[1].Wins, s.Round = 1, 1, 3
		}
		m := mashing{bots: [Sides]Bot{NewBot(seed), NewBot(seed + 1)}}
		var pass driftback.Pass
		for tick := range driftback.Tick(700) {
			in := m.next(t, &s)
			before, twin, mirror := s, s, mirrored(s)

			pass.Begin(tick, nil)
			Step(&s, in[:], &pass)
			if list := faults(&s); len(list) > 0 || pass.Dropped() > 0 {
				require.Empty(t, list, "tick %d, after %+v with %+v", tick, before, in)
				require.Zero(t, pass.Dropped())
			}
			raised := slices.Clone(pass.Raised())
			reached[s.Fighters[0].Action]++
			reached[s.Fighters[1].Action]++
			phases[s.Phase]++

			pass.Begin(tick, nil)
			Step(&twin, in[:], &pass)
			if twin != s || !slices.Equal(raised, pass.Raised()) {
				require.Equal(t, s, twin, "the same tick run twice")
				require.Equal(t, raised, pass.Raised())
			}

			back := [Sides]Input{{swapped(in[1].Buttons)}, {swapped(in[0].Buttons)}}
			pass.Begin(tick, nil)
			Step(&mirror, back[:], &pass)
			if mirror != mirrored(s) {
				require.Equal(t, mirrored(s), mirror, "tick %d favours a side, after %+v with %+v", tick, before, in)
			}
		}
	})
	if testing.Short() {
		return // too few runs to be sure of reaching everything
	}
	for a := range actions {
		require.Positive(t, reached[a], "no run ever reached %v, so little was checked", a)
	}
	for p, n := range phases {
		require.Positive(t, n, "no run ever reached %v", Phase(p))
	}
}

// Each planted fault is one that faults must name: a checker that cannot fail
// proves nothing.
func TestTheCheckNoticesPlantedFaults(t *testing.T) {
	sound := New(1)
	require.Empty(t, faults(&sound))
	for name, c := range map[string]struct {
		plant func(s *State)
		want  string
	}{
		"health below nothing":        {func(s *State) { s.Fighters[0].Health = -1 }, "side 0: health -1"},
		"beyond the wall":             {func(s *State) { s.Fighters[1].X = wall + 1 }, "side 1: X 344.0000152587890625"},
		"standing in the air":         {func(s *State) { s.Fighters[0].Y = px }, "side 0: stand at height 1"},
		"in each other":               {func(s *State) { s.Fighters[0].X, s.Fighters[1].X = 0, 31*px }, "the fighters overlap: stand at 0, 0 and stand at 31, 0"},
		"a clock that ran out":        {func(s *State) { s.Clock = -1 }, "clock -1"},
		"caught by nobody":            {func(s *State) { s.Fighters[0].Action = Caught }, "side 0: caught by stand"},
		"an action that is not there": {func(s *State) { s.Fighters[0].Action = actions }, "side 0: action 28"},
		"a shot without a direction":  {func(s *State) { s.Phase, s.Pause, s.Shots[1].Life = Fight, 0, 5 }, "side 1: shot {0 5 0}"},
	} {
		t.Run(name, func(t *testing.T) {
			s := sound
			c.plant(&s)
			require.Contains(t, faults(&s), c.want)
		})
	}
}

func TestTheStateIsPlainDataWithoutGaps(t *testing.T) {
	require.Empty(t, pointers(reflect.TypeFor[State](), "State"))
	require.Empty(t, pointers(reflect.TypeFor[Input](), "Input"))
	require.Empty(t, pointers(reflect.TypeFor[Bot](), "Bot"))
	require.Equal(t, []string{"p.A is a *int"}, pointers(reflect.TypeFor[struct{ A *int }](), "p"))
	require.Equal(t, binary.Size(State{}), int(unsafe.Sizeof(State{})), "there is padding")
	require.Less(t, unsafe.Sizeof(State{}), uintptr(1024))
}

// pointers names what in a type is not copied by assignment, or is of a width that
// differs between machines, or is a float.
func pointers(t reflect.Type, path string) []string {
	switch t.Kind() {
	case reflect.Struct:
		var list []string
		for f := range t.Fields() {
			list = append(list, pointers(f.Type, path+"."+f.Name)...)
		}
		return list
	case reflect.Array:
		return pointers(t.Elem(), path+"[]")
	case reflect.Bool, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return nil
	}
	return []string{path + " is a " + t.String()}
}

func TestEveryMoveMakesSense(t *testing.T) {
	for a := Jab; a <= Grab; a++ {
		m := &moves[a]
		t.Run(a.String(), func(t *testing.T) {
			require.Positive(t, min(m.startup, m.active, m.recovery, m.damage))
			require.Positive(t, m.push)
			require.Less(t, m.total(), int16(80))
			require.Less(t, m.damage, int16(MaxHealth/4))
			if a == Grab {
				return
			}
			require.Positive(t, min(m.hitStun, m.blockStun, m.hitStop))
			require.Less(t, m.blockStun, m.hitStun, "blocking must be better than being hit")
			require.Positive(t, min(m.reach.w, m.reach.h))
		})
	}
	for a := range actions {
		if a < Jab || a > Grab {
			require.Equal(t, move{}, moves[a], "%v is no strike", a)
		}
		require.NotEmpty(t, a.String())
	}
	require.Equal(t, "unknown action", actions.String())
	require.Equal(t, "unknown phase", (MatchOver + 1).String())
}
