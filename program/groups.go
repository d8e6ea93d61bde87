package program

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"fmqm/internal/cgroup"
)

// Groups are the control groups of exec programs: one for each attempt, named after the
// node and the key, so that an attempt is found and ended with all that came from it,
// whatever that did to hide. A nil *Groups has none: then the process group and the key
// in the environment find what can be found.
type Groups struct {
	tree *cgroup.Tree

	mu   sync.Mutex
	left []*cgroup.Group // of programs that have ended well and have left something behind
}

// NewGroups takes the delegated part of the tree of control groups; nil: there is none.
func NewGroups(tree *cgroup.Tree) *Groups {
	if tree == nil {
		return nil
	}
	return &Groups{tree: tree}
}

// Names of groups are KIND.NODE.KEY. What is confined, and all that comes from it, is
// known by its kind.
const (
	confined   = "run"
	unconfined = "free"
)

var keyless atomic.Uint64

// of is the group of an invocation; its program is kept from the daemon's things or not.
func (g *Groups) of(c *Call, kind string) *cgroup.Group {
	if g == nil {
		return nil
	}
	key := c.Key
	if key == "" {
		key = fmt.Sprintf("keyless-%d", keyless.Add(1))
	}
	name := kind + "." + c.Node + "." + key
	g.mu.Lock()
	defer g.mu.Unlock()
	// It is used again, and not to be removed meanwhile.
	g.left = slices.DeleteFunc(g.left, func(old *cgroup.Group) bool { return old.Name() == name })
	return g.tree.Group(name)
}

// parse gives what a group is of.
func parseGroup(name string) (kind, node, key string) {
	kind, rest, _ := strings.Cut(name, ".")
	node, key, _ = strings.Cut(rest, ".")
	return kind, node, key
}

// Confined says whether a process comes from a program that is kept from the daemon's
// things.
func (g *Groups) Confined(pid int) bool {
	if g == nil {
		return false
	}
	kind, _, _ := parseGroup(g.tree.Of(pid))
	return kind == confined
}

// keys gives the keys of a node that have groups.
func (g *Groups) keys(node string) (map[string]bool, error) {
	keys := map[string]bool{}
	if g == nil {
		return keys, nil
	}
	names, err := g.tree.Names()
	for _, name := range names {
		if _, of, key := parseGroup(name); of == node {
			keys[key] = true
		}
	}
	return keys, err
}

// has says whether something runs that carries a key.
func (g *Groups) has(node, key string) bool {
	if g == nil {
		return false
	}
	return g.tree.Group(confined+"."+node+"."+key).Populated() || g.tree.Group(unconfined+"."+node+"."+key).Populated()
}

// end ends whatever carries a key at a node: by its groups, and by its environment.
func (g *Groups) end(node, key string) (killed int, err error) {
	if key == "" {
		return 0, nil
	}
	var problems []error
	if g != nil {
		for _, kind := range []string{confined, unconfined} {
			n, err := g.tree.Group(kind + "." + node + "." + key).End(goneTimeout)
			killed += n
			problems = append(problems, err)
		}
	}
	n, err := ofKey(node, key).end()
	return killed + n, errors.Join(append(problems, err)...)
}

// over is the end of a program after which its group may have something in it. The group
// is removed once it has not.
func (g *Groups) over(group *cgroup.Group) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	const few = 8 // of those before it: so they come to an end, and no program waits for them
	g.left = append(g.left, group)
	for range min(few, len(g.left)) {
		last := len(g.left) - 1
		next := g.left[last]
		g.left = g.left[:last]
		if next.Remove() != nil {
			g.left = append([]*cgroup.Group{next}, g.left...)
		}
	}
}

// endAll ends the groups of a node whose keys stand in its ledger, and gives the other
// keys that have groups with something in them.
func (g *Groups) endAll(node string, stands func(key string) bool) (killed int, loose []string, err error) {
	keys, err := g.keys(node)
	for key := range keys {
		if !stands(key) && g.has(node, key) {
			loose = append(loose, key)
			continue
		}
		for _, kind := range []string{confined, unconfined} {
			n, endErr := g.tree.Group(kind + "." + node + "." + key).End(goneTimeout)
			killed += n
			if endErr != nil { // its key waits for it, other work does not
				loose = append(loose, key)
			}
		}
	}
	return killed, loose, err
}
