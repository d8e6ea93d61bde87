package message

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/google/uuid"

	"fmqm/internal/cbor"
	"fmqm/processtable"
)

// Limits of a word, in bytes.
const (
	MaxWhy        = 1 << 10 // of an operator's reason
	MaxWordOutput = 8 << 20 // of an output, or an input, given by hand, in JSON
)

// WordID identifies an operator's word: a UUIDv7 made where it is asked. A repeat of a word
// has the same one.
type WordID = uuid.UUID

// WordNumber is the Number of the messages of a word: with it a word and its answer are known
// in their entry.
func WordNumber(id WordID) uint64 { return binary.BigEndian.Uint64(id[8:]) }

// Wish says what an operator wants of an activity. The set is open: a node that does not know
// one answers so.
type Wish string

const (
	// WishRetry lets an activity in error go on. Output, if there is one, is taken for what its
	// program would give; with Input its program runs with that.
	WishRetry Wish = "retry"
	// WishFinish ends an activity, whatever it does or waits for: it has run, with Output and _RC 0 (N30).
	WishFinish Wish = "finish"
	// WishSkip ends an activity as one on a dead path (N30).
	WishSkip Wish = "skip"
	// WishRestart has an activity that has terminated run once more, if nothing was decided on what it has come to; with Input it
	// runs with that (N30).
	WishRestart Wish = "restart"
	// WishWithdraw gives up a restart for which not all sites have answered.
	WishWithdraw Wish = "withdraw"
)

// Execution names one execution of an activity in its scope, as people were shown it.
type Execution struct {
	Iteration int // counts from 1; 0: none had begun
	Run       int
}

// Word is the body of a KindWord message: what an operator wants of an activity (N15). It lies
// in the activity's entry until it is answered, and makes no entry.
type Word struct {
	ID       WordID
	Wish     Wish
	Saw      *Execution          // the execution that the operator saw; nil: none, since its node was not heard
	Operator string              // who, as the node that was asked has proved it; at most MaxBy bytes; empty: nobody knows
	Site     processtable.NodeID // the node that was asked
	Reply    bool                // the answer goes to Site as a message; else it is told where the activity is
	Why      string              // the operator's reason
	Asked    time.Time           // for people
	Output   []byte              // JSON of a container; nil: none

	// What version 1 does not have.
	Input  []byte // JSON of a container; nil: none
	Person string // who says it, where that is a person of a node, as "ann@ward"; Operator is then who acts in his name, or empty. At most MaxBy bytes
	To     string // of a word that gives something to a person: to whom, as Person
	Claim  uint64 // the claim on a work item that was seen; 0: none
	// Of a word about what is offered beside its home, as Site has found out by its own staff: whom Person, or To, stands in for.
	For, ToFor string
	// What versions 1 and 2 do not have. Over is of such a word too: whoever says it may take the item from others of Site, since he is
	// told that it is late, or administers the process there.
	Over bool
}

// wordVersion is that of a word of whoever may take an item from others of his node, version 2 that of one with an input, or of a person;
// others are written in version 1, so that each has one form. A node of before answers a wish that it does not know; of a word in a version that it
// does not read it would not know whom to answer, so that waits for its upgrade (L6).
const wordVersion = 3

// version is the lowest that can say o.
func (o *Word) version() uint64 {
	switch {
	case o.Over:
		return wordVersion
	case len(o.Input) > 0, o.Person != "", o.To != "", o.Claim != 0, o.For != "", o.ToFor != "":
		return 2
	}
	return 1
}

// Lane is the lane that the word travels in: one with a container may be large (L2).
func (o *Word) Lane() Lane {
	if len(o.Output)+len(o.Input) > 0 {
		return LaneData
	}
	return LaneControl
}

// By says who asked, for people: "alice at B", or a person: "ann@ward".
func (o *Word) By() string {
	if o.Person != "" {
		return o.Person
	}
	return OperatorAt(o.Operator, o.Site)
}

// LocalPerson stands before the name of a person of the staff of the node that was asked, as api.LocalPerson.
const LocalPerson = "person:"

// OperatorAt says in words who has commanded something at a node: "alice at B", or of its staff "ann@B".
func OperatorAt(operator string, site processtable.NodeID) string {
	if person, is := strings.CutPrefix(operator, LocalPerson); is {
		return person + "@" + string(site)
	}
	return cmp.Or(operator, "an unnamed operator") + " at " + string(site)
}

// Reply is the message that answers a word with header h, for the node that was asked.
func (h *Header) Reply(to processtable.NodeID, a Answer) Message {
	r := Header{
		Queue: Queue{Process: h.Queue.Process, Node: to}, Definition: h.Definition, Instance: h.Instance,
		Scope: h.Scope, SourceScope: h.Scope, Activity: h.Activity, Number: h.Number,
		Kind: KindAnswer, Lane: LaneControl, Clock: Next(h.Clock),
	}
	return Message{Header: r, Body: EncodeAnswer(a)}
}

// WordResult is what has come of a word. The numbers are part of the format.
type WordResult uint8

const (
	WordDone      WordResult = 1
	WordRefused   WordResult = 2 // it cannot be done as things are
	WordOvertaken WordResult = 3 // the activity is not in the execution any more that the operator saw
	wordResults   WordResult = 4
)

// Answer is the body of a KindAnswer message: what has come of a word (N15).
type Answer struct {
	Word     WordID
	Result   WordResult
	Text     string // for people: what is wrong; empty where it is done
	Remedy   string // for people: what to do; empty: nothing beside looking how it stands
	Time     time.Time
	Problems []Problem // with the word's output, so that each can be shown where it stands; Text has them too
}

// Problem is one thing that is wrong with a container of a word, as package container has it.
type Problem struct {
	Path, What, Remedy string
	Token              int // of the JSON that it is about, from 1; 0: none
}

// maxProblems bounds what an answer tells of a container; encoding leaves out the rest.
const (
	maxProblems    = 100
	maxProblemText = 1 << 10 // bytes of each text of one
)

// EncodeWord gives the body of a KindWord message.
func EncodeWord(o Word) []byte {
	w := beginBody(o.version(), len(o.Output)+len(o.Input)+len(o.Why)+len(o.Operator)+len(o.Person)+len(o.To)+2*processtable.MaxName)
	w.Bytes(0, o.ID[:])
	w.Text(1, string(o.Wish))
	if o.Saw != nil {
		w.Array(2, 2)
		w.B = cbor.AppendUint(cbor.AppendUint(w.B, uint64(o.Saw.Iteration)), uint64(o.Saw.Run))
	}
	w.Text(3, o.Operator)
	w.Text(4, string(o.Site))
	w.Bool(5, o.Reply)
	w.Text(6, o.Why)
	w.Time(7, o.Asked)
	w.Bytes(8, o.Output)
	w.Bytes(9, o.Input)
	w.Text(10, o.Person)
	w.Text(11, o.To)
	w.Uint(12, o.Claim)
	w.Text(13, o.For)
	w.Text(14, o.ToFor)
	w.Bool(15, o.Over)
	return w.B
}

// DecodeWord reads the body of a KindWord message. Output and Input are parts of data.
func DecodeWord(data []byte) (o Word, err error) {
	version, err := decodeBody("word", wordVersion, data, func(f *cbor.Fields) {
		switch f.Key {
		case 0:
			f.Fixed(o.ID[:])
		case 1:
			o.Wish = Wish(f.Text(processtable.MaxName))
		case 2:
			if f.Array(2) != 2 {
				f.Fail("expected array of iteration and run")
			}
			o.Saw = &Execution{Iteration: int(f.Reader.Uint(math.MaxInt32)), Run: int(f.Reader.Uint(math.MaxInt32))}
		case 3:
			o.Operator = f.Text(MaxBy)
		case 4:
			o.Site = processtable.NodeID(f.Text(processtable.MaxName))
		case 5:
			o.Reply = f.Bool()
		case 6:
			o.Why = f.Text(MaxWhy)
		case 7:
			o.Asked = f.Time()
		case 8:
			o.Output = f.Bytes(MaxWordOutput)
		case 9:
			o.Input = f.Bytes(MaxWordOutput)
		case 10:
			o.Person = f.Text(MaxBy)
		case 11:
			o.To = f.Text(MaxBy)
		case 12:
			o.Claim = f.Uint(math.MaxUint64)
		case 13:
			o.For = f.Text(MaxPerson)
		case 14:
			o.ToFor = f.Text(MaxPerson)
		case 15:
			o.Over = f.Bool()
		default:
			f.Unknown()
		}
	})
	if err != nil {
		return o, err
	}
	if version != o.version() {
		return o, fmt.Errorf("%w: word: version %d, and it would be written in version %d", ErrFormat, version, o.version())
	}
	return o, o.validate()
}

func (o *Word) validate() error {
	switch {
	case !validWord(o.ID):
		return fmt.Errorf("%w: word: its identifier %s is no UUIDv7", ErrFormat, o.ID)
	case !processtable.ValidActivity(string(o.Wish)):
		return fmt.Errorf("%w: word: it does not say what is wanted", ErrFormat)
	case !processtable.ValidNode(string(o.Site)):
		return fmt.Errorf("%w: word: asked at %.80q, which is not a node's name", ErrFormat, o.Site)
	}
	return nil
}

// EncodeAnswer gives the body of a KindAnswer message.
func EncodeAnswer(a Answer) []byte {
	w := beginBody(1, len(a.Text)+64*len(a.Problems))
	w.Bytes(0, a.Word[:])
	w.Uint(1, uint64(a.Result))
	w.Text(2, cut(a.Text))
	w.Time(3, a.Time)
	problems := a.Problems[:min(len(a.Problems), maxProblems)]
	w.Array(4, len(problems))
	for _, p := range problems {
		w.B = cbor.AppendArray(w.B, 4)
		for _, text := range []string{p.Path, p.What, p.Remedy} {
			w.B = cbor.AppendText(w.B, cutTo(text, maxProblemText))
		}
		w.B = cbor.AppendUint(w.B, uint64(p.Token))
	}
	w.Text(5, cut(a.Remedy))
	return w.B
}

// DecodeAnswer reads the body of a KindAnswer message.
func DecodeAnswer(data []byte) (a Answer, err error) {
	_, err = decodeBody("answer", 1, data, func(f *cbor.Fields) {
		switch f.Key {
		case 0:
			f.Fixed(a.Word[:])
		case 1:
			a.Result = WordResult(f.Uint(math.MaxUint8))
		case 2:
			a.Text = f.Text(MaxText)
		case 3:
			a.Time = f.Time()
		case 4:
			a.Problems = make([]Problem, f.Array(maxProblems))
			for i := range a.Problems {
				decodeProblem(&a.Problems[i], f.Reader)
			}
		case 5:
			a.Remedy = f.Text(MaxText)
		default:
			f.Unknown()
		}
	})
	if err != nil {
		return a, err
	}
	return a, a.validate()
}

func (a *Answer) validate() error {
	switch {
	case !validWord(a.Word):
		return fmt.Errorf("%w: answer: the identifier %s of its word is no UUIDv7", ErrFormat, a.Word)
	case a.Result == 0 || a.Result >= wordResults:
		return fmt.Errorf("%w: answer: its result %d is unknown", ErrFormat, a.Result)
	}
	return nil
}

func validWord(id WordID) bool { return id.Version() == 7 && id.Variant() == uuid.RFC4122 }

func decodeProblem(p *Problem, r *cbor.Reader) {
	if r.Array(4) != 4 {
		r.Fail("expected a problem of 4 parts")
	}
	p.Path, p.What, p.Remedy = r.Text(maxProblemText), r.Text(maxProblemText), r.Text(maxProblemText)
	p.Token = int(r.Uint(math.MaxInt32))
}
