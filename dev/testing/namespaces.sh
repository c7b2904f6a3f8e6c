#!/bin/sh
# The first process in the namespaces of a test run: gives the run its own interfaces and folders, then runs the command. This
# shell stays process 1, since Node would not reap orphans.
set -eu
ip link set lo up
# A kubelet needs an address that is not on loopback, and a default route. 192.0.2.0/24 is reserved for such uses (RFC 5737).
ip link add outer type veth peer name inner
ip address add 192.0.2.1/24 dev outer
ip link set outer up
ip link set inner up
ip route add default via 192.0.2.2
for folder in /run /var/lib/kubelet /var/lib/cni /var/lib/orrery /var/log/pods /var/log/containers; do
  mkdir -p "$folder"
  mount -t tmpfs -o mode=755 tmpfs "$folder"
done
mkdir -m 1777 /run/lock
mkdir /run/netns
"$@"
