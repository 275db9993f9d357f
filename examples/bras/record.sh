#!/usr/bin/env bash
# Records in.pcap: what the kernel's PPPoE and pppd of Debian say to the server of graph.click, in a network namespace.
# Usage, as root: record.sh [TREE]. The client's Linux runs in user mode, for few kernels at hand have PPP. TREE holds the packages
# user-mode-linux, ppp and busybox-static, as `apt-get install` puts them into / (the default), or `dpkg -x` into a folder.
# WEIR is the program to be recorded with, if it is not in the PATH.
set -euo pipefail

folder=$(realpath "$(dirname "$0")")
tree=$(realpath "${1:-/}")
weir=$(command -v "${WEIR:-weir}")
name=bras-$$
work=$(mktemp -d)
pids=()

cleanup() {
    local pid
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null || true; done
    ip netns del "$name" 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT

ip netns add "$name"
ip -n "$name" tuntap add dev access mode tap
ip netns exec "$name" sysctl -qw net.ipv6.conf.all.disable_ipv6=1
ip -n "$name" link set access up

# The same graph, with the device in place of the captures.
sed -e 's/^FromDump(.*$/FromDevice(access, SNIFFER false)/' \
    -e 's/^ *-> ToDump(\$OUT.*$/  -> Queue -> ToDevice(access);/' "$folder/graph.click" >"$work/live.click"
cd "$work"
ip netns exec "$name" tcpdump -qU -i access -w "$work/in.pcap" ether src 02:00:00:00:00:02 &
pids+=($!)
ip netns exec "$name" "$weir" run "$work/live.click" &
pids+=($!)
sleep 2
ip netns exec "$name" timeout 60 "$tree/usr/bin/linux.uml" quiet mem=256M con=null con0=null,fd:1 \
    rootfstype=hostfs rootflags=/ ro init="$folder/client.sh" TREE="$tree" WORK="$work" \
    vec0:transport=tap,ifname=access,mac=02:00:00:00:00:02
sleep 1
cat "$work/client.log"
cp "$work/in.pcap" "$folder/in.pcap"
