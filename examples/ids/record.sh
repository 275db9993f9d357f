#!/usr/bin/env bash
# Records in.pcap: a client and a server in network namespaces, real programs, some of what rules describe among the rest.
# Usage, as root: record.sh [FOLDER]. Writes FOLDER/in.pcap; FOLDER is this script's own if left out.
set -euo pipefail
. "$(dirname "$0")/../../captures/recording.sh"

folder=$(realpath "${1:-$(dirname "$0")}")
max_bytes=100000
client=ids-client-$id wire=ids-wire-$id server=ids-server-$id

make_network() {
    local name host
    make_namespaces "$client" "$wire" "$server"
    # A bridge between them can lose packets without the client's noticing.
    ip -n "$wire" link add wire type bridge mcast_snooping 0
    ip link add eth0 netns "$client" address 02:00:00:00:00:10 type veth peer name client netns "$wire"
    ip link add eth0 netns "$server" address 02:00:00:00:00:20 type veth peer name server netns "$wire"
    for name in client server; do ip -n "$wire" link set "$name" master wire up; done
    ip -n "$wire" link set wire up
    # Addresses need no time to be checked.
    for name in "$client 10" "$server 20"; do
        read -r name host <<<"$name"
        without_offloads "$name" eth0
        ip netns exec "$name" sysctl -qw net.ipv6.conf.eth0.accept_dad=0 net.ipv6.conf.eth0.router_solicitations=0
        ip -n "$name" address add "10.0.0.$host/24" dev eth0
        ip -n "$name" address add "fd00::$host/64" dev eth0 nodad
        ip -n "$name" link set eth0 up
    done
}

start_servers() {
    mkdir -p "$work/www"
    printf '<html><body>It works.</body></html>\n' >"$work/www/index.html"
    seq 1 900 >"$work/www/numbers.txt"
    serve_pages "$server" "server { listen 80; listen [::]:80; root $work/www; }"
    serve "$server" dnsmasq --keep-in-foreground --conf-file=/dev/null --no-hosts --no-resolv --bind-interfaces \
        --listen-address=10.0.0.20 --user=root --pid-file="$work/dnsmasq.pid" --local=/test/ \
        --address=/www.example.test/10.0.0.20 --address=/update.botnet.test/10.0.0.66
    serve "$server" sh -c 'while :; do printf "220 ready\r\n331 password\r\n530 no\r\n" | nc -l -p 21 -q 1; done'
    local port
    for port in 80 53 21; do await sh -c "ip netns exec $server ss -Hltun src :$port | grep -q ."; done
}

# Sends pieces of text one by one to the web server.
pieces() {
    ip netns exec "$client" python3 - "$@" <<'END'
import socket, sys, time
connection = socket.create_connection(("10.0.0.20", 80))
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
for piece in sys.argv[1:]:
    connection.sendall(piece.encode().decode("unicode_escape").encode("latin1"))
    time.sleep(0.05)
connection.shutdown(socket.SHUT_WR)
while connection.recv(4096):
    pass
END
}

make_traffic() {
    local web=http://10.0.0.20 port
    # What everybody does.
    try "$client" dig +tries=1 @10.0.0.20 www.example.test A
    try "$client" curl -sS -A 'Mozilla/5.0 (X11; Linux x86_64)' "$web/" "$web/numbers.txt" -o /dev/null -o /dev/null
    try "$client" curl -sS -6 -A 'Mozilla/5.0 (X11; Linux x86_64)' 'http://[fd00::20]/' -o /dev/null
    try "$client" ping -qc 2 -i 0.2 10.0.0.20
    # A directory traversal, a scanner, an injection; one of each over IPv6.
    try "$client" curl -sS --path-as-is "$web/images/../../../../etc/passwd"
    try "$client" curl -sS --path-as-is -6 'http://[fd00::20]/images/../../../../etc/passwd'
    try "$client" curl -sS -A 'sqlmap/1.7' "$web/index.html?id=1%27%20UNION%20SELECT%20name,password%20FROM%20users--"
    # The injection in pieces: no packet holds it as a whole.
    pieces 'GET /item?id=7%27%20UN' 'ION%20SEL' 'ECT%20password%20FR' 'OM%20users HTTP/1.1\r\nHost: www.exam' \
        'ple.test\r\nConnection: close\r\n\r\n'
    # An upload of which a segment gets lost, so that what follows overtakes it.
    ip netns exec "$wire" nft -f - <<'END'
table bridge loss {
    chain forward {
        type filter hook forward priority 0
        tcp dport 80 ip length 500-699 limit rate 1/hour burst 1 packets drop
    }
}
END
    pieces 'POST /upload.php HTTP/1.1\r\nHost: www.example.test\r\nContent-Length: 2000\r\n\r\n' \
        "$(head -c 590 /dev/zero | tr '\0' x)eval(ba" "se64_decode(\$_POST[c]));$(head -c 1373 /dev/zero | tr '\0' y)" 'end'
    ip netns exec "$wire" nft delete table bridge loss
    # Guessing passwords, asking for a bad name, knocking at doors, large echo requests.
    for port in 1 2 3 4 5 6; do
        printf 'USER admin\r\nPASS secret%s\r\nQUIT\r\n' "$port" | try "$client" nc -q 1 -w 2 10.0.0.20 21
    done
    try "$client" dig +tries=1 @10.0.0.20 update.botnet.test A
    for port in 22 23 25 110 135 139 445 1433 3306 3389; do try "$client" nc -z -w 1 10.0.0.20 "$port"; done
    try "$client" ping -qc 1 -s 1200 10.0.0.20
}

check_capture() {
    local n_bytes
    expect_packets in 60 'tcp port 80'
    expect_packets in 8 'ip6'
    expect_packets in 4 'udp port 53'
    expect_packets in 6 'tcp dst port 21 and tcp[tcpflags] = tcp-syn'
    expect_packets in 5 'icmp'
    expect_packets in 10 'tcp[tcpflags] & tcp-rst != 0'
    n_bytes=$(wc -c <"$work/in.pcap")
    [ "$n_bytes" -le "$max_bytes" ] || fail "the capture has $n_bytes bytes, more than $max_bytes"
    ! grep -aqF -- "$work" "$work/in.pcap" || fail "the capture mentions $work"
}

check_tools nft ss nginx curl dnsmasq dig nc ping python3
begin
make_network
start_servers
record "$server" eth0 in 'tcp or udp port 53 or icmp'
make_traffic
stop_recording 1
check_capture
install -m 644 "$work/in.pcap" "$folder"
