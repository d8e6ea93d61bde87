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
	program bool   // of this node, one that is kept from the daemon's things; or it may be one
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
				l = local{userName(peer.Uid), operatorName(peer.Uid), mayBeProgram(d.groups, int(fd), int(peer.Pid))}
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
// operator by his certificate, or an address alone.
func (d *Daemon) caller(r *http.Request) (who, from string) {
	if l, ok := r.Context().Value(callerKey{}).(local); ok {
		return l.who, "the socket"
	}
	who = "nobody known"
	if d.identity != nil {
		if name, err := d.identity.Caller(r.TLS, identity.RoleOperator); err == nil {
			who = name.String()
		}
	}
	return who, host(r.RemoteAddr)
}

// known lets the node know who asks, as far as it is proved: the history names him, and other
// sites are told.
func (d *Daemon) known(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(api.WithOperator(r.Context(), d.operatorOf(r))))
	})
}

// operatorOf is who asks, as api.ValidOperator has names; empty: nobody knows.
func (d *Daemon) operatorOf(r *http.Request) string {
	if l, ok := r.Context().Value(callerKey{}).(local); ok {
		return l.name
	}
	if d.identity == nil {
		return ""
	}
	name, err := d.identity.Caller(r.TLS, identity.RoleOperator)
	if err != nil {
		return ""
	}
	return name.Name
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
