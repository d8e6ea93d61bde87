package processtable

import "fmqm/internal/cbor"

// CBOR major types and the simple values in use (RFC 8949 §3).
const (
	majorUint   = 0
	majorNeg    = 1
	majorBytes  = 2
	majorText   = 3
	majorArray  = 4
	majorMap    = 5
	majorSimple = 7

	simpleFalse = 20
	simpleTrue  = 21
)

// writer appends CBOR in its deterministic form (RFC 8949 §4.2.1): definite lengths,
// shortest heads, map keys ascending.
type writer struct{ b []byte }

func (w *writer) int(n int64)    { w.b = cbor.AppendInt(w.b, n) }
func (w *writer) text(s string)  { w.b = cbor.AppendText(w.b, s) }
func (w *writer) bytes(p []byte) { w.b = cbor.AppendBytes(w.b, p) }
func (w *writer) array(n int)    { w.b = cbor.AppendArray(w.b, n) }

// object is a map under construction. Its head is counted up as keys come; each is below
// 24, so that it takes one byte.
type object struct {
	w    *writer
	head int
}

func (w *writer) object() object {
	w.b = append(w.b, majorMap<<5)
	return object{w: w, head: len(w.b) - 1}
}

// key begins the next field. Keys must come in ascending order.
func (o object) key(k byte) *writer {
	o.w.b = cbor.AppendKey(o.w.b, o.head, k)
	return o.w
}

// The following leave out a field that has its zero value.

func (o object) text(k byte, s string) {
	if s != "" {
		o.key(k).text(s)
	}
}

func (o object) int(k byte, n int64) {
	if n != 0 {
		o.key(k).int(n)
	}
}

func (o object) bool(k byte, v bool) {
	if v {
		w := o.key(k)
		w.b = append(w.b, majorSimple<<5|simpleTrue)
	}
}

// list writes n elements under a key, nothing if there are none.
func (o object) list(k byte, n int, each func(i int)) {
	if n == 0 {
		return
	}
	o.key(k).array(n)
	for i := range n {
		each(i)
	}
}
