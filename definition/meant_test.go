package definition

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every configuration of the examples is told from a definition, with one error.
func TestConfigurationsAreToldFromDefinitions(t *testing.T) {
	files, err := filepath.Glob("../examples/*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	configurations := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, diagnostics := Load(file, text)
		told := len(diagnostics) == 1 && strings.Contains(diagnostics[0].String(), "configuration of a node, not a process definition: check it with `fmqmd check-config FILE`")
		isDefinition := bytes.Contains(text, []byte("\nprocess: ")) || bytes.HasPrefix(text, []byte("process: "))
		if told == isDefinition {
			t.Errorf("%s: %v", file, diagnostics)
		}
		if told {
			configurations++
		}
	}
	if configurations < 10 {
		t.Errorf("%d configurations", configurations)
	}
}
