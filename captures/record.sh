#!/usr/bin/env bash
# Records the bundled captures: a small network in namespaces, real programs, tcpdump on both sides of a NAT router.
# Usage, as root: record.sh [FOLDER]. Writes FOLDER/lan.pcap and FOLDER/wan.pcap; FOLDER is this script's own if left out.
set -euo pipefail
. "$(dirname "$0")/recording.sh"

folder=$(realpath "${1:-$(dirname "$0")}")
max_bytes=1500000
client1=client1-$id client2=client2-$id router=router-$id internet=internet-$id
web=192.0.2.10 resolver=192.0.2.53 shell=198.51.100.20 silent=192.0.2.99

# Every program finds its namespace's name as host name, so that no other name gets into a capture.
enter() {
    local name=$1
    shift
    exec ip netns exec "$name" unshare --uts sh -c 'hostname "$1"; shift; exec "$@"' sh "${name%-*}" "$@"
}

make_network() {
    local name
    make_ipv4_namespaces "$client1" "$client2" "$router" "$internet"
    ip -n "$router" link add lan address 02:00:00:00:00:01 type bridge mcast_snooping 0
    join "$client1" eth0 02:00:00:00:01:10 "$router" port1 02:00:00:00:00:11
    join "$client2" eth0 02:00:00:00:01:11 "$router" port2 02:00:00:00:00:12
    join "$internet" eth0 02:00:00:00:02:01 "$router" wan 02:00:00:00:00:02
    ip -n "$router" link set port1 master lan
    ip -n "$router" link set port2 master lan
    ip netns exec "$router" ethtool -K lan tx off tso off gso off gro off sg off >/dev/null
    ip -n "$router" link set lan up
    ip -n "$router" address add 10.0.0.1/24 dev lan
    ip -n "$router" address add 203.0.113.2/24 dev wan
    ip -n "$router" route add default via 203.0.113.1
    ip netns exec "$router" sysctl -qw net.ipv4.ip_forward=1
    # A bridge that asks the firewall would put fragments together before they are recorded.
    ip netns exec "$router" sysctl -qew net.bridge.bridge-nf-call-iptables=0
    ip netns exec "$router" nft -f - <<'END'
table ip nat {
    chain out {
        type nat hook postrouting priority srcnat
        ip saddr 10.0.0.0/24 oifname "wan" masquerade
    }
}
END
    ip -n "$client1" address add 10.0.0.10/24 dev eth0
    ip -n "$client2" address add 10.0.0.11/24 dev eth0
    ip -n "$client1" route add default via 10.0.0.1
    ip -n "$client2" route add default via 10.0.0.1
    ip -n "$internet" address add 203.0.113.1/24 dev eth0
    for name in "$web" "$resolver" "$shell"; do ip -n "$internet" address add "$name/32" dev lo; done
    # Packets to an address that swallows everything: the sender learns nothing and tries again.
    ip -n "$internet" route add blackhole "$silent/32"
}

start_servers() {
    mkdir -p "$work/www"
    head -c 300 /dev/zero | tr '\0' a >"$work/www/index.html"
    seq 6000 >"$work/www/numbers.txt"
    serve_pages "$internet" "absolute_redirect off;
  server { listen $web:80; root $work/www; location /old { return 301 /numbers.txt; } }"
    serve "$internet" dnsmasq --keep-in-foreground --conf-file=/dev/null --no-hosts --no-resolv --bind-interfaces \
        --listen-address="$resolver" --user=root --pid-file="$work/dnsmasq.pid" --local=/example.test/ \
        --address=/www.example.test/$web --address=/shell.example.test/$shell \
        --mx-host=example.test,mail.example.test,10 --txt-record=example.test,"a text of the zone"
    ssh-keygen -qt ed25519 -N '' -C '' -f "$work/host_key"
    ssh-keygen -qt ed25519 -N '' -C '' -f "$work/user_key"
    # Where sshd jails itself; the system's own sshd, if there is one, has made it already.
    if mkdir /run/sshd 2>/dev/null; then trap 'cleanup; rmdir /run/sshd' EXIT; fi
    cat >"$work/sshd.conf" <<END
ListenAddress $shell:22
HostKey $work/host_key
PidFile none
AuthorizedKeysFile $work/user_key.pub
PermitRootLogin prohibit-password
PasswordAuthentication no
UsePAM no
StrictModes no
END
    serve "$internet" "$(command -v sshd)" -D -e -f "$work/sshd.conf"
    serve "$internet" iperf3 --server --bind "$shell"
    local place
    for place in "$web:80" "$resolver:53" "$shell:22" "$shell:5201"; do
        await sh -c "ip netns exec $internet ss -Hltn src $place | grep -q ."
    done
}

make_traffic() {
    local port
    # Names, pages.
    for name in www shell nothing; do within "$client1" dig +tries=1 @$resolver "$name.example.test" A >/dev/null; done
    within "$client2" dig +tries=1 @$resolver www.example.test AAAA >/dev/null
    within "$client2" dig +tries=1 @$resolver example.test MX >/dev/null
    within "$client2" dig +tries=1 +tcp @$resolver example.test TXT >/dev/null
    within "$client1" curl -sS "http://$web/" "http://$web/numbers.txt" -o "$work/1" -o "$work/2"
    within "$client2" curl -sSL "http://$web/old" -H 'Host: www.example.test' -o "$work/3"
    within "$client2" curl -sS -I "http://$web/missing" -o "$work/4"
    within "$client2" curl -sS -d 'key=value' "http://$web/index.html" -o "$work/5"
    cmp -s "$work/2" "$work/www/numbers.txt" || fail "the page that curl got is not the one that nginx has"
    # A session: two commands, one of them long.
    within "$client1" ssh -F none -i "$work/user_key" -o IdentitiesOnly=yes -o StrictHostKeyChecking=no \
        -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR "root@$shell" 'seq 3000; sleep 0.3; echo done' >/dev/null
    # Echo, small, of two fragments, and one that cannot get through.
    within "$client1" ping -qc 4 -i 0.2 $web >/dev/null
    within "$client2" ping -qc 2 -i 0.2 -s 2500 $shell >/dev/null
    try "$client2" ping -qc 1 -W 1 -t 1 $web
    # Bulk, kept short: both directions by TCP, one by UDP.
    within "$client1" iperf3 -c $shell -n 150K -b 4M >/dev/null
    within "$client2" iperf3 -c $shell -n 100K -b 4M -R >/dev/null
    within "$client2" iperf3 -c $shell -u -n 80K -l 1200 -b 2M >/dev/null
    # What a firewall is for: scans of closed ports, hosts that never answer, unwanted sources, scans from outside.
    for port in 21 23 25 110 135 139 143 445 1433 3306 3389 5900 8080; do
        try "$client2" curl -s --connect-timeout 1 "telnet://$shell:$port"
    done
    try "$client2" curl -s --connect-timeout 2 "telnet://$silent:23"
    try "$client1" dig +tries=2 +timeout=1 @$silent www.example.test
    try "$client1" dig +tries=1 +timeout=1 @$web www.example.test
    ip -n "$client2" address add 172.16.5.5/32 dev eth0
    try "$client2" ping -qc 2 -i 0.2 -W 1 -I 172.16.5.5 $web
    for port in 22 23 445 3389; do try "$internet" curl -s --connect-timeout 1 "telnet://203.0.113.2:$port"; done
    try "$internet" ping -qc 1 -W 1 203.0.113.2
}

check_captures() {
    local total name
    expect_packets lan 2 'arp'
    expect_packets lan 12 'udp port 53'
    expect_packets lan 5 'tcp port 53'
    expect_packets lan 40 'tcp port 80'
    expect_packets lan 30 'tcp port 22'
    expect_packets lan 8 'icmp[icmptype] = icmp-echo'
    expect_packets lan 8 'ip[6:2] & 0x3fff != 0'
    expect_packets lan 100 'tcp port 5201'
    expect_packets lan 60 'udp port 5201'
    expect_packets lan 13 'tcp[tcpflags] = tcp-syn and not port 22 and not port 53 and not port 80 and not port 5201'
    expect_packets lan 2 "host $silent and tcp"
    expect_packets lan 1 'icmp[icmptype] = icmp-timxceed'
    expect_packets lan 1 'icmp[icmptype] = icmp-unreach'
    expect_packets lan 2 'src host 172.16.5.5'
    expect_packets wan 300 'src host 203.0.113.2'
    expect_packets wan 4 'dst host 203.0.113.2 and tcp[tcpflags] = tcp-syn'
    for name in lan wan; do
        total=$(tcpdump -nr "$work/$name.pcap" 'greater 1515' 2>/dev/null | wc -l)
        [ "$total" = 0 ] || fail "$name.pcap has $total packets that no wire would carry: offloads were not off"
    done
    total=$(cat "$work/lan.pcap" "$work/wan.pcap" | wc -c)
    [ "$total" -le "$max_bytes" ] || fail "the captures have $total bytes, more than $max_bytes"
    for name in "$(hostname)" "$work" 'PRIVATE KEY'; do
        # A name of two or three letters turns up in random payloads by chance.
        [ "${#name}" -ge 4 ] || continue
        ! grep -aqF -- "$name" "$work/lan.pcap" "$work/wan.pcap" || fail "the captures mention $name"
    done
}

check_tools nft ss nginx curl dnsmasq dig sshd ssh ssh-keygen iperf3 ping unshare
begin
make_network
start_servers
record "$router" lan lan
record "$router" wan wan
make_traffic
stop_recording 2
check_captures
install -m 644 "$work/lan.pcap" "$work/wan.pcap" "$folder"
