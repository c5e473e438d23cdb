package sim

import (
	"github.com/driftback/driftback"
	"github.com/driftback/driftback/fixed"
)

const (
	bounce     = px * 60 / 100 // of the speed at which two karts meet
	wallBounce = px * 35 / 100
	wallDrag   = px * 97 / 100 // what is left of the speed along a wall after a tick
	tellBump   = px            // softer bumps are not told
	tellWall   = px * 3 / 2
	quietTicks = 20
)

// perSecond turns a speed into something to tell.
func perSecond(v fixed.Num) int { return (v * TicksPerSecond).Round() }

// bump pushes apart karts that overlap and exchanges what speed they have towards each
// other. They are all alike heavy.
func (s *State) bump(pass *driftback.Pass) {
	const apart = 2 * KartRadius * px
	for i := range s.Karts {
		a := &s.Karts[i]
		for j := i + 1; j < MaxKarts && a.On; j++ {
			b := &s.Karts[j]
			dx, dy := b.X-a.X, b.Y-a.Y
			if !b.On || dx.Abs() >= apart || dy.Abs() >= apart {
				continue
			}
			distance := norm(dx, dy)
			if distance >= apart {
				continue
			}
			nx, ny := px, fixed.Num(0) // two in the very same place
			if distance > 0 {
				nx, ny = dx.Div(distance), dy.Div(distance)
			}
			half := (apart - distance) / 2
			a.X, a.Y = a.X-nx.Mul(half), a.Y-ny.Mul(half)
			b.X, b.Y = b.X+nx.Mul(half), b.Y+ny.Mul(half)
			closing := (a.VX - b.VX).Mul(nx) + (a.VY - b.VY).Mul(ny)
			if closing <= 0 {
				continue
			}
			give := closing.Mul(px+bounce) / 2
			a.VX, a.VY = a.VX-nx.Mul(give), a.VY-ny.Mul(give)
			b.VX, b.VY = b.VX+nx.Mul(give), b.VY+ny.Mul(give)
			if closing >= tellBump && a.Quiet == 0 && b.Quiet == 0 {
				a.Quiet, b.Quiet = quietTicks, quietTicks
				pass.Raise(effect(KindBump, i, j, perSecond(closing)))
			}
		}
	}
}

// stay keeps a kart between the walls, and says which part of the track it is on.
func (k *Kart) stay(p int, pass *driftback.Pass) {
	at := locate(int(k.At), k.X, k.Y)
	k.At = int32(at.part)
	dx, dy := k.X-at.x, k.Y-at.y
	distance := norm(dx, dy)
	if distance <= reach {
		return
	}
	nx, ny := dx.Div(distance), dy.Div(distance)
	k.X, k.Y = at.x+nx.Mul(reach), at.y+ny.Mul(reach)
	k.VX, k.VY = k.VX.Mul(wallDrag), k.VY.Mul(wallDrag)
	into := k.VX.Mul(nx) + k.VY.Mul(ny)
	if into <= 0 {
		return
	}
	away := into.Mul(px + wallBounce)
	k.VX, k.VY = k.VX-nx.Mul(away), k.VY-ny.Mul(away)
	if into >= tellWall && k.Quiet == 0 {
		k.Quiet = quietTicks
		pass.Raise(effect(KindWall, p, perSecond(into)))
	}
}
