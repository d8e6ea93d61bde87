package generate

import (
	"fmt"
	"strings"
)

// structure is a structure type of the process.
type structure struct {
	name    string
	members []member
	outside bool // it is of a bundle: no member is what one of that name is elsewhere
}

// member is a member of a structure, or by its path one of a structure inside it.
type member struct {
	path string
	of   string // type, as definitions write it
}

// pool has all members that structures are made of: a name has one type.
var pool = []member{
	{"b0", "bool"},
	{"b1", "bool"},
	{"i0", "int"},
	{"i1", "int"},
	{"i2", "int"},
	{"d0", "double"},
	{"d1", "double"},
	{"s0", "string"},
	{"s1", "string"},
	{"l0", "[int]"},
	{"l1", "[string]"},
	{"l2", "[Part]"},
	{"l3", "[[double]]"},
	{"p0", "Part"},
	{"p1", "Part"},
	{"w0", "Whole"},
	{"x0", "bytes"},
	{"t0", "timestamp"},
	{"u0", "duration"},
}

// presets are defaults that a member of the pool may have.
var presets = map[string]string{
	"bool": "true", "int": "-7", "double": "2.5", "string": `"none"`, "[int]": "[1, 2, 3]", "[string]": `["a", "b"]`,
	"[Part]": "[{k: 1}, {s: x, b: false}]", "[[double]]": "[[1.5], []]", "Part": `{k: 9, s: "preset"}`,
	"Whole": "{part: {k: 4}, list: [1]}", "bytes": `"AAEC"`, "timestamp": `"2020-01-02T03:04:05Z"`, "duration": `"1h2m3.5s"`,
}

// The structures that are inside others. One default each makes nested defaults.
const inner = `  Part: {k: int, s: {type: string, default: part}, b: {type: bool, default: true}}
  Whole: {part: Part, n: {type: int, default: 3}, list: [int]}`

// insides are the members that can be reached inside a member of that type.
var insides = map[string][]member{
	"Part":  {{"k", "int"}, {"s", "string"}, {"b", "bool"}},
	"Whole": {{"part", "Part"}, {"part.k", "int"}, {"part.s", "string"}, {"part.b", "bool"}, {"n", "int"}, {"list", "[int]"}},
}

func (d *drawing) drawStructures() {
	d.line("structures:")
	d.line("%s", inner)
	for i := range 1 + d.upTo(3, "structures") {
		s := &structure{name: fmt.Sprintf("S%d", i)}
		var written []string
		// Two members are in every structure, so that maps of same names find one.
		for j, m := range pool {
			if m.path != "i0" && m.path != "b0" && !d.in(3, "member") {
				continue
			}
			s.members = append(s.members, m)
			text := m.of
			if d.in(4, "preset") {
				text = fmt.Sprintf("{type: %s, default: %s}", m.of, presets[m.of])
			}
			written = append(written, fmt.Sprintf("%s: %s", pool[j].path, text))
		}
		d.line("  %s: {%s}", s.name, strings.Join(written, ", "))
		d.structures = append(d.structures, s)
	}
}

// maybeStructure draws a structure, or none.
func (d *drawing) maybeStructure(label string) *structure {
	n := d.upTo(5, label)
	if n == 0 {
		return nil
	}
	return d.structures[(n-1)%len(d.structures)]
}

// leaves gives all members, also those inside others.
func (s *structure) leaves() []member {
	if s == nil {
		return nil
	}
	var all []member
	for _, m := range s.members {
		all = append(all, m)
		for _, in := range insides[m.of] {
			all = append(all, member{m.path + "." + in.path, in.of})
		}
	}
	return all
}

// of gives the members of one type.
func (s *structure) of(t string) []string {
	var paths []string
	for _, m := range s.leaves() {
		if m.of == t {
			paths = append(paths, m.path)
		}
	}
	return paths
}
