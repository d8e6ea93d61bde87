package node

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"fmqm/api"
	"fmqm/definition"
	"fmqm/definition/definitiontest"
	"fmqm/message"
	"fmqm/processtable"
	"fmqm/program"
	"fmqm/queue/record"
)

// slowLog is a log in which the line of an activity in error takes until it is released.
type slowLog struct {
	busy, release chan struct{}
	once          sync.Once
}

func (l *slowLog) Write(line []byte) (int, error) {
	if strings.Contains(string(line), "activity in error") {
		l.once.Do(func() { close(l.busy) })
		<-l.release
	}
	return len(line), nil
}

// While as many entries have newcomers that no thread has taken up as the limit says,
// links accept nothing and starts wait; then both go on.
func TestStartsAndLinksWaitWhileMailboxesAreFull(t *testing.T) {
	registry, err := program.NewRegistry(map[processtable.ProgramID]program.Spec{"p": {Kind: program.KindBuiltin, Builtin: "fail"}}, program.Options{})
	if err != nil {
		t.Fatal(err)
	}
	log := &slowLog{busy: make(chan struct{}), release: make(chan struct{})}
	n, err := Open(Options{Name: "A", Engine: memoryEngine(t), Registry: registry, DirtyLimit: 1, Log: zerolog.New(log)})
	if err != nil {
		t.Fatal(err)
	}
	n.Launch()
	t.Cleanup(func() {
		if err := n.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		registry.Close()
	})
	compiled := definitiontest.Compile(t, "process: p\nversion: 1\nactivities:\n  a: {node: A, program: p}\n", definition.CompileOptions{})
	table := compiled.Tables[0]
	if _, err := n.Upload(context.Background(), api.UploadRequest{Tables: []api.Table{{
		Node: "A", Process: table.Process.String(), Definition: table.Definition.String(), Table: compiled.Encoded[0],
	}}}); err != nil {
		t.Fatal(err)
	}

	if err := n.Begin(context.Background(), api.StartRequest{Instance: uuid.Must(uuid.NewV7()), Process: "p"}); err != nil {
		t.Fatal(err)
	}
	<-log.busy // the thread writes that to its log, which takes its time
	marker := message.EncodeMarker(message.Marker{Reason: "a test", Time: time.Unix(0, 0)})
	if err := n.commit(context.Background(), &record.Tx{Put: []message.Message{{Header: message.Header{
		Queue: message.Queue{Process: table.Process, Node: "A"}, Instance: uuid.Must(uuid.NewV7()), Origin: "A", Kind: message.KindMarker,
	}, Body: marker}}}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	if err := n.admission.Inbox("B").Capacity(ctx, func(string) {}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a link may accept: %v", err)
	}
	request := api.StartRequest{Instance: uuid.Must(uuid.NewV7()), Process: "p"}
	if err := n.Begin(ctx, request); api.CodeOf(err) != api.CodeUnreachable {
		t.Errorf("a start while mailboxes are full: %v", err)
	}
	if _, _, found, err := n.queue.Instance(request.Instance); found || err != nil {
		t.Errorf("it was started all the same, %v", err)
	}
	close(log.release)
	if err := n.Begin(context.Background(), request); err != nil {
		t.Errorf("a start afterwards: %v", err)
	}
}
