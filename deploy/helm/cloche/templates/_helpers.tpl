{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}
{{- define "cloche.name" -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "cloche.labels" -}}
app.kubernetes.io/name: cloche
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end -}}

{{- define "cloche.cells" -}}
app.kubernetes.io/name: cloche
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: cell
{{- end -}}

{{- define "cloche.gateway" -}}
app.kubernetes.io/name: cloche
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: gateway
{{- end -}}

{{- /* How many cells there may ever be: the gateway knows them all. */ -}}
{{- define "cloche.maxCells" -}}
{{- if .Values.autoscaling.enabled }}{{ .Values.autoscaling.maxCells }}{{ else }}{{ .Values.cells }}{{ end -}}
{{- end -}}

{{- /* What cells speak. */ -}}
{{- define "cloche.scheme" -}}
{{- if .Values.tlsSecret }}HTTPS{{ else }}HTTP{{ end -}}
{{- end -}}

{{- /* A value as it was written: of a number from a file of values Helm makes 1e+06. */ -}}
{{- define "cloche.plain" -}}
{{- if and (kindIs "float64" .) (eq (float64 .) (floor .)) }}{{ printf "%.0f" . }}{{ else }}{{ . }}{{ end -}}
{{- end -}}
