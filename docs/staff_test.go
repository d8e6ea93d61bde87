package docs

import (
	"os"
	"regexp"
	"testing"
	"time"

	"fmqm/staff"
	"fmqm/staff/file"
)

// The staff file of the page is one, and says what the page says of it.
func TestTheStaffOfThePage(t *testing.T) {
	page, err := os.ReadFile("staff.md")
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile("(?s)```yaml\n(roles:.*?)```").FindSubmatch(page)
	if text == nil {
		t.Fatal("staff.md has no staff file")
	}
	s, err := file.Parse("staff.md", text[1], staff.Site{Node: "ward"})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 7, 3, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		what, got, want string
	}{
		{"who manages ann", string(first(s.Manager("ann"))), "berta"},
		{"who manages berta", string(first(s.Manager("berta"))), "dora"},
		{"who stands in for dora", string(first(s.Substitute("dora", now))), "berta"},
		{"who stands in for bob", string(first(s.Substitute("bob", now))), ""},
		{"who has the login bbrown", string(first(s.ByLogin("bbrown"))), "bob"},
		{"who aames@lab is", string(first(s.Surely("aames@lab"))), "ann"},
	} {
		if c.got != c.want {
			t.Errorf("%s: %q, want %q", c.what, c.got, c.want)
		}
	}
}

func first(n staff.Name, _ bool) staff.Name { return n }
