package landlock

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"fmqm/internal/skip"
)

// Rules are made once for many programs, and anew when something has come beside what
// they are around, or when they are old.
func TestRulesFollowTheDirectories(t *testing.T) {
	abi := version()
	if abi < oldest {
		skip.Untested(t, "what Landlock keeps from programs: %v", ErrUnsupported)
	}
	dir := t.TempDir()
	key := filepath.Join(dir, "key")
	if err := os.WriteFile(key, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f := &Fence{abi: abi, hidden: []string{key}}
	look := func() *way {
		w, err := f.way()
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	// Others make their directories beside this one meanwhile: once nobody does, the rules hold.
	var rules *ruleset
	for tries := 0; rules == nil || !rules.still(look()); tries++ {
		if tries == 1000 {
			t.Fatal("rules never hold, though nothing has changed")
		}
		var err error
		if rules, err = newRuleset(abi, look()); err != nil {
			t.Fatal(err)
		}
		defer rules.close()
	}
	rules.made = rules.made.Add(-2 * freshFor)
	if rules.still(look()) {
		t.Error("something may have been mounted")
	}
	rules.made = time.Now()
	if err := os.Mkdir(filepath.Join(dir, "new"), 0o700); err != nil {
		t.Fatal(err)
	}
	if rules.still(look()) {
		t.Error("what came is not allowed")
	}
}
