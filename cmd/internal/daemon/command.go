package daemon

import (
	"context"
	"net"
	"net/http"
	"os/user"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"fmqm/api"
	"fmqm/identity"
)

// callerKey is the key of a connection's caller in the context of its requests.
type callerKey struct{}

// local is who has opened a connection of the local socket, as the kernel knows it.
type local struct {
	who     string
	name    string // the same as a name of an operator; empty: nobody knows
	login   string // the user's; empty: he has none here
	program bool   // of this node, one that is kept from the daemon's things; or it may be one
	work    bool   // it is the staff's socket
}

// ofWork is byCaller of the staff's socket.
func (d *Daemon) ofWork(ctx context.Context, c net.Conn) context.Context {
	ctx = d.byCaller(ctx, c)
	if l, ok := ctx.Value(callerKey{}).(local); ok {
		l.work = true
		ctx = context.WithValue(ctx, callerKey{}, l)
	}
	return ctx
}

// byCaller notes who has opened a connection of the local socket.
func (d *Daemon) byCaller(ctx context.Context, c net.Conn) context.Context {
	if counted, ok := c.(*counted); ok {
		c = counted.Conn
	}
	socket, ok := c.(*net.UnixConn)
	if !ok {
		return ctx
	}
	l := local{who: "nobody known", program: true}
	if raw, err := socket.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) {
			if peer, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
				l = local{who: userName(peer.Uid), name: operatorName(peer.Uid), program: mayBeProgram(d.groups, int(fd), int(peer.Pid))}
				if u, err := user.LookupId(strconv.FormatUint(uint64(peer.Uid), 10)); err == nil {
					l.login = u.Username
				}
			}
		})
	}
	return context.WithValue(ctx, callerKey{}, l)
}

func userName(uid uint32) string {
	number := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(number); err == nil {
		return "user " + u.Username
	}
	return "uid " + number
}

// operatorName names a user of this machine as one who commands; by his number where his name
// has characters that such a name has not.
func operatorName(uid uint32) string {
	number := strconv.FormatUint(uint64(uid), 10)
	if u, err := user.LookupId(number); err == nil && api.ValidOperator(api.LocalUser+u.Username) {
		return api.LocalUser + u.Username
	}
	return api.LocalUser + number
}

// caller says who asks and from where, as far as it is proved: a user of this machine, an
// operator or a person by the certificate, or an address alone.
func (d *Daemon) caller(r *http.Request) (who, from string) {
	if l, ok := r.Context().Value(callerKey{}).(local); ok {
		return l.who, map[bool]string{false: "the socket", true: "the socket of the staff"}[l.work]
	}
	who = "nobody known"
	if d.identity != nil {
		for _, role := range []identity.Role{identity.RoleOperator, identity.RolePerson} {
			if name, err := d.identity.Caller(r.TLS, role); err == nil {
				who = name.String()
			}
		}
	}
	return who, host(r.RemoteAddr)
}

// known lets the node know who asks, as far as it is proved, and what he may: the history names him, and other
// sites are told. Who is refused for want of a right stands in the log.
func (d *Daemon) known(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		caller, refusal := d.callerOf(r)
		if refusal != nil {
			api.Refuse(w, refusal)
			return
		}
		answer := &answered{ResponseWriter: w, status: http.StatusOK}
		next.ServeHTTP(answer, r.WithContext(api.WithCaller(r.Context(), caller)))
		if who, from := d.caller(r); answer.status == http.StatusForbidden && d.told.news("right "+who+from+r.Pattern, r.Method) {
			d.log.Warn().Str("by", who).Str("from", from).Str("command", r.Method+" "+strings.TrimPrefix(r.URL.Path, "/v1/")).Msg("request refused: its caller lacks the right")
		}
	})
}

// commanded says in the log what an operator has commanded: everything that is asked with
// POST but starts, which are work and no commands, and plans, which change nothing; and
// backups, which are all that the node knows, also one that was broken off.
func (d *Daemon) commanded(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if (r.Method != http.MethodPost || r.URL.Path == "/v1/instances") && r.URL.Path != api.BackupPath {
			next.ServeHTTP(w, r)
			return
		}
		answer := &answered{ResponseWriter: w, status: http.StatusOK}
		planned := false
		defer func() {
			if planned {
				return
			}
			who, from := d.caller(r)
			d.log.Info().Str("by", who).Str("from", from).Str("command", strings.TrimPrefix(r.URL.Path, "/v1/")).
				Int("status", answer.status).Msg("operator's command")
		}()
		next.ServeHTTP(answer, r.WithContext(api.WithPlanned(r.Context(), &planned)))
	})
}

// answered remembers the status of an answer.
type answered struct {
	http.ResponseWriter
	status int
}

func (a *answered) WriteHeader(status int) {
	a.status = status
	a.ResponseWriter.WriteHeader(status)
}

// Unwrap lets an [http.ResponseController] reach the connection.
func (a *answered) Unwrap() http.ResponseWriter { return a.ResponseWriter }
