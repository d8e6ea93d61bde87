package definition

import (
	"cmp"
	"fmt"

	"fmqm/processtable"
)

// tableFormat is the format of a process's tables: that which was asked for, or the lowest that says
// all of the process; 0: none was asked for.
func tableFormat(p *Process, asked int) (int, error) {
	lowest, needs := processtable.SearchFormat, needsSearchFormat(p)
	if needs == "" {
		lowest, needs = processtable.PeopleFormat, needsPeopleFormat(p)
	}
	if needs == "" {
		lowest, needs = processtable.BundleFormat, cmp.Or(needsBundleFormat(p), needsEventFormat(p))
	}
	if needs == "" {
		lowest, needs = processtable.ModelFormat, needsModelFormat(p)
	}
	if needs == "" {
		lowest, needs = processtable.BlockFormat, needsBlockFormat(&p.Graph)
	}
	if needs == "" {
		lowest = processtable.FlowMarkFormat
	}
	switch {
	case asked == 0, asked == lowest:
		return lowest, nil
	case needs != "" && 1 <= asked && asked < lowest:
		return 0, fmt.Errorf("table format %d has no %s: leave it out, and upgrade the sites of the process to a version that reads format %d", asked, needs, lowest)
	case asked < 1 || asked > lowest:
		return 0, fmt.Errorf("there is no table format %d: this version writes 1 to %d; %d for a process with blocks, deadlines, waits, `on_error`, `cancels`, `choice`, words of the engine, or a choice out of source; %d for one with subprocesses, schedules, a deadline of its own, mappings that work out or append, or start conditions that ask how activities ended; %d for one with `for_each`, `at`, `start: first`, `notify`, `history` or `node: _ORIGIN`, or that receives or sends events; %d for one with `staff`, `administrator`, `priority` or `_BY`; and %d for one with `search`, with `on` in `notify`, or with notices for people of what is `offered_at` other nodes",
			asked, processtable.FlowMarkFormat, processtable.BlockFormat, processtable.ModelFormat, processtable.BundleFormat, processtable.PeopleFormat, processtable.SearchFormat)
	}
	return asked, nil
}

// needsBundleFormat names what a process has that only the newest format says; empty: nothing.
func needsBundleFormat(p *Process) string {
	switch {
	case len(p.Notify) > 0:
		return "notify"
	case p.History > 0:
		return "history"
	case p.hostsAtOrigin():
		return "node: " + OriginNode
	}
	for _, a := range p.All() {
		switch {
		case a.Bundle != nil:
			return "for_each"
		case a.Call != nil:
			return "at"
		case a.Start.Kind == StartFirst:
			return "start: first"
		case len(a.Notify) > 0:
			return "notify"
		}
	}
	return ""
}

// needsModelFormat names what a process has that no lower format than that says; empty: nothing.
func needsModelFormat(p *Process) string {
	switch {
	case hasChildren(p):
		return "subprocesses"
	case len(p.Schedules) > 0:
		return "schedules"
	case p.Deadline != nil:
		return "deadline of a process"
	}
	return needsEndsFormat(&p.Graph)
}

// needsEndsFormat names what of how activities end, and of what mappings do, a graph has, or a block in
// it, that no lower format than ModelFormat says; empty: nothing.
func needsEndsFormat(g *Graph) string {
	for _, d := range g.Data {
		for _, m := range d.Mappings {
			switch {
			case m.Append:
				return "mappings that append"
			case m.Expr != nil:
				return "expressions in mappings"
			}
		}
	}
	for _, a := range g.Activities {
		if a.Start.Asks {
			return "start conditions that ask how activities ended"
		}
		if a.Block != nil {
			if needed := needsEndsFormat(a.Block); needed != "" {
				return needed
			}
		}
	}
	return ""
}

// hasChildren says whether an activity of a process, also inside of a block, is a subprocess.
func hasChildren(p *Process) bool {
	for _, a := range p.All() {
		if a.Child != nil {
			return true
		}
	}
	return false
}

// needsBlockFormat names what a graph has that no lower format says; empty: nothing.
func needsBlockFormat(g *Graph) string {
	into := map[string]int{}
	for _, k := range g.Control {
		into[k.Target]++
	}
	for _, a := range g.Activities {
		switch {
		case a.Block != nil:
			return "blocks"
		case a.FirstMatch:
			return "choice: first_match"
		case a.Deadline != nil:
			return "deadlines"
		case a.Wait != nil:
			return "waits"
		case a.Continues:
			return "on_error: continue"
		case len(a.Cancels) > 0:
			return "cancels"
		}
	}
	for _, k := range g.Control {
		if k.Source == sourceEnd && (k.kind() != edgeAlways || into[k.Target] > 1) {
			return "control connectors out of source beside others, or with a condition"
		}
	}
	for _, d := range g.Data {
		for _, m := range d.Mappings {
			if m.Word != 0 {
				return m.Word.String()
			}
		}
	}
	return ""
}
