// SPDX-License-Identifier: Apache-2.0

// What comes out of the chart is held against the Kubernetes API: each object is one that it knows, with
// no field that it does not, and they fit together.
package chart

import (
	"bytes"
	"os"
	"os/exec"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	autoscaling "k8s.io/api/autoscaling/v2"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	"sigs.k8s.io/yaml"
)

const folder = "../../../deploy/helm/cloche"

// objects of one rendering, by kind and name.
type objects map[string]interface{}

func render(values string) (objects, error) {
	documents, err := Documents(folder, values, Release{Name: "box", Namespace: "agents"})
	if err != nil {
		return nil, err
	}
	found := objects{}
	for _, document := range documents {
		if err := found.add(document); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func (found objects) add(document string) error {
	var head struct {
		Kind     string
		Metadata struct{ Name string }
	}
	if err := yaml.Unmarshal([]byte(document), &head); err != nil || head.Kind == "" {
		return err
	}
	kinds := map[string]func() interface{}{
		"ConfigMap":               func() interface{} { return &core.ConfigMap{} },
		"Deployment":              func() interface{} { return &apps.Deployment{} },
		"HorizontalPodAutoscaler": func() interface{} { return &autoscaling.HorizontalPodAutoscaler{} },
		"NetworkPolicy":           func() interface{} { return &networking.NetworkPolicy{} },
		"PodDisruptionBudget":     func() interface{} { return &policy.PodDisruptionBudget{} },
		"Service":                 func() interface{} { return &core.Service{} },
		"ServiceMonitor":          func() interface{} { return &map[string]interface{}{} }, // not of Kubernetes itself
		"StatefulSet":             func() interface{} { return &apps.StatefulSet{} },
	}
	object := kinds[head.Kind]()
	if err := yaml.UnmarshalStrict([]byte(document), object); err != nil {
		return err
	}
	found[head.Kind+"/"+head.Metadata.Name] = object
	return nil
}

const image = "image: {repository: example/cloche}\n"

func mustRender(t *testing.T, values string) objects {
	t.Helper()
	found, err := render(image + values)
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func cellOf(t *testing.T, found objects) (*apps.StatefulSet, core.Container) {
	t.Helper()
	set, ok := found["StatefulSet/box"].(*apps.StatefulSet)
	if !ok {
		t.Fatalf("no StatefulSet: %v", found)
	}
	return set, set.Spec.Template.Spec.Containers[0]
}

func TestAnImageMustBeNamed(t *testing.T) {
	if _, err := render(""); err == nil || !strings.Contains(err.Error(), "say image.repository") {
		t.Fatalf("rendered without an image: %v", err)
	}
}

func TestAllPartsAreThere(t *testing.T) {
	found := mustRender(t, "autoscaling: {enabled: true}\ndashboard: {enabled: true}\nserviceMonitor: {enabled: true, labels: {team: agents}}\nsshHostKeySecret: keys\n")
	for _, name := range []string{"StatefulSet/box", "Service/box", "Service/box-cells", "Service/box-cell-3", "Service/box-ssh", "Deployment/box-gateway",
		"ConfigMap/box-gateway", "PodDisruptionBudget/box", "PodDisruptionBudget/box-gateway", "NetworkPolicy/box-cells",
		"HorizontalPodAutoscaler/box", "ServiceMonitor/box", "ConfigMap/box-dashboard"} {
		if found[name] == nil {
			t.Errorf("no %s", name)
		}
	}
	set, _ := cellOf(t, found)
	if set.Spec.Replicas != nil {
		t.Error("the set says how many cells there are, and so does the autoscaler")
	}
}

func TestNumbersAreAsTheyAreWritten(t *testing.T) {
	found, err := render("image: {repository: example/cloche, tag: 20261128}\nmaxSessions: 2000000\nmaxTokenSessions: 1000000\nmemoryLimit: 12884901888\n" +
		"sessionMemory: 1073741824\nsessionFiles: 268435456\nsave: 2.5\ndrainSeconds: 3000000\ngateway: {maxConnections: 1000000}\n" +
		"extraArgs: [--max-connections, 4000000, --session-timeout=1000000]\n")
	if err != nil {
		t.Fatal(err)
	}
	set, cell := cellOf(t, found)
	if cell.Image != "example/cloche:20261128" {
		t.Errorf("the image is %s", cell.Image)
	}
	if wait := *set.Spec.Template.Spec.TerminationGracePeriodSeconds; wait != 3000030 {
		t.Errorf("a cell has %d s to end", wait)
	}
	all := strings.Join(cell.Args, " ") + " "
	for _, words := range []string{"--max-sessions=2000000 ", "--max-token-sessions=1000000 ", "--memory-limit=12884901888 ", "--session-memory=1073741824 ",
		"--session-files=268435456 ", "--save=2.5 ", "--drain=3000000 ", "--max-connections 4000000 ", "--session-timeout=1000000 "} {
		if !strings.Contains(all, words) {
			t.Errorf("no %s in %s", words, all)
		}
	}
	gateway, _ := found["ConfigMap/box-gateway"].(*core.ConfigMap)
	if gateway == nil || !strings.Contains(gateway.Data["haproxy.cfg"], "maxconn 1000000\n") {
		t.Errorf("the gateway has %v", gateway)
	}
}

func TestPartsCanBeLeftOut(t *testing.T) {
	found := mustRender(t, "gateway: {enabled: false}\nnetworkPolicy: {enabled: false}\nstorage: {enabled: false}\n")
	if len(found) != 4 {
		t.Errorf("more than the set, its two services and its budget: %v", found)
	}
	service := found["Service/box"].(*core.Service)
	set, _ := cellOf(t, found)
	for key, value := range service.Spec.Selector {
		if set.Spec.Template.Labels[key] != value {
			t.Errorf("the service does not lead to the cells: %v", service.Spec.Selector)
		}
	}
	if len(set.Spec.VolumeClaimTemplates) != 0 {
		t.Error("storage was not asked for")
	}
}

func TestACellHasNoRights(t *testing.T) {
	set, cell := cellOf(t, mustRender(t, ""))
	pod := set.Spec.Template.Spec
	if !*pod.SecurityContext.RunAsNonRoot || *pod.AutomountServiceAccountToken || *cell.SecurityContext.AllowPrivilegeEscalation ||
		!*cell.SecurityContext.ReadOnlyRootFilesystem || cell.SecurityContext.Capabilities.Drop[0] != "ALL" {
		t.Errorf("%+v %+v", pod.SecurityContext, cell.SecurityContext)
	}
}

// The drain, the notice before it and what is saved after it fit into what Kubernetes waits.
func TestKubernetesWaitsForTheDrain(t *testing.T) {
	set, _ := cellOf(t, mustRender(t, "drainSeconds: 90\n"))
	if *set.Spec.Template.Spec.TerminationGracePeriodSeconds != 120 {
		t.Errorf("%d s", *set.Spec.Template.Spec.TerminationGracePeriodSeconds)
	}
}

func TestEveryVolumeThatIsMountedIsThere(t *testing.T) {
	set, cell := cellOf(t, mustRender(t, "sshHostKeySecret: keys\ntlsSecret: cells-tls\n"))
	there := map[string]bool{}
	for _, volume := range set.Spec.Template.Spec.Volumes {
		there[volume.Name] = true
	}
	for _, claim := range set.Spec.VolumeClaimTemplates {
		there[claim.Name] = true
	}
	for _, mount := range cell.VolumeMounts {
		if !there[mount.Name] {
			t.Errorf("no volume %s", mount.Name)
		}
	}
}

func TestAllCellsMayShareAClaim(t *testing.T) {
	set, cell := cellOf(t, mustRender(t, "storage: {claim: shared}\nextraArgs: [--take-keys]\n"))
	if len(set.Spec.VolumeClaimTemplates) != 0 {
		t.Error("each has one of its own all the same")
	}
	shared := false
	for _, volume := range set.Spec.Template.Spec.Volumes {
		shared = shared || volume.Name == "state" && volume.PersistentVolumeClaim.ClaimName == "shared"
	}
	mounted := false
	for _, mount := range cell.VolumeMounts {
		mounted = mounted || mount.Name == "state" && mount.MountPath == "/var/lib/cloche"
	}
	if !shared || !mounted {
		t.Errorf("the claim is not where states are kept: %v %v", set.Spec.Template.Spec.Volumes, cell.VolumeMounts)
	}
}

// The options are ones that `cloche serve` takes.
func TestTheServerTakesTheOptions(t *testing.T) {
	program := os.Getenv("CLOCHE_PROGRAM")
	if program == "" {
		t.Skip("CLOCHE_PROGRAM names no cloche")
	}
	_, cell := cellOf(t, mustRender(t, "sshHostKeySecret: keys\ntlsSecret: cells-tls\nmaxTokenSessions: 5\nstrictTokenSessions: true\notlpEndpoint: http://collector:4318\n"))
	help, err := exec.Command(program, "serve", "--help").Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range cell.Args[1:] {
		if name := strings.SplitN(word, "=", 2)[0]; !bytes.Contains(help, []byte(" "+name+" ")) {
			t.Errorf("cloche serve has no option %s", name)
		}
	}
}

func TestTheDashboardIsTheFileItself(t *testing.T) {
	found := mustRender(t, "dashboard: {enabled: true, labels: {grafana_dashboard: \"1\"}}\n")
	dashboard, ok := found["ConfigMap/box-dashboard"].(*core.ConfigMap)
	if !ok {
		t.Fatal("no dashboard")
	}
	file, err := os.ReadFile(folder + "/dashboards/cloche.json")
	if err != nil {
		t.Fatal(err)
	}
	if strings.TrimSpace(dashboard.Data["cloche.json"]) != strings.TrimSpace(string(file)) {
		t.Error("it is another text")
	}
	if dashboard.Labels["grafana_dashboard"] != "1" {
		t.Errorf("Grafana does not find it: %v", dashboard.Labels)
	}
}

// What the gateway is set up with is what `cloche route --haproxy` prints for the same cells.
func TestTheGatewayIsTheOneThatClocheRoutePrints(t *testing.T) {
	program := os.Getenv("CLOCHE_PROGRAM")
	if program == "" {
		t.Skip("CLOCHE_PROGRAM names no cloche")
	}
	// The first line says which command made it.
	rest := func(text string) string { return strings.TrimSpace(text[strings.Index(text, "\n"):]) }
	for values, more := range map[string][]string{"": nil, "tlsSecret: cells-tls\n": {"--peer-ca", "/etc/cloche/tls/ca.crt"}} {
		config := mustRender(t, "cells: 2\n"+values)["ConfigMap/box-gateway"].(*core.ConfigMap).Data["haproxy.cfg"]
		// HAProxy adds no domain to a name, as other programs do by /etc/resolv.conf.
		words := append([]string{"route", "--haproxy", "--resolve", "--listen", ":8080"}, more...)
		for _, key := range []string{"1", "2"} {
			words = append(words, "--cell", key+"=box-cell-"+key+".agents.svc.cluster.local:8000,box-"+key+".box-cells.agents.svc.cluster.local")
		}
		printed, err := exec.Command(program, words...).Output()
		if err != nil {
			t.Fatal(err)
		}
		if rest(config) != rest(string(printed)) {
			t.Errorf("the chart has\n%s\nand the program prints\n%s", config, printed)
		}
	}
}

func TestCellsThatSpeakTlsAreAskedByIt(t *testing.T) {
	found := mustRender(t, "tlsSecret: cells-tls\nserviceMonitor: {enabled: true}\n")
	set, cell := cellOf(t, found)
	for name, probe := range map[string]*core.Probe{"startup": cell.StartupProbe, "liveness": cell.LivenessProbe, "readiness": cell.ReadinessProbe} {
		if probe.HTTPGet.Scheme != core.URISchemeHTTPS {
			t.Errorf("the %s probe asks by %s", name, probe.HTTPGet.Scheme)
		}
	}
	gateway := found["Deployment/box-gateway"].(*apps.Deployment)
	for where, volumes := range map[string][]core.Volume{"cell": set.Spec.Template.Spec.Volumes, "gateway": gateway.Spec.Template.Spec.Volumes} {
		there := false
		for _, volume := range volumes {
			if volume.Name == "tls" {
				there = volume.Secret.SecretName == "cells-tls"
				if keys := volume.Secret.Items; where == "gateway" && (len(keys) != 1 || keys[0].Key != "ca.crt") {
					t.Errorf("the gateway has more than it needs: %v", keys)
				}
			}
		}
		if !there {
			t.Errorf("the %s does not have the secret", where)
		}
	}
	if _, plain := cellOf(t, mustRender(t, "")); plain.ReadinessProbe.HTTPGet.Scheme != core.URISchemeHTTP {
		t.Error("without a secret there is no TLS")
	}
}
