// Package session stands for the engine's.
package session

import "github.com/driftback/driftback"

type Config[S any, I comparable] struct {
	Step    driftback.Step[S, I]
	Start   func(seed uint64, s *S)
	Predict func(last I, age int) I
}
