package generate

import "strings"

// sums are expressions of a type over a member of that type, written $; @ is one more. The first never
// fails, and none grows beyond a few elements in each iteration.
var sums = map[string][]string{
	"bool":     {"!$", "$ && @", "$ == @"},
	"int":      {"$ > 3 ? $ - 3 : @", "$ + 1", "$ + @", "100 / $"},
	"double":   {"$ * 0.5", "$ + 1", "$ / @"},
	"string":   {"size($) > 5 ? @ : $", `$ + "!"`},
	"[int]":    {"$.filter(x, x > 1)", "$ + [7]", "$.map(x, x > 100 ? 0 : x + 1)"},
	"[string]": {`$.filter(x, x != "a")`, `$ + ["z"]`},
	"[Part]":   {"$.filter(x, x.b)"},
	"Part":     {"$.b ? $ : @"},
	"duration": {"$ > @ ? $ : @", `$ + duration("1s")`},
}

// worked draws expressions of a type over a container. Where it is no activity's, it is an input; a start
// would be refused if one failed over the process's.
func (d *drawing) worked(source *structure, of string, from giver) []string {
	if !d.in(3, "worked") {
		return nil
	}
	members := source.of(of)
	if from == anActivity && of == "int" && (len(members) == 0 || d.in(4, "of the return code")) {
		return []string{"(_RC * 2)"}
	}
	if len(members) == 0 || len(sums[of]) == 0 {
		return nil
	}
	text := pick(d, sums[of], "sum")
	if from == theProcess || d.steady && !d.in(8, "fragile") {
		text = sums[of][0]
	}
	text = strings.ReplaceAll(text, "@", pick(d, members, "other"))
	return []string{"'(" + strings.ReplaceAll(text, "$", pick(d, members, "member")) + ")'"}
}

// giver is what a data connector leads out of.
type giver int

const (
	anActivity giver = iota
	aBlock           // its input
	theProcess       // its input
)
