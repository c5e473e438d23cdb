package e2e

import (
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestTheFighter looks at the fighter's pages. Its parts share a browser, which takes
// longer to start than they do.
func TestTheFighter(t *testing.T) {
	browser := launch(t)
	t.Run("two pages play a match over a bad link", func(t *testing.T) { playAMatch(t, browser) })
	t.Run("two pages choose, play and ask for a rematch", func(t *testing.T) { chooseAndPlayAgain(t, browser) })
	t.Run("a page connects again when its process is back", func(t *testing.T) { connectAgain(t, browser) })
}

// playAMatch is one match, looked at from both sides.
func playAMatch(t *testing.T, browser *tab) {
	match := start(t, "fighter", "-link", "latency=60ms,jitter=10ms,loss=5%", "-seed", "3", "-choose", "1s")
	urls := [2]string{match.line("left player"), match.line("right player")}
	left, right := newTab(t, browser.ctx), newTab(t, browser.ctx)
	tabs := [2]*tab{left, right}

	part := func(name string, look func(t *testing.T)) {
		t.Run(name, func(t *testing.T) {
			for _, b := range tabs {
				whole := b.t
				b.t = t
				defer func() { b.t = whole }()
			}
			look(t)
		})
	}
	part("both pages connect and follow the match", func(t *testing.T) {
		for side, b := range tabs {
			b.visit(urls[side])
			b.until(`driftback.frame?.phase === 'advanced' && driftback.frame.tick > 60`)
			require.Equal(t, side, eval[int](b, `driftback.frame.self`))
			require.Equal(t, "bot", eval[string](b, `driftback.frame.hands`))
			b.until(`document.getElementById('state').textContent === 'playing'`)
			b.until(`document.getElementById('said').textContent !== ''`)
			b.until(`/Kite.*health.*Ember.*health/.test(document.getElementById('summary').textContent)`)
		}
	})
	var rewinding *tab // the page of the peer that guesses; one whose peer is behind need not
	part("the strip shows rollbacks, and the numbers count them", func(t *testing.T) {
		require.Eventually(t, func() bool {
			i := slices.IndexFunc(tabs[:], func(b *tab) bool {
				return eval[bool](b, `driftback.frame.stats.rollbacks > 0 && /c/.test(driftback.frame.strip) && /r/.test(driftback.frame.strip)`)
			})
			if i >= 0 {
				rewinding = tabs[i]
			}
			return i >= 0
		}, time.Until(deadline), 20*time.Millisecond)
		rewinding.until(`Number(document.getElementById('rollbacks').textContent.replaceAll(',', '')) > 0`)
		rewinding.until(`[...document.querySelectorAll('#depths b')].some((b) => Number(b.textContent) > 0)`)
		rewinding.until(`/[1-9]\d* re-simulated/.test(document.getElementById('strip').getAttribute('aria-label'))`)
	})
	part("each event sounds once, however often its tick runs", func(t *testing.T) { eventsSoundOnce(t, rewinding, urls[slices.Index(tabs[:], rewinding)]) })
	part("the keyboard reaches every control", func(t *testing.T) { keyboardReaches(t, right, "pause", "boxes", "sound", "latency", "jitter", "loss") })
	part("a slider changes the link for both", func(t *testing.T) { sliderChangesTheLink(t, left, right) })
	part("keys move the fighter on both pages", func(t *testing.T) { keysMove(t, left, right) })
	part("P pauses the match on both pages, and whoever likes resumes it", func(t *testing.T) { keyPauses(t, left, right) })
	part("a picture of it is kept", func(t *testing.T) { picture(t, left) })
	part("a narrow page does not scroll sideways", func(t *testing.T) {
		right.resize(360, 740)
		defer right.resize(1280, 720)
		require.LessOrEqual(t, eval[int](right, `document.documentElement.scrollWidth`), 360)
		pictureFits(right, 360)
	})
	part("nothing was complained about", func(t *testing.T) {
		for _, b := range tabs {
			require.Empty(t, b.complaints())
		}
	})
	part("a player whose process was killed comes back, and both pages say so", func(t *testing.T) {
		for _, b := range tabs {
			b.until(hearSaid)
		}
		match.killChild(t, 0)
		right.until(`heard.some((words) => words === 'Kite is coming back…')`)
		right.until(`heard.some((words) => words === 'Kite is back.')`)
		left.until(`heard.some((words) => words === 'You are back. The match goes on.')`)
		for _, b := range tabs {
			at := eval[int](b, `driftback.frame.confirmed`)
			b.until(fmt.Sprintf(`driftback.frame.confirmed > %d && document.getElementById('state').textContent === 'playing'`, at+60))
		}
	})
	part("the pages say that the match has ended", func(t *testing.T) {
		match.interrupt()
		for _, b := range tabs {
			b.until(`['ended', 'not connected'].includes(document.getElementById('state').textContent)`)
			require.NotEmpty(t, eval[string](b, `document.getElementById('said').textContent`))
		}
	})
}

func eventsSoundOnce(t *testing.T, b *tab, url string) {
	b.until(`driftback.stats.sounds >= 12 && driftback.frame.stats.resimulated > 0`)
	type counts struct{ Happened, Confirmed, Duplicates, Sounds, ByName int }
	c := eval[counts](b, `({ ...driftback.stats, byName: Object.values(driftback.sounds).reduce((a, n) => a + n, 0) })`)
	require.Zero(t, c.Duplicates)
	require.Equal(t, c.Happened+c.Confirmed, c.Sounds, "every effect of this game has a sound")
	require.Equal(t, c.Sounds, c.ByName)

	// A page that is told everything twice notices.
	twice := newTab(t, b.ctx)
	_, err := chromedp.Call(twice.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `
		const { set } = Object.getOwnPropertyDescriptor(WebSocket.prototype, 'onmessage');
		Object.defineProperty(WebSocket.prototype, 'onmessage', { set(hear) { set.call(this, (e) => { hear(e); hear(e); }); } });`})
	require.NoError(t, err)
	twice.visit(url)
	twice.until(`driftback.stats.duplicates > 0`)

	// What did not happen after all may happen again, and then sounds again.
	told := newTab(t, b.ctx)
	_, err = chromedp.Call(told.ctx, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: `
		window.WebSocket = class { static OPEN = 1; constructor() { window.process = this; } };`})
	require.NoError(t, err)
	told.visit(url)
	told.until(`window.process?.onmessage`)
	eval[bool](told, `process.onopen(), true`)
	for _, kind := range []string{"happened", "undone", "happened"} {
		eval[bool](told, fmt.Sprintf(`process.onmessage({ data: JSON.stringify({ ...%s, effects: [{ kind: %q, name: 'hit', tick: 5, args: [0, 40, 1] }] }) }), true`,
			eval[string](b, `JSON.stringify(driftback.frame)`), kind))
	}
	require.JSONEq(t, `{"happened":2,"undone":1,"confirmed":0,"duplicates":0,"sounds":2,"frames":3,"connections":1}`, eval[string](told, `JSON.stringify(driftback.stats)`))
}

func keysMove(t *testing.T, left, right *tab) {
	for _, b := range []*tab{left, right} {
		b.tap(keyS)
		b.until(`driftback.frame.hands === 'you' && !document.getElementById('to-bot').disabled`)
	}
	// Nobody attacks any more. A fighter stands still until a key says otherwise.
	const x = `driftback.frame.view.fighters[0].x`
	left.until(`driftback.frame.view.phase === 'fight' && driftback.frame.view.fighters.every((f) => ['stand', 'crouch'].includes(f.action))`)
	for _, c := range []struct {
		key  key
		sign int
		most string // x of the side that the fighter walks towards
	}{{keyA, -1, "x < -300"}, {keyD, 1, "x > 0"}} {
		from := eval[int](left, x)
		left.press(c.key)
		for _, b := range []*tab{left, right} {
			b.until(fmt.Sprintf(`((x) => (x - (%d)) * (%d) > 20 || %s)(%s)`, from, c.sign, c.most, x))
		}
		left.release(c.key)
		left.until(`driftback.frame.view.fighters[0].action === 'stand'`)
		require.Positive(t, (eval[int](left, x)-from)*c.sign)
	}
	require.Equal(t, "you", eval[string](left, `driftback.frame.hands`))
	for _, b := range []*tab{left, right} {
		require.NoError(t, chromedp.Do(b.ctx, chromedp.Click(chromedp.ID("to-bot"))))
		b.until(`driftback.frame.hands === 'bot'`)
	}
}

func keyPauses(t *testing.T, left, right *tab) {
	left.until(`driftback.frame.view.phase === 'fight'`)
	left.tap(keyP)
	for b, who := range map[*tab]string{left: "by you", right: "by the other player"} {
		b.until(`document.getElementById('state').textContent === 'paused'`)
		b.until(fmt.Sprintf(`document.getElementById('said').textContent === 'Paused %s. Press P to play on.'`, who))
		require.Equal(t, "Play on", eval[string](b, `document.getElementById('pause').textContent`))
	}
	at := eval[int](right, `driftback.frame.tick`)
	picture := eval[string](right, `JSON.stringify(driftback.frame.view)`)
	right.until(fmt.Sprintf(`driftback.frame.tick > %d`, at+30))
	require.Equal(t, picture, eval[string](right, `JSON.stringify(driftback.frame.view)`), "ticks go on and the world does not")
	require.Equal(t, "bot", eval[string](left, `driftback.frame.hands`), "P is not a fighter's key")

	require.NoError(t, chromedp.Do(right.ctx, chromedp.Focus(chromedp.ID("pause"))))
	right.tap(keySpace)
	for _, b := range []*tab{left, right} {
		b.until(`document.getElementById('state').textContent === 'playing'`)
		require.Equal(t, "Pause", eval[string](b, `document.getElementById('pause').textContent`))
	}
	left.until(fmt.Sprintf(`JSON.stringify(driftback.frame.view) !== %q`, picture))
	eval[bool](right, `document.activeElement.blur(), true`)
}

func picture(t *testing.T, b *tab) {
	b.until(`driftback.frame.view.phase === 'fight' && driftback.frame.effects?.some((e) => e.name === 'hit')`)
	b.keep("fighter.png")
}

// chooseAndPlayAgain picks looks with the keyboard alone, sees the other's, and does so
// again when the match is won.
func chooseAndPlayAgain(t *testing.T, browser *tab) {
	match := start(t, "fighter", "-link", "latency=20ms", "-rate", "240", "-choose", "1h")
	tabs := [2]*tab{newTab(t, browser.ctx), newTab(t, browser.ctx)}
	for side, name := range []string{"left player", "right player"} {
		tabs[side].visit(match.line(name))
		tabs[side].until(`driftback.frame?.phase === 'choosing' && !document.getElementById('choose').hidden`)
	}
	left, right := tabs[0], tabs[1]
	left.tap(arrowRight)
	left.tap(arrowRight)
	left.until(`document.getElementById('look-2').checked`)
	right.until(`/^Kite wears violet and is still choosing/.test(document.getElementById('theirs').textContent)`)
	for range 10 { // the controls take a keyboard too
		if right.tap(keyTab); eval[string](right, `document.activeElement.name ?? ''`) == "look" {
			break
		}
	}
	right.tap(arrowRight)
	left.until(`/^Ember wears moss/.test(document.getElementById('theirs').textContent)`)
	right.tap(keyTab)
	require.Equal(t, "ready", eval[string](right, `document.activeElement.id`))
	right.tap(keySpace)
	left.until(`/is ready/.test(document.getElementById('said').textContent)`)
	left.tap(keyEnter)
	for _, b := range tabs {
		b.until(`driftback.frame.phase === 'advanced' && document.getElementById('choose').hidden`)
		require.Equal(t, "[2,1]", eval[string](b, `JSON.stringify(driftback.frame.view.fighters.map((f) => f.look))`))
	}
	require.NoError(t, chromedp.Do(left.ctx, chromedp.Click(chromedp.ID("to-bot")))) // and nobody at the right
	for _, b := range tabs {
		b.until(`driftback.frame.phase === 'choosing' && driftback.frame.bout === 1`)
		require.Equal(t, "Rematch", eval[string](b, `document.getElementById('ready').textContent`))
		eval[bool](b, `document.activeElement.blur(), true`)
		b.tap(keyEnter)
	}
	for _, b := range tabs {
		b.until(`driftback.frame.phase === 'advanced' && driftback.frame.bout === 1 && driftback.frame.tick > 60`)
		require.Empty(t, b.complaints())
		require.Zero(t, eval[int](b, `driftback.stats.duplicates`))
	}
}

func connectAgain(t *testing.T, browser *tab) {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	addr := free.Addr().String()
	require.NoError(t, free.Close())

	args := []string{"host", "-addr", "127.0.0.1:0", "-page", addr}
	host := start(t, "fighter", args...)
	host.line("") // it listens
	b := newTab(t, browser.ctx)
	b.visit("http://" + addr + "/")
	b.until(`document.getElementById('state').textContent === 'joining'`)
	host.interrupt()
	b.until(`document.getElementById('state').textContent !== 'joining'`)
	start(t, "fighter", args...).line("")
	b.until(`driftback.stats.connections === 2 && document.getElementById('state').textContent === 'joining'`)
}
