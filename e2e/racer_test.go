package e2e

import (
	"fmt"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// TestTheRacer looks at two of the pages of four karts that race in a full mesh.
func TestTheRacer(t *testing.T) {
	browser := launch(t)
	match := start(t, "racer", "-link", "latency=60ms,jitter=10ms,loss=5%", "-seed", "3")
	urls := [2]string{match.line("kart 1"), match.line("kart 3")}
	first, third := newTab(t, browser.ctx), newTab(t, browser.ctx)
	tabs := [2]*tab{first, third}
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
	part("both pages connect and follow the race", func(t *testing.T) {
		for i, b := range tabs {
			b.visit(urls[i])
			b.until(`driftback.frame?.phase === 'advanced' && driftback.frame.tick > 60`)
			require.Equal(t, 2*i, eval[int](b, `driftback.frame.self`))
			require.Equal(t, "bot", eval[string](b, `driftback.frame.hands`))
			b.until(`document.getElementById('state').textContent === 'playing'`)
		}
	})
	part("keys drive the kart on both pages", func(t *testing.T) { keysDrive(t, first, third) })
	part("P pauses the race for all, and whoever likes resumes it", func(t *testing.T) {
		first.tap(keyP)
		third.until(`document.getElementById('said').textContent === 'Paused by Kart 1. Press P to play on.'`)
		third.tap(keyP)
		for _, b := range tabs {
			b.until(`document.getElementById('state').textContent === 'playing'`)
		}
	})
	part("the keyboard reaches every control", func(t *testing.T) {
		keyboardReaches(t, third, "pause", "whole", "sound", "latency", "jitter", "loss")
	})
	part("the race is told in words", func(t *testing.T) { toldInWords(t, third) })
	part("there is a line for each of the others, and rollbacks are counted", func(t *testing.T) {
		for _, b := range tabs {
			b.until(`document.querySelectorAll('#peers tr').length === 3`)
			b.until(`[...document.querySelectorAll('#peers tr')].every((row) => parseInt(row.children[1].textContent) > 60)`)
		}
		third.until(`Number(document.getElementById('rollbacks').textContent.replaceAll(',', '')) > 0`)
	})
	part("each event sounds once, however often its tick runs", func(t *testing.T) {
		third.until(`driftback.stats.sounds >= 6 && driftback.frame.stats.resimulated > 0`)
		require.Zero(t, eval[int](third, `driftback.stats.duplicates`))
	})
	part("a slider changes every link", func(t *testing.T) { sliderChangesTheLink(t, first, third) })
	part("who asks for less motion gets a camera that stands", func(t *testing.T) {
		calm := newTab(t, browser.ctx)
		calm.prefer("prefers-reduced-motion", "reduce")
		calm.visit(urls[1])
		calm.until(`driftback.frame?.tick > 0 && document.getElementById('whole').getAttribute('aria-pressed') === 'true'`)
		require.Equal(t, "false", eval[string](third, `document.getElementById('whole').getAttribute('aria-pressed')`))
		require.Empty(t, calm.complaints())
	})
	part("it is readable in light and in dark", func(t *testing.T) {
		for _, scheme := range []string{"light", "dark"} {
			third.prefer("prefers-color-scheme", scheme)
			third.until(fmt.Sprintf(`matchMedia('(prefers-color-scheme: %s)').matches`, scheme))
			for _, at := range []string{"#place", "#order .how", "dt", "#peers td", ".legend li", ".keys li"} {
				require.Greater(t, eval[float64](third, fmt.Sprintf(contrast, at)), 4.5, "%s in %s", at, scheme)
			}
			third.until(`driftback.frame.view.phase === 'racing'`)
			third.keep("racer-" + scheme + ".png")
		}
	})
	part("a narrow page does not scroll sideways", func(t *testing.T) {
		third.resize(360, 740)
		defer third.resize(1280, 720)
		require.LessOrEqual(t, eval[int](third, `document.documentElement.scrollWidth`), 360)
		pictureFits(third, 360)
	})
	part("nothing was complained about", func(t *testing.T) {
		for _, b := range tabs {
			require.Empty(t, b.complaints())
		}
	})
	part("a kart whose process was killed comes back, and its page and the others say so", func(t *testing.T) {
		third.until(hearSaid)
		first.until(hearSaid)
		match.killChild(t, 0)
		third.until(`heard.some((words) => words === 'Kart 1 is coming back…')`)
		third.until(`heard.some((words) => words === 'Kart 1 is back.')`)
		first.until(`heard.some((words) => words === 'You are back. The match goes on.')`)
		for _, b := range tabs {
			at := eval[int](b, `driftback.frame.confirmed`)
			b.until(fmt.Sprintf(`driftback.frame.confirmed > %d && document.getElementById('state').textContent === 'playing'`, at+60))
			require.NotRegexp(t, `gone|coming back`, eval[string](b, `document.getElementById('order').textContent`))
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

// hearSaid has a page keep all that its readers hear.
const hearSaid = `(() => {
	const at = document.getElementById('said');
	window.heard = [];
	new MutationObserver(() => heard.push(at.textContent)).observe(at, { childList: true, characterData: true, subtree: true });
	return at.getAttribute('aria-live') === 'polite';
})()`

// TestTheRacerWithoutReturns looks at what the page of a kart says of one that does not come back.
func TestTheRacerWithoutReturns(t *testing.T) {
	browser := launch(t)
	match := start(t, "racer", "-karts", "3", "-back=false", "-link", "latency=20ms")
	b := newTab(t, browser.ctx)
	b.visit(match.line("kart 1"))
	b.until(`driftback.frame?.phase === 'advanced' && driftback.frame.tick > 60`)
	require.NotContains(t, eval[string](b, `document.getElementById('order').textContent`), "gone", "the control")
	match.killChild(t, 1)
	b.until(`driftback.frame.peers.some((p) => p.participant === 1 && p.gone)`)
	at := eval[int](b, `driftback.frame.confirmed`)
	b.until(fmt.Sprintf(`driftback.frame.confirmed > %d`, at+60))
	b.until(`/Kart 2, gone/.test(document.getElementById('order').textContent)`)
	b.until(`[...document.querySelectorAll('#peers tr')].filter((row) => /Kart 2.*gone/.test(row.textContent)).length === 1`)
	require.NotRegexp(t, `Kart [13], gone`, eval[string](b, `document.getElementById('order').textContent`))
	require.Empty(t, b.complaints())
}

// TestTheRacerWithoutADirectLink looks at what the pages say of who plays through whom.
func TestTheRacerWithoutADirectLink(t *testing.T) {
	browser := launch(t)
	match := start(t, "racer", "-karts", "3", "-block", "1-2", "-link", "latency=20ms")
	const heard = `[...document.querySelectorAll('#peers tr')].map((row) => row.children[0].textContent + ' ' + row.children[4].textContent).join()`
	for url, want := range map[string]string{
		match.line("kart 1"): "Kart 2 through Kart 3,Kart 3 yes",
		match.line("kart 2"): "Kart 1 through Kart 3,Kart 3 yes",
		match.line("kart 3"): "Kart 1 yes,Kart 2 yes",
	} {
		b := newTab(t, browser.ctx)
		b.visit(url)
		b.until(fmt.Sprintf(`driftback.frame?.phase === 'advanced' && %s === '%s'`, heard, want))
		require.Empty(t, b.complaints())
	}
}

// contrast is that of an element's letters with what is behind them, as the WCAG defines
// it.
const contrast = `(() => {
	const light = (colour) => {
		const [r, g, b] = colour.match(/[\d.]+/g).map((v) => v / 255).map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
		return 0.2126 * r + 0.7152 * g + 0.0722 * b;
	};
	const at = document.querySelector('%s');
	let ground = at;
	while (getComputedStyle(ground).backgroundColor === 'rgba(0, 0, 0, 0)') ground = ground.parentElement;
	const [a, b] = [getComputedStyle(at).color, getComputedStyle(ground).backgroundColor].map(light);
	return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
})()`

func toldInWords(t *testing.T, b *tab) {
	b.until(`document.querySelectorAll('#order li').length === 4`)
	require.Equal(t, 1, eval[int](b, `document.querySelectorAll('#order li.own').length`))
	require.Equal(t, "Kart 3, your bot", eval[string](b, `document.querySelector('#order li.own .who').textContent`))
	require.Equal(t, "polite", eval[string](b, `document.getElementById('place').getAttribute('aria-live')`))
	b.until(`/^Lap \d of 3, \d.. of 4$/.test(document.getElementById('place').textContent)`)
	b.until(`/Kart 3, driven by your bot, is .* on lap/.test(document.getElementById('summary').textContent)`)
	// What is read out must not come faster than it can be heard.
	eval[bool](b, `(() => {
		window.told = { changes: 0, from: performance.now(), frames: driftback.stats.frames };
		new MutationObserver(() => told.changes++).observe(document.getElementById('place'), { childList: true, characterData: true, subtree: true });
		return true;
	})()`)
	b.until(`driftback.stats.frames > told.frames + 60`)
	require.True(t, eval[bool](b, `told.changes <= 1 + (performance.now() - told.from) / 1900`), "it changes too often")
}

func keysDrive(t *testing.T, first, third *tab) {
	const kart = `driftback.frame.view.karts[0]`
	first.until(`driftback.frame.view.phase === 'racing' && ` + kart + `.lap === 1`) // who has finished drives no more
	first.tap(keyS)
	first.until(`driftback.frame.hands === 'you' && !document.getElementById('to-bot').disabled`)
	for _, b := range []*tab{first, third} {
		b.until(kart + `.speed < 20`) // nobody drives
	}
	first.press(keyW)
	for _, b := range []*tab{first, third} {
		b.until(kart + `.speed > 100`)
	}
	heading := eval[int](first, kart+`.heading`)
	first.press(keyD)
	for _, b := range []*tab{first, third} {
		b.until(fmt.Sprintf(`((%s.heading - (%d)) & 65535) > 3000 && ((%s.heading - (%d)) & 65535) < 60000`, kart, heading, kart, heading))
	}
	first.release(keyD)
	first.release(keyW)
	require.Equal(t, "Kart 1, you", eval[string](first, `document.querySelector('#order li.own .who').textContent`))
	require.NoError(t, chromedp.Do(first.ctx, chromedp.Click(chromedp.ID("to-bot"))))
	first.until(`driftback.frame.hands === 'bot'`)
}
