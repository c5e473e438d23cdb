package main

import (
	"fmt"
	"image/color"
	"strings"

	"github.com/hajimehoshi/ebiten/v2"
	"github.com/hajimehoshi/ebiten/v2/ebitenutil"
	"github.com/hajimehoshi/ebiten/v2/vector"

	"github.com/driftback/driftback/examples/fighter/sim"
)

// The picture, in its own pixels: as wide as the stage.
const (
	screenWidth  = 2 * sim.StageHalfWidth
	screenHeight = screenWidth * 9 / 16
	floorY       = 320
)

var (
	players = [sim.Sides]struct {
		name        string
		shirt, legs color.RGBA
	}{
		{"Kite", color.RGBA{0x4b, 0x8d, 0xff, 0xff}, color.RGBA{0x2a, 0x57, 0xb5, 0xff}},
		{"Ember", color.RGBA{0xff, 0x6a, 0x4d, 0xff}, color.RGBA{0xb3, 0x35, 0x26, 0xff}},
	}
	skin   = color.RGBA{0xf0, 0xc4, 0x9a, 0xff}
	glove  = color.RGBA{0xf4, 0xf7, 0xff, 0xff}
	yellow = color.RGBA{0xff, 0xd3, 0x4d, 0xff}
	dark   = color.RGBA{0x0a, 0x0c, 0x15, 0xff}
	shade  = color.RGBA{0, 0, 0, 0x60}
	floor  = color.RGBA{0x3a, 0x2a, 0x3f, 0xff}
)

// pens draw what [sim.View] describes. Nothing here is part of the simulation, so floats
// do no harm.
type pens struct {
	sky  *ebiten.Image
	text *ebiten.Image
}

func newPens() pens {
	p := pens{sky: ebiten.NewImage(1, floorY), text: ebiten.NewImage(screenWidth, 20)}
	night, dusk := color.RGBA{0x14, 0x1a, 0x3a, 0xff}, color.RGBA{0xd0, 0x66, 0x7a, 0xff}
	for y := range floorY {
		between := func(a, b uint8) uint8 { return uint8((int(a)*(floorY-y) + int(b)*y) / floorY) }
		p.sky.Set(0, y, color.RGBA{between(night.R, dusk.R), between(night.G, dusk.G), between(night.B, dusk.B), 0xff})
	}
	return p
}

// stage draws the place and everybody on it.
func (p *pens) stage(to *ebiten.Image, v *sim.View) {
	o := &ebiten.DrawImageOptions{}
	o.GeoM.Scale(screenWidth, 1)
	to.DrawImage(p.sky, o)
	rect(to, 0, floorY, screenWidth, screenHeight-floorY, floor)
	rect(to, 0, floorY, screenWidth, 2, yellow)
	for side := range v.Fighters {
		p.fighter(to, side, &v.Fighters[side])
	}
	for side := range v.Shots {
		if shot := &v.Shots[side]; shot.Live {
			x, y := place(shot.X, shot.Y)
			vector.DrawFilledCircle(to, x, y, 12, players[side].shirt, true)
			vector.DrawFilledCircle(to, x, y, 7, glove, true)
		}
	}
}

// fighter draws one of them around the box that others bump into, which is as tall as
// the posture is.
func (p *pens) fighter(to *ebiten.Image, side int, f *sim.FighterView) {
	x, y := place(f.X, f.Push.Y)
	width, tall, ahead := float32(f.Push.W), float32(f.Push.H), float32(f.Facing)
	look := &players[side]
	rect(to, x-24, floorY+2, 48, 5, shade)
	if f.Action == "lying" {
		rect(to, x-38, y-16, 40, 16, look.legs)
		rect(to, x, y-18, 28, 18, look.shirt)
		vector.DrawFilledCircle(to, x+38, y-10, 10, skin, true)
		return
	}
	step := float32(0)
	if f.Action == "walk" || f.Action == "retreat" {
		step = float32(f.Age/6%2)*8 - 4
	}
	hip, neck := y-tall*0.42, y-tall*0.92
	vector.StrokeLine(to, x-4, hip, x-10+step, y, 11, look.legs, true)
	vector.StrokeLine(to, x+4, hip, x+10-step, y, 11, look.legs, true)
	rect(to, x-width/2, neck, width, hip-neck+4, look.shirt)
	vector.DrawFilledCircle(to, x+3*ahead, neck-8, 11, skin, true)
	rect(to, x-9, neck-15, 18, 4, yellow)

	// Two fists: up before the chest, or where the strike is.
	chest := neck + 10
	for i, reach := range [2]float32{20, 26} {
		fistX, fistY := x+ahead*reach, chest+4-8*float32(i)
		if i == 1 && f.Hit.W > 0 {
			hitX, hitY := place(f.Hit.X+f.Hit.W/2, f.Hit.Y+f.Hit.H/2)
			fistX, fistY = hitX+ahead*float32(f.Hit.W)/4, hitY
		} else if strings.HasPrefix(f.Action, "block") {
			fistX, fistY = x+ahead*17, chest-12+14*float32(i)
		}
		vector.StrokeLine(to, x, chest, fistX, fistY, 8, skin, true)
		vector.DrawFilledCircle(to, fistX, fistY, 7, glove, true)
	}
}

// spark draws a blow that has landed, or was blocked.
func (p *pens) spark(to *ebiten.Image, s *spark) {
	x, y := place(s.x, s.y)
	colour := yellow
	if s.report.Effect.Kind == sim.KindBlock {
		colour = glove
	}
	out := float32(sparkTicks - s.left)
	for _, ray := range [][2]float32{{1, 0}, {-1, 0}, {0, 1}, {0, -1}, {.7, .7}, {-.7, .7}, {.7, -.7}, {-.7, -.7}} {
		vector.StrokeLine(to, x+ray[0]*out, y+ray[1]*out, x+ray[0]*(out+9), y+ray[1]*(out+9), 3, colour, true)
	}
}

// bars draws health, rounds won, names and the clock.
func (p *pens) bars(to *ebiten.Image, v *sim.View) {
	const width, height = 290, 16
	for side := range v.Fighters {
		f := &v.Fighters[side]
		left := float32(20)
		full := float32(width * f.Health / f.MaxHealth)
		gap := width - full // the bar of the left one empties from its outer end
		if side == 1 {
			left, gap = screenWidth-20-width, 0
		}
		rect(to, left-2, 18, width+4, height+4, dark)
		rect(to, left+gap, 20, full, height, players[side].shirt)
		p.words(to, players[side].name, int(left)+width/2, 40, 1)
		for i := range f.Wins {
			vector.DrawFilledCircle(to, left+float32(12+18*i), 50, 6, yellow, true)
		}
	}
	p.words(to, fmt.Sprint(v.Seconds), screenWidth/2, 12, 2)
}

// words writes lines whose letters are scale times as large as Ebitengine's, each with
// its middle at x.
func (p *pens) words(to *ebiten.Image, text string, x, y int, scale float64) {
	const width, height = 6, 16 // of a letter
	for _, line := range strings.Split(text, "\n") {
		p.text.Clear()
		ebitenutil.DebugPrint(p.text, line)
		o := &ebiten.DrawImageOptions{}
		o.GeoM.Translate(-float64(width*len(line))/2, 0)
		o.GeoM.Scale(scale, scale)
		o.GeoM.Translate(float64(x), float64(y))
		to.DrawImage(p.text, o)
		y += int(height * scale)
	}
}

// folded returns a sentence in lines that fit into the picture.
func folded(sentence string) string {
	const letters = 100
	var b strings.Builder
	at := 0
	for _, word := range strings.Fields(sentence) {
		if at+len(word) > letters {
			b.WriteByte('\n')
			at = 0
		}
		b.WriteString(word + " ")
		at += len(word) + 1
	}
	return b.String()
}

// place turns a point of the stage, whose heights count upwards from the floor, into one
// of the picture.
func place(x, y int) (float32, float32) {
	return float32(screenWidth/2 + x), float32(floorY - y)
}

func rect(to *ebiten.Image, x, y, width, height float32, c color.RGBA) {
	vector.DrawFilledRect(to, x, y, width, height, c, false)
}
