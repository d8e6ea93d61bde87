package main

import (
	"go/parser"
	"go/token"
	"testing"
)

// Every mutant applies to the code as it is now. Whether worlds find it takes `make mutants`.
func TestEveryMutantApplies(t *testing.T) {
	for _, m := range mutants {
		texts, err := m.texts("../..")
		if err != nil {
			t.Errorf("%s: %v", m.name, err)
		}
		for file, text := range texts {
			if _, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution); err != nil {
				t.Errorf("%s: %v", m.name, err)
			}
		}
	}
}
