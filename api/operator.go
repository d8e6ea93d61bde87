package api

import (
	"context"
	"regexp"
)

// MaxOperator is how long the name of who commands may be, in bytes.
const MaxOperator = 64 + len(LocalUser)

// LocalUser stands before the name of a user of the machine, who has asked over the local
// socket: that is another one than the operator of the same name, who has a certificate.
const LocalUser = "user:"

var operatorName = regexp.MustCompile(`^(` + LocalUser + `)?[A-Za-z0-9._@$+-]{1,64}$`)

// ValidOperator says whether name can be that of who commands: a name as certificates of
// operators have them, or LocalUser and that of a user of the machine.
func ValidOperator(name string) bool { return operatorName.MatchString(name) }

type operatorKey struct{}

// WithOperator notes in the context of a request who asks, as the node's API has proved it.
// A name that cannot be one is noted as nobody's.
func WithOperator(ctx context.Context, name string) context.Context {
	if !ValidOperator(name) {
		name = ""
	}
	return context.WithValue(ctx, operatorKey{}, name)
}

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

// OperatorOf says who asks; empty: nobody knows.
func OperatorOf(ctx context.Context) string {
	name, _ := ctx.Value(operatorKey{}).(string)
	return name
}
