{{/* A PersistentVolumeClaim that is kept on uninstall: (list . persistence "suffix of the name" "component"). */}}
{{- define "orrery.claim" -}}
{{- $root := index . 0 -}}
{{- $persistence := index . 1 -}}
apiVersion: v1
kind: PersistentVolumeClaim
metadata:
  {{- include "orrery.metadata" (list $root (index . 2) (index . 3) (dict "helm.sh/resource-policy" "keep")) | nindent 2 }}
spec:
  accessModes:
    {{- toYaml $persistence.accessModes | nindent 4 }}
  {{- with $persistence.storageClassName }}
  storageClassName: {{ . | quote }}
  {{- end }}
  resources:
    requests:
      storage: {{ $persistence.size }}
{{- end -}}
