#!/usr/bin/env bash
# Records in.pcap: what the kernel's GRE, ping, curl and iperf3 send to the server of graph.click, in a network namespace.
# Usage, as root: record.sh [TREE]. The client's Linux runs in user mode, for few kernels at hand have GRE. TREE holds the packages
# user-mode-linux and busybox-static, as `apt-get install` puts them into / (the default), or `dpkg -x` into a folder.
# WEIR is the program to be recorded with, if it is not in the PATH.
set -eu
folder=$(dirname "$0")
# This driver, unlike the newer one, does not leave the checksums of tunnels to a device that makes none.
network=eth0=tuntap,access,02:00:00:00:00:02
exec "$folder/../user-mode/record" "$folder" "${1:-/}" "$network"
