package rabbittest

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

const (
	evalLimit = 2 * time.Minute
	evalTries = 30 // to connect
	evalPause = 100 * time.Millisecond
)

// Eval evaluates an Erlang expression (without the final dot) within the broker and
// gives its value as text: a binary as it is, everything else as Erlang writes it.
func (b *Broker) Eval(expression string) (string, error) {
	b.mu.Lock()
	b.evals++
	file := b.path("eval", strconv.Itoa(b.evals))
	b.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), evalLimit)
	defer cancel()
	out, err := b.call(ctx, file, expression)
	// A node that is busy turns away who connects; nothing was evaluated then.
	for try := 1; try < evalTries && strings.Contains(string(out), "failed to connect to node"); try++ {
		select {
		case <-ctx.Done():
		case <-time.After(evalPause):
		}
		out, err = b.call(ctx, file, expression)
	}
	if err != nil || strings.TrimSpace(string(out)) != "{ok, ok}" {
		return "", fmt.Errorf("evaluate %s within RabbitMQ: %w: %s", expression, failure(err), out)
	}
	value, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("evaluate %s within RabbitMQ: %w", expression, err)
	}
	return string(value), os.Remove(file)
}

// call has the broker evaluate an expression, and write its value into a file, since
// what erl_call prints is cut.
func (b *Broker) call(ctx context.Context, file, expression string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, b.tools.call, "-c", b.cookie, "-address", fmt.Sprintf("localhost:%d", b.ports.dist), "-e")
	cmd.Env, cmd.WaitDelay = b.env(), time.Minute
	cmd.Stdin = strings.NewReader(fmt.Sprintf(
		"file:write_file(%q, case begin %s end of R__ when is_binary(R__) -> R__; R__ -> io_lib:format(\"~0tp\", [R__]) end).\n",
		file, strings.ReplaceAll(expression, "\n", " ")))
	return cmd.CombinedOutput()
}

func failure(err error) error {
	if err == nil {
		return fmt.Errorf("it failed")
	}
	return err
}

// do evaluates what is to give ok.
func (b *Broker) do(format string, args ...any) error {
	expression := fmt.Sprintf(format, args...)
	value, err := b.Eval(expression)
	if err == nil && value != "ok" {
		return fmt.Errorf("evaluate %s within RabbitMQ: it gave %s", expression, value)
	}
	return err
}

// bin is a text as an Erlang binary.
func bin(s string) string {
	var out strings.Builder
	out.WriteString("<<")
	for i, c := range []byte(s) {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString(strconv.Itoa(int(c)))
	}
	out.WriteString(">>")
	return out.String()
}

func resource(vhost, queue string) string {
	return fmt.Sprintf("rabbit_misc:r(%s, queue, %s)", bin(vhost), bin(queue))
}

const by = "<<\"test\">>"

// remember does what is done again after a Wipe.
func (b *Broker) remember(format string, args ...any) error {
	expression := fmt.Sprintf(format, args...)
	b.mu.Lock()
	b.setup = append(b.setup, expression)
	b.mu.Unlock()
	return b.do("%s", expression)
}

// replay makes users and virtual hosts that are not there.
func (b *Broker) replay() error {
	b.mu.Lock()
	setup := strings.Join(b.setup, ", ")
	b.mu.Unlock()
	if setup == "" {
		return nil
	}
	return b.do("%s", setup)
}

// AddVHost makes a virtual host in which User may do everything.
func (b *Broker) AddVHost(name string) error {
	return b.remember("case rabbit_vhost:exists(%[1]s) of true -> ok; false -> ok = rabbit_vhost:add(%[1]s, %[2]s) end, "+
		"rabbit_auth_backend_internal:set_permissions(%[3]s, %[1]s, %[4]s, %[4]s, %[4]s, %[2]s)", bin(name), by, bin(User), bin(".*"))
}

// DeleteVHost removes a virtual host with its queues; its connections are closed.
func (b *Broker) DeleteVHost(name string) error {
	b.mu.Lock()
	kept := b.setup[:0]
	for _, s := range b.setup {
		if !strings.Contains(s, bin(name)) {
			kept = append(kept, s)
		}
	}
	b.setup = kept
	b.mu.Unlock()
	return b.do("_ = rabbit_vhost:delete(%s, %s), ok", bin(name), by)
}

// AddUser makes a user without permissions, or changes his password.
func (b *Broker) AddUser(name, password string) error {
	return b.remember("case rabbit_auth_backend_internal:exists(%[1]s) of "+
		"true -> rabbit_auth_backend_internal:change_password(%[1]s, %[2]s, %[3]s); "+
		"false -> rabbit_auth_backend_internal:add_user(%[1]s, %[2]s, %[3]s) end", bin(name), bin(password), by)
}

// Permit sets what a user may do in a virtual host: regular expressions for the names
// that he may configure, write and read.
func (b *Broker) Permit(user, vhost, configure, write, read string) error {
	return b.remember("rabbit_auth_backend_internal:set_permissions(%s, %s, %s, %s, %s, %s)",
		bin(user), bin(vhost), bin(configure), bin(write), bin(read), by)
}

// Queue is a queue as the broker sees it.
type Queue struct {
	Name      string `json:"name"`
	Type      string `json:"type"`      // rabbit_quorum_queue or rabbit_classic_queue
	Ready     int    `json:"ready"`     // messages to be delivered
	Unacked   int    `json:"unacked"`   // messages delivered and not acknowledged
	Consumers int    `json:"consumers"` //
}

// Queues lists the queues of a virtual host. The figures of quorum queues lag by some
// seconds.
func (b *Broker) Queues(vhost string) ([]Queue, error) {
	text, err := b.Eval(fmt.Sprintf("iolist_to_binary([\"[\", lists:join(\",\", "+
		"[T || {ok, T} <- %s]), \"]\"])", each(vhost, "begin I = rabbit_amqqueue:info(Q, [messages_ready, messages_unacknowledged, consumers]), {resource, _, queue, N} = amqqueue:get_name(Q), "+
		"{ok, io_lib:format(\"{\\\"name\\\":\\\"~ts\\\",\\\"type\\\":\\\"~s\\\",\\\"ready\\\":~b,\\\"unacked\\\":~b,\\\"consumers\\\":~b}\", "+
		"[N, amqqueue:get_type(Q) | [V || {_, V} <- I]])} end")))
	if err != nil {
		return nil, err
	}
	var queues []Queue
	if err := json.Unmarshal([]byte(text), &queues); err != nil {
		return nil, fmt.Errorf("list the queues of RabbitMQ: %w: %s", err, text)
	}
	return queues, nil
}

// Purge throws away what waits in a queue.
func (b *Broker) Purge(vhost, queue string) error {
	return b.do("{ok, _} = rabbit_amqqueue:with(%s, fun(Q) -> rabbit_amqqueue:purge(Q) end), ok", resource(vhost, queue))
}

// PurgeAll throws away what waits in all queues of a virtual host.
func (b *Broker) PurgeAll(vhost string) error {
	return b.do("%s, ok", each(vhost, "rabbit_amqqueue:purge(Q)"))
}

// DeleteQueue deletes a queue with what is in it; its consumers are cancelled.
func (b *Broker) DeleteQueue(vhost, queue string) error {
	return b.do("{ok, _} = rabbit_amqqueue:with(%s, fun(Q) -> rabbit_amqqueue:delete(Q, false, false, %s) end), ok", resource(vhost, queue), by)
}

// DeleteQueues deletes all queues of a virtual host.
func (b *Broker) DeleteQueues(vhost string) error {
	return b.do("%s, ok", each(vhost, "rabbit_amqqueue:delete(Q, false, false, "+by+")"))
}

// each does something to each queue Q of a virtual host. Queues come and go meanwhile:
// those of a client end with its connection.
func each(vhost, expression string) string {
	return fmt.Sprintf("[rabbit_misc:with_exit_handler(fun() -> gone end, fun() -> %s end) || Q <- rabbit_amqqueue:list(%s)]", expression, bin(vhost))
}

// Deafen empties a quorum queue and has it answer nobody any more, until it is deleted:
// its only server waits for a leader. So a broker of one node comes back that was killed
// right after it had declared the queue.
func (b *Broker) Deafen(vhost, queue string) error {
	return b.do("{ok, Q} = rabbit_amqqueue:lookup(%[1]s), {Name, _} = Server = amqqueue:get_pid(Q), Log = ra:new_uid(<<\"deaf\">>), "+
		"ok = ra:force_delete_server(quorum_queues, Server), "+
		"ra:start_server(quorum_queues, #{cluster_name => Name, id => Server, uid => Log, initial_members => [Server], log_init_args => #{uid => Log}, "+
		"machine => {module, rabbit_fifo, #{name => Name, queue_resource => %[1]s}}})", resource(vhost, queue))
}

// Alarm is a resource alarm: publishers are blocked while it is raised.
type Alarm string

// The alarms.
const (
	Memory Alarm = "memory"
	Disk   Alarm = "disk"
)

// Raise raises an alarm, at once and until Clear.
func (b *Broker) Raise(a Alarm) error {
	return b.do("rabbit_alarm:set_alarm({{resource_limit, %s, node()}, []})", a)
}

// Clear clears an alarm.
func (b *Broker) Clear(a Alarm) error {
	return b.do("rabbit_alarm:clear_alarm({resource_limit, %s, node()})", a)
}

// SetPolicy sets a policy for the queues whose names match pattern; definition is
// JSON, such as {"max-length": 10, "overflow": "reject-publish"}.
func (b *Broker) SetPolicy(vhost, name, pattern, definition string) error {
	return b.do("rabbit_policy:parse_set(%s, %s, %s, %s, 0, %s, %s)", bin(vhost), bin(name), bin(pattern), bin(definition), bin("queues"), by)
}

// ClearPolicy removes a policy.
func (b *Broker) ClearPolicy(vhost, name string) error {
	return b.do("rabbit_policy:delete(%s, %s, %s)", bin(vhost), bin(name), by)
}

// CloseConnections closes all client connections, saying why.
func (b *Broker) CloseConnections(reason string) error {
	return b.do("[rabbit_networking:close_connection(P, %q) || P <- rabbit_networking:connections()], ok", reason)
}

// Connections counts the client connections.
func (b *Broker) Connections() (int, error) {
	text, err := b.Eval("length(rabbit_networking:connections())")
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(text)
}

// Ctl runs rabbitmqctl, which takes one or two seconds.
func (b *Broker) Ctl(args ...string) (string, error) { return b.CtlInput("", args...) }

// CtlInput is Ctl for commands that ask for something, such as a password.
func (b *Broker) CtlInput(input string, args ...string) (string, error) {
	cmd := b.command(b.tools.ctl, args...)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("rabbitmqctl %s: %w: %s", strings.Join(args, " "), err, out)
	}
	return string(out), nil
}
