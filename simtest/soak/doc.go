// Package soak plays the matches of a great many seeds of one simtest.Game, on all cores,
// until a range of seeds or a time is used up:
//
//	summary, err := soak.Run(ctx, game, soak.Options{Count: 100_000})
//
// It is the one room of simtest with goroutines and a clock on the wall. A match is still
// one goroutine's, and follows from its seed alone; what is shared between matches is what
// the game's own functions share, which must be nothing that they write to.
//
// What comes out for a range of seeds does not depend on how many are played at once:
// results are taken in the order of the seeds, so that a run which stops at its first
// failure stops at the lowest seed that fails, and has counted those below it and no
// other. Only the times differ. Memory does not grow with the range.
//
// It owns the seeds' order, the sums and the files of what failed. It refuses to own the
// judgement, which is simtest's, and any printing, which is that of package command.
//
// Run may be called by several goroutines at once, for different games.
package soak
