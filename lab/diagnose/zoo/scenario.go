package zoo

import (
	"fmt"

	"go.yaml.in/yaml/v3"
)

// Scenario is the load of the species as a file for `redline load --targets`, against a server at
// addr (HOST:PORT). The number of connections and the rate are flags there.
func (s Species) Scenario(addr string) ([]byte, error) {
	type target struct {
		Name    string            `yaml:"name"`
		Method  string            `yaml:"method"`
		URL     string            `yaml:"url"`
		Headers map[string]string `yaml:"headers,omitempty"`
		Body    string            `yaml:"body,omitempty"`
		Weight  int               `yaml:"weight"`
		Checks  []map[string]int  `yaml:"checks"`
	}
	file := struct {
		Base    string   `yaml:"base"`
		Targets []target `yaml:"targets"`
	}{Base: s.Base(addr)}
	for i, r := range s.Requests {
		file.Targets = append(file.Targets, target{
			fmt.Sprintf("request-%d", i+1), r.Method, r.Path, r.Headers, r.Body, r.Weight, []map[string]int{{"status": r.Status}},
		})
	}
	text, err := yaml.Marshal(file)
	if err != nil {
		return nil, fmt.Errorf("write the scenario of %s: %w", s.Name, err)
	}
	return text, nil
}

// Base is the URL of a server of the species at addr (HOST:PORT), without a path.
func (s Species) Base(addr string) string {
	if s.TLS {
		return "https://" + addr
	}
	return "http://" + addr
}
