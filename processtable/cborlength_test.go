package processtable

import (
	"strings"
	"testing"
)

// Maps of up to 24 fields, and texts, bytes and lists of every length at which a head changes,
// come back as they were written.
func TestLengthsOfCBOR(t *testing.T) {
	for _, n := range []int{1, 22, 23, 24, 25, 255, 256, 65535, 65536} {
		text := strings.Repeat("a", n)
		w := &writer{}
		o := w.object()
		o.text(0, text)
		o.list(1, n, func(i int) { w.int(int64(i)) })
		o.key(2).bytes([]byte(text))
		for k := byte(3); k < 24; k++ {
			o.int(k, int64(n))
		}
		r, fields := &reader{data: w.b}, 0
		err := r.object(func(key int) error {
			fields++
			switch key {
			case 0:
				s, err := r.text(n)
				if s != text {
					t.Errorf("a text of %d bytes comes back with %d", n, len(s))
				}
				return err
			case 1:
				items := 0
				err := r.array(n, func(i int) error {
					items++
					v, err := r.int()
					if v != int64(i) {
						t.Errorf("item %d of %d comes back as %d", i, n, v)
					}
					return err
				})
				if items != n {
					t.Errorf("a list of %d comes back with %d", n, items)
				}
				return err
			case 2:
				b, err := r.bytes(n)
				if string(b) != text {
					t.Errorf("%d bytes come back as %d", n, len(b))
				}
				return err
			}
			v, err := r.int()
			if v != int64(n) {
				t.Errorf("field %d comes back as %d", key, v)
			}
			return err
		})
		if err != nil || fields != 24 || r.left() != 0 {
			t.Errorf("length %d: %d fields, %d bytes are left, %v", n, fields, r.left(), err)
		}
	}
}
