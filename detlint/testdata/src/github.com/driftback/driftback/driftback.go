// Package driftback stands for the engine's root.
package driftback

type Pass struct{ tick int64 }

func (p *Pass) Tick() int64 { return p.tick }

type Step[S, I any] func(s *S, in []I, pass *Pass)
