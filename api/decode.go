package api

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"
	"time"
	"unicode/utf8"

	"fmqm/container"
)

// readBody reads a request's body of at most limit bytes, all of it one JSON object,
// into a struct.
func readBody(w http.ResponseWriter, r *http.Request, limit int64, into any) error {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || media != "application/json" {
		return Errorf(CodeUsage, "send application/json", "the request's Content-Type is %q", r.Header.Get("Content-Type"))
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTimeout)) // a test's recorder has none
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if err == nil { // what is done may take longer; what does not come is not waited for again
		_ = control.SetReadDeadline(time.Time{})
	}
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return Errorf(CodeUsage, "send less at once", "the request is over %d bytes", limit)
	case err != nil:
		return Errorf(CodeUsage, "send it again", "the request broke off: %v", err)
	}
	return decodeStrict(body, into)
}

// decodeStrict is json.Unmarshal that accepts only what the type says: each member once,
// by its exact name, and nothing after the object.
func decodeStrict(body []byte, into any) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return Errorf(CodeUsage, "send one JSON object", "the request is empty")
	}
	if !utf8.Valid(body) {
		return Errorf(CodeUsage, "send UTF-8", "the request is not valid UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(body))
	if err := checkMembers(d, reflect.TypeOf(into).Elem(), ""); err != nil {
		return malformed(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Errorf(CodeUsage, "send one JSON object and nothing else", "the request has something after byte %d, where its object ends", d.InputOffset())
	}
	if err := json.Unmarshal(body, into); err != nil {
		return malformed(err)
	}
	return nil
}

// malformed makes an Error of what encoding/json and checkMembers say.
func malformed(err error) error {
	var own *Error
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &own):
		return own
	case errors.As(err, &syntax):
		return Errorf(CodeUsage, "send one JSON object", "the request is not JSON at byte %d: %v", syntax.Offset, err)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return Errorf(CodeUsage, "send one whole JSON object", "the request ends in the middle of its JSON")
	}
	return Errorf(CodeUsage, "see the documentation of the API", "the request is malformed: %v", err)
}

// jsonKind says how JSON writes a Go type of a request.
func jsonKind(t reflect.Type) string {
	if t == reflect.TypeFor[InstanceID]() {
		return "a UUID in a string, such as " + exampleInstance
	}
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.String:
		return "a string"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "base64 in a string"
		}
		return "a list"
	default:
		return "a value of type " + t.String()
	}
}

var (
	rawType  = reflect.TypeFor[json.RawMessage]()
	textType = reflect.TypeFor[encoding.TextUnmarshaler]()
)

// checkMembers walks over the next value: objects that t says are structures may have
// its members only, each once, with values of their types.
func checkMembers(d *json.Decoder, t reflect.Type, path string) error {
	text := reflect.PointerTo(t).Implements(textType)
	switch {
	case t.Kind() == reflect.Struct && !text:
		return checkObject(d, t, path)
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		return checkList(d, t.Elem(), path)
	}
	return checkLeaf(d, t, strings.TrimSuffix(path, "."))
}

func checkLeaf(d *json.Decoder, t reflect.Type, path string) error {
	err := d.Decode(reflect.New(t).Interface())
	var typ *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case err == nil, t == rawType, errors.As(err, &syntax), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return err
	case errors.As(err, &typ):
		return Errorf(CodeUsage, "send "+jsonKind(t), "%s is a JSON %s", path, typ.Value)
	}
	return Errorf(CodeUsage, "send "+jsonKind(t), "%s: %v", path, err)
}

func checkObject(d *json.Decoder, t reflect.Type, path string) error {
	if err := opening(d, '{', path, "an object"); err != nil {
		return err
	}
	known, names := map[string]reflect.Type{}, []string{}
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		known[name] = t.Field(i).Type
		names = append(names, name)
	}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return err
		}
		name, _ := token.(string)
		member, ok := known[name]
		switch {
		case !ok:
			return unknownMember(path+name, name, names)
		case seen[name]:
			return Errorf(CodeUsage, "send it once", "%s is there twice", path+name)
		}
		seen[name] = true
		if err := checkMembers(d, member, path+name+"."); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

func checkList(d *json.Decoder, elem reflect.Type, path string) error {
	path = strings.TrimSuffix(path, ".")
	if err := opening(d, '[', path, "a list"); err != nil {
		return err
	}
	for i := 0; d.More(); i++ {
		if err := checkMembers(d, elem, fmt.Sprintf("%s[%d].", path, i)); err != nil {
			return err
		}
	}
	_, err := d.Token()
	return err
}

// opening takes the bracket that begins an object or a list.
func opening(d *json.Decoder, want json.Delim, path, what string) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	if token == want {
		return nil
	}
	name := strings.TrimSuffix(path, ".")
	if name == "" {
		name = "the request"
	}
	return Errorf(CodeUsage, "send "+what, "%s is not %s", name, what)
}

func unknownMember(path, name string, names []string) error {
	remedy := "remove it; there are " + strings.Join(names, ", ")
	if near, ok := container.Nearest(name, names); ok {
		remedy = "did you mean " + near + "?"
	}
	return Errorf(CodeUsage, remedy, "unknown member %s", path)
}
