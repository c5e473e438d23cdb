package driftback_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
)

func TestEqualEffectsOfOneTickAreOneEffect(t *testing.T) {
	var pass driftback.Pass
	pass.Begin(7, nil)
	hit := driftback.Effect{Kind: 1, Args: [3]int32{10}}
	pass.Raise(hit)
	pass.Raise(driftback.Effect{Kind: 1, Args: [3]int32{11}})
	pass.Raise(hit)
	require.Equal(t, []driftback.Effect{hit, {Kind: 1, Args: [3]int32{11}}}, pass.Raised())
	require.Empty(t, pass.RaisedConfirmed(), "the two sorts are kept apart")

	pass.RaiseConfirmed(hit)
	require.Equal(t, []driftback.Effect{hit}, pass.RaisedConfirmed())

	pass.Begin(8, nil)
	require.Equal(t, driftback.Tick(8), pass.Tick())
	require.Empty(t, pass.Raised())
	require.Empty(t, pass.RaisedConfirmed())
}

func TestEffectsBeyondTheBoundAreCountedAndDropped(t *testing.T) {
	var pass driftback.Pass
	pass.Begin(0, nil)
	for i := range driftback.MaxEffects + 3 {
		pass.Raise(driftback.Effect{Kind: uint32(i)})
	}
	pass.Raise(driftback.Effect{Kind: 0}) // a repeat is not one too many
	pass.RaiseConfirmed(driftback.Effect{Kind: 1})
	require.Len(t, pass.Raised(), driftback.MaxEffects)
	require.Len(t, pass.RaisedConfirmed(), 1)
	require.Equal(t, 3, pass.Dropped())
	pass.Begin(1, nil)
	require.Zero(t, pass.Dropped())
}

func TestAParticipantThatTheMatchLacksIsAbsent(t *testing.T) {
	var pass driftback.Pass
	pass.Begin(0, []driftback.Status{driftback.Playing, driftback.Replaced})
	require.Equal(t, driftback.Playing, pass.Status(0))
	require.Equal(t, driftback.Replaced, pass.Status(1))
	require.Equal(t, driftback.Absent, pass.Status(2))
	require.Equal(t, driftback.Absent, pass.Status(255))
	pass.Begin(1, []driftback.Status{driftback.Playing})
	require.Equal(t, driftback.Absent, pass.Status(1), "a status does not outlast its tick")
}

func TestStatusesHaveNames(t *testing.T) {
	for status, name := range map[driftback.Status]string{
		driftback.Playing: "playing", driftback.Replaced: "replaced", driftback.Absent: "absent", 9: "unknown status",
	} {
		require.Equal(t, name, status.String())
	}
}

func TestAPassAllocatesNothing(t *testing.T) {
	var pass driftback.Pass
	statuses := make([]driftback.Status, 2)
	require.Zero(t, testing.AllocsPerRun(100, func() {
		pass.Begin(3, statuses)
		pass.Raise(driftback.Effect{Kind: 1})
		pass.RaiseConfirmed(driftback.Effect{Kind: 2})
	}))
}
