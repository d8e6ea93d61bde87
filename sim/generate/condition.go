package generate

import (
	"fmt"
	"strings"
)

// condition draws a condition over the output of s. Some can fail at run time: a
// division by zero, an index out of range, an int that overflows.
func (d *drawing) condition(s *step) string {
	text := d.term(s)
	for range d.upTo(2, "terms") {
		op := pick(d, []string{"&&", "||"}, "operator")
		text = fmt.Sprintf("%s %s %s", text, op, d.term(s))
	}
	if d.in(8, "choice") {
		text = fmt.Sprintf("_RC == 0 ? (%s) : %s", text, d.term(s))
	}
	return text
}

// term draws one comparison.
func (d *drawing) term(s *step) string {
	if word := d.word(s); word != "" {
		return word
	}
	if s.output == nil || d.in(6, "return code") {
		return d.form([]string{"_RC == 0", "_RC != 0", "_RC < 2", "_RC > 3", "(_RC + 1) * 2 >= 4", "10 / _RC > 1"}, "rc")
	}
	m := pick(d, s.output.leaves(), "member")
	text := d.form(forms[m.of], "form")
	if strings.Contains(text, "@") {
		text = strings.ReplaceAll(text, "@", pick(d, s.output.of(m.of), "other"))
	}
	return strings.ReplaceAll(text, "$", m.path)
}

// form draws one of them; where little is to go wrong, hardly ever one that can fail.
func (d *drawing) form(from []string, label string) string {
	text := pick(d, from, label)
	if d.steady && mayFail(text) && !d.in(8, "fragile") {
		return from[0] // the first never does
	}
	return text
}

// mayFail tells the forms that divide, take an element, or compute with integers that
// may be as large as there are.
func mayFail(form string) bool {
	for _, part := range []string{"6 / $", "% @", "$ + @ <", "$ - @", "$ * @", "/ _RC", "[0]", "[1]"} {
		if strings.Contains(form, part) {
			return true
		}
	}
	return false
}

// ending draws an exit condition that comes true within a few iterations.
func (d *drawing) ending(s *step) string {
	sure := []string{"_RC == 0", "_RC < 3"}
	if s.output != nil { // i0 and b0 are in every structure
		changing := []string{"b0", "i0 > 1", "!b0 || i0 < 1"}
		if s.block {
			sure = nil // it has no other return code
		}
		sure = append(sure, changing...)
	}
	return pick(d, sure, "ending")
}

// late is an exit condition that comes true after more than ten iterations: a#1 is the beginning of a#10.
func (d *drawing) late(*step) string { return "i0 > 10 && i0 < 100" }

// forms are conditions over a member of a type, written $; @ is one more of that type.
var forms = map[string][]string{
	"bool": {"$", "!$", "$ == @", "($ || !@)", "$ != true"},
	"int": {
		"$ > 1", "$ <= 2", "$ == 3", "$ + @ < 4", "$ - @ != 0", "$ * @ >= 0", "$ in [0, 1, 2]", "$ < 2.5", "$ % 2 == 0",
		"6 / $ > 1", "$ % @ == 0", "double($) > 1.0",
	},
	"double":     {"$ > 1", "$ <= 0.5", "$ == 1", "$ + 1 < 2", "$ * 2 > @", "$ / @ < 1", "-$ < @"},
	"string":     {`$ == "red"`, `$ != @`, `$ < "m"`, `size($) > 3`, `$.startsWith("r")`, `$.contains("e: ")`, `$ in ["red", "blue # green"]`, `$ + @ == "redblue"`},
	"[int]":      {"size($) > 1", "2 in $", "$.exists(x, x > 2)", "$.all(x, x < 100)", "$[0] > 0", "size($) == 0 || $[0] == 1", "$ == @"},
	"[string]":   {"size($) > 0", `"red" in $`, `$.exists(x, x.startsWith("b"))`, `$[1] == "red"`},
	"[Part]":     {"size($) > 0", "$.exists(x, x.b && x.k > 0)", "$.all(x, x.k < 3)", "$[0].b", "$.filter(x, x.b).size() == 1"},
	"[[double]]": {"size($) < 2", "$.all(x, size(x) < 2)", "$[0][0] > 0.5", "$.exists(x, x == [])"},
	"Part":       {"$.k > 0", "$.b", `$.s != "part"`, "$ == @"},
	"Whole":      {"$.part.k < 3", "$.n == 3", "size($.list) > 0", "$.part == @.part"},
	"bytes":      {"size($) > 0", "$ == @"},
	"timestamp":  {`$ > timestamp("2001-01-01T00:00:00Z")`, "$ <= @"},
	"duration":   {`$ > duration("1s")`, "$ < @"},
}

// quoted writes a condition as YAML can carry it: as it is where that will do.
func quoted(condition string) string {
	plain := !strings.ContainsAny(condition[:1], "\"'[{*&@%>|`,]}?-") &&
		!strings.Contains(condition, ": ") && !strings.Contains(condition, " #")
	if plain {
		return condition
	}
	return "'" + strings.ReplaceAll(condition, "'", "''") + "'"
}
