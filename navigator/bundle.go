package navigator

import (
	"fmt"
	"slices"
	"time"

	"fmqm/behaviour"
	"fmqm/container"
	"fmqm/message"
	"fmqm/processtable"
)

// Bounds of one transaction of a bundle.
const (
	beginBatch  = 200     // elements that are begun
	beginBytes  = 1 << 20 // of their inputs, but for one that is larger
	compactFrom = 128     // returns that lie in the entry are put into a chunk
	chunkBase   = 16      // chunks of a level are put together into one of the next
)

// round is one decision of a bundle: what has come back of what is open, in the order in which it came.
type round struct {
	at    message.Snapshot
	g     message.Gathered // of at, to be changed
	came  []*element
	total int // elements
}

// bundle has its elements done, so many at once as there may be, and ends with their results (R31). Elements begin
// once there is room for that.
func (a *Activity) bundle(s *State, room bool, now time.Time) behaviour.Effects {
	list, err := a.elements(s)
	if err != nil {
		return a.fail(s, s.progress(), message.CauseInput, err.Error(), now)
	}
	r := round{at: s.progress(), total: len(list.all)}
	first := !r.at.Begun
	if first {
		r.at.Begun, r.at.Started, r.at.Gathered = true, now, &message.Gathered{}
	}
	r.g = *r.at.Gathered
	r.g.Open = slices.Clone(r.g.Open)
	r.at.Gathered = &r.g
	if r.g.Closed {
		return a.close(s, &r, now)
	}
	r.came = s.elements.cameOf(&r.at)
	if size := r.g.Bytes + a.sizeOf(r.came); size > container.MaxEncoded {
		return a.fail(s, s.progress(), message.CauseResult, fmt.Sprintf(
			"the results of %d elements take %d bytes, above the limit of a container, %d: map less of them, or have %s give less", r.g.Done+len(r.came), size, container.MaxEncoded, a.Name), now)
	}
	if err := a.endsEarly(&r); err != nil {
		return a.fail(s, s.progress(), message.CauseResult, err.Error(), now)
	}
	if r.g.Closed || r.g.Next == r.total && len(r.came) == len(r.g.Open) {
		return a.gathered(s, &r, now)
	}
	return a.goAhead(s, &r, first, room, now)
}

// goAhead begins elements as long as there are fewer than may be at once, compacts what has come back, and tells of errors:
// one transaction, where there is any of it. What does not begin anything waits for no room (S3).
func (a *Activity) goAhead(s *State, r *round, first, room bool, now time.Time) behaviour.Effects {
	erring, reason := s.elements.erring(&r.at)
	told := erring != r.g.Told
	if a.free(r) > 0 && !room && !told {
		return a.askRoom(s, s.progress(), a.process.table.Node)
	}
	var begins []message.Message
	if room {
		var err error
		if begins, err = a.beginSome(s, r); err != nil {
			return a.fail(s, s.progress(), message.CauseInput, err.Error(), now)
		}
	}
	var chunk []message.Message
	if len(r.came) >= compactFrom {
		chunk = a.compact(s, r, r.came)
	}
	r.g.Told = erring
	if !first && !told && len(begins)+len(chunk) == 0 && r.at.Gathered.Chunk == s.Snapshot.Gathered.Chunk && len(r.g.Open) == len(s.Snapshot.Gathered.Open) {
		return behaviour.Effects{}
	}
	e := a.keep(s, r.at, behaviour.Outcome{})
	e.Put = slices.Concat(chunk, e.Put, begins)
	if told {
		e = a.tell(s, e, message.Notice{Error: reason, Cleared: erring == 0, Time: now})
	}
	return e
}

// free is how many elements may begin now.
func (a *Activity) free(r *round) int {
	return min(a.Bundle.Parallel-(len(r.g.Open)-len(r.came)), r.total-r.g.Next)
}

// beginSome begins the next elements, as many as may be at once.
func (a *Activity) beginSome(s *State, r *round) (begins []message.Message, err error) {
	bytes := 0
	for free := a.free(r); free > 0 && len(begins) < beginBatch; free-- {
		input, err := a.inputOfElement(s, r.g.Next)
		if err != nil {
			return nil, err
		}
		if bytes += len(input); bytes > beginBytes && len(begins) > 0 {
			break
		}
		begins = append(begins, a.begins(s, addressee{target{activity: a.Name, node: a.process.table.Node}, a.element(s, &r.at, r.g.Next)}, input))
		r.g.Open = append(r.g.Open, r.g.Next)
		r.g.Next++
	}
	return begins, nil
}

// endsEarly evaluates until after each return, in the order in which they came: what came after the one
// that makes it TRUE is cancelled, as what is still under way.
func (a *Activity) endsEarly(r *round) error {
	if a.until == nil {
		return nil
	}
	counts, failed := container.New(processtable.Counts), r.g.Failed
	for i, o := range r.came {
		if o.failed() {
			failed++
		}
		counts.Fields[0], counts.Fields[1], counts.Fields[2] = int64(r.total), int64(r.g.Done+i+1), int64(failed)
		ends, err := a.until.Eval(counts, 0)
		if err != nil {
			return fmt.Errorf("until %q, after %d elements: %w", a.Bundle.Until.Text, r.g.Done+i+1, err)
		}
		if ends {
			r.g.Closed, r.came = true, r.came[:i+1]
			return nil
		}
	}
	return nil
}

// gathered ends the bundle, where all of it has come back, or cancels what is left where until is TRUE.
func (a *Activity) gathered(s *State, r *round, now time.Time) behaviour.Effects {
	if r.g.Closed && len(r.g.Open) > len(r.came) {
		// What has come back stays apart from what comes back from now on.
		chunk := a.compact(s, r, r.came)
		e := a.keep(s, r.at, behaviour.Outcome{})
		e.Put = append(chunk, e.Put...)
		return e
	}
	return a.finish(s, r, now)
}

// close cancels what until has left, in as many transactions as it takes, and ends the bundle.
func (a *Activity) close(s *State, r *round, now time.Time) behaviour.Effects {
	r.came = nil
	return a.without(s, fmt.Sprintf("until of %s is TRUE", a.Name), now, func() behaviour.Effects {
		return a.finish(s, r, now)
	})
}

// finish ends the bundle with its results.
func (a *Activity) finish(s *State, r *round, now time.Time) behaviour.Effects {
	result, err := a.resultOf(s, r, now)
	switch {
	case err != nil:
		return a.fail(s, s.progress(), message.CauseResult, err.Error(), now)
	case a.Slow(result) && !r.g.Closed:
		return a.judgedApart(r.at, *result)
	}
	return a.healed(s, a.evaluate(s, result, now), now)
}

// compact puts outcomes into a chunk, with those of chunks that are put together: one message, or none where
// nobody reads the outcomes.
func (a *Activity) compact(s *State, r *round, came []*element) []message.Message {
	var outcomes []message.Outcome
	gone := make(map[int]bool, len(came))
	for _, o := range came {
		gone[o.number] = true
		r.g.Done++
		if o.failed() {
			r.g.Failed++
		}
		if out := a.outcome(o); a.collects() {
			outcomes = append(outcomes, out)
		}
	}
	r.g.Bytes += a.sizeOf(came)
	r.g.Open = slices.DeleteFunc(r.g.Open, func(n int) bool { return gone[n] })
	if len(outcomes) == 0 {
		return nil
	}
	level, kept := 0, slices.Clone(r.g.Chunks)
	for {
		same := s.elements.ofLevel(kept, level)
		if len(same) < chunkBase-1 {
			break
		}
		for _, number := range same {
			chunk, err := message.DecodeChunk(s.elements.chunks[number].body)
			if err == nil { // it was read when it was folded
				outcomes = append(outcomes, chunk.Outcomes...)
			}
		}
		kept = slices.DeleteFunc(kept, func(n uint64) bool { return slices.Contains(same, n) })
		level++
	}
	r.g.Chunk++
	r.g.Chunks = append(kept, r.g.Chunk)
	m := a.onward(s, target{activity: a.Name, node: a.process.table.Node})
	m.Source, m.Kind, m.Number = "", message.KindChunk, r.g.Chunk
	m.Body = message.EncodeChunk(message.Chunk{Level: level, Outcomes: outcomes})
	return []message.Message{m}
}

// reopen cancels what is open of a bundle that begins anew, after a retry.
func (a *Activity) reopen(s *State, reason string) (out []message.Message) {
	at := s.progress()
	if a.Kind != processtable.KindBundle || !at.Begun {
		return nil
	}
	return a.cancelsOf(s, a.underWay(s, &at), reason)
}

// elements are those of a bundle's input, built once. Nobody changes it, so a list of thousands of structures is there
// once.
func (a *Activity) elements(s *State) (*listed, error) {
	if s.list != nil {
		return s.list, nil
	}
	input, err := a.inputOf(s, (*container.Struct).Share)
	if err != nil {
		return nil, err
	}
	at := 0
	if a.Bundle.Member != "" {
		at, _ = a.Input.MemberIndex(a.Bundle.Member)
	}
	all := input.Fields[at].([]container.Value)
	if len(all) > processtable.MaxElements {
		return nil, fmt.Errorf("its list has %d elements, above the limit of %d: split it", len(all), processtable.MaxElements)
	}
	s.list = &listed{input: input, member: at, all: all, bytes: container.Footprint(input.Fields)}
	return s.list, nil
}

// listed is the input of a bundle.
type listed struct {
	input  *container.Struct
	member int // that is the list
	all    []container.Value
	bytes  int // in memory
}

// inputOfElement is the input of one element, as a begin has it.
func (a *Activity) inputOfElement(s *State, n int) ([]byte, error) {
	element := s.list.all[n]
	if a.Bundle.Member != "" {
		in := &container.Struct{Type: a.one.Input, Fields: slices.Clone(s.list.input.Fields)}
		in.Fields[s.list.member] = element
		element = in
	}
	encoded, err := container.EncodeCBOR(element)
	if err != nil {
		return nil, fmt.Errorf("encode the input of element %d: %w", n, err)
	}
	return encoded, nil
}

// element is the scope of one execution.
func (a *Activity) element(s *State, at *message.Snapshot, n int) message.Scope {
	return s.Entry.Scope.Enter(message.Frame{Composite: a.Name, Run: at.Run, Element: n})
}

// gives says whether the bundle's output has a member, and where.
func (a *Activity) gives(member string) (int, bool) { return a.Output.MemberIndex(member) }

// collects says whether anybody reads the outcomes of single elements.
func (a *Activity) collects() bool {
	for _, member := range []string{processtable.MemberResults, processtable.MemberErrors, processtable.MemberRCs} {
		if _, read := a.gives(member); read {
			return true
		}
	}
	return false
}

// outcome is what a bundle keeps of an element's return: what is read of it.
func (a *Activity) outcome(o *element) message.Outcome {
	out := message.Outcome{Element: o.number}
	if _, read := a.gives(processtable.MemberResults); read {
		out.Output = o.output
	}
	if _, read := a.gives(processtable.MemberErrors); read {
		out.Error = o.reason()
	}
	if _, read := a.gives(processtable.MemberRCs); read {
		out.RC = o.rc
	}
	return out
}

// sizeOf is how many bytes of the bundle's output outcomes take at least.
func (a *Activity) sizeOf(came []*element) (n int) {
	for _, o := range came {
		out := a.outcome(o)
		n += len(out.Output) + len(out.Error)
	}
	return n
}

// resultOf is what the bundle has come to, in the order of the list: what is not there was cancelled.
func (a *Activity) resultOf(s *State, r *round, now time.Time) (*behaviour.Result, error) {
	output := container.New(a.Output)
	results, errs, rcs := make([]container.Value, r.total), make([]container.Value, r.total), make([]container.Value, r.total)
	for i := range r.total {
		errs[i], rcs[i] = cancelledElement, int64(noCode)
	}
	_, wants := a.gives(processtable.MemberResults)
	var wrong error
	take := func(o message.Outcome) {
		errs[o.Element], rcs[o.Element] = o.Error, o.RC
		if !wants || o.Output == nil || wrong != nil {
			return
		}
		if results[o.Element], wrong = container.DecodeCBOR(a.one.Output, o.Output); wrong != nil {
			wrong = fmt.Errorf("read what element %d has returned: %w", o.Element, wrong)
		}
	}
	for _, number := range r.g.Chunks {
		if _, err := message.EachOutcome(s.elements.chunks[number].body, take); err != nil {
			return nil, fmt.Errorf("read chunk %d of the results: %w", number, err)
		}
	}
	done, failed := r.g.Done, r.g.Failed
	for _, o := range r.came {
		take(a.outcome(o))
		if done++; o.failed() {
			failed++
		}
	}
	if wrong != nil {
		return nil, wrong
	}
	for i := range results {
		if wants && results[i] == nil {
			results[i] = container.New(a.one.Output)
		}
	}
	for name, v := range map[string]container.Value{
		processtable.MemberResults: results, processtable.MemberErrors: errs, processtable.MemberRCs: rcs,
		processtable.MemberCount: int64(r.total), processtable.MemberDone: int64(done), processtable.MemberFailed: int64(failed),
	} {
		if i, has := a.gives(name); has {
			output.Fields[i] = v
		}
	}
	if err := container.CheckSize(output); err != nil {
		return nil, fmt.Errorf("the results of %d elements: %w: map less of them, or have %s give less", r.total, err, a.Name)
	}
	return &behaviour.Result{Output: output, Started: r.at.Started, Ended: now}, nil
}

// cancelledElement is the error of an element that until has left.
const cancelledElement = "cancelled"

// deadlineElement is the error of an element that its deadline has ended.
const deadlineElement = "deadline"

// counts says how many elements have come to what; nil: it has begun none.
func (a *Activity) counts(s *State) *behaviour.Elements {
	at := s.progress()
	if at.Gathered == nil {
		return nil
	}
	out := &behaviour.Elements{Done: at.Gathered.Done, Failed: at.Gathered.Failed}
	if list, err := a.elements(s); err == nil {
		out.Count = len(list.all)
	}
	if at.Gathered.Closed {
		out.Cancelled = out.Count - out.Done
		return out
	}
	for _, o := range s.elements.cameOf(&at) {
		if out.Done++; o.failed() {
			out.Failed++
		}
	}
	out.InError, _ = s.elements.erring(&at)
	out.UnderWay = at.Gathered.Next - out.Done
	return out
}
