package work

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/behaviour"
	"fmqm/internal/task"
	"fmqm/message"
	"fmqm/node/command"
	"fmqm/node/report"
	"fmqm/node/worklist"
	"fmqm/processtable"
	"fmqm/staff"
)

// asked is a node that asks the home of its items, which answers as it is told.
type asked struct {
	home   []error  // its next answers; then it does what it is asked
	lost   int      // of these, how many are not heard
	words  []string // that it was asked
	pauses []time.Duration
	later  []func()
	// meanwhile is what happens while it is asked; nil: nothing.
	meanwhile func()
	next      byte
}

func (a *asked) SayWorkAt(_ context.Context, home processtable.NodeID, o command.WorkOrder) (bool, error) {
	a.words = append(a.words, fmt.Sprintf("%s %s at %s by %s, claim %d", o.Wish, o.Entry.Path(), home, o.Person, o.Claim))
	if f := a.meanwhile; f != nil {
		a.meanwhile = nil
		f()
	}
	if len(a.home) == 0 {
		return false, nil
	}
	err := a.home[0]
	a.home = a.home[1:]
	unknown := a.lost > 0
	a.lost--
	return unknown, err
}

func (a *asked) NewWordID() message.WordID {
	a.next++
	return message.WordID{6: 0x70, 8: 0x80, 15: a.next}
}

func (*asked) Query(context.Context, processtable.NodeID, string, []byte) ([]byte, error) {
	return json.Marshal(ItemReport{})
}
func (*asked) Process(processtable.ProcessID) behaviour.Process { return nil }
func (*asked) Staff() *staff.Staff                              { return nil }
func (*asked) SayWork(context.Context, command.WorkOrder) (api.Word, error) {
	return api.Word{}, nil
}
func (*asked) Report(report.Question) (report.Report, error) { return report.Report{}, nil }

// at is a scheduler that does all at once, but what it is to do later.
type at struct {
	task.Goroutines
	of *asked
}

func (a at) Go(f func()) { f() }
func (a at) WithTimeout(ctx context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, time.Millisecond)
}

func (a at) AfterFunc(d time.Duration, f func()) (stop func() bool) {
	a.of.pauses = append(a.of.pauses, d)
	a.of.later = append(a.of.later, f)
	return func() bool { return false }
}

func newDesk() (*Desk, *asked) {
	a := &asked{}
	return New(Options{Self: "B", Site: a, Scheduler: at{of: a}}), a
}

var (
	offerKey = worklist.Key{
		Process: processtable.ProcessID{Name: "p", Version: 1},
		Entry:   message.Entry{Instance: uuid.UUID{7}, Scope: "approve#1", Activity: "approve"},
	}
	first, second = message.WordID{6: 0x70, 8: 0x80, 15: 101}, message.WordID{6: 0x70, 8: 0x80, 15: 102}
)

// told is what B hears of the item: that somebody has got it by a word that was asked here.
func told(d *Desk, claim uint64, by string, word message.WordID) {
	home := &worklist.Home{Node: "A", Entry: message.Entry{Instance: uuid.UUID{7}, Activity: "approve"}}
	d.list.Put(worklist.Item{
		Key: offerKey, ID: "4f1c2b9d03aa", At: message.Execution{Iteration: 1}, Home: home, Claim: claim, By: message.Doer{Person: by}, Asked: word,
		Class: "nobody", Rule: nobody{},
	})
	now, _ := d.list.Of(offerKey)
	d.arrivals.tell(offerKey, &now)
	d.giveBack(offerKey)
}

// N27: a grant that nobody waits for any more is given back by its claim number, whether the node hears of it before it has given up or
// after; one that somebody was told of is not.
func TestN27AGrantThatNobodyWaitsForIsGivenBack(t *testing.T) {
	const back = "release approve at A by eve@B, claim 3"
	t.Run("told before", func(t *testing.T) {
		d, a := newDesk()
		told(d, 3, "eve@B", first)
		if len(a.words) > 0 {
			t.Fatalf("while somebody waits, it says %v", a.words)
		}
		d.giveUp(offerKey, first)
		if !slices.Equal(a.words, []string{back}) {
			t.Errorf("given up, it says %v", a.words)
		}
	})
	t.Run("told after", func(t *testing.T) {
		d, a := newDesk()
		d.giveUp(offerKey, first)
		told(d, 2, "eve@B", second)
		if len(a.words) > 0 {
			t.Fatalf("of another word, it says %v", a.words)
		}
		told(d, 3, "eve@B", first)
		if !slices.Equal(a.words, []string{back}) {
			t.Errorf("of the word that was given up, it says %v", a.words)
		}
	})
	t.Run("home is not heard", func(t *testing.T) {
		d, a := newDesk()
		a.home, a.lost = []error{api.Errorf(api.CodeUnreachable, "", "no answer"), api.Errorf(api.CodeUnreachable, "", "not heard")}, 1
		d.giveUp(offerKey, first)
		told(d, 3, "eve@B", first)
		for len(a.later) > 0 {
			f := a.later[0]
			a.later = a.later[1:]
			f()
		}
		if !slices.Equal(a.words, []string{back, back, back}) || !slices.Equal(a.pauses, []time.Duration{time.Second, 2 * time.Second}) {
			t.Errorf("it says %v, with pauses of %v", a.words, a.pauses)
		}
	})
	t.Run("home has gone on", func(t *testing.T) {
		d, a := newDesk()
		a.home = []error{api.Errorf(api.CodeUnreachable, "", "not heard")}
		d.giveUp(offerKey, first)
		told(d, 3, "eve@B", first)
		told(d, 4, "bob@A", message.WordID{})
		a.later[0]()
		if !slices.Equal(a.words, []string{back}) {
			t.Errorf("once another has it, it says %v", a.words)
		}
	})
	t.Run("the node stops", func(t *testing.T) {
		d, a := newDesk()
		a.home = []error{api.Errorf(api.CodeUnreachable, "", "not heard")}
		d.giveUp(offerKey, first)
		told(d, 3, "eve@B", first)
		d.Stop()
		a.later[0]()
		if !slices.Equal(a.words, []string{back}) {
			t.Errorf("stopped, it says %v", a.words)
		}
	})
	t.Run("the item has gone", func(t *testing.T) {
		d, _ := newDesk()
		d.giveUp(offerKey, first)
		d.forgetAbandoned(offerKey)
		if n := len(d.abandoned.words); n > 0 {
			t.Errorf("%d words are kept of an item that has gone", n)
		}
	})
}

// N27: what was asked and not answered is given up where it is a claim: who has asked is told that he has not got the item.
func TestN27WhatIsNotAnsweredIsGivenUp(t *testing.T) {
	for wish, given := range map[message.Wish]bool{message.WishClaim: true, message.WishSave: false, message.WishRelease: false} {
		d, a := newDesk()
		told(d, 3, map[bool]string{true: "", false: "eve@B"}[given], message.WordID{})
		i, _ := d.list.Of(offerKey)
		a.home, a.lost = []error{api.Errorf(api.CodeUnreachable, "", "no answer")}, 1
		order := command.WorkOrder{Process: offerKey.Process, At: i.At, Wish: wish, Person: "eve@B", Word: first}
		var err error
		if wish == message.WishClaim {
			_, err = d.askHome(t.Context(), &i, order)
		} else {
			err = d.sayElsewhere(t.Context(), &i, order)
		}
		if given {
			if _, again := d.askHome(t.Context(), &i, order); api.CodeOf(again) != api.CodeRefused || len(a.words) != 1 {
				t.Errorf("asked once more: %v, %v", again, a.words)
			}
		}
		if _, is := d.abandoned.words[first]; is != given || api.CodeOf(err) != api.CodeUnreachable {
			t.Errorf("%s is given up: %v, %v", wish, is, err)
		}
	}
}

// N28: what somebody has is his until he gives it back: a claim that he repeats, and that home does not answer, takes nothing from him.
func TestN28AClaimOfWhatSomebodyHasTakesNothingFromHim(t *testing.T) {
	d, a := newDesk()
	told(d, 3, "eve@B", second)
	i, _ := d.list.Of(offerKey)
	a.home, a.lost = []error{api.Errorf(api.CodeUnreachable, "", "no answer")}, 1
	_, err := d.askHome(t.Context(), &i, command.WorkOrder{Process: offerKey.Process, At: i.At, Wish: message.WishClaim, Person: "eve@B", Word: first})
	if api.CodeOf(err) != api.CodeUnreachable || !strings.Contains(err.Error(), "you have it already") {
		t.Errorf("she is told: %v", err)
	}
	told(d, 4, "eve@B", first) // home has answered after all
	if len(a.words) != 1 {
		t.Errorf("home is asked %q, and not only the claim", a.words)
	}
}

// N27: who is told that an item is his keeps it if he claims it once more, and home does not answer: whether what home tells of
// the first claim has come before its answer, has not come yet, or came and is not his any more.
func TestN27WhoIsToldThatAnItemIsHisKeepsIt(t *testing.T) {
	claim := command.WorkOrder{Process: offerKey.Process, At: message.Execution{Iteration: 1}, Wish: message.WishClaim, Person: "eve@B", Word: first}
	once := claim
	once.Word = second
	for _, tc := range []struct {
		name  string
		while func(d *Desk, a *asked) // home is asked for the first claim
		then  func(d *Desk, a *asked) // after that
		back  bool                    // what the second claim comes to is given back
	}{
		{"it comes before the answer", func(d *Desk, _ *asked) { told(d, 4, "eve@B", first) }, nil, false},
		{"it comes with more", func(d *Desk, _ *asked) { told(d, 5, "eve@B", message.WordID{}) }, nil, false},
		{"it has not come yet", nil, nil, false},
		{"what came is of before", func(d *Desk, _ *asked) { told(d, 3, "bob@A", message.WordID{}) }, nil, false},
		{"it comes later", nil, func(d *Desk, _ *asked) { told(d, 4, "eve@B", first) }, false},
		{"it comes later, and she releases it", nil, func(d *Desk, _ *asked) {
			told(d, 4, "eve@B", first)
			told(d, 4, "", message.WordID{})
		}, true},
		{"she releases it before it comes", nil, func(d *Desk, _ *asked) {
			i, _ := d.list.Of(offerKey)
			release := claim
			release.Wish, release.Word = message.WishRelease, message.WordID{}
			_, _ = d.askHome(context.Background(), &i, release)
		}, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d, a := newDesk()
			told(d, 3, "", message.WordID{})
			i, _ := d.list.Of(offerKey)
			if tc.while != nil {
				a.meanwhile = func() { tc.while(d, a) }
			}
			if _, err := d.askHome(t.Context(), &i, claim); err != nil {
				t.Fatalf("she is told: %v", err)
			}
			if tc.then != nil {
				tc.then(d, a)
			}
			i, _ = d.list.Of(offerKey)
			a.home, a.lost = []error{api.Errorf(api.CodeUnreachable, "", "no answer")}, 1
			if _, err := d.askHome(t.Context(), &i, once); api.CodeOf(err) != api.CodeUnreachable {
				t.Errorf("once more she is told: %v", err)
			}
			a.words = nil
			told(d, 6, "eve@B", second)
			if back := len(a.words) > 0; back != tc.back {
				t.Errorf("what that comes to is given back: %q", a.words)
			}
			d.arrivals.tell(offerKey, nil)
			if len(d.arrivals.of)+len(d.arrivals.told) > 0 {
				t.Error("somebody is waited for still")
			}
		})
	}
}
