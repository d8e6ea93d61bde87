package oracle

import (
	"fmt"
	"slices"

	"fmqm/api"
	"fmqm/definition"
)

// whole gives a status a line for everything inside of blocks. Of what nothing has come for a site
// tells without a scope, if at all: here it is inactive in each iteration that has begun, and
// skipped where its block is.
func whole(got api.Status, p *definition.Process) []api.Activity {
	places := Places(p)
	lines := slices.DeleteFunc(slices.Clone(got.Activities), func(a api.Activity) bool {
		return a.Scope == "" && len(places[a.Activity].Around) > 0 && (a.State == api.ActivityInactive || a.State == api.ActivityUnknown)
	})
	has := map[string]bool{}
	for _, a := range lines {
		has[api.InScope(a.Scope, a.Activity)] = true
	}
	for i := 0; i < len(lines); i++ { // those that are added have an inside too
		a := lines[i]
		block := places[a.Activity].Block
		if block == nil {
			continue
		}
		state, scopes := api.ActivityInactive, []string(nil)
		for k := range a.Iterations {
			scopes = append(scopes, fmt.Sprintf("%s#%d", api.InScope(a.Scope, a.Activity), k+1))
		}
		if a.State == api.ActivitySkipped {
			state, scopes = api.ActivitySkipped, []string{api.InScope(a.Scope, a.Activity)}
		}
		for _, scope := range scopes {
			for _, inner := range block.Activities {
				if !has[api.InScope(scope, inner.Name)] {
					lines = append(lines, api.Activity{Scope: scope, Activity: inner.Name, Node: inner.Node, State: state})
				}
			}
		}
	}
	return lines
}
