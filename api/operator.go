package api

import (
	"context"
	"regexp"
)

// MaxOperator is how long the name of who commands may be, in bytes.
const MaxOperator = 64 + len(LocalPerson)

// LocalUser stands before the name of a user of the machine, who has asked over the local
// socket: that is another one than the operator of the same name, who has a certificate.
const LocalUser = "user:"

var operatorName = regexp.MustCompile(`^(` + LocalUser + `|` + LocalPerson + `)?[A-Za-z0-9._@$+-]{1,64}$`)

// ValidOperator says whether name can be that of who commands: a name as certificates of
// operators have them; or LocalUser and that of a user of the machine; or LocalPerson and that of a person.
func ValidOperator(name string) bool { return operatorName.MatchString(name) }

type planKey struct{}

// WithPlanned lets the server note in planned that a request only asks for a plan, although
// it is sent as a command: an upload is planned first.
func WithPlanned(ctx context.Context, planned *bool) context.Context {
	return context.WithValue(ctx, planKey{}, planned)
}

// notePlanned is called before the request is answered, by the goroutine that serves it.
func notePlanned(ctx context.Context) {
	if planned, ok := ctx.Value(planKey{}).(*bool); ok {
		*planned = true
	}
}
