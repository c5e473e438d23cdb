package session

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback"
)

func TestAnEffectMovesByNoMoreThanTheToleranceEitherWay(t *testing.T) {
	spark, other := driftback.Effect{Kind: 1, Args: [3]int32{1}}, driftback.Effect{Kind: 1, Args: [3]int32{2}}
	at := func(kind ReportKind, tick driftback.Tick, e driftback.Effect) Report {
		return Report{Kind: kind, Tick: tick, Effect: e}
	}
	const first = 10
	for name, c := range map[string]struct {
		then []Report // what the re-simulation raises, first having raised spark
		told []Report
	}{
		"earlier, within it": {[]Report{at(Happened, first-2, spark)}, nil},
		"later, within it":   {[]Report{at(Happened, first+2, spark)}, nil},
		"earlier, beyond it": {
			[]Report{at(Happened, first-3, spark)},
			[]Report{at(Undone, first, spark), at(Happened, first-3, spark)},
		},
		"later, beyond it": {
			[]Report{at(Happened, first+3, spark)},
			[]Report{at(Undone, first, spark), at(Happened, first+3, spark)},
		},
		"another effect of its kind": {
			[]Report{at(Happened, first+1, other)},
			[]Report{at(Undone, first, spark), at(Happened, first+1, other)},
		},
		"twice, of which one is new": {
			[]Report{at(Happened, first-1, spark), at(Happened, first+1, spark)},
			[]Report{at(Happened, first+1, spark)},
		},
		"not at all": {nil, []Report{at(Undone, first, spark)}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLedger(16, 2)
			var pass driftback.Pass
			run := func(raised []Report) {
				for tick := driftback.Tick(5); tick < 15; tick++ {
					pass.Begin(tick, nil)
					for _, r := range raised {
						if r.Tick == tick {
							pass.Raise(r.Effect)
						}
					}
					l.ran(&pass)
				}
				l.reports = l.reports[:0]
				l.settle(5)
			}
			run([]Report{at(Happened, first, spark)})
			require.Equal(t, []Report{at(Happened, first, spark)}, l.reports)
			run(c.then)
			require.ElementsMatch(t, c.told, l.reports)
			run(c.then)
			require.Empty(t, l.reports, "it is told once")
		})
	}
}

func TestTwoEffectsThatAreTakenBackDoNotMoveToOnePlace(t *testing.T) {
	l := newLedger(16, 2)
	var pass driftback.Pass
	run := func(on ...driftback.Tick) (kinds map[ReportKind]int) {
		for tick := range driftback.Tick(10) {
			pass.Begin(tick, nil)
			for _, o := range on {
				if o == tick {
					pass.Raise(driftback.Effect{Kind: 1})
				}
			}
			l.ran(&pass)
		}
		l.reports = l.reports[:0]
		l.settle(0)
		kinds = map[ReportKind]int{}
		for _, r := range l.reports {
			kinds[r.Kind]++
		}
		return kinds
	}
	require.Equal(t, map[ReportKind]int{Happened: 2}, run(4, 6))
	require.Equal(t, map[ReportKind]int{Undone: 1}, run(5))
}
