package question_test

import (
	"context"
	"encoding/json"
	"testing"

	"fmqm/node/question"
	"fmqm/processtable"
)

type here func(body []byte) ([]byte, error)

func (h here) Query(_ context.Context, _ processtable.NodeID, _ string, body []byte) ([]byte, error) {
	return h(body)
}

// What an activity has put out is shown with the same characters at every site, whichever has answered.
func TestAnAnswerHasTheCharactersThatThePeerHas(t *testing.T) {
	output := json.RawMessage(`{"why":"d1 * 2 > d1 && i0 < 3"}`)
	peer := here(func(body []byte) ([]byte, error) {
		return question.Answer(body, func(json.RawMessage) (json.RawMessage, error) { return output, nil })
	})
	got, err := question.Ask[json.RawMessage](context.Background(), peer, "B", "output", "a > b")
	if err != nil || string(got) != string(output) {
		t.Errorf("%s, %v; want %s", got, err, output)
	}
}
