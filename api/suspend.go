package api

import (
	"fmt"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/google/uuid"
)

// SuspendRequest says what of an instance is to be suspended: an activity with all that is inside of it, or
// without one all of it.
type SuspendRequest struct {
	Scope    string    `json:"scope,omitempty"` // of the activity, as a status tells it; empty: each execution
	Activity string    `json:"activity,omitempty"`
	Until    time.Time `json:"until,omitzero"`   // it goes on then by itself
	Reason   string    `json:"reason,omitempty"` // the operator's, for the history; at most MaxReason bytes
	Word     WordID    `json:"word,omitzero"`    // a UUIDv7: with the same one it is not done twice
	// Quick: the node where the instance was started, if it is the one that is asked, asks no other first how far it is. It is
	// for one of many whole instances: the history may show it before what others have done, and had not told yet.
	Quick bool `json:"quick,omitempty"`
}

// ResumeRequest says which suspends of an instance are to be lifted: all that are known where it was started,
// those of one activity, or one.
type ResumeRequest struct {
	Scope    string `json:"scope,omitempty"`
	Activity string `json:"activity,omitempty"`
	Only     WordID `json:"only,omitzero"` // of Status.Suspends
	Reason   string `json:"reason,omitempty"`
	Word     WordID `json:"word,omitzero"`
	Quick    bool   `json:"quick,omitempty"` // as of a SuspendRequest; others are asked where nothing is suspended by what is known
}

func (s server) suspend(w http.ResponseWriter, r *http.Request) (Word, error) {
	id, err := pathInstance(r)
	if err != nil {
		return Word{}, err
	}
	var req SuspendRequest
	if err := readBody(w, r, 64<<10, &req); err != nil {
		return Word{}, err
	}
	if err := checkWord(req.Scope, req.Activity, req.Reason, req.Word); err != nil {
		return Word{}, err
	}
	return s.b.Suspend(r.Context(), id, req)
}

func (s server) resume(w http.ResponseWriter, r *http.Request) (Word, error) {
	id, err := pathInstance(r)
	if err != nil {
		return Word{}, err
	}
	var req ResumeRequest
	if err := readBody(w, r, 64<<10, &req); err != nil {
		return Word{}, err
	}
	if err := checkWord(req.Scope, req.Activity, req.Reason, req.Word); err != nil {
		return Word{}, err
	}
	if req.Only != (WordID{}) && req.Activity != "" {
		return Word{}, Errorf(CodeUsage, "send one of them", "only and activity both say what is to be resumed")
	}
	return s.b.Resume(r.Context(), id, req)
}

// checkWord refuses what no word about an instance, or an activity of it, can be.
func checkWord(scope, activity, reason string, id WordID) error {
	switch {
	case scope != "" && activity == "":
		return Errorf(CodeUsage, "send the activity too, or neither", "scope is of no activity")
	case len(reason) > MaxReason || !utf8.ValidString(reason):
		return Errorf(CodeUsage, fmt.Sprintf("write at most %d bytes of UTF-8", MaxReason), "reason is too long, or no text")
	case id != (WordID{}) && (id.Version() != 7 || id.Variant() != uuid.RFC4122):
		return Errorf(CodeUsage, "send the identifier that the first answer gave, or none", "word %s is no UUIDv7", id)
	}
	return nil
}
