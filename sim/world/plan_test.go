package world_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"fmqm/sim/world"
)

// A plan is a matter of its seed, and is data: it can be written down and read again.
func TestAPlanIsData(t *testing.T) {
	different := map[string]bool{}
	for seed := range uint64(50) {
		text, err := json.Marshal(world.Draw(seed))
		if err != nil {
			t.Fatal(err)
		}
		again, err := json.Marshal(world.Draw(seed))
		if err != nil || string(text) != string(again) {
			t.Errorf("seed %d gives two plans", seed)
		}
		var read world.Plan
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatal(err)
		}
		if back, err := json.Marshal(read); err != nil || string(back) != string(text) {
			t.Errorf("seed %d: read again it is another plan", seed)
		}
		different[string(text)] = true
	}
	if len(different) != 50 {
		t.Errorf("50 seeds give %d plans", len(different))
	}
}

// All that can happen does, in plans of some hundred seeds, and a story has words for it.
func TestPlansHaveEverything(t *testing.T) {
	seen := map[world.Deed]int{}
	fewest, most := 9, 0
	for seed := range uint64(300) {
		p := world.Draw(seed)
		fewest, most = min(fewest, len(p.Sites)), max(most, len(p.Sites))
		if !slices.IsSortedFunc(p.Events, func(a, b world.Event) int { return int(a.At - b.At) }) {
			t.Errorf("seed %d: the events are in no order", seed)
		}
		for _, e := range p.Events {
			if seen[e.Do]++; e.String() == string(e.Do) {
				t.Errorf("no story tells of %s", e.Do)
			}
		}
	}
	for _, d := range world.Deeds {
		if seen[d] < 5 {
			t.Errorf("%s happens %d times", d, seen[d])
		}
	}
	if fewest != 2 || most != 7 {
		t.Errorf("%d to %d sites, want 2 to 7", fewest, most)
	}
}

// What a failure does not need is left out.
func TestShrink(t *testing.T) {
	tried := 0
	for seed := range uint64(40) {
		p := world.Draw(seed)
		needs := func(p world.Plan) bool {
			return slices.ContainsFunc(p.Events, func(e world.Event) bool { return e.Do == world.Crash && e.Site == "B" }) &&
				slices.ContainsFunc(p.Events, func(e world.Event) bool { return e.Do == world.Ask })
		}
		if !needs(p) {
			continue
		}
		tried++
		s := world.Shrink(p, 1000, needs)
		if len(s.Events) != 2 || len(s.Instances) != 1 || len(s.Processes) != 1 || len(s.Sites) != 2 || s.Broker || !needs(s) {
			t.Errorf("seed %d is shrunk to\n%s", seed, world.Story(&world.Report{Plan: s}))
		}
		for _, e := range s.Events {
			if e.Instance >= len(s.Instances) {
				t.Errorf("seed %d: an event is about an instance that is not there", seed)
			}
		}
	}
	if tried < 3 {
		t.Errorf("only %d plans were tried", tried)
	}
}

// Also where it fails by chance: what is left out changes all that is drawn while the rest runs.
func TestShrinkWhatFailsByChance(t *testing.T) {
	p := world.Draw(3)
	p.Events = slices.Repeat([]world.Event{{Do: world.Ask, Site: "A"}}, 40)
	fails := func(p world.Plan) bool {
		return len(p.Events) > 0 && (p.Seed+5*uint64(len(p.Events)))%7 == (3+5*40)%7
	}
	if s := world.Shrink(p, 2000, fails); len(s.Events) != 1 || !fails(s) {
		t.Errorf("%d events are left", len(s.Events))
	}
}

// What is told of a world is for people: what was put where, by whom and of which instance.
func TestWhatIsToldIsReadable(t *testing.T) {
	digest := regexp.MustCompile(`[0-9a-f]{16}|[0-9a-f]{8}-[0-9a-f]{4}`)
	r := world.Run(world.Draw(2), world.Options{Lines: true})
	told := strings.Join(r.Told, "\n")
	for _, want := range []string{" runs ", " of instance 0", "commits: ", "the message from source for", "times more, until"} {
		if !strings.Contains(told, want) {
			t.Errorf("nothing tells of %q in\n%s", want, told)
		}
	}
	if d := digest.FindString(told); d != "" {
		t.Errorf("nobody can read %s in\n%s", d, told)
	}
}

// A story has the plan, and what went wrong.
func TestStory(t *testing.T) {
	p := world.Draw(3)
	r := &world.Report{Plan: p, Broken: &world.Violation{Invariant: "5", Text: "taken twice"}, Told: []string{"a line"}}
	story := world.Story(r)
	for _, want := range []string{"seed 3", "process p0", "instance 0", "the weather clears", "INVARIANT 5: taken twice", "a line"} {
		if !strings.Contains(story, want) {
			t.Errorf("the story does not have %q:\n%s", want, story)
		}
	}
}
