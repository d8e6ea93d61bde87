package processtable

import (
	"strings"
	"testing"
)

func TestNames(t *testing.T) {
	long := strings.Repeat("x", MaxName)
	for _, tc := range []struct {
		name             string
		hyphen, activity bool
	}{
		{"a", true, true},
		{"_", true, true},
		{"A9_z", true, true},
		{long, true, true},
		{"purchase-order", true, false},
		{"", false, false},
		{long + "x", false, false},
		{"9a", false, false},
		{"-a", false, false},
		{"a b", false, false},
		{"a.b", false, false},
		{"a@b", false, false},
		{"naïve", false, false},
		{"a\n", false, false},
	} {
		for what, valid := range map[string]func(string) bool{"process": ValidProcess, "node": ValidNode, "program": ValidProgram} {
			if got := valid(tc.name); got != tc.hyphen {
				t.Errorf("%s name %q: valid = %v, want %v", what, tc.name, got, tc.hyphen)
			}
		}
		if got := ValidActivity(tc.name); got != tc.activity {
			t.Errorf("activity name %q: valid = %v, want %v", tc.name, got, tc.activity)
		}
	}
}

func TestProcessID(t *testing.T) {
	for _, tc := range []struct {
		text string
		want ProcessID
	}{
		{"purchase-order@1", ProcessID{"purchase-order", 1}},
		{"p@2147483647", ProcessID{"p", MaxVersion}},
		{"p", ProcessID{"p", 0}},
	} {
		got, err := ParseProcessID(tc.text)
		if err != nil || got != tc.want {
			t.Errorf("ParseProcessID(%q) = %v, %v; want %v", tc.text, got, err, tc.want)
		}
		if got.String() != tc.text {
			t.Errorf("%v is written %q, want %q", got, got.String(), tc.text)
		}
	}
}

func TestBadProcessID(t *testing.T) {
	for text, want := range map[string]string{
		"":                       `process "": this is not a name: write NAME or NAME@VERSION`,
		"@1":                     `process "@1": this is not a name`,
		"a b@1":                  `process "a b@1": this is not a name`,
		"p@":                     `process "p@": "" is not a version: write a whole number from 1 after the @`,
		"p@0":                    `"0" is not a version`,
		"p@-1":                   `"-1" is not a version`,
		"p@01":                   `"01" is not a version`,
		"p@+1":                   `"+1" is not a version`,
		"p@1@2":                  `"1@2" is not a version`,
		"p@2147483648":           `"2147483648" is not a version`,
		"p@99999999999999999999": `"99999999999999999999" is not a version`,
	} {
		if _, err := ParseProcessID(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseProcessID(%q): %v, want %s", text, err, want)
		}
	}
}

func TestQueueName(t *testing.T) {
	if got := QueueName(ProcessID{"purchase-order", 1}, "A"); got != "purchase-order@1.A" {
		t.Errorf("QueueName = %s", got)
	}
}

func TestDefinitionHash(t *testing.T) {
	h := DefinitionHash{0xab, 31: 0x01}
	text := h.String()
	if len(text) != 64 || !strings.HasPrefix(text, "ab00") || !strings.HasSuffix(text, "01") {
		t.Errorf("hash is written %s", text)
	}
	if got, err := ParseDefinitionHash(text); err != nil || got != h {
		t.Errorf("ParseDefinitionHash(%s) = %v, %v", text, got, err)
	}
	if got := h.Short().String(); got != "ab00000000000000" {
		t.Errorf("short hash is written %s", got)
	}
	for _, bad := range []string{"", "ab", text[1:], text + "00", "g" + text[1:]} {
		if _, err := ParseDefinitionHash(bad); err == nil || !strings.Contains(err.Error(), "want 64 hexadecimal digits") {
			t.Errorf("ParseDefinitionHash(%q): %v", bad, err)
		}
	}
}
