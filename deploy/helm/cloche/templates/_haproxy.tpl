{{- /* SPDX-License-Identifier: Apache-2.0 */ -}}
{{- /* What `cloche route --haproxy --resolve --listen :8080` prints, with a line for each cell there may ever be. A test compares them. */ -}}
{{- define "cloche.haproxy.server" -}}
{{- $name := include "cloche.name" .root }}
{{- $domain := printf "%s.svc.%s" .root.Release.Namespace .root.Values.clusterDomain }}
{{- $host := printf "%s-%d.%s-cells.%s" $name (int .key) $name $domain }}
    server {{ printf "%04x" .key }} {{ $name }}-cell-{{ .key }}.{{ $domain }}:8000 resolvers system init-addr none{{ if .root.Values.tlsSecret }} ssl verify required ca-file /etc/cloche/tls/ca.crt sni str({{ $host }}) verifyhost {{ $host }}{{ end }}
{{- end -}}
{{- define "cloche.haproxy" -}}
# Made by `cloche route --haproxy`.
global
    maxconn {{ include "cloche.plain" .Values.gateway.maxConnections }}
    # What fits here can be sent again while a cell is not there; larger bodies are not.
    tune.bufsize 32768

defaults base
    mode http
    # A tunnel is asked for by CONNECT /sessions/ID, which is not the form that proxies are asked in.
    option accept-invalid-http-request
    option accept-invalid-http-response
    # One that ends answers a last request on each connection that is kept, and says that it was the last.
    option idle-close-on-response
    timeout connect 1s
    timeout client 90s
    timeout http-request 15s
    # A cell that is slow to say that it is ready is slow, not gone.
    timeout check 5s
    timeout queue 10s
    timeout server 330s
    timeout tunnel 8h

resolvers system
    parse-resolv-conf
    resolve_retries 3
    timeout resolve 1s
    timeout retry 1s
    hold valid 1s

frontend clients from base
    bind :8080
    # The last four digits of a session's id are the key of its cell.
    http-request set-var(txn.id) path,regsub(^/v1,),field(3,/)
    http-request set-var(txn.id) url,field(1,:) if { method CONNECT } !{ url_beg / }
    http-request set-var(txn.key) var(txn.id),field(5,-),bytes(8,4)
    http-request set-var(txn.cell) str(cell-),concat(,txn.key) if { var(txn.key) -m reg ^[0-9a-f]{4}$ }
    # One whose name leads nowhere, or that has not answered for long, has no server here: the others wait for it, and know
    # who has its sessions now.
    use_backend %[var(txn.cell)] if { var(txn.cell),nbsrv gt 0 }
    default_backend any
{{- $cells := untilStep 1 (add1 (include "cloche.maxCells" . | int) | int) 1 }}

# A cell that is ready: for new sessions, what is about none, and what has to wait for its cell. One that is full says so
# by 503, as does one that has waited in vain.
backend any from base
    balance random(2)
    option redispatch 1
    retries 3
    retry-on conn-failure 503
    option httpchk GET /ready
    http-check expect status 200
    default-server check inter 500ms fall 2 rise 1
{{- range $key := $cells }}{{ include "cloche.haproxy.server" (dict "root" $ "key" $key) }}{{ end }}

# The cell that has the session, and no other. One that starts anew is waited for; only what has not
# reached it is sent again, so nothing is done twice. Its address may be another one then: between two
# tries it is looked at where a server may be chosen anew, so each cell is a backend by itself.
defaults cell from base
    http-reuse never
    retries 10
    retry-on conn-failure
    option redispatch 1
    default-server check inter 1s fall 20 rise 1
{{- range $key := $cells }}

backend cell-{{ printf "%04x" $key }}{{ include "cloche.haproxy.server" (dict "root" $ "key" $key) }}
{{- end }}
{{- end -}}
