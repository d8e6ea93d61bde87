package message

import (
	"fmt"
	"strconv"
	"strings"

	"fmqm/processtable"
)

// Limits of a scope (N10).
const (
	MaxNesting   = 16          // frames
	MaxIteration = 1<<31 - 1   // of a frame; so is its run
	MaxElement   = 100_000 - 1 // elements are counted from 0
)

// Scope says where inside an instance an activity is: the path of composites that it is
// inside of, outermost first, each with the number of its run, iteration and element. It is
// empty at the top of a process. Two are the same place if and only if they are equal: a
// scope has one form, as people read it: "documents#2", "line[3]#1/pick~1#4".
type Scope string

// Frame is one composite of a scope: what has begun the work inside of it.
type Frame struct {
	Composite processtable.ActivityID
	Run       int // as in the composite's execution key (P1): grows with an operator's restart
	Iteration int // of a block, from 1 on; 0: it has none
	Element   int // of a bundle, or number of a call, from 0 on; -1: it has none
}

// Frames takes a scope apart. It fails, with ErrFormat, for what is not in the one form of a scope.
func (s Scope) Frames() ([]Frame, error) {
	if s == "" {
		return nil, nil
	}
	parts := strings.Split(string(s), "/")
	if len(parts) > MaxNesting {
		return nil, invalid("scope: %d composites inside one another, and at most %d are allowed", len(parts), MaxNesting)
	}
	frames := make([]Frame, len(parts))
	for i, part := range parts {
		f, err := parseFrame(part)
		if err != nil {
			return nil, err
		}
		frames[i] = f
	}
	return frames, nil
}

// Within says whether s is other, or inside of it. Frames compare whole: pay#10 is not
// inside of pay#1.
func (s Scope) Within(other Scope) bool {
	rest, ok := strings.CutPrefix(string(s), string(other))
	return ok && (other == "" || rest == "" || rest[0] == '/')
}

// Inside is the innermost composite of the scope; empty: it is the top.
func (s Scope) Inside() processtable.ActivityID {
	if s == "" {
		return ""
	}
	last := string(s[strings.LastIndexByte(string(s), '/')+1:])
	if at := strings.IndexAny(last, "[~#"); at >= 0 {
		last = last[:at]
	}
	return processtable.ActivityID(last)
}

// Row is the row, in the tables of its process, of an activity in the scope.
func (s Scope) Row(activity processtable.ActivityID) processtable.RowID {
	row := processtable.RowID{Name: activity, Inside: s.Inside()}
	for ; s != "" && s.Inside() == activity && row.Begun < MaxNesting; s = s.Leave() {
		row.Begun++
	}
	return row
}

// Element is the number of the innermost element of a bundle that it is in, from 0 on; empty: it is in none.
func (s Scope) Element() string {
	from := strings.LastIndexByte(string(s), '[')
	if from < 0 {
		return ""
	}
	number, _, _ := strings.Cut(string(s[from+1:]), "]")
	return number
}

// Enter is the scope of what is inside of a composite that is in s.
func (s Scope) Enter(f Frame) Scope {
	if s == "" {
		return Scope(f.String())
	}
	return s + Scope("/"+f.String())
}

// Path names an activity in the scope as people read it: "documents#2/check". The runs of a
// composite have one path. What a bundle or a call has begun has the name of that: one element is "count[17]",
// what is inside of one that is a block "line[3]#2/pick", and what does the work of a call is the call.
func (s Scope) Path(activity processtable.ActivityID) string {
	frames, _ := s.Frames() // what an entry is in has that form
	last := string(activity)
	for n := len(frames) - 1; n >= 0 && frames[n].Composite == activity; n-- {
		if f := frames[n]; f.Element >= 0 {
			f.Run = 0
			last = f.String()
		}
		frames = frames[:n]
	}
	var around Scope
	for _, f := range frames {
		f.Run = 0
		around = around.Enter(f)
	}
	if around == "" {
		return last
	}
	return string(around.Shown()) + "/" + last
}

// Shown is the scope as people are shown it: an element and the iteration in it are one, as in "line[3]#2".
// Full gives the scope again.
func (s Scope) Shown() Scope {
	frames, _ := s.Frames()
	var shown Scope
	for i := 0; i < len(frames); i++ {
		f := frames[i]
		if i+1 < len(frames) && f.Element >= 0 && f.Iteration == 0 && frames[i+1].Composite == f.Composite && frames[i+1].Run == 0 && frames[i+1].Element < 0 {
			i++
			f.Iteration = frames[i].Iteration
		}
		shown = shown.Enter(f)
	}
	return shown
}

// Full is the scope that people name by what Shown gives. What is no scope stays as it is.
func (s Scope) Full() Scope {
	frames, err := s.Frames()
	if err != nil || !strings.ContainsRune(string(s), '[') {
		return s
	}
	var full Scope
	for _, f := range frames {
		if f.Element >= 0 && f.Iteration > 0 {
			full = full.Enter(Frame{Composite: f.Composite, Run: f.Run, Element: f.Element})
			f.Run, f.Element = 0, -1
		}
		full = full.Enter(f)
	}
	return full
}

// Leave is the scope that the innermost composite of s is in.
func (s Scope) Leave() Scope { return s[:max(0, strings.LastIndexByte(string(s), '/'))] }

// Fits says why an activity with this static path cannot be in the scope, or nothing (N10):
// there is a frame for each composite of the path, and its numbers are within the limits.
func (s Scope) Fits(path []processtable.Composite) error {
	frames, err := s.Frames()
	if err != nil {
		return err
	}
	if len(frames) != len(path) {
		return fmt.Errorf("scope %q has %d composites, and %d are around it", s, len(frames), len(path))
	}
	for i, f := range frames {
		if err := f.fits(path[i]); err != nil {
			return fmt.Errorf("scope %q: %w", s, err)
		}
	}
	return nil
}

func (f Frame) fits(c processtable.Composite) error {
	switch {
	case f.Composite != c.Activity:
		return fmt.Errorf("%s is not the composite that is around it there, which is %s", f.Composite, c.Activity)
	case f.Iteration > c.Iterations:
		return fmt.Errorf("iteration %d of %s, and at most %d are allowed", f.Iteration, c.Activity, c.Iterations)
	case c.Iterations > 0 && f.Iteration == 0:
		return fmt.Errorf("the iteration of %s is missing", c.Activity)
	case c.Elements && f.Element < 0:
		return fmt.Errorf("the element of %s is missing", c.Activity)
	case !c.Elements && f.Element >= 0:
		return fmt.Errorf("%s has no elements", c.Activity)
	}
	return nil
}

// String is the frame as it stands in a scope.
func (f Frame) String() string {
	b := []byte(f.Composite)
	if f.Element >= 0 {
		b = append(strconv.AppendInt(append(b, '['), int64(f.Element), 10), ']')
	}
	if f.Run > 0 {
		b = strconv.AppendInt(append(b, '~'), int64(f.Run), 10)
	}
	if f.Iteration > 0 {
		b = strconv.AppendInt(append(b, '#'), int64(f.Iteration), 10)
	}
	return string(b)
}

func parseFrame(s string) (Frame, error) {
	f := Frame{Element: -1}
	name, rest := s, ""
	if at := strings.IndexAny(s, "[~#"); at >= 0 {
		name, rest = s[:at], s[at:]
	}
	f.Composite = processtable.ActivityID(name)
	if !processtable.ValidActivity(name) {
		return f, invalid("scope: %.80q does not begin with the name of an activity", s)
	}
	if after, ok := strings.CutPrefix(rest, "["); ok {
		digits, behind, closed := strings.Cut(after, "]")
		n, err := frameNumber(digits, 0, MaxElement)
		if err != nil || !closed {
			return f, invalid("scope: element of %.80q: want a number from 0 to %d in brackets", s, MaxElement)
		}
		f.Element, rest = n, behind
	}
	var err error
	if f.Run, rest, err = frameCount(s, rest, "~"); err != nil {
		return f, err
	}
	if f.Iteration, rest, err = frameCount(s, rest, "#"); err != nil {
		return f, err
	}
	if rest != "" {
		return f, invalid("scope: %.80q does not end after its numbers", s)
	}
	return f, nil
}

// frameCount reads a number behind its mark, if it is there.
func frameCount(frame, s, mark string) (n int, rest string, err error) {
	after, ok := strings.CutPrefix(s, mark)
	if !ok {
		return 0, s, nil
	}
	digits := after
	if at := strings.IndexByte(after, '#'); at >= 0 {
		digits = after[:at]
	}
	if n, err = frameNumber(digits, 1, MaxIteration); err != nil {
		return 0, "", invalid("scope: %.80q: want a number from 1 to %d behind %s", frame, MaxIteration, mark)
	}
	return n, after[len(digits):], nil
}

// frameNumber reads a number in the one form that it is written in.
func frameNumber(s string, least, most int) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil || n < least || n > most || strconv.Itoa(n) != s {
		return 0, fmt.Errorf("%.20q is not a number from %d to %d", s, least, most)
	}
	return n, nil
}
