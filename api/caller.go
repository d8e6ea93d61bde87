package api

import (
	"context"
	"strings"
)

// Caller is who makes a request, as the node has proved it (N28). It is in the context of every request.
// Without one nobody is known, and nothing is kept from him: a node whose configuration has no `rights`.
type Caller struct {
	// Name is as the history shows it, but for where he asked: "user:bob" (a user of the machine, who came over
	// its socket), "alice" (an operator's certificate), "ann@ward" (a person of the node's staff). Empty: nobody knows.
	Name   string
	Proved Proof
	// Person is the name in the node's staff; empty: the caller is no person of it.
	Person string
	// As is the person for whom an operator acts, by his own word; empty: for nobody but himself. The history has both.
	As string
	// Enrol is what would make the caller a person of the staff, for who is none; empty: nobody knows.
	Enrol string
	// Rights are nil where the configuration grants none: then whoever may ask may do all.
	Rights *Rights
}

// Proof is how a node knows who asks; the words are API.
type Proof string

const (
	ProvedNot         Proof = ""            // it does not
	ProvedSocket      Proof = "socket"      // the kernel says who has opened the connection
	ProvedWorkSocket  Proof = "work-socket" // the same, of the socket of the staff: who comes over it is no operator by that
	ProvedCertificate Proof = "certificate" // a certificate of an authority that the node believes
)

// AsHeader is the header of a request in which an operator says for which person he acts.
const AsHeader = "Fmqm-As"

// LocalPerson stands before the name of a person of a node's staff where names of operators are kept
// and sent with the name of the node: Operator gives it.
const LocalPerson = "person:"

// Operator is the name under which the node that was asked sends his words to other nodes, as ValidOperator
// has names; empty: nobody knows.
func (c Caller) Operator() string {
	if c.Person != "" && strings.HasPrefix(c.Name, c.Person+"@") {
		return LocalPerson + c.Person
	}
	return c.Name
}

type callerKey struct{}

// WithCaller notes in the context of a request who makes it. A name that cannot be one is noted as nobody's.
func WithCaller(ctx context.Context, c Caller) context.Context {
	if !ValidOperator(c.Operator()) {
		c.Name, c.Person = "", ""
	}
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerOf says who makes a request.
func CallerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

// WithOperator notes in the context of a request who asks, and nothing of what he may.
func WithOperator(ctx context.Context, name string) context.Context {
	return WithCaller(ctx, Caller{Name: name})
}

// OperatorOf says who asks, as ValidOperator has names; empty: nobody knows.
func OperatorOf(ctx context.Context) string { return CallerOf(ctx).Operator() }
