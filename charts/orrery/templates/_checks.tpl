{{/* The labels and annotations that only this chart, Helm and the product set. */}}
{{- define "orrery.reserved" -}}
^(app\.kubernetes\.io/(name|instance|version|part-of|managed-by)|([a-z.]+\.)?(helm\.sh|orrery\.dev)/.*|rbac\.authorization\.k8s\.io/.*|checksum/(issuers|profiles))$
{{- end -}}

{{/* Fails for labels or annotations that the chart sets, or that are too large: (list "path" .Values.map). */}}
{{- define "orrery.checkMap" -}}
{{- $path := index . 0 -}}
{{- range $key, $_ := index . 1 -}}
{{- $prefix := splitList "/" $key | first -}}
{{- if gt (len $prefix) 253 -}}{{- fail (printf "%s has a key with a prefix of %d characters, and may have 253: %s. Shorten it." $path (len $prefix) $key) -}}{{- end -}}
{{- if regexMatch (include "orrery.reserved" .) $key -}}
{{- fail (printf "%s has %s, which the chart, Helm or the product sets. Remove it." $path $key) -}}
{{- end -}}
{{- end -}}
{{- include "orrery.checkSize" (list $path (index . 1) 100000) -}}
{{- end -}}

{{/* Fails for a value that is larger as JSON: (list "path" .Values.value limit). */}}
{{- define "orrery.checkSize" -}}
{{- $bytes := len (toJson (index . 1)) -}}
{{- if gt $bytes (int (index . 2)) -}}
{{- fail (printf "%s has %d bytes as JSON, and may have %d. Shorten it." (index . 0) $bytes (int (index . 2))) -}}
{{- end -}}
{{- end -}}

{{/* Fails for a text that a list has twice: (list (list "text") "what is twice: %s is replaced"). */}}
{{- define "orrery.checkUnique" -}}
{{- $seen := dict -}}
{{- $sentence := index . 1 -}}
{{- range $each := index . 0 -}}
{{- if hasKey $seen $each -}}{{- fail (printf $sentence $each) -}}{{- end -}}
{{- $_ := set $seen $each true -}}
{{- end -}}
{{- end -}}

{{/* A quantity as a number. It knows the units that the schema permits. */}}
{{- define "orrery.amount" -}}
{{- if kindIs "string" . -}}
{{- $units := dict "" 1 "m" 0.001 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "P" 1e15 "Ki" 1024 "Mi" 1048576 "Gi" 1073741824 "Ti" 1099511627776 "Pi" 1125899906842624 -}}
{{- mulf (regexFind "^[0-9.]+" .) (index $units (regexFind "[a-zA-Z]*$" .)) -}}
{{- else -}}
{{- float64 . -}}
{{- end -}}
{{- end -}}

{{/* Fails for requests above limits: (list "path" .Values.resources). */}}
{{- define "orrery.checkResources" -}}
{{- $path := index . 0 -}}
{{- $limits := (index . 1).limits | default dict -}}
{{- range $name, $request := (index . 1).requests -}}
{{- if hasKey $limits $name -}}
{{- $limit := index $limits $name -}}
{{- if gt (include "orrery.amount" $request | float64) (include "orrery.amount" $limit | float64) -}}
{{- fail (printf "%s.requests.%s (%v) is above %s.limits.%s (%v). Raise the limit or lower the request." $path $name $request $path $name $limit) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Fails for lists of a pod that the API server refuses: (list . "api"). It reads what the Deployment renders. */}}
{{- define "orrery.checkPod" -}}
{{- $root := index . 0 -}}
{{- $process := index . 1 -}}
{{- $values := index $root.Values $process -}}
{{- $pod := (include (printf "%s/%s/deployment.yaml" $root.Template.BasePath $process) $root | fromYaml).spec.template.spec -}}
{{- $volumes := list -}}
{{- range $pod.volumes -}}{{- $volumes = append $volumes .name -}}{{- end -}}
{{- include "orrery.checkUnique" (list $volumes (print $process ".extraVolumes: the pod has two volumes %s. Rename yours, or remove it.")) -}}
{{- range concat (default list $pod.initContainers) $pod.containers -}}
{{- $names := list -}}
{{- range .env -}}{{- $names = append $names .name -}}{{- end -}}
{{- include "orrery.checkUnique" (list $names (print $process ".extraEnv: the container has two variables %s. Remove one. If the chart sets it, docs/configuration.md names its value.")) -}}
{{- $paths := list -}}
{{- range .volumeMounts -}}
{{- $paths = append $paths .mountPath -}}
{{- if not (has .name $volumes) -}}
{{- fail (printf "%s.extraVolumeMounts: there is no volume %s. Add it to %s.extraVolumes." $process .name $process) -}}
{{- end -}}
{{- end -}}
{{- include "orrery.checkUnique" (list $paths (print $process ".extraVolumeMounts: the container has two mounts at %s. Mount yours elsewhere.")) -}}
{{- end -}}
{{- $spreads := list -}}
{{- range $pod.topologySpreadConstraints -}}{{- $spreads = append $spreads (print .topologyKey " with " .whenUnsatisfiable) -}}{{- end -}}
{{- include "orrery.checkUnique" (list $spreads (print $process ".topologySpreadConstraints: two have the topologyKey %s. Merge them.")) -}}
{{- range $values.extraVolumes -}}
{{- with .projected -}}
{{- $files := list -}}
{{- range .sources -}}
{{- range $source := . -}}
{{- with $source.path -}}{{- $files = append $files . -}}{{- end -}}
{{- range $source.items -}}{{- $files = append $files .path -}}{{- end -}}
{{- end -}}
{{- end -}}
{{- include "orrery.checkUnique" (list $files (print $process ".extraVolumes: a projected volume has two files %s. Rename one.")) -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* Fails for a block of addresses with bits after its prefix, and an exception that is not a part of its block: (list "path" $ipBlock). */}}
{{- define "orrery.checkBlock" -}}
{{- $path := index . 0 -}}
{{- $cidr := (index . 1).cidr -}}
{{- range $block := append (default list (index . 1).except) $cidr -}}
{{- $bits := splitList "/" $block | last | int -}}
{{- $size := ternary 16 8 (contains ":" $block) -}}
{{- range $i, $part := splitList (ternary ":" "." (contains ":" $block)) (regexFind "^[0-9a-f.]+(:[0-9a-f]+)*" $block) -}}
{{- $step := 1 -}}
{{- range until (int (min $size (max 0 (sub (mul $size (add1 $i)) $bits)))) -}}{{- $step = mul $step 2 -}}{{- end -}}
{{- if ne 0 (int (mod (int64 (ternary (print "0x" $part) $part (eq $size 16))) $step)) -}}
{{- fail (printf "%s: %s has bits set after the first %d. Set them to 0." $path $block $bits) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $except := (index . 1).except -}}
{{- if eq $cidr "::/0" -}}
{{- if or (eq $except $cidr) (not (contains ":" $except)) -}}
{{- fail (printf "%s: the exception %s is not a smaller part of %s. Name a smaller block." $path $except $cidr) -}}
{{- end -}}
{{- else -}}
{{- $start := include "orrery.blockStart" (list $except (splitList "/" $cidr | last | int)) -}}
{{- if or (contains ":" $cidr) (le (splitList "/" $except | last | int) (splitList "/" $cidr | last | int)) (contains ":" $except) (ne $start (include "orrery.blockStart" (list $cidr (splitList "/" $cidr | last | int)))) -}}
{{- fail (printf "%s: the exception %s is not a smaller part of %s. Of IPv6, only ::/0 may have exceptions." $path $except $cidr) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- end -}}

{{/* The number of an IPv4 block of that many bits: (list "10.1.2.3/32" 8) is 10. */}}
{{- define "orrery.blockStart" -}}
{{- $number := 0 -}}
{{- $address := splitList "/" (index . 0) | first -}}
{{- if not (contains ":" $address) -}}
{{- range splitList "." $address -}}{{- $number = add (mul $number 256) (int .) -}}{{- end -}}
{{- range until (int (sub 32 (index . 1))) -}}{{- $number = div $number 2 -}}{{- end -}}
{{- end -}}
{{- $number -}}
{{- end -}}
