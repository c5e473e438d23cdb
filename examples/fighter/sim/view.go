package sim

// View is a state as something to draw: whole pixels and words. It is plain data of
// fixed size; encode it as JSON for a web page. X counts to the right from the
// middle of the stage and Y upwards from the floor.
type View struct {
	Phase    string             `json:"phase"`
	Match    int                `json:"match"`
	Round    int                `json:"round"`
	Seconds  int                `json:"seconds"` // left in the round, rounded up
	Winner   int                `json:"winner"`  // of the round just over, or -1
	KO       bool               `json:"ko"`
	Fighters [Sides]FighterView `json:"fighters"`
	Shots    [Sides]ShotView    `json:"shots"`
}

// FighterView is a fighter as something to draw.
type FighterView struct {
	X         int    `json:"x"` // of the point between the feet
	Y         int    `json:"y"`
	Facing    int    `json:"facing"` // 1: right; -1: left
	Action    string `json:"action"`
	Stage     string `json:"stage"` // of a strike: startup, active or recovery; else ""
	Age       int    `json:"age"`   // ticks since the action began
	Ticks     int    `json:"ticks"` // that a strike takes in all; else 0
	Frozen    bool   `json:"frozen"`
	Health    int    `json:"health"`
	MaxHealth int    `json:"maxHealth"`
	Wins      int    `json:"wins"`
	Look      int    `json:"look"`   // below NumLooks
	Combo     int    `json:"combo"`  // blows it has taken in a row
	Damage    int    `json:"damage"` // that those did
	Push      Rect   `json:"push"`
	Hurt      Rect   `json:"hurt"` // all zero: cannot be hit
	Hit       Rect   `json:"hit"`  // all zero: does not strike now
}

// ShotView is a projectile as something to draw, if Live.
type ShotView struct {
	Live bool `json:"live"`
	X    int  `json:"x"`
	Y    int  `json:"y"`
	Dir  int  `json:"dir"`
	Hit  Rect `json:"hit"`
}

// Rect is a rectangle in pixels; X and Y are its left and its bottom.
type Rect struct {
	X int `json:"x"`
	Y int `json:"y"`
	W int `json:"w"`
	H int `json:"h"`
}

// View returns what there is to see. It changes nothing and does not allocate.
func (s *State) View() View {
	v := View{
		Phase: s.Phase.String(), Match: int(s.Match), Round: int(s.Round),
		Seconds: int(s.Clock+TicksPerSecond-1) / TicksPerSecond,
		Winner:  int(s.Winner), KO: s.KO,
	}
	for side := range s.Fighters {
		v.Fighters[side] = s.Fighters[side].view()
		v.Fighters[side].Look = int(s.Looks[side])
		if shot := &s.Shots[side]; shot.Life > 0 {
			v.Shots[side] = ShotView{Live: true, X: shot.X.Round(), Y: shotHeight, Dir: int(shot.Dir), Hit: pixels(shot.hit())}
		}
	}
	return v
}

func (f *Fighter) view() FighterView {
	v := FighterView{
		X: f.X.Round(), Y: f.Y.Round(), Facing: int(f.Facing),
		Action: f.Action.String(), Age: int(f.Age), Frozen: f.HitStop > 0,
		Health: int(f.Health), MaxHealth: MaxHealth, Wins: int(f.Wins),
		Combo: int(f.Combo), Damage: int(f.Damage),
		Push: pixels(f.push()), Hurt: pixels(f.hurt()),
	}
	if f.strikes() {
		m := &moves[f.Action]
		v.Ticks = int(m.total())
		switch {
		case f.Age < m.startup:
			v.Stage = "startup"
		case f.Age < m.startup+m.active:
			v.Stage = "active"
		default:
			v.Stage = "recovery"
		}
		v.Hit = pixels(f.hit())
	}
	return v
}

func pixels(r rect) Rect {
	if r.empty() {
		return Rect{}
	}
	return Rect{
		X: r.left.Round(), Y: r.bottom.Round(),
		W: (r.right - r.left).Round(), H: (r.top - r.bottom).Round(),
	}
}
