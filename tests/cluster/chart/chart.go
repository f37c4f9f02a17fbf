// SPDX-License-Identifier: Apache-2.0

// Package chart renders deploy/helm/cloche as Helm does.
package chart

import (
	"sort"
	"strings"

	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"sigs.k8s.io/yaml"
)

// Release is what a rendering knows besides its values.
type Release struct{ Name, Namespace string }

// Documents of the chart in `folder`, in the order of their files; values are YAML. Their numbers are
// read as releases of Helm do that keep none as it was written.
func Documents(folder, values string, release Release) ([]string, error) {
	chart, err := loader.Load(folder)
	if err != nil {
		return nil, err
	}
	given := map[string]interface{}{}
	if err := yaml.Unmarshal([]byte(values), &given); err != nil {
		return nil, err
	}
	options := chartutil.ReleaseOptions{Name: release.Name, Namespace: release.Namespace, IsInstall: true}
	all, err := chartutil.ToRenderValues(chart, given, options, nil)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(chart, all)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for name := range files {
		if !strings.HasSuffix(name, ".tpl") && !strings.HasSuffix(name, "NOTES.txt") {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	documents := []string{}
	for _, name := range names {
		for _, document := range strings.Split(files[name], "\n---\n") {
			documents = append(documents, document+"\n") // as Helm puts them together
		}
	}
	return documents, nil
}
