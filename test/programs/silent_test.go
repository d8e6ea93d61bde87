package programs

import "testing"

// What a program says beyond what a test waits for is heard: by silent, and by the next that waits.
func TestSilentHears(t *testing.T) {
	s := newSite(t)
	say := func(text string) {
		t.Helper()
		if _, err := s.told.WriteString(text); err != nil {
			t.Fatal(err)
		}
	}
	if !s.silent() {
		t.Error("nobody has said anything")
	}
	say("1 once\n")
	if s.silent() {
		t.Error("what was said is not heard")
	}
	say("2 twice\n")
	if got := s.tells(); got[1] != "once" || s.silent() {
		t.Errorf("%q was said first, and something is left", got)
	}
	if got := s.tells(); got[1] != "twice" || !s.silent() {
		t.Errorf("%q was said last", got)
	}
}
