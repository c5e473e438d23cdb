package arena

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/driftback/driftback/examples/internal/page"
)

const (
	one uint16 = 1 << iota
	two
	four
)

func TestATapShorterThanATickIsKeptUntilATickHasUsedIt(t *testing.T) {
	h := newHands(tallying(), 0, 1)
	h.take(&page.Command{HasButtons: true, Buttons: one})
	h.take(&page.Command{HasButtons: true, Buttons: 0, Pressed: two})
	for range 3 { // three calls of Tick that stall
		require.Equal(t, pressed{two}, h.next(&tally{}))
	}
	h.used()
	require.Equal(t, pressed{}, h.next(&tally{}))
}

func TestTheBotDecidesOncePerTickThatRuns(t *testing.T) {
	h := newHands(tallying(), 0, 1)
	for tick := range uint16(20) {
		for range 3 { // two of which stall
			require.Equal(t, pressed{tick + 1}, h.next(&tally{}))
		}
		h.used()
	}
}

func TestTheFirstButtonTakesOverFromTheBotAndThePageCanGiveBack(t *testing.T) {
	h := newHands(tallying(), 1, 1)
	h.take(&page.Command{HasButtons: true})
	require.Equal(t, page.HandsBot, h.String(), "a page that holds nothing has not been touched")
	h.take(&page.Command{HasButtons: true, Buttons: one, Pressed: one})
	require.Equal(t, page.HandsYou, h.String())
	h.take(&page.Command{HasButtons: true})
	require.Equal(t, page.HandsYou, h.String())
	h.take(&page.Command{Bot: true})
	require.Equal(t, page.HandsBot, h.String())
	h.take(&page.Command{HasButtons: true, Buttons: four})
	require.Equal(t, pressed{four}, h.next(&tally{}), "what was pressed before is not pressed now")
	h.take(&page.Command{HasButtons: true, Buttons: 0xffff, Pressed: 0xffff})
	require.Equal(t, pressed{0xff}, h.next(&tally{}), "no button that does not exist goes out")
}

func TestATapAloneTakesOverFromTheBot(t *testing.T) {
	h := newHands(tallying(), 0, 1)
	h.take(&page.Command{HasButtons: true, Pressed: two})
	require.Equal(t, pressed{two}, h.next(&tally{}))
	h.take(&page.Command{HasButtons: true, Pressed: four})
	require.Equal(t, pressed{two | four}, h.next(&tally{}), "two taps within one tick are both used")
}
