#!/usr/bin/env bash
# Records in.pcap: what the kernel's PPPoE and pppd of Debian say to the server of graph.click, in a network namespace.
# Usage, as root: record.sh [TREE]. The client's Linux runs in user mode, for few kernels at hand have PPP. TREE holds the packages
# user-mode-linux, ppp and busybox-static, as `apt-get install` puts them into / (the default), or `dpkg -x` into a folder.
# WEIR is the program to be recorded with, if it is not in the PATH.
set -eu
folder=$(dirname "$0")
network=vec0:transport=tap,ifname=access,mac=02:00:00:00:00:02
exec "$folder/../user-mode/record" "$folder" "${1:-/}" "$network"
