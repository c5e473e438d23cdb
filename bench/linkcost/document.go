package main

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

const head = `# What a match costs on the network

Written by ` + "`go run ./bench/linkcost`" + `, which plays every match anew; a test
holds this page to it. All of it follows from seeds, so it is the same on every machine.

## What is measured

Each row is %d matches of %d minutes, of 60 ticks a second, played by package
[simtest](../simtest) on virtual time with every rule checked. They differ in their seed
alone. Input delay 0, a prediction window of 8 ticks, and everything else as it is by
default: a fingerprint every 8 ticks among it. A figure is the mean of all players.

- **Link:** loss, and round trip ± jitter. Every direction has the whole loss, half of the
  round trip and half of the jitter: "5 %%, 100 ± 20 ms" is 5 %% of the datagrams of
  each direction lost, and the others between 40 and 60 ms under way, uniformly. Jitter
  lets datagrams overtake each other.
- **Frames:** all peers' frames are as long, and spread evenly over the time of one: with two
  players each is half a frame from the other. When frames coincide, an input waits for
  nearly a frame or for none at all, which is the best or the worst that can be.
- **Rollbacks** per 100 ticks, and the **depth** in ticks that 99 of 100 do not exceed.
- **Stalls** per minute: frames that ran no tick because 8 were predicted.
- **Bytes/s:** all the payload that a player sends, to all the others, from its first tick to
  its last. Beside it the packets that this is, and the bytes per **link and confirmed
  tick**.
- **Bare bytes/s:** what the inputs alone would be. In each packet: every value that the
  other is not known to have, once for all the ticks for which it is held, and of each the
  bytes in which it differs from the one before. No tick, no number, no acknowledgement, no
  fingerprint, and nothing that says how many there are. No format gets there.
- **Published:** the best figures that have been published for these rows, in bytes per
  second and player with inputs of 4 bytes; how their inputs change was not. **Share** is ours
  of them.

Not measured: what carries the payload. UDP, IP and QUIC add to every packet, which the
number of packets is there to judge by; so do QUIC's own acknowledgements and the
handshake.

`

var headings = map[workload]string{
	held: "## Inputs that are held\n\nA player holds a value for 3 to 12 ticks, and then another one " +
		"of which every byte is drawn anew.\n",
	buttons: "## Buttons that are held\n\nA player holds a value for 3 to 12 ticks. The next one differs in its first " +
		"byte; the others are 0, as those of a stick at rest.\n",
	random: "## Inputs that never rest\n\nEvery byte is drawn anew for every tick.\n",
}

// document returns the page.
func document(all []cell, measured []figures) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, head, seeds, minutes)
	for i, c := range all {
		if i == 0 || all[i-1].workload != c.workload {
			b.WriteString(headings[c.workload])
		}
		if i == 0 || all[i-1].workload != c.workload || all[i-1].size != c.size {
			fmt.Fprintf(&b, "\nOf %d bytes:\n\n", c.size)
			b.WriteString(tableHead(c.size))
		}
		b.WriteString(tableLine(c, measured[i]))
		if i+1 < len(all) && all[i+1].workload != c.workload {
			b.WriteString("\n")
		}
	}
	return []byte(b.String())
}

func tableHead(size int) string {
	names := "| players, link | rollbacks/100 ticks | depth, 99 % | stalls/min | packets/s | bytes/s | bytes/link and tick | bare bytes/s |"
	if size == 4 {
		names += " published | share |"
	}
	return names + "\n|---|" + strings.Repeat("---:|", strings.Count(names, "|")-2) + "\n"
}

func tableLine(c cell, f figures) string {
	line := fmt.Sprintf("| %v | %.1f | %d | %.1f | %.0f | %s | %.1f | %s |",
		c.row, f.rollbacks, f.depth, f.stalls, f.datagrams, thousands(f.bytes), f.perTick, thousands(f.bare))
	if c.size == 4 {
		line += fmt.Sprintf(" %s | %.0f %% |", thousands(float64(c.row.published)), 100*f.bytes/float64(c.row.published))
	}
	return line + "\n"
}

// thousands writes a number below a million as a whole one.
func thousands(v float64) string {
	n := int(math.Round(v))
	if n < 1000 {
		return strconv.Itoa(n)
	}
	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}
