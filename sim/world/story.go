package world

import (
	"fmt"
	"strings"
	"time"
)

// Story tells a world: what there was, what was done to it, and what then went wrong; with
// the last events before that where the report has lines.
func Story(r *Report) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p := &r.Plan
	say("seed %d: %s", p.Seed, sites(p))
	for i := range p.Processes {
		x := &p.Processes[i]
		say("process %s (%s %d), uploaded through %s after %v:", x.Name, x.Kind, x.Number, x.Through, x.At)
		say("%s", indent(x.drawn().Text(x.Name)))
	}
	for i, x := range p.Instances {
		say("instance %d is %s of %s: started after %v%s", i, x.ID, p.Processes[x.Process].Name, x.At, again(x.Again))
	}
	for _, e := range p.Events {
		say("%10v  %s", e.At, e)
	}
	say("%10v  the weather clears", p.Clear)
	if r.Broken == nil {
		say("%10v  every invariant held; %d events, %d recoveries; hash %s", r.Elapsed, r.Events, r.Recoveries, r.Hash)
		return b.String()
	}
	if n := len(r.Lines); n > 0 {
		say("the last events:")
		for _, line := range r.Lines[max(0, n-lastLines):] {
			say("  %s", line)
		}
	}
	say("%10v  INVARIANT %s: %s", r.Broken.At, r.Broken.Invariant, r.Broken.Text)
	return b.String()
}

// lastLines is how many events are told before the end.
const lastLines = 60

func sites(p *Plan) string {
	text := fmt.Sprintf("%d sites, %s", len(p.Sites), strings.Join(names(p.Sites), " "))
	if p.Broker {
		text += ", and a broker"
	}
	if p.BothCall {
		text += "; all call each other"
	}
	return text + fmt.Sprintf("; %d entries in memory", p.Cache)
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ")
}

func again(times []time.Duration) string {
	text := ""
	for _, t := range times {
		text += fmt.Sprintf(", again after %v", t)
	}
	return text
}

// String tells an event.
func (e Event) String() string {
	kept := map[bool]string{true: "it is on disk", false: "it is not on disk"}[e.Kept]
	switch e.Do {
	case Crash:
		return fmt.Sprintf("%s dies, and is away for %v; of a commit under way: %s", e.Site, e.For, kept)
	case CrashAt:
		return fmt.Sprintf("%s dies at its %d. commit from now, for %v: %s", e.Site, e.Number, e.For, kept)
	case CrashIn:
		return fmt.Sprintf("%s dies in its %d. commit from now, for %v: %s", e.Site, e.Number, e.For, kept)
	case Stop:
		return fmt.Sprintf("%s is stopped, for %v", e.Site, e.For)
	case FailWrite:
		return fmt.Sprintf("%s fails to write its %d. commit from now: %s", e.Site, e.Number, kept)
	case FailRead:
		return fmt.Sprintf("%s fails at its %d. read from now", e.Site, e.Number)
	case Low:
		return fmt.Sprintf("%s has little room on its disk, for %v", e.Site, e.For)
	case Full:
		return fmt.Sprintf("%s has no room on its disk, for %v", e.Site, e.For)
	case Cut:
		return fmt.Sprintf("the wire between %s and %s is cut, for %v", e.Site, e.Peer, e.For)
	case Stall:
		return fmt.Sprintf("what %s sends to %s waits, for %v", e.Site, e.Peer, e.For)
	case Slow:
		return fmt.Sprintf("what %s sends to %s takes seconds, for %v", e.Site, e.Peer, e.For)
	case Lossy:
		return fmt.Sprintf("the broker loses, repeats, reorders and replays, for %v", e.For)
	case Drowsy:
		return fmt.Sprintf("the broker delivers late, for %v", e.For)
	case BrokerOff:
		return fmt.Sprintf("the broker is down, for %v", e.For)
	case BrokerNew:
		return "the broker is started again, and has lost everything"
	case Astray:
		return fmt.Sprintf("%s reads a configuration with a wrong address of %s, for %v", e.Site, e.Peer, e.For)
	case Reload:
		return fmt.Sprintf("%s reads a configuration with %s, for %v", e.Site, [...]string{"all routes", "the broker only", "direct routes only"}[e.Number], e.For)
	case Clock:
		return fmt.Sprintf("the clock of %s is stepped by %v", e.Site, e.For)
	case Backup:
		return fmt.Sprintf("%s is backed up", e.Site)
	case Lose:
		return fmt.Sprintf("%s loses its disk, and is away for %v", e.Site, e.For)
	case Restore:
		return fmt.Sprintf("%s loses its disk, is away for %v, and goes on from its backup", e.Site, e.For)
	case Ask:
		return fmt.Sprintf("somebody asks %s question %d, of instance %d", e.Site, e.Number, e.Instance)
	case Terminate:
		return fmt.Sprintf("an operator at %s terminates instance %d", e.Site, e.Instance)
	case Retry:
		return fmt.Sprintf("an operator at %s retries what of instance %d is in error", e.Site, e.Instance)
	case Wrong:
		return fmt.Sprintf("somebody asks %s for what is refused, in way %d", e.Site, e.Number)
	}
	return string(e.Do)
}
