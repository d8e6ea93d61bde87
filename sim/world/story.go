package world

import (
	"fmt"
	"strings"
	"time"

	"fmqm/sim/generate"
)

// Story tells a world: what there was, what was done to it, and what then went wrong; with
// the last events before that where the report has lines.
func Story(r *Report) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p := &r.Plan
	say("seed %d: %s", p.Seed, sites(p))
	cases, _ := p.prepared() // Run has said why one cannot be
	for i := range cases {
		x := &p.Processes[i]
		say("process %s (%s %d%s), uploaded through %s after %v:", x.Name, x.Kind, x.Number, map[bool]string{true: ", with large texts"}[x.Large]+map[bool]string{true: ", current at once"}[x.Now], x.Through, brief(x.At))
		say("%s", indent(cases[i].drawn.Text(x.Name)))
	}
	for i, x := range p.Instances {
		say("instance %d is %s of %s: started after %v%s", i, x.ID, p.Processes[x.Process].Name, brief(x.At), startedAgain(x.Again))
	}
	for _, e := range p.Events {
		say("%12v  %s", brief(e.At), e)
	}
	say("%12v  the weather clears", brief(p.Clear))
	if r.Broken == nil {
		say("%12v  every invariant held; %d events, %d recoveries; hash %s", brief(r.Elapsed), r.Events, r.Recoveries, r.Hash)
		return b.String()
	}
	if n := len(r.Told); n > 0 {
		say("what happened, of that the last:")
		for _, line := range r.Told[max(0, n-lastLines):] {
			say("%s", line)
		}
	}
	say("%12v  INVARIANT %s: %s", brief(r.Broken.At), r.Broken.Invariant, p.instanceNames().Replace(r.Broken.Text))
	return b.String()
}

// lastLines is how many events are told before the end.
const lastLines = 120

func sites(p *Plan) string {
	text := fmt.Sprintf("%d sites, %s", len(p.Sites), strings.Join(names(p.Sites), " "))
	if p.Broker {
		text += map[bool]string{true: ", with a broker between them", false: ", and a broker"}[p.Apart]
	}
	if p.BothCall {
		text += "; all call each other"
	}
	if p.Narrow {
		text += "; thirteen changes fill a commit"
	}
	return text + fmt.Sprintf("; %d entries in memory", p.Cache) + versions(p)
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n    ")
}

func startedAgain(times []time.Duration) string {
	text := ""
	for _, t := range times {
		text += fmt.Sprintf(", again after %v", brief(t))
	}
	return text
}

// kept says what became of a commit.
func kept(onDisk bool) string {
	return map[bool]string{true: "it is on disk", false: "it is not on disk"}[onDisk]
}

// String tells an event.
func (e Event) String() string {
	kept := kept(e.Kept)
	switch e.Do {
	case Crash:
		return fmt.Sprintf("%s dies, and is away for %v; of a commit under way: %s", e.Site, brief(e.For), kept)
	case CrashAt:
		return fmt.Sprintf("%s dies at its %d. commit from now, for %v: %s", e.Site, e.Number, brief(e.For), kept)
	case CrashIn:
		return fmt.Sprintf("%s dies in its %d. commit from now, for %v: %s", e.Site, e.Number, brief(e.For), kept)
	case Stop:
		return fmt.Sprintf("%s is stopped, for %v", e.Site, brief(e.For))
	case FailWrite:
		return fmt.Sprintf("%s fails to write its %d. commit from now: %s", e.Site, e.Number, kept)
	case FailRead:
		return fmt.Sprintf("%s fails at its %d. read from now", e.Site, e.Number)
	case Sluggish:
		return fmt.Sprintf("the disk of %s is slow, for %v", e.Site, brief(e.For))
	case Cold:
		return fmt.Sprintf("the disk of %s is slow to read whole queues, for %v", e.Site, brief(e.For))
	case Detour:
		return fmt.Sprintf("%s takes %v to commit what it accepts from %s, the %d. time from now; meanwhile it reads a configuration with a wrong address of %s, then the right one", e.Site, brief(e.For), e.Peer, e.Number, e.Peer)
	case Decide:
		return fmt.Sprintf("an operator at %s lets the links go on that are stopped", e.Site)
	case Low:
		return fmt.Sprintf("%s has little room on its disk, for %v", e.Site, brief(e.For))
	case Full:
		return fmt.Sprintf("%s has no room on its disk, for %v", e.Site, brief(e.For))
	case Cut:
		return fmt.Sprintf("the wire between %s and %s is cut, for %v", e.Site, e.Peer, brief(e.For))
	case Stall:
		return fmt.Sprintf("what %s sends to %s waits, for %v", e.Site, e.Peer, brief(e.For))
	case Slow:
		return fmt.Sprintf("what %s sends to %s takes seconds, for %v", e.Site, e.Peer, brief(e.For))
	case Lossy:
		return fmt.Sprintf("the broker loses, repeats, reorders and replays, for %v", brief(e.For))
	case Drowsy:
		return fmt.Sprintf("the broker delivers late, for %v", brief(e.For))
	case BrokerOff:
		return fmt.Sprintf("the broker is down, for %v", brief(e.For))
	case BrokerNew:
		return "the broker is started again, and has lost everything"
	case Astray:
		return fmt.Sprintf("%s reads a configuration with a wrong address of %s, for %v", e.Site, e.Peer, brief(e.For))
	case Reload:
		return fmt.Sprintf("%s reads a configuration with %s, for %v", e.Site, [...]string{"all routes", "the broker only", "direct routes only"}[e.Number], brief(e.For))
	case Clock:
		return fmt.Sprintf("the clock of %s is stepped by %v", e.Site, brief(e.For))
	case Backup:
		return fmt.Sprintf("%s is backed up", e.Site)
	case Lose:
		return fmt.Sprintf("%s loses its disk, and is away for %v", e.Site, brief(e.For))
	case Restore:
		return fmt.Sprintf("%s loses its disk, is away for %v, and goes on from its backup", e.Site, brief(e.For))
	case Image:
		return fmt.Sprintf("the disk of %s is copied", e.Site)
	case CopyOn:
		return fmt.Sprintf("%s loses its disk, is away for %v, and goes on from that copy, which nobody has restored", e.Site, brief(e.For))
	case Twice:
		return fmt.Sprintf("a clone of %s runs beside it, for %v", e.Site, brief(e.For))
	case Upgrade:
		return fmt.Sprintf("%s is upgraded, and is away for %v", e.Site, brief(e.For))
	case Ask:
		return fmt.Sprintf("somebody asks %s question %d, of instance %d", e.Site, e.Number, e.Instance)
	case Terminate:
		return fmt.Sprintf("an operator at %s terminates instance %d", e.Site, e.Instance)
	case Suspend:
		what := fmt.Sprintf("an operator at %s suspends instance %d", e.Site, e.Instance)
		if e.Number > 0 {
			what = fmt.Sprintf("an operator at %s suspends an activity of instance %d", e.Site, e.Instance)
		}
		if e.For > 0 {
			what += fmt.Sprintf(", for %v", brief(e.For))
		}
		return what
	case Resume:
		return fmt.Sprintf("an operator at %s resumes instance %d", e.Site, e.Instance)
	case Retry:
		return fmt.Sprintf("an operator at %s retries what of instance %d is in error", e.Site, e.Instance)
	case Hand:
		return fmt.Sprintf("an operator at %s %s what of instance %d is under way", e.Site, [...]string{"skips", "finishes"}[e.Number], e.Instance)
	case Restart:
		what := fmt.Sprintf("an operator at %s restarts what of instance %d has run, choice %d", e.Site, e.Instance, e.Number)
		if e.Kept {
			what += ", or gives that up"
		}
		return what
	case Work:
		return fmt.Sprintf("%s deals with what %s offers, in way %d", generate.Staff(string(e.Site))[e.Number%4].Name, e.Site, e.Number/4)
	case Signal:
		return fmt.Sprintf("somebody outside sends event %d to instance %d, through %s", e.Number, e.Instance, e.Site)
	case Erase:
		return fmt.Sprintf("an administrator at %s has the data of instance %d overwritten", e.Site, e.Instance)
	case Expedite:
		return fmt.Sprintf("an operator at %s gives instance %d the priority %d", e.Site, e.Instance, e.Number)
	case Retire:
		return fmt.Sprintf("an operator at %s %s process %d", e.Site, map[bool]string{true: "takes back the retirement of", false: "retires"}[e.Kept], e.Number)
	case Wrong:
		return fmt.Sprintf("somebody asks %s for what is refused, in way %d", e.Site, e.Number)
	}
	return string(e.Do)
}
