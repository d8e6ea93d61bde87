package api

import "net/http"

// Priorities of what is ready and of work items: MaxPriority goes first; DefaultPriority is that of what was given none.
const (
	MaxPriority     = 9
	DefaultPriority = 4
)

// ShownPriority is how an answer tells a priority: nil is DefaultPriority.
func ShownPriority(p int) *int {
	if p == DefaultPriority {
		return nil
	}
	return &p
}

// ExpediteRequest gives an instance another priority, which goes before that of its activities (N31).
type ExpediteRequest struct {
	Priority int    `json:"priority"`         // 0 to MaxPriority
	Reason   string `json:"reason,omitempty"` // the operator's, for the history; at most MaxReason bytes
	Word     WordID `json:"word,omitzero"`    // a UUIDv7: with the same one it is not done twice
	Quick    bool   `json:"quick,omitempty"`  // as of a SuspendRequest
}

func (s server) expedite(w http.ResponseWriter, r *http.Request) (Word, error) {
	id, err := pathInstance(r)
	if err != nil {
		return Word{}, err
	}
	var req ExpediteRequest
	if err := readBody(w, r, 64<<10, &req); err != nil {
		return Word{}, err
	}
	if err := checkWord("", "", req.Reason, req.Word); err != nil {
		return Word{}, err
	}
	if err := checkPriority(req.Priority); err != nil {
		return Word{}, err
	}
	return s.b.Expedite(r.Context(), id, req)
}

func checkPriority(p int) error {
	if p < 0 || p > MaxPriority {
		return Errorf(CodeUsage, "write 0 to 9, 9 first", "priority %d is none", p)
	}
	return nil
}
