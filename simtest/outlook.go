package simtest

import (
	"cmp"
	"slices"
	"time"

	"github.com/driftback/driftback/session"
	"github.com/driftback/driftback/transport/impair"
)

// outlook is what a scenario allows and promises, worked out from it alone.
type outlook struct {
	// quiet is when the last fault has ended.
	quiet time.Duration
	// patience is how long, once it is quiet, nothing may move.
	patience time.Duration
	// limit is when a match that runs to its end has ended.
	limit time.Duration
	// losing is how much longer things take where survivors must first agree to go on without
	// somebody, and deciding how long after the last fault that passes they have done so. It
	// is 0 where links are so bad that their time may be up before.
	losing, deciding time.Duration
	// silences: faults may keep a peer silent for so long that it counts as lost.
	silences bool
}

// maxDispute is for how long a peer that has found a difference waits for the other to
// find it too.
const maxDispute = 5 * Second

// window returns how many ticks may be predicted.
func (s *Scenario) window() int {
	if s.Window == 0 {
		return session.DefaultWindow
	}
	return max(s.Window, 0)
}

// every returns the ticks between fingerprints, or 0.
func (s *Scenario) every() int {
	if s.FingerprintEvery == 0 {
		return session.DefaultFingerprintEvery
	}
	return max(s.FingerprintEvery, 0)
}

// ends reports whether a peer may be gone before another has begun to play.
func (s *Scenario) ends() bool {
	return s.HaltAtLimit || s.hasNature(ends) || s.hasNature(comes) || s.has(Down)
}

// late returns by how much a datagram is late at the most when nothing is wrong and no
// line is full: it may wait for its turn, and is then under way.
func (s *Scenario) late() (m Micros) {
	for _, l := range s.Links {
		m = max(m, l.Latency+l.Jitter+l.ReorderBy)
	}
	return m + s.turn()
}

// turn returns how long a peer may wait until it sends; 0: every one sends in every turn.
func (s *Scenario) turn() (m Micros) {
	for _, p := range s.Peers {
		if p.PublishEvery > 1 {
			// A clock that runs slow by a fifth makes it wait for longer, and in frames.
			m = max(m, Micros(p.PublishEvery)*max(s.slowest(), Second/Micros(s.tickRate())*5/4)+s.slowest())
		}
	}
	return m
}

// loss returns the share that the worst link loses when nothing is wrong.
func (s *Scenario) loss() (share float64) {
	for _, l := range s.Links {
		share = max(share, l.Loss)
	}
	return share
}

// slowest returns the true time between two frames of the peer whose clock is slowest.
func (s *Scenario) slowest() (frame Micros) {
	for p := range s.Peers {
		least, _ := s.skews(p)
		length := s.Frame
		if s.Peers[p].Paces != "" {
			length += length * paceSlows / 100
		}
		frame = max(frame, length*1_000_000/Micros(1_000_000+least)+1)
	}
	return frame
}

// queued returns for how long a datagram waits at the most for the slowest line.
func (s *Scenario) queued() (m Micros) {
	for _, l := range s.Links {
		m = max(m, backlog(l.BytesPerSecond))
	}
	return m
}

// backlog returns for how long a datagram waits at the most for a line with a rate.
func backlog(rate int) Micros {
	if rate == 0 {
		return 0
	}
	return Micros(impair.MaxBacklog) * Second / Micros(rate)
}

func (s *Scenario) outlook() outlook {
	late, worst := s.late()+s.queued(), s.late() // worst: with every fault at once
	quiet, slowest := Micros(0), s.slowest()
	for _, f := range s.Faults {
		if n := kindTraits[f.Kind].nature; n == ends || n == comes {
			continue
		}
		quiet = max(quiet, f.end())
		worst += f.By
	}
	delay := s.shortest(&s.Peers[0])
	for _, p := range s.Peers {
		quiet = max(quiet, p.Phase)
		delay = min(delay, s.shortest(&p))
	}
	var o outlook
	o.quiet = quiet.Duration()
	// A handshake is five reliable messages in a row, each of which may be lost, and
	// late by a round trip for it, eight times. An input rides in every packet until it
	// has come.
	messages := Micros(5)
	if s.has(Down) { // a link comes up by three
		messages += 3
	}
	o.patience = (2*Second + 64*slowest + messages*(17*worst+s.queued()+200*Millisecond)).Duration()
	if s.has(Diverge, Misreport) {
		o.patience += 2 * maxDispute.Duration()
	}
	// A window of ticks takes as long as an input takes to come, and a few frames.
	perTick := max(slowest, (late+10*slowest)/Micros(max(s.window()+delay, 1)))
	ticks := 3 * Micros(s.Ticks) * perTick
	if s.Buggify {
		// A handshake's message may stay owed for a turn or with the transport for one, a
		// quarter of the times each: that either happens sixteen times in a row is as
		// likely as 1 in 2^32. And there are the beats of 100 ms after which a peer with
		// nothing to say repeats what was left out.
		o.patience += (5*(16+16)*slowest + Second).Duration()
		// Five sites (a stall, an uncompared fingerprint, an interruption, a skipped flush,
		// a single message) leave a quarter of a peer's turns unused each, so that a tick
		// takes (4/3)^5 turns, which is 4.2; and the slowest of several peers counts, which
		// is allowed another 2.
		ticks *= 8
	}
	o.limit = (quiet + ticks + 2*(s.PeerTimeout+s.RejoinGrace)).Duration() + 4*o.patience
	if s.ends() {
		o.limit += 2 * joinTimeout
	}
	if s.playsOn() {
		s.losses(&o, late)
	}
	o.silences = s.silences(late)
	return o
}

// losses adds to the outlook what it takes to go on without peers.
func (s *Scenario) losses(o *outlook, late Micros) {
	slowest, spread := s.slowest(), Micros(0)
	least, most := MaxSkew, -MaxSkew
	for p := range s.Peers {
		low, high := s.skews(p)
		least, most = min(least, low), max(most, high)
	}
	silence := s.PeerTimeout + s.RejoinGrace
	spread = silence*1_000_000/Micros(1_000_000+least) - silence*1_000_000/Micros(1_000_000+most)
	// Six messages in a row, of which few are lost, each handled in a turn, and what is
	// repeated every 200 ms.
	talk := (6+2*(tries(s.loss())+4))*(late+25*Millisecond) + 12*slowest + 600*Millisecond
	if s.Buggify {
		talk += 6 * 16 * slowest
	}
	for _, f := range s.Faults {
		if f.Kind == Crash || f.Kind == Leave {
			o.quiet = max(o.quiet, f.At.Duration())
		}
	}
	for _, f := range s.Faults {
		if kindTraits[f.Kind].nature == comes {
			o.quiet = max(o.quiet, f.At.Duration())
			o.limit += f.For.Duration()
		}
	}
	o.losing = ((silence+s.PeerTimeout)*5/4 + talk).Duration()
	o.limit += o.quiet + time.Duration(len(s.Faults)+1)*o.losing
	if s.PeerTimeout*4/5 >= spread+talk {
		o.deciding = (silence*5/4 + spread + talk).Duration()
	}
}

// silences reports whether faults other than a crash may keep a peer silent for its
// time-out. It errs on the side of yes.
func (s *Scenario) silences(late Micros) bool {
	if s.PeerTimeout == 0 {
		return false
	}
	long := s.PeerTimeout + s.RejoinGrace
	if 2*late > long {
		return true
	}
	arrives, by := 1-s.loss(), Micros(0)
	for _, f := range s.Faults {
		by += f.By
		if f.Kind == Loss || f.Kind == Bursts || f.Kind == Corrupt || f.Kind == Truncate {
			arrives *= 1 - f.Share
		}
	}
	type span struct{ from, to Micros }
	var silent []span
	for _, f := range s.Faults {
		end := f.end() + late + Second/2
		switch f.Kind {
		case Loss, Bursts, Corrupt, Truncate:
			if arrives > 0.4 { // thirty in a row are not lost
				continue
			}
		case Delay, Reorder: // what was sent just before comes, and then nothing for a while
			end -= f.For - f.By
		case Down: // it comes up by three messages, each of which may be late eight times
			end += 3 * 17 * (late + by + 25*Millisecond)
		case Duplicate, Skew, Crash, Restart, Reopen, Return, Leave, Halt, Diverge, Stray, Forge, Change, Equivocate, Misreport:
			continue
		default:
		}
		silent = append(silent, span{f.At, end})
	}
	slices.SortFunc(silent, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	var from, to Micros
	for _, f := range silent {
		if f.from > to {
			from = f.from
		}
		to = max(to, f.to)
		if to-from >= long {
			return true
		}
	}
	return false
}

// needsGuesses reports whether the links are so slow that some input cannot be there in
// time, however the peers stand to each other.
func (s *Scenario) needsGuesses() bool {
	if s.Window == None || s.Ticks < 100 {
		return false
	}
	for a := range s.Peers {
		for b := range a {
			forth, back := s.link(a, b), s.link(b, a)
			least := forth.Latency - forth.Jitter + back.Latency - back.Jitter
			if least > time.Duration(s.longest(&s.Peers[a])+s.longest(&s.Peers[b])+4)*s.Frame.Duration() {
				return true
			}
		}
	}
	return false
}
