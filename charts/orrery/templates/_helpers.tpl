{{/* The prefix of the names of namespaced objects. */}}
{{- define "orrery.fullname" -}}
{{- .Values.nameOverride | default .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{- define "orrery.labels" -}}
{{ include "orrery.ownLabels" . }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "orrery.ownLabels" -}}
app.kubernetes.io/part-of: orrery
app.kubernetes.io/instance: {{ .Release.Name | quote }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "orrery.annotations" -}}
{{- with .Values.commonAnnotations }}
{{- toYaml . }}
{{- end }}
{{- end -}}

{{/* Labels that select the pods of a process: (list . "api"). Network policies of organizations select them by name. */}}
{{- define "orrery.selector" -}}
app.kubernetes.io/name: orrery-{{ index . 1 }}
app.kubernetes.io/instance: {{ (index . 0).Release.Name | quote }}
{{- end -}}

{{/* Metadata of a namespaced object: (list . "suffix of the name" "component" (dict "annotation" "value") (dict "label" "value")). */}}
{{- define "orrery.metadata" -}}
{{- $root := index . 0 -}}
name: {{ include "orrery.fullname" $root }}-{{ index . 1 }}
namespace: {{ $root.Release.Namespace | quote }}
labels:
  app.kubernetes.io/name: orrery-{{ index . 2 }}
  {{- include "orrery.ownLabels" $root | nindent 2 }}
{{- $labels := dict }}
{{- if gt (len .) 4 }}{{ $labels = index . 4 }}{{ end }}
{{- with merge (dict) $labels $root.Values.commonLabels }}
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- $own := dict }}
{{- if gt (len .) 3 }}{{ $own = index . 3 }}{{ end }}
{{- with merge (dict) $own $root.Values.commonAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* A reference of an image: (list . .Values.image). */}}
{{- define "orrery.image" -}}
{{- $image := index . 1 -}}
{{- if $image.digest -}}
{{ $image.repository }}@{{ $image.digest }}
{{- else -}}
{{ $image.repository }}:{{ $image.tag | default (index . 0).Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- define "orrery.serviceAccount" -}}
{{- $root := index . 0 -}}
{{- (index $root.Values (index . 1)).serviceAccount.name | default (printf "%s-%s" (include "orrery.fullname" $root) (index . 1)) -}}
{{- end -}}

{{/* The metadata of an object of the cluster: the root and the name. */}}
{{- define "orrery.clusterMetadata" -}}
name: {{ index . 1 }}
labels:
  {{- include "orrery.labels" (index . 0) | nindent 2 }}
annotations:
  {{- include "orrery.annotations" (index . 0) | nindent 2 }}
{{- end -}}

{{- define "orrery.apiUser" -}}
system:serviceaccount:{{ .Release.Namespace }}:{{ include "orrery.serviceAccount" (list . "api") }}
{{- end -}}

{{- define "orrery.operatorUser" -}}
system:serviceaccount:{{ .Release.Namespace }}:{{ include "orrery.serviceAccount" (list . "operator") }}
{{- end -}}

{{/* A list of strings in CEL. */}}
{{- define "orrery.celStrings" -}}
[{{ range $at, $each := . }}{{ if $at }}, {{ end }}'{{ $each }}'{{ end }}]
{{- end -}}

{{/* The host ports as a list of pairs in CEL. A single port is a pair of itself. */}}
{{- define "orrery.celPorts" -}}
{{- $pairs := list -}}
{{- range $intervals := . -}}
{{- range splitList "," $intervals -}}
{{- $ends := splitList "-" . -}}
{{- $pairs = append $pairs (printf "[%s, %s]" (first $ends) (last $ends)) -}}
{{- end -}}
{{- end -}}
[{{ join ", " $pairs }}]
{{- end -}}

{{/* The host ports as ORRERY_HOST_PORTS. */}}
{{- define "orrery.hostPorts" -}}
{{- $entries := list -}}
{{- range $name, $intervals := . -}}
{{- range splitList "," $intervals -}}
{{- $entries = append $entries (printf "%s=%s" $name .) -}}
{{- end -}}
{{- end -}}
{{ join "," $entries }}
{{- end -}}

{{- define "orrery.publicUrl" -}}
{{- .Values.publicUrl | default (printf "http%s://%s-api.%s.svc:%d" (ternary "s" "" (ne .Values.api.tls.existingSecret "")) (include "orrery.fullname" .) .Release.Namespace (int .Values.api.service.port)) | trimSuffix "/" -}}
{{- end -}}

{{- define "orrery.publicHost" -}}
{{- (urlParse (include "orrery.publicUrl" .)).hostname -}}
{{- end -}}

{{/* The variables of traces, by their names in OpenTelemetry. */}}
{{- define "orrery.tracing" -}}
{{- with .Values.tracing }}
{{- if .endpoint }}
- name: OTEL_EXPORTER_OTLP_ENDPOINT
  value: {{ .endpoint | quote }}
- name: OTEL_TRACES_SAMPLER
  value: {{ .sampler }}
{{- with .samplerArg }}
- name: OTEL_TRACES_SAMPLER_ARG
  value: {{ . | quote }}
{{- end }}
{{- if .headers.existingSecret }}
- name: OTEL_EXPORTER_OTLP_HEADERS
  valueFrom: { secretKeyRef: { name: {{ .headers.existingSecret | quote }}, key: {{ .headers.key | quote }} } }
{{- end }}
- name: ORRERY_POD_NAME
  valueFrom: { fieldRef: { fieldPath: metadata.name } }
- name: OTEL_RESOURCE_ATTRIBUTES
  value: k8s.namespace.name={{ $.Release.Namespace }},k8s.pod.name=$(ORRERY_POD_NAME)
{{- end }}
{{- end }}
{{- end -}}

{{/* Settings of a process as environment variables: the value limitMaxWorlds sets ORRERY_LIMIT_MAX_WORLDS. */}}
{{- define "orrery.settings" -}}
{{- range $key, $value := . }}
{{- if not (kindIs "invalid" $value) }}
- name: ORRERY_{{ $key | snakecase | upper }}
  value: {{ include "orrery.text" $value | quote }}
{{- end }}
{{- end }}
{{- end -}}

{{/* A value as text. Helm reads numbers as floats; large ones must not get an exponent. */}}
{{- define "orrery.text" -}}
{{- if kindIs "slice" . -}}
{{- join "," . -}}
{{- else if and (kindIs "float64" .) (eq (floor .) .) -}}
{{- printf "%.0f" . -}}
{{- else -}}
{{- toString . -}}
{{- end -}}
{{- end -}}

{{/* The name of the Secret of a key: (list . "pepper"). Without an existing one it is that of the release. */}}
{{- define "orrery.keySecret" -}}
{{- (index (index . 0).Values.keys (index . 1)).existingSecret | default (printf "%s-keys" (include "orrery.fullname" (index . 0))) -}}
{{- end -}}

{{/* The role of the API in a database that this chart sets up. It owns nothing. */}}
{{- define "orrery.apiRole" -}}
orrery_api
{{- end -}}

{{/* The Secret and the key of the database URL of the API's role, as fields of a secretKeyRef. */}}
{{- define "orrery.databaseSecret" -}}
{{- if eq .Values.database.mode "external" -}}
name: {{ required "database.mode is external: set database.external.existingSecret to a Secret with the URL of the API's role." .Values.database.external.existingSecret | quote }}
key: {{ .Values.database.external.key | quote }}
{{- else if eq .Values.database.mode "cnpg" -}}
name: {{ include "orrery.fullname" . }}-db-api
key: url
{{- else -}}
name: {{ include "orrery.fullname" . }}-postgres
key: api-url
{{- end -}}
{{- end -}}

{{/* The Secret and the key of the database URL of the role that owns the tables, as fields of a secretKeyRef. */}}
{{- define "orrery.databaseOwnerSecret" -}}
{{- if eq .Values.database.mode "external" -}}
{{- $advice := "database.mode is external: set database.owner.existingSecret to a Secret with the URL of the role that owns the tables, and database.external.existingSecret to a Secret with the URL of another role (docs/install.md, The roles of the database)." -}}
name: {{ required $advice .Values.database.owner.existingSecret | quote }}
key: {{ .Values.database.owner.key | quote }}
{{- if eq (include "orrery.databaseSecret" .) (printf "name: %q\nkey: %q" .Values.database.owner.existingSecret .Values.database.owner.key) -}}
{{- fail (printf "database.owner and database.external name the same key of the Secret %s: the API needs a role of its own, which owns no table." .Values.database.owner.existingSecret) -}}
{{- end -}}
{{- else if eq .Values.database.mode "cnpg" -}}
name: {{ include "orrery.fullname" . }}-db-app
key: uri
{{- else -}}
name: {{ include "orrery.fullname" . }}-postgres
key: url
{{- end -}}
{{- end -}}

{{- define "orrery.objectStoreUrl" -}}
{{- if eq .Values.objectStore.type "s3" -}}
{{- $s3 := .Values.objectStore.s3 -}}
{{- $query := dict -}}
{{- range $key := list "region" "endpoint" "prefix" -}}
{{- with index $s3 $key }}{{ $_ := set $query $key . }}{{ end -}}
{{- end -}}
{{- $pairs := list -}}
{{- range $key, $value := $query }}{{ $pairs = append $pairs (printf "%s=%s" $key (urlquery $value)) }}{{ end -}}
s3://{{ required "objectStore.type is s3: set objectStore.s3.bucket." $s3.bucket }}{{ if $pairs }}?{{ join "&" $pairs }}{{ end }}
{{- else -}}
file:///var/lib/orrery/objects
{{- end -}}
{{- end -}}

{{/* "true" if the store is a volume that only one node can mount, or that ends with its pod. */}}
{{- define "orrery.isSingleReplica" -}}
{{- if eq .Values.objectStore.type "file" -}}
{{- with .Values.objectStore.file.persistence -}}
{{- if or (not .enabled) (not (has "ReadWriteMany" .accessModes)) }}true{{ end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "orrery.apiReplicas" -}}
{{- if include "orrery.isSingleReplica" . }}{{ min 1 .Values.api.replicas }}{{ else }}{{ .Values.api.replicas }}{{ end -}}
{{- end -}}

{{- define "orrery.podSecurityContext" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
fsGroup: 65532
fsGroupChangePolicy: OnRootMismatch
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{- define "orrery.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{/* Where the pods of a process run: (list . "api"). */}}
{{- define "orrery.placement" -}}
{{- $root := index . 0 -}}
{{- $name := index . 1 -}}
{{- $values := index $root.Values $name -}}
{{- with $root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with $values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
topologySpreadConstraints:
{{- if $values.topologySpreadConstraints }}
  {{- toYaml $values.topologySpreadConstraints | nindent 2 }}
{{- else }}
{{- range $key := list "kubernetes.io/hostname" "topology.kubernetes.io/zone" }}
  - maxSkew: 1
    topologyKey: {{ $key }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "orrery.selector" (list $root $name) | nindent 8 }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Keys as files, each from its Secret: (list . (list "pepper")). */}}
{{- define "orrery.keysVolume" -}}
- name: keys
  projected:
    defaultMode: 0440
    sources:
      {{- $root := index . 0 }}
      {{- range $name := index . 1 }}
      {{- $key := index $root.Values.keys $name }}
      {{- if or $key.existingSecret (not (hasSuffix "Previous" $name)) }}
      - secret:
          name: {{ include "orrery.keySecret" (list $root $name) | quote }}
          items:
            - key: {{ $key.key | quote }}
              path: {{ $name }}
      {{- end }}
      {{- end }}
{{- end -}}

{{/* The host name of the log server of the operator. */}}
{{- define "orrery.logsHost" -}}
{{ include "orrery.fullname" . }}-operator-logs.{{ .Release.Namespace }}.svc
{{- end -}}

{{/* The name of the Secret with the certificate of the log server of the operator. */}}
{{- define "orrery.logsSecret" -}}
{{- .Values.logs.tls.existingSecret | default (printf "%s-operator-logs" (include "orrery.fullname" .)) -}}
{{- end -}}
