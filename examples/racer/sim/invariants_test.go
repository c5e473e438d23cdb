package sim

import (
	"fmt"
	"reflect"
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
	check(s.Phase <= Over, "phase %d", s.Phase)
	check(s.Race >= 1, "race %d", s.Race)
	check(s.Clock >= 0 && s.Clock <= raceTicks+1, "clock %d in phase %v", s.Clock, s.Phase)
	check(s.Ended <= lateTicks, "ended %d", s.Ended)
	var places [MaxKarts + 1]int
	for p := range s.Karts {
		k := &s.Karts[p]
		check(k.At >= 0 && int(k.At) < parts, "kart %d: part %d", p, k.At)
		check(uint16(k.Place) <= s.Done, "kart %d: place %d of %d", p, k.Place, s.Done)
		places[min(int(k.Place), MaxKarts)]++
		if !k.On {
			check(k.VX == 0 && k.VY == 0 && k.Held == 0, "kart %d is off the track and moves", p)
			continue
		}
		check(k.Known, "kart %d is on the track and was never put there", p)
		off := fixed.Max
		for i := range parts {
			at := nearest(i, k.X, k.Y)
			off = min(off, (k.X-at.x).Mul(k.X-at.x)+(k.Y-at.y).Mul(k.Y-at.y))
		}
		check(off.Sqrt() <= reach+px/64, "kart %d: %v off the middle", p, off.Sqrt())
		check(k.X > 0 && k.X < MapWidth*px && k.Y > 0 && k.Y < MapHeight*px, "kart %d: off the map at %v, %v", p, k.X, k.Y)
		check(k.speed() <= 4*topSpeed, "kart %d: speed %v", p, k.speed())
		check(k.Heading >= 0 && k.Heading < fixed.One, "kart %d: heading %v", p, k.Heading)
		check(k.Held == Input{k.Held}.clean(), "kart %d: held %#x", p, k.Held)
		check(k.Boost >= 0 && k.Boost <= turboTicks, "kart %d: boost %d", p, k.Boost)
		check(k.Charge >= 0 && k.Charge <= chargeMost, "kart %d: charge %d", p, k.Charge)
		check(k.Charge == 0 || k.Drift != 0, "kart %d: charge %d without a drift", p, k.Charge)
		check(k.Spin >= 0 && k.Spin <= spinTicks && k.Safe >= k.Spin && k.Safe <= safeTicks, "kart %d: spin %d, safe %d", p, k.Spin, k.Safe)
		check(k.Item <= Pulse, "kart %d: item %d", p, k.Item)
		check(k.Place > 0 == (k.Took > 0), "kart %d: place %d after %d", p, k.Place, k.Took)
		check(k.Place == 0 || k.Passed > Laps*checkpoints, "kart %d: place %d with %d checkpoints", p, k.Place, k.Passed)
		check(k.Place == 0 || k.Bot, "kart %d: home and still driven", p)
		check(s.Phase != Countdown || k.Passed == 0, "kart %d: passed %d before the race", p, k.Passed)
	}
	for place := 1; place <= int(s.Done) && s.Done <= MaxKarts; place++ {
		check(places[place] == 1, "%d karts in place %d", places[place], place)
	}
	for i, o := range s.Oils {
		check(o.Life > 0 && o.Life <= oilTicks || o == Oil{}, "oil %d: %v", i, o)
	}
	for i, b := range s.Boxes {
		check(b <= boxTicks, "box %d: %d", i, b)
	}
	return list
}

// blundering draws what drivers hold, and who is there: a bot's buttons, or any at all
// held for a while, and sometimes somebody leaves, is replaced or comes.
type blundering struct {
	held, left, mode [MaxKarts]int
	status           [MaxKarts]driftback.Status
}

func (b *blundering) next(t *rapid.T, s *State) (in [MaxKarts]Input) {
	for p := range in {
		if b.left[p]--; b.left[p] < 0 {
			b.left[p] = rapid.IntRange(0, 60).Draw(t, "ticks")
			b.mode[p] = rapid.IntRange(0, 4).Draw(t, "mode")
			b.held[p] = int(rapid.Uint16().Draw(t, "buttons"))
			b.status[p] = max(driftback.Status(rapid.IntRange(0, 8).Draw(t, "status")), 6) - 6
		}
		switch b.mode[p] {
		case 0: // any sixteen bits
			in[p] = Input{uint16(b.held[p])}
		case 1: // full speed into the next wall
			in[p] = Input{Throttle | uint16(b.held[p])&(Left|Right|Slide)}
		case 2: // backwards
			in[p] = Input{Brake | uint16(b.held[p])&(Left|Right)}
		default:
			in[p] = Drive(s, p)
		}
	}
	return in
}

func TestWhateverIsHeldTheStateStaysSound(t *testing.T) {
	reached := map[string]int{}
	rapid.Check(t, func(t *rapid.T) {
		s := New(rapid.Uint64().Draw(t, "seed"))
		s.Clock = CountdownTicks - int32(rapid.IntRange(0, 20).Draw(t, "countdown"))
		var b blundering
		var pass driftback.Pass
		if along := min(rapid.IntRange(0, 40).Draw(t, "checkpoints"), Laps*checkpoints); along > 0 {
			// Somewhere in a race, up to its last stretch.
			pass.Begin(0, b.status[:])
			s.seat(&pass)
			s.Phase, s.Clock = Racing, 1000
			for p := range s.Karts {
				s.Karts[p].Passed = int32(max(along-p/4, 0))
				s.Karts[p].Item = Item(rapid.IntRange(0, int(Pulse)).Draw(t, "item"))
				s.place(p)
				if k := &s.Karts[p]; k.Passed > 0 {
					// The next line is near.
					along := lineAlong(int(k.Passed)%checkpoints) - px*fixed.Num(rapid.IntRange(10, 450).Draw(t, "way"))
					var at int
					k.X, k.Y, at = ahead(along, 0)
					k.At = int32(at)
				}
			}
		}
		for at := range driftback.Tick(rapid.IntRange(60, 240).Draw(t, "length")) {
			before := s
			in := b.next(t, &s)
			pass.Begin(at, b.status[:])
			Step(&s, in[:], &pass)
			if list := faults(&s); list != nil {
				t.Fatalf("tick %d: %v", at, list)
			}
			require.Zero(t, pass.Dropped())
			for p := range s.Karts {
				k, was := &s.Karts[p], &before.Karts[p]
				require.True(t, s.Race != before.Race || k.Passed >= was.Passed && k.Passed <= was.Passed+1 && k.Lap() >= was.Lap(),
					"kart %d: %d checkpoints, and then %d", p, was.Passed, k.Passed)
			}
			for _, e := range append(pass.Raised(), pass.RaisedConfirmed()...) {
				reached[KindName(e.Kind)]++
			}
			reached[s.Phase.String()]++
		}
	})
	t.Log(reached)
	if testing.Short() {
		return // a fifth of the draws need not reach everything
	}
	for _, what := range []string{"go", "boost", "bump", "wall", "pick up", "oil", "pulse", "spin", "lap", "finish", "racing"} {
		require.Positive(t, reached[what], "the control: no %s was reached", what)
	}
}

func TestTheRulesAboutStatesNoticeWhatTheyForbid(t *testing.T) {
	fresh := func() State {
		s := New(1)
		var pass driftback.Pass
		pass.Begin(0, make([]driftback.Status, 2))
		Step(&s, nil, &pass)
		return s
	}
	s := fresh()
	require.Empty(t, faults(&s))
	for name, spoil := range map[string]func(s *State){
		"a kart in the grass":              func(s *State) { s.Karts[0].Y += 2 * reach },
		"a kart off the map":               func(s *State) { s.Karts[0].X = -px },
		"a kart that flies":                func(s *State) { s.Karts[1].VX = 100 * px },
		"a kart that moves and is not on":  func(s *State) { s.Karts[5].VX = px },
		"a lap before the race":            func(s *State) { s.Karts[0].Passed = 9 },
		"two winners":                      func(s *State) { s.Done, s.Karts[0].Place, s.Karts[1].Place = 2, 1, 1 },
		"a part of the track that is none": func(s *State) { s.Karts[0].At = int32(parts) },
		"an item that is none":             func(s *State) { s.Karts[0].Item = 9 },
	} {
		s := fresh()
		spoil(&s)
		require.NotEmpty(t, faults(&s), name)
	}
}

// A gap between fields would be bytes that no rule governs.
func TestTheStateHasNoGaps(t *testing.T) {
	for _, v := range []any{State{}, Kart{}, Oil{}} {
		kind := reflect.TypeOf(v)
		sum := uintptr(0)
		for i := range kind.NumField() {
			sum += kind.Field(i).Type.Size()
		}
		require.Equal(t, kind.Size(), sum, kind.Name())
	}
	require.Less(t, unsafe.Sizeof(State{}), uintptr(2048))
}

func TestTheTrackIsARingOfShortPartsThatLieOnTheMap(t *testing.T) {
	margin := HalfWidth * px
	for i := range track {
		p, next := &track[i], &track[(i+1)%parts]
		require.True(t, p.length > 10*px && p.length < 80*px, "part %d is %v long", i, p.length)
		turn := wrapped(fixed.Atan2(next.dy, next.dx) - fixed.Atan2(p.dy, p.dx)).Abs()
		require.Less(t, turn, fixed.One/14, "part %d: the track turns by %v", i, turn)
		require.True(t, p.x >= margin && p.x <= MapWidth*px-margin && p.y >= margin && p.y <= MapHeight*px-margin, "part %d: %v, %v", i, p.x, p.y)
		// No other stretch of road comes near enough to be mistaken for this one.
		for j := range track {
			apart := (j - i + parts) % parts
			if apart > 3*partsPerBend && apart < parts-3*partsPerBend {
				q := &track[j]
				require.Greater(t, norm(p.x-q.x, p.y-q.y), 2*margin, "parts %d and %d", i, j)
			}
		}
	}
	for c := range checkpoints {
		_, _, at := ahead(lineAlong(c), 0)
		require.Equal(t, c, sector(at))
		_, _, at = ahead(lineAlong(c)-px, 0)
		require.NotEqual(t, c, sector(at))
	}
}
