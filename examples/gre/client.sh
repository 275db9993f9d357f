#!/bin/sh
# What the customers do; record.sh runs it as the first process of a Linux in user mode. TREE is where user-mode-linux and busybox-static
# are.
. "${0%/*}/../user-mode/begin"
export TMPDIR=/run
for module in crc-ccitt "ipv6 disable_ipv6=1" gre ip_tunnel ip_gre; do
    # shellcheck disable=SC2086 # what follows the name are parameters
    set -- $module
    file=$(find "$TREE"/usr/lib/uml/modules -name "$1.ko")
    shift
    [ -z "$file" ] || "$TREE/bin/busybox" insmod "$file" "$@"
done
ip link set lo up
ip link set eth0 up
ip address add 192.0.2.11/24 dev eth0
ip address add 192.0.2.12/24 dev eth0

# site NAME ADDRESS LOCAL ARGUMENT...: a network namespace that is at the far end of a tunnel.
site() {
    name=$1 address=$2 local=$3
    shift 3
    ip netns add "$name"
    ip link add "$name" type gre remote 192.0.2.1 local "$local" ttl 64 "$@"
    ip link set "$name" netns "$name"
    ip -n "$name" link set lo up
    ip -n "$name" address add "$address" dev "$name"
    ip -n "$name" link set "$name" up
    ip -n "$name" route add default dev "$name"
}

in_site() {
    ip netns exec "$@"
}

site paris 10.1.0.1/16 192.0.2.11 key 7
site oslo 10.3.0.1/16 192.0.2.11 key 8 oseq
site rome 10.2.0.1/16 192.0.2.12 ocsum
# A tunnel that nobody knows, and one that carries Ethernet frames.
site eve 10.5.0.1/16 192.0.2.12 key 99
ip link add tap0 type gretap remote 192.0.2.1 local 192.0.2.11 key 7
ip link set tap0 up
ip address add 10.1.9.1/24 dev tap0
ip -n rome address add 10.4.0.1/24 dev lo
for name in paris oslo rome; do ip -n $name -4 address; done

ping -c 2 -i 0.3 192.0.2.1
in_site paris ping -c 3 -i 0.3 203.0.113.80
in_site oslo ping -c 3 -i 0.3 -s 1000 10.4.0.1
in_site rome ping -c 1 -t 1 -W 1 10.1.0.1
# Connections between tunnels.
mkdir /run/www
seq 3000 >/run/www/numbers
in_site oslo "$TREE/bin/busybox" httpd -p 80 -h /run/www
in_site rome curl -sS http://10.3.0.1/numbers | cksum
# More than the rate lets through.
in_site rome iperf3 -s -1 -D
sleep 0.5
in_site paris iperf3 -c 10.2.0.1 -u -b 500k -l 700 -t 1
in_site eve ping -q -c 2 -i 0.3 -W 1 203.0.113.80
ping -q -c 1 -W 1 -I tap0 10.1.9.2
# Somebody else's address.
ip -n rome address add 10.1.0.77/32 dev rome
in_site rome ping -q -c 2 -i 0.3 -W 1 -I 10.1.0.77 203.0.113.80
"$TREE/bin/busybox" poweroff -f
