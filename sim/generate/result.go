package generate

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"fmqm/container"
)

// Call is one attempt of a program, as the function that gives its result sees it.
type Call struct {
	Activity  string
	Scope     string // as programs are told it: the path of what runs; empty at the top
	Iteration int
	Attempt   int
	Input     *container.Struct
	Output    *container.Type
	RCIsData  bool
}

// Result is what the program gives. With Err the attempt has failed, and the rest is
// of no account.
type Result struct {
	RC     int64
	Output *container.Struct
	Err    string
}

// Result gives the result of an attempt. It depends on nothing but c and the call, and
// about half of the output on the input, so that a wrong input shows.
func (c *Case) Result(call Call) Result {
	h := fnv.New64a()
	fmt.Fprint(h, cmp.Or(call.Scope, call.Activity), "/", call.Iteration, "/", call.Attempt)
	r := rand.New(rand.NewPCG(c.Seed, h.Sum64()))
	if r.IntN(100) < c.failing {
		return Result{Err: fmt.Sprintf("attempt %d of %s failed, as it was drawn", call.Attempt, call.Activity)}
	}
	var result Result
	odd := c.odd
	if !call.RCIsData {
		odd = c.failing / 3
	}
	if r.IntN(100) < odd {
		result.RC = int64(1 + r.IntN(5))
	}
	result.Output = container.New(call.Output)
	for i, m := range call.Output.Members {
		var v container.Value
		if j, ok := call.Input.Type.MemberIndex(m.Name); ok && r.IntN(2) == 0 && container.SameType(call.Input.Type.Members[j].Type, m.Type) {
			v = call.Input.Fields[j]
		} else {
			v = value(r, m.Type, call.turn())
		}
		if c.Large && !c.long && m.Type.Kind == container.String && r.IntN(4) > 0 {
			v = strings.Repeat("large ", 6_000+r.IntN(4_000))
		}
		result.Output.Assign(container.Path{i}, v)
	}
	return result
}

// turn is the iteration that it is: in a block that of the block and its own, as one number.
func (c *Call) turn() int {
	around := 1
	if at := strings.LastIndexByte(c.Scope, '#'); at >= 0 {
		digits, _, _ := strings.Cut(c.Scope[at+1:], "/")
		around, _ = strconv.Atoi(digits)
	}
	return around - 1 + c.Iteration
}

var words = []string{"", "red", "blue", "blue # green", "note: this", "part", `"quoted" \ ünïcode ✓`, "r", "zebra"}

// value draws a value, small ones mostly: conditions ask for those. An int is often
// the iteration, so that loops end.
func value(r *rand.Rand, t *container.Type, iteration int) container.Value {
	switch t.Kind {
	case container.Bool:
		return r.IntN(2) == 0
	case container.Int:
		return integer(r, iteration)
	case container.Double:
		if r.IntN(20) == 0 {
			return r.NormFloat64() * math.Pow(10, float64(r.IntN(300)))
		}
		return float64(r.IntN(9)-2) / 2
	case container.String:
		return text(r)
	case container.Bytes:
		b := make([]byte, r.IntN(6))
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	case container.Timestamp:
		return time.Unix(r.Int64N(4e9), r.Int64N(1e9)).UTC()
	case container.Duration:
		return time.Duration(r.Int64N(2e10)) - 1e10
	case container.List:
		list := make([]container.Value, r.IntN(4))
		for i := range list {
			list[i] = value(r, t.Elem, iteration)
		}
		return list
	case container.Structure:
		s := container.New(t)
		for i, m := range t.Members {
			if r.IntN(4) > 0 {
				s.Assign(container.Path{i}, value(r, m.Type, iteration))
			}
		}
		return s
	}
	return nil
}

func integer(r *rand.Rand, iteration int) int64 {
	switch r.IntN(20) {
	case 0:
		return math.MaxInt64 - r.Int64N(2)
	case 1:
		return math.MinInt64 + r.Int64N(2)
	case 2, 3, 4, 5, 6:
		return int64(iteration)
	default:
		return int64(r.IntN(7) - 1)
	}
}

// Large texts do not fit into one record of a store or one frame of a link.
func text(r *rand.Rand) string {
	switch r.IntN(400) {
	case 0:
		return strings.Repeat("large ", 10_000)
	case 1:
		return strings.Repeat("larger ", 40_000)
	default:
		return words[r.IntN(len(words))]
	}
}

// samples are values of members of the process's input, as JSON.
var samples = map[string][]string{
	"bool": {"false", "true"}, "int": {"0", "1", "2", "-3", "9223372036854775807"}, "double": {"0", "0.5", "-2.25", "1e300"},
	"string": {`""`, `"red"`, `"blue # green"`, `"\u00e9\n"`}, "[int]": {"[]", "[1]", "[3, 2, -1]"},
	"[string]": {"[]", `["red", "blue"]`}, "[Part]": {"[]", `[{"k": 2}, {"s": "x", "b": false}]`}, "[[double]]": {"[]", "[[1.5, 2], []]"},
	"Part": {"{}", `{"k": 3, "b": false}`, `{"s": null}`}, "Whole": {"{}", `{"part": {"k": 1}, "list": [1, 2]}`, `{"n": 5}`},
	"bytes": {`""`, `"AQID"`}, "timestamp": {`"2024-05-06T07:08:09.5Z"`}, "duration": {`"0s"`, `"1h30m"`},
}

// processInput draws the input as JSON: all, some or none of its members.
func (d *drawing) processInput() string {
	if d.input == nil || d.in(4, "no input") {
		return ""
	}
	var members []string
	for _, m := range d.input.members {
		if !d.in(4, "left out") {
			members = append(members, fmt.Sprintf("%q: %s", m.path, pick(d, samples[m.of], "value")))
		}
	}
	return "{" + strings.Join(members, ", ") + "}"
}
