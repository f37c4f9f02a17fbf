// SPDX-License-Identifier: Apache-2.0

// render CHART NAME NAMESPACE <values.yaml: the objects of the chart as a list in JSON, for tests in another language.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	chart "cloche/tests/cluster/chart"
	"sigs.k8s.io/yaml"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "render:", err)
		os.Exit(1)
	}
}

func run() error {
	if len(os.Args) != 4 {
		return fmt.Errorf("say CHART NAME NAMESPACE")
	}
	values, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	documents, err := chart.Documents(os.Args[1], string(values), chart.Release{Name: os.Args[2], Namespace: os.Args[3]})
	if err != nil {
		return err
	}
	objects := []interface{}{}
	for _, document := range documents {
		var object map[string]interface{}
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			return err
		}
		if object != nil { // a document of comments alone
			objects = append(objects, object)
		}
	}
	return json.NewEncoder(os.Stdout).Encode(objects)
}
