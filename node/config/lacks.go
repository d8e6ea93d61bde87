package config

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"

	"go.yaml.in/yaml/v4"
)

// Lacks is what the daemon and its programs need and do not find on this machine, as this
// process's user sees it: warnings, since it may still come.
func (c *Config) Lacks() Problems {
	all := c.directories()
	for _, id := range slices.Sorted(maps.Keys(c.Programs)) {
		s := c.Programs[id]
		for _, l := range s.Lacks() {
			p := Problem{Where: c.Path, What: fmt.Sprintf("program %s: %s", id, l.What), Remedy: l.Remedy}
			p.Line, p.Column = c.Place("programs", string(id))
			all = append(all, p)
		}
	}
	slices.SortStableFunc(all, func(a, b Problem) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column)) })
	return all
}

// Place gives line and column of a key in the file, by the keys above it; 0, 0 if it is
// not there (any more).
func (c *Config) Place(keys ...string) (line, column int) {
	text, err := os.ReadFile(c.Path)
	var doc yaml.Node
	if err != nil || yaml.Load(text, &doc) != nil || len(doc.Content) == 0 {
		return 0, 0
	}
	at := doc.Content[0]
	for _, key := range keys {
		found, value := member(at, key)
		if found == nil {
			return 0, 0
		}
		line, column, at = found.Line, found.Column, value
	}
	return line, column
}

// member finds a key in a mapping, and its value; nil: it is not there.
func member(of *yaml.Node, key string) (found, value *yaml.Node) {
	if of.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 0; i+1 < len(of.Content); i += 2 { // a value may say the same as a key
		if of.Content[i].Value == key {
			return of.Content[i], of.Content[i+1]
		}
	}
	return nil, nil
}
