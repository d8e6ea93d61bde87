package interpret

import (
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

// toJSON writes a YAML value as JSON, so that containers have one reader. Plain
// scalars keep their text: an int beyond 2^53 its digits, a timestamp its form.
func toJSON(n *yaml.Node) ([]byte, error) {
	switch n.Kind {
	case yaml.ScalarNode:
		return scalarJSON(n)
	case yaml.SequenceNode:
		parts := make([]string, len(n.Content))
		for i, c := range n.Content {
			b, err := toJSON(c)
			if err != nil {
				return nil, err
			}
			parts[i] = string(b)
		}
		return []byte("[" + strings.Join(parts, ",") + "]"), nil
	case yaml.MappingNode:
		parts := make([]string, 0, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			key, err := json.Marshal(n.Content[i].Value)
			if err != nil {
				return nil, err
			}
			value, err := toJSON(n.Content[i+1])
			if err != nil {
				return nil, err
			}
			parts = append(parts, string(key)+":"+string(value))
		}
		return []byte("{" + strings.Join(parts, ",") + "}"), nil
	default:
		return nil, fmt.Errorf("%d:%d: expected a plain value: write it out, without anchors and aliases", n.Line, n.Column)
	}
}

func scalarJSON(n *yaml.Node) ([]byte, error) {
	switch n.Tag {
	case "!!null":
		return []byte("null"), nil
	case "!!bool":
		return []byte(strings.ToLower(n.Value)), nil
	case "!!int", "!!float":
		var number any
		if json.Unmarshal([]byte(n.Value), &number) == nil {
			return []byte(n.Value), nil
		}
		if err := n.Decode(&number); err != nil {
			return nil, fmt.Errorf("%d:%d: %w", n.Line, n.Column, err)
		}
		b, err := json.Marshal(number)
		if err != nil {
			return nil, fmt.Errorf("%d:%d: %s is not a value of a double", n.Line, n.Column, n.Value)
		}
		return b, nil
	}
	return json.Marshal(n.Value)
}
