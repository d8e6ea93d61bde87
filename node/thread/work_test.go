package thread

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cockroachdb/datadriven"

	"fmqm/message"
)

// What scripts say of people.

func person(name string) string {
	if name == "" || name == "nobody" {
		return ""
	}
	return name + "@A"
}

// work puts what somebody says about a work item into the store.
func (s *script) work(d *datadriven.TestData, words []string) {
	o := message.Word{Wish: message.Wish(words[0]), Person: person(words[3]), Site: "A"}
	if d.HasArg("operator") {
		o.Operator = "alice"
	}
	if d.HasArg("site") {
		d.ScanArgs(s.T, "site", (*string)(&o.Site))
		o.Person = words[3] + "@" + string(o.Site)
	}
	if d.HasArg("for") {
		d.ScanArgs(s.T, "for", &o.For)
	}
	if d.HasArg("seen") {
		var claim int
		d.ScanArgs(s.T, "seen", &claim)
		o.Claim = uint64(claim)
	}
	if d.HasArg("to") {
		var to string
		d.ScanArgs(s.T, "to", &to)
		o.To = person(to)
	}
	if d.HasArg("output") {
		var output string
		d.ScanArgs(s.T, "output", &output)
		o.Output = fmt.Appendf(nil, `{"n": %s}`, output)
	}
	if d.HasArg("saw") {
		o.Saw = &message.Execution{}
		var saw string
		d.ScanArgs(s.T, "saw", &saw)
		if _, err := fmt.Sscanf(saw, "%d.%d", &o.Saw.Iteration, &o.Saw.Run); err != nil {
			s.Fatal(err)
		}
	}
	number := s.orders + 1
	if d.HasArg("again") {
		d.ScanArgs(s.T, "again", &number)
	} else {
		s.orders++
	}
	o.ID = wordID(number)
	s.arrive(wordTo(s.machine, s.entry(words[1], words[2]), o))
}

// found is what the staff of a script answers. carl's work is done by bob; mallory is barred at home, whatever her own node says.
func (s *script) found(e Inquire) Found {
	f := Found{Token: e.Token, Over: e.Over == "dora@A", Could: strings.Join(s.staff, ", ") + " may"}
	for _, p := range e.People {
		may := May{Doer: message.Doer{Person: p}, Is: slices.Contains(s.staff, strings.TrimSuffix(p, "@A"))}
		if p == "bob@A" {
			may.Doer.For = "carl@A"
		}
		f.May = append(f.May, may)
	}
	for _, doer := range e.Vouched {
		may := May{Doer: doer, Is: !strings.HasPrefix(doer.Person, "mallory@")}
		if !may.Is {
			may.Why = "mallory@A did x"
		}
		f.May = append(f.May, may)
	}
	return f
}

func itemShown(e Show) string {
	switch {
	case e.Item == nil:
		return "item of " + named(e.Entry) + " is gone"
	case e.Item.By == message.Doer{}:
		return "item of " + named(e.Entry) + " is offered"
	}
	return "item of " + named(e.Entry) + " is " + e.Item.By.String() + "'s"
}
