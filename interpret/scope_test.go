package interpret

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"fmqm/definition"
)

// nested has the block line in the block order: pick is in both, pack in order alone.
func nested(t testing.TB) *definition.Process {
	return loadBlocks(t, `
activities:
  order: {node: A, program: block, input: S, output: S, exit: n >= 3, max_iterations: 5}
  never: {node: A, program: block}
  bill: {node: A, program: p, input: S}
control: [order -> bill, order -> never: n < 0]
`, blocks{
		"order": `
activities:
  line: {node: A, program: block, output: S, exit: n >= 2, max_iterations: 4}
  pack: {node: A, program: p, output: S}
control: [line -> pack]
data: [pack -> sink: {n: n}]
`, "line": "activities: {pick: {node: A, program: p, output: S}, route: {node: A, empty: true}}\ndata: [pick -> sink: {n: n}]",
		"never": "activities: {idle: {node: A, program: p}}",
	})
}

// playNested runs it and tells which n pick and pack gave in which iterations, in order.
func playNested(t *testing.T, results string) string {
	t.Helper()
	p := nested(t)
	var given []string
	_, err := Run(p, nil, parsed(t, p, results), Options{Observe: func(a *definition.Activity, call Call, o Outcome) {
		if a.Name == "pick" || a.Name == "pack" {
			given = append(given, fmt.Sprintf("%s=%v", call.Scope.Path(a.Name), o.Output.Fields[0]))
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer("order#", "", "line#", "", "pick", "").Replace(strings.Join(given, " "))
}

func TestListsOfScopes(t *testing.T) {
	for _, tc := range []struct{ rule, results, want string }{
		{
			"a list starts anew in each scope", `{pick: [{output: {n: 2}}, {output: {n: 9}}], pack: [{output: {n: 3}}, {output: {n: 9}}]}`,
			"1/1/=2 1/pack=3",
		},
		{"a path applies from its iteration on", `
pick: [{output: {n: 2}}]
pack: [{output: {n: 1}}]
order#3/pack: [{output: {n: 2}}]
order#5/pack: [{output: {n: 3}}]
`, "1/1/=2 1/pack=1 2/1/=2 2/pack=1 3/1/=2 3/pack=2 4/1/=2 4/pack=2 5/1/=2 5/pack=3"},
		{"their order in the file does not matter", `
order#3/pack: [{output: {n: 3}}]
order#2/pack: [{output: {n: 2}}]
pick: [{output: {n: 2}}]
`, "1/1/=2 1/pack=0 2/1/=2 2/pack=2 3/1/=2 3/pack=3"},
		{"in another iteration of the outer block the inner one is counted anew", `
order#1/line#2/pick: [{output: {n: 2}}]
order#2/pack: [{output: {n: 3}}]
`, "1/1/=0 1/2/=2 1/pack=0 2/1/=0 2/2/=2 2/pack=3"},
		{"of two that apply the outer block's later iteration counts", `
order#1/line#2/pick: [{output: {n: 2}}]
order#2/line#1/pick: [{output: {n: 4}}]
order#2/pack: [{output: {n: 3}}]
`, "1/1/=0 1/2/=2 1/pack=0 2/1/=4 2/pack=3"},
		{"attempts and iterations in a scope take the entries in order", `
pick: [{output: {n: 1}}]
order#1/line#2/pick: [{output: {n: 2}}]
pack: [{output: {n: 3}}]
`, "1/1/=1 1/2/=2 1/pack=3"},
	} {
		t.Run(tc.rule, func(t *testing.T) {
			if got := playNested(t, tc.results); got != tc.want {
				t.Errorf("%s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestBadPathsOfResults(t *testing.T) {
	for _, tc := range []struct{ key, want string }{
		{"pack[2]", "1:1: pack is in the block order, which has iterations: write order#2/pack"},
		{"pack#2", "1:1: pack is in the block order, which has iterations: write order#2/pack"},
		{"order/pack", "1:1: pack is in the block order, which has iterations: write order#1/pack"},
		{"order[2]/pack", "1:1: pack is in the block order, which has iterations: write order#2/pack"},
		{"order#0/pack", "1:1: pack is in the block order, which has iterations: write order#1/pack"},
		{"order#02/pack", "1:1: pack is in the block order, which has iterations: write order#1/pack"},
		{"line#2/pick", "1:1: pick is in the block line, which has iterations: write order#1/line#2/pick"},
		{"order#3/pick", "1:1: pick is in the block line, which has iterations: write order#3/line#1/pick"},
		{"line#2/order#3/pick", "1:1: pick is in the block line, which has iterations: write order#3/line#2/pick"},
		{"order#2/bill", "1:1: bill is in no block: write bill, whose list has an entry for each iteration"},
		{"bill#2", "1:1: bill is in no block: write bill"},
		{"order#6/pack", "1:1: order#6: order has at most 5 iterations (max_iterations)"},
		{"order#1/line#5/pick", "1:1: line#5: line has at most 4 iterations (max_iterations)"},
		{"never#2/idle", "1:1: never#2: never has no exit condition, and so one iteration"},
		{"order#2/pac", "1:1: unknown activity pac: did you mean pack?"},
		{"elsewhere", "1:1: unknown activity elsewhere: the process has order, line, pick, route, pack, never, idle, bill"},
		{"order", "1:1: order is a block and runs no program: give the results of what is inside it"},
		{"order#2/line", "1:1: line is a block and runs no program"},
		{"order#1/line#1/route", "1:1: activity route is empty and runs no program: remove it here"},
		{"pack: [{}]\norder#1/pack", "2:1: order#1/pack and pack (line 1) begin in the same iteration: remove one"},
		{"", "1:1: unknown activity : the process has"},
	} {
		key := tc.key
		if key == "" || strings.HasSuffix(key, "]") {
			key = strconv.Quote(key) // else no text
		}
		_, err := ParseResults(nested(t), []byte(key+": [{}]"))
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v\nwant %s", tc.key, err, tc.want)
		}
	}
}

func TestScopesOfAResult(t *testing.T) {
	r := run(t, nested(t), "", `{order#1/line#3/pick: [{output: {n: 2}}], order#2/pack: [{output: {n: 3}}]}`)
	for _, tc := range []struct{ path, want string }{
		{"", "order never bill"},
		{"order", "order#2/line order#2/pack"},
		{"order#1", "order#1/line order#1/pack"},
		{"order/line", "order#2/line#3/pick order#2/line#3/route"},
		{"order#1/line", "order#1/line#3/pick order#1/line#3/route"},
		{"order/line#2", "order#2/line#2/pick order#2/line#2/route"},
		{"never", "never/idle"},

		{"never#1", "error: never is skipped: nothing has begun inside it"},
		{"order#3", "error: order has come to iteration 2: write order#2"},
		{"order#1/line#4", "error: order#1/line has come to iteration 3: write order#1/line#3"},
		{"order#6", "error: order#6: order has at most 5 iterations (max_iterations)"},
		{"order#0", "error: order#0: a block has iterations, which count from 1: write order#1, or order for the last"},
		{"order[1]", "error: order[1]: a block has iterations, which count from 1: write order#1, or order for the last"},
		{"line#2", "error: line is in the block order: write order/line"},
		{"line/order", "error: order is in no block: write order"},
		{"bill", "error: bill is no block, so nothing is inside it"},
		{"ordre", "error: unknown activity ordre: did you mean order?"},
	} {
		got := []string{}
		shown, err := r.In(tc.path)
		if err != nil {
			got = append(got, "error: "+err.Error())
		}
		for _, a := range shown {
			got = append(got, a.Path())
		}
		if strings.Join(got, " ") != tc.want {
			t.Errorf("%q: %q\nwant %s", tc.path, got, tc.want)
		}
	}
	for a := range r.All() {
		if a.Path() == "order#1/line#1/pick" {
			break // whoever asks may stop anywhere
		}
	}

	failed := run(t, nested(t), "", `{pick: [{error: x}]}`)
	if _, err := failed.In("never"); err == nil || err.Error() != "never is inactive: nothing has begun inside it" {
		t.Errorf("of a block that has not begun: %v", err)
	}
}
