package buggify_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/buggify"
)

func TestASiteIsActiveInAQuarterOfSessionsAndFiresAQuarterOfTheTimes(t *testing.T) {
	const seeds, asked = 4000, 40
	for site := range buggify.Site(buggify.Count) {
		active, fired := 0, 0
		for seed := range uint64(seeds) {
			s := buggify.New(seed)
			n := 0
			for range asked {
				if s.Fires(site) {
					n++
				}
			}
			require.EqualValues(t, n, s.Fired(site))
			if fired += n; s.Active(site) {
				active++
			} else {
				require.Zero(t, n)
			}
		}
		// Five deviations.
		require.InDelta(t, seeds/4, active, 140, "%v", site)
		require.InDelta(t, 0.25, float64(fired)/float64(asked*active), 0.011, "%v", site)
	}
}

func TestWhichSitesAreActiveIsDrawnForEachAlone(t *testing.T) {
	const seeds = 16_000
	for _, pair := range [][2]buggify.Site{
		{buggify.EarlyBeat, buggify.EarlySums}, {buggify.NoAcks, buggify.SmallDatagram}, {buggify.SpareStall, buggify.WrongGuess},
	} {
		both := 0
		for seed := range uint64(seeds) {
			if s := buggify.New(seed); s.Active(pair[0]) && s.Active(pair[1]) {
				both++
			}
		}
		require.InDelta(t, seeds/16, both, 155, "%v", pair)
	}
}

func TestEqualSeedsFireAlikeAndOthersDoNot(t *testing.T) {
	history := func(seed uint64) (list []bool) {
		s := buggify.New(seed)
		for i := range 400 {
			list = append(list, s.Fires(buggify.Site(i%buggify.Count)))
		}
		return list
	}
	seen := 0
	for seed := range uint64(100) {
		first := history(seed)
		require.Equal(t, first, history(seed))
		for _, fired := range first {
			if fired {
				seen++
			}
		}
		require.NotEqual(t, first, history(seed+1))
	}
	require.Greater(t, seen, 1000, "the control: they fire")
}

func TestNoSitesFireWhereThereAreNone(t *testing.T) {
	var s *buggify.Sites
	for site := range buggify.Site(buggify.Count) {
		require.False(t, s.Fires(site))
		require.False(t, s.Active(site))
		require.Zero(t, s.Fired(site))
	}
}

func TestOnlyOneIsActive(t *testing.T) {
	for only := range buggify.Site(buggify.Count) {
		s := buggify.Only(3, only)
		for range 100 {
			for site := range buggify.Site(buggify.Count) {
				require.False(t, s.Fires(site) && site != only)
			}
		}
		require.Positive(t, s.Fired(only))
	}
}

func TestEverySiteHasANameOfItsOwn(t *testing.T) {
	seen := map[string]bool{}
	for site := range buggify.Site(buggify.Count) {
		require.NotEmpty(t, site.String())
		require.False(t, seen[site.String()], "%v", site)
		seen[site.String()] = true
	}
	require.Equal(t, "early beat", buggify.EarlyBeat.String())
	require.Equal(t, "wrong guess", buggify.WrongGuess.String())
	require.Equal(t, "unknown site", buggify.Site(buggify.Count).String())
}

func TestAskingAllocatesNothing(t *testing.T) {
	for name, s := range map[string]*buggify.Sites{"none": nil, "some": buggify.New(1), "one": buggify.Only(1, buggify.NoEcho)} {
		require.Zero(t, testing.AllocsPerRun(100, func() {
			for site := range buggify.Site(buggify.Count) {
				s.Fires(site)
			}
		}), name)
	}
}
