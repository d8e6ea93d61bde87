package rabbittest_test

import (
	"net"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"fmqm/internal/rabbittest"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv("FMQM_RABBITTEST_VICTIM"); dir != "" {
		victim(dir)
	}
	goleak.VerifyTestMain(rabbittest.Main(m))
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// What lives in the broker can be changed and looked at within milliseconds.
func TestInsides(t *testing.T) {
	b := rabbittest.Shared(t)
	vhost := rabbittest.VHost(t, b)
	if got, err := b.Eval("{1, <<\"x\">>, \"\u00e4\"}"); err != nil || got != "{1,<<\"x\">>,\"\u00e4\"}" {
		t.Fatalf("got %q, %v", got, err)
	}
	for expression, want := range map[string]string{"1 +": "syntax error", "1 / 0": "badarith"} {
		if _, err := b.Eval(expression); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, expected %s", expression, err, want)
		}
	}
	_, err := b.Eval(`[rabbit_amqqueue:declare(rabbit_misc:r(<<"` + vhost + `">>, queue, N), true, false, [{<<"x-queue-type">>, longstr, T}], none, <<"t">>) || ` +
		`{N, T} <- [{<<"q1">>, <<"quorum">>}, {<<"q2">>, <<"classic">>}]]`)
	must(t, err)
	queues, err := b.Queues(vhost)
	must(t, err)
	types := map[string]string{}
	for _, q := range queues {
		types[q.Name] = q.Type
	}
	if len(queues) != 2 || types["q1"] != "rabbit_quorum_queue" || types["q2"] != "rabbit_classic_queue" {
		t.Fatalf("got %+v", queues)
	}
	must(t, b.Purge(vhost, "q1"))
	must(t, b.PurgeAll(vhost))
	must(t, b.DeleteQueue(vhost, "q1"))
	if err := b.DeleteQueue(vhost, "q1"); err == nil || !strings.Contains(err.Error(), "not_found") {
		t.Fatalf("a queue was deleted twice: %v", err)
	}
	must(t, b.DeleteQueues(vhost))
	if queues, err := b.Queues(vhost); err != nil || len(queues) != 0 {
		t.Fatalf("got %+v, %v", queues, err)
	}
	must(t, b.SetPolicy(vhost, "small", "^q", `{"max-length": 10}`))
	must(t, b.ClearPolicy(vhost, "small"))
	must(t, b.AddUser("somebody", "secret"))
	must(t, b.Permit("somebody", vhost, "", "^q", ""))
	must(t, b.Raise(rabbittest.Memory))
	if got, err := b.Eval("rabbit_alarm:get_alarms()"); err != nil || !strings.Contains(got, "memory") {
		t.Fatalf("got %s, %v", got, err)
	}
	must(t, b.Clear(rabbittest.Memory))
	must(t, b.CloseConnections("a test"))
	if n, err := b.Connections(); err != nil || n != 0 {
		t.Fatalf("%d connections, %v", n, err)
	}
}

// A broker keeps its data over a stop, comes back after a kill (with what it had on disk,
// which may not be all), loses everything by a wipe, and then has its users again.
func TestLife(t *testing.T) {
	b := rabbittest.Start(t, rabbittest.Options{})
	must(t, b.AddVHost("v"))
	_, err := b.Eval(`rabbit_amqqueue:declare(rabbit_misc:r(<<"v">>, queue, <<"q">>), true, false, [], none, <<"t">>)`)
	must(t, err)
	b.Stop()
	must(t, b.Start())
	if queues, err := b.Queues("v"); err != nil || len(queues) != 1 {
		t.Fatalf("after a stop: %+v, %v", queues, err)
	}
	must(t, b.Restart())
	if _, err := b.Queues("v"); err != nil {
		t.Fatalf("after a kill: %v", err)
	}
	must(t, b.Wipe())
	if b.Running() {
		t.Fatal("it runs")
	}
	if c, err := net.Dial("tcp", b.Addr()); err == nil {
		_ = c.Close()
		t.Fatal("somebody listens at the port of a broker that is gone")
	}
	must(t, b.Start())
	if queues, err := b.Queues("v"); err != nil || len(queues) != 0 {
		t.Fatalf("after a wipe: %+v, %v", queues, err)
	}
	if text, err := b.Ctl("list_vhosts", "--quiet"); err != nil || !strings.Contains(text, "v\n") {
		t.Fatalf("got %q, %v", text, err)
	}
	b.Stop()
	if b.Running() {
		t.Fatal("it runs")
	}
}

// victim starts a broker, says its process id, and waits to be killed.
func victim(dir string) {
	b, err := rabbittest.New(rabbittest.Options{Dir: dir})
	if err == nil {
		err = b.Start()
	}
	if err == nil {
		var pid string
		pid, err = b.Eval("list_to_binary(os:getpid())")
		_, _ = os.Stdout.WriteString(pid + "\n")
	}
	if err != nil {
		_, _ = os.Stderr.WriteString(err.Error())
		os.Exit(1)
	}
	select {}
}

// Whoever starts a broker and is killed leaves nothing behind.
func TestDiesWithItsStarter(t *testing.T) {
	rabbittest.Need(t)
	read, write, err := os.Pipe()
	must(t, err)
	defer read.Close()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "FMQM_RABBITTEST_VICTIM="+t.TempDir())
	cmd.Stdout, cmd.Stderr = write, os.Stderr
	must(t, cmd.Start())
	_ = write.Close()
	var buf [32]byte
	n, err := read.Read(buf[:])
	must(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(buf[:n])))
	must(t, err)
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	waitGone(t, pid)
}
