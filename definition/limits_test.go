package definition

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"fmqm/condition"
	"fmqm/container"
)

// errorsOf gives the errors of a text, without the lines shown.
func errorsOf(text string) []string {
	_, diagnostics := Load("test.yaml", []byte(text))
	var all []string
	for _, d := range diagnostics {
		if d.Severity == Error {
			all = append(all, d.String())
		}
	}
	return all
}

func manyActivities(n int) string {
	var b strings.Builder
	b.WriteString("process: p\nversion: 1\nactivities:\n")
	for i := range n {
		fmt.Fprintf(&b, "  a%d: {node: A, program: p}\n", i)
	}
	return b.String()
}

// At each limit a definition loads; one more is an error.
func TestLimits(t *testing.T) {
	const head = "process: p\nversion: 1\n"
	const tail = "\nactivities: {a: {node: A, program: p}}\n"
	for _, test := range []struct {
		name string
		text func(n int) string
		most int
		want string
	}{
		{
			"activities", manyActivities, maxActivities,
			"test.yaml:10004:3: error: the process has 10001 activities: use at most 10000: split it into several processes",
		},
		{
			"connectors into one", func(n int) string {
				var b strings.Builder
				b.WriteString(manyActivities(n+1) + "control:\n")
				for i := range n {
					fmt.Fprintf(&b, "  - a%d -> a%d\n", i, n)
				}
				return b.String()
			}, maxFan,
			"test.yaml:2005:3: error: 2001 connectors lead into a2001: use at most 2000: join some in empty activities first",
		},
		{
			"connectors out of one", func(n int) string {
				var b strings.Builder
				b.WriteString(manyActivities(n+1) + "control:\n")
				for i := range n {
					fmt.Fprintf(&b, "  - a0 -> a%d\n", i+1)
				}
				return b.String()
			}, maxFan,
			"test.yaml:4:3: error: 2001 connectors lead out of a0: use at most 2000: spread them over empty activities",
		},
		{
			"condition", func(n int) string {
				return head + `activities: {a: {node: A, program: p, exit: "_RC == 0` + strings.Repeat(" ", n-len("_RC == 0")) + "\"}}\n"
			}, condition.MaxText,
			"test.yaml:3:45: error: a condition of 4097 bytes: use at most 4096: let the program work it out",
		},
		{
			"list", func(n int) string {
				return head + "structures: {S: {l: {type: [int], default: [0" + strings.Repeat(",0", n-1) + "]}}}" + tail
			}, container.MaxList,
			"test.yaml:3:44: error: the default does not fit: a list of more than 100000 elements: split it",
		},
		{
			"container", func(n int) string {
				return head + "structures: {S: {s: {type: string, default: " + strings.Repeat("x", n) + "}}}" + tail
			}, container.MaxEncoded - 6, // the head of the container and of the string
			"test.yaml:3:14: error: a container S takes over 1 MiB with its defaults alone: use fewer members or shorter defaults: 1048576 bytes is the limit",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := errorsOf(test.text(test.most)); len(got) > 0 {
				t.Errorf("at the limit: %s", got)
			}
			if diff := cmp.Diff([]string{test.want}, errorsOf(test.text(test.most+1))); diff != "" {
				t.Errorf("over the limit: %s", diff)
			}
		})
	}
}

// Control and data connectors count together, and the limit is reported once.
func TestTooManyConnectors(t *testing.T) {
	var b strings.Builder
	b.WriteString(manyActivities(400) + "control:\n")
	lines := 0
	for i := range 400 {
		for j := i + 1; j < 400; j++ {
			fmt.Fprintf(&b, "- a%d -> a%d\n", i, j)
			lines++
		}
	}
	b.WriteString("data:\n")
	for i := range 400 {
		for j := i + 1; j < 400 && lines <= maxConnectors+5; j++ {
			fmt.Fprintf(&b, "- a%d -> a%d: {x: y}\n", i, j)
			lines++
		}
	}
	got := errorsOf(b.String())
	want := "error: the process has over 100000 connectors: split it into several processes"
	n := 0
	for _, e := range got {
		if strings.HasSuffix(e, want) {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d times %q in %d errors", n, want, len(got))
	}
}
