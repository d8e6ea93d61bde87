package generate

import "strings"

// sums are expressions of a type over a member of that type, written $; @ is one more. Some can fail.
var sums = map[string][]string{
	"bool":     {"!$", "$ && @", "$ == @"},
	"int":      {"$ + 1", "$ + @", "100 / $", "$ > 3 ? $ - 3 : @"},
	"double":   {"$ * 0.5", "$ + 1", "$ / @"},
	"string":   {`$ + "!"`, "size($) > 5 ? @ : $"},
	"[int]":    {"$ + [7]", "$.map(x, x + 1)", "$.filter(x, x > 1)"},
	"[string]": {`$ + ["z"]`, "@ + $"},
	"[Part]":   {"$.filter(x, x.b)", "@ + $"},
	"Part":     {"$.b ? $ : @"},
	"duration": {`$ + duration("1s")`},
}

// worked draws expressions of a type over a container; rc: it is of an activity.
func (d *drawing) worked(source *structure, of string, rc bool) []string {
	if !d.in(3, "worked") {
		return nil
	}
	members := source.of(of)
	if rc && of == "int" && (len(members) == 0 || d.in(4, "of the return code")) {
		return []string{"(_RC * 2)"}
	}
	if len(members) == 0 || len(sums[of]) == 0 {
		return nil
	}
	text := pick(d, sums[of], "sum")
	if d.steady && (strings.Contains(text, "/") || strings.Contains(text, "$ + @") || strings.Contains(text, "$ - ")) && !d.in(8, "fragile") {
		text = "$"
	}
	text = strings.ReplaceAll(text, "@", pick(d, members, "other"))
	return []string{"'(" + strings.ReplaceAll(text, "$", pick(d, members, "member")) + ")'"}
}
