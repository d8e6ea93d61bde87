package daemon_test

import (
	"net/http"
	"os/user"
	"testing"
	"time"

	"github.com/google/uuid"

	"fmqm/api"
	"fmqm/identity"
)

// What an operator commands stands in the log: who, as far as it is proved, from where,
// what, and how it was answered; what is only asked, and starts, do not.
func TestCommandsAreLogged(t *testing.T) {
	s := newSecured(t, "A")
	conf := s.config("A", "")
	_, log := s.start(conf)
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	local, err := api.NewClient("unix:"+conf.Socket, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	id := uuid.Must(uuid.NewV7())
	if err := local.Terminate(t.Context(), id, ""); err == nil {
		t.Error("what is not there was terminated")
	}
	log.await(t, `"by":"user `+me.Username+`","from":"the socket","command":"instances/`+id.String()+`/terminate","status":404`, "operator's command")
	s.issue(identity.Name{Role: identity.RoleOperator, Name: "ann"})
	if status, body := request(t, http.MethodPost, s.address("A")+"/v1/links/B/retry", certificate(t, s.load(identity.Name{Role: identity.RoleOperator, Name: "ann"})), nil); status == 200 {
		t.Errorf("a link that is not there goes on: %s", body)
	}
	log.await(t, `"by":"operator ann","from":"127.0.0.1","command":"links/B/retry"`, "operator's command")
	if _, err := local.Nodes(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := local.Start(t.Context(), api.StartRequest{Instance: id, Process: "none"}); err == nil {
		t.Error("what is not there was started")
	}
	for _, plan := range []bool{true, false} { // as fmqm-define does
		if _, err := local.Upload(t.Context(), api.UploadRequest{Tables: []api.Table{{Node: "A"}}, PlanOnly: plan}); err == nil {
			t.Error("what is no table was taken")
		}
	}
	log.await(t, `"command":"upload","status":400`, "operator's command")
	if n, _ := log.count([]string{"operator's command"}); n != 3 {
		t.Errorf("%d lines about commands, want 3", n)
	}
}
