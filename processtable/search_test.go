package processtable

import (
	"slices"
	"strings"
	"testing"

	"fmqm/container"
)

// withSearch is the table of a process of which instances are found by two members of its input.
func withSearch() *Table {
	t := withSchedules()
	t.Format = SearchFormat
	person := container.NewStructure("Person", []container.Member{{Name: "name", Type: container.Scalar(container.String)}})
	night := container.NewStructure("Night", append(slices.Clone(t.Input.Members),
		container.Member{Name: "by", Type: person}, container.Member{Name: "sum", Type: container.Scalar(container.Double)},
		container.Member{Name: "parts", Type: container.NewList(person)}))
	t.Input, t.Schedules = night, nil
	for _, a := range t.Activities {
		if a.Kind == KindSource {
			a.Output = night
		}
	}
	t.Search = []string{"due", "by.name"}
	return t
}

// What instances are found by comes back.
func TestSearchComesBack(t *testing.T) {
	got, err := Decode(mustEncode(t, withSearch()))
	if err != nil {
		t.Fatal(err)
	}
	if d := diff(withSearch(), got); d != "" {
		t.Errorf("the decoded table differs (-want +got):\n%s", d)
	}
}

// A table from elsewhere that names what no instance can be found by is refused.
func TestSearchThatIsRefused(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*Table)
		want   string
	}{
		{"a lower format", func(t *Table) { t.Format = PeopleFormat }, "format 8 has no members that instances are found by"},
		{"no such member", func(t *Table) { t.Search[0] = "day" }, `search: "day" is no member of the input`},
		{"no member at all", func(t *Table) { t.Search[0] = "" }, `search: "" is no member of the input`},
		{"a structure", func(t *Table) { t.Search[0] = "by" }, "search: by is a structure"},
		{"a double", func(t *Table) { t.Search[0] = "sum" }, "search: sum is a double"},
		{"a list", func(t *Table) { t.Search[0] = "parts" }, "search: parts is a list"},
		{"inside of a list", func(t *Table) { t.Search[0] = "parts.name" }, `search: "parts.name" is no member of the input`},
		{"twice", func(t *Table) { t.Search[1] = "due" }, "search: due occurs twice"},
		{"a path that is too long", func(t *Table) { t.Search[1] = strings.Repeat("x", container.MaxMemberPath+1) }, "search"},
		{"too many", func(t *Table) { t.Search = make([]string, MaxSearch+1) }, "search"},
		{"where nothing starts", func(t *Table) {
			t.Starts, t.Roster[0].Node, t.Node = []NodeID{"B"}, "C", "C"
			t.Activities = t.Activities[1:2]
			t.Activities[0].InControl = nil
			t.Activities[0].OutControl = nil
		}, "search: no instance is started at C"},
	} {
		t.Run(c.name, func(t *testing.T) {
			table := withSearch()
			c.change(table)
			if _, err := Encode(table); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}
