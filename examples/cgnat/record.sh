#!/usr/bin/env bash
# Records in.pcap: subscribers, the NAT of live.click and a server in network namespaces, real programs, tcpdump beside the NAT.
# Usage, as root: record.sh WEIR [FOLDER]. FOLDER is this script's own if left out.
set -euo pipefail
. "$(dirname "$0")/../../captures/recording.sh"

weir=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
folder=$(realpath "${2:-$here}")
home=home-$id cgn=cgn-$id internet=internet-$id
server=198.51.100.1

make_network() {
    local name
    make_ipv4_namespaces "$home" "$cgn" "$internet"
    ip link add eth0 netns "$home" type veth peer name inside netns "$cgn" address 02:00:00:00:00:01
    ip link add eth0 netns "$internet" type veth peer name outside netns "$cgn" address 02:00:00:00:00:02
    for name in "$home eth0" "$internet eth0" "$cgn inside" "$cgn outside"; do
        without_offloads ${name% *} ${name#* }
        ip -n ${name% *} link set ${name#* } up
    done
    # Two subscribers, one host.
    ip -n "$home" address add 100.64.0.1/24 dev eth0
    ip -n "$home" address add 100.64.0.2/24 dev eth0
    ip -n "$home" route add default via 100.64.0.254
    ip -n "$internet" address add 192.0.2.2/24 dev eth0
    ip -n "$internet" address add $server/32 dev lo
    ip -n "$internet" route add 203.0.113.0/30 via 192.0.2.1
}

start_servers() {
    mkdir "$work/www"
    seq 2000 >"$work/www/numbers.txt"
    serve "$internet" python3 -m http.server --bind $server --directory "$work/www" 80
    serve "$internet" python3 "$work/mirror.py"
    serve "$cgn" "$weir" run "$here/live.click"
    nat=${pids[-1]}
}

write_programs() {
    # Tells who asks what address and port they have outside, as STUN does.
    cat >"$work/mirror.py" <<'END'
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("198.51.100.1", 3478))
while True:
    _, (address, port) = s.recvfrom(2048)
    s.sendto(f"{address} {port}".encode(), (address, port))
END

    # Two subscribers learn their external endpoints and talk to each other by them.
    cat >"$work/peers.py" <<'END'
import socket
def peer(address):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.settimeout(5)
    s.bind((address, 5000))
    s.sendto(b"who am I", ("198.51.100.1", 3478))
    known, port = s.recv(2048).decode().split()
    return s, (known, int(port))
(a, a_known), (b, b_known) = peer("100.64.0.1"), peer("100.64.0.2")
b.sendto(b"hello", a_known)
text, seen = a.recvfrom(2048)
assert (text, seen) == (b"hello", b_known), (text, seen)
a.sendto(b"welcome", seen)
text, seen = b.recvfrom(2048)
assert (text, seen) == (b"welcome", a_known), (text, seen)
END
}

make_traffic() {
    within "$home" curl -sS --interface 100.64.0.1 "http://$server/numbers.txt" -o "$work/numbers.txt"
    cmp "$work/numbers.txt" "$work/www/numbers.txt"
    within "$home" curl -sS --interface 100.64.0.2 "http://$server/missing" -o "$work/missing"
    within "$home" python3 "$work/peers.py"
    within "$home" ping -qc 2 -i 0.2 -I 100.64.0.1 $server >/dev/null
    within "$home" ping -qc 2 -i 0.2 -I 100.64.0.2 -s 2500 $server >/dev/null
    # A closed port: the answer is an ICMP error.
    within "$home" python3 -c "
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.bind(('100.64.0.2', 5001)); s.settimeout(5)
s.connect(('$server', 9)); s.send(b'x')
try: s.recv(9)
except ConnectionRefusedError: pass"
    # Scans from outside, of ports that nobody has; curl finds a closed port too.
    within "$internet" curl -s --interface $server --connect-timeout 1 http://203.0.113.1:1500/ || true
    within "$home" curl -s --interface 100.64.0.1 --connect-timeout 1 "http://$server:81/" || true
    sleep 0.5
}

# One capture of what came in by both interfaces, in order of time.
merge() {
    python3 - "$work/inside.pcap" "$work/outside.pcap" "$folder/in.pcap" <<'END'
import struct, sys
records = []
for name in sys.argv[1:3]:
    data, at = open(name, "rb").read(), 24
    while at < len(data):
        seconds, fraction, size, _ = struct.unpack_from("<4I", data, at)
        records.append((seconds, fraction, data[at:at + 16 + size]))
        at += 16 + size
with open(sys.argv[3], "wb") as out:
    out.write(data[:24] + b"".join(record for *_, record in sorted(records, key=lambda r: r[:2])))
END
}

check_tools curl ping python3
begin
write_programs
make_network
start_servers
record "$cgn" inside inside -Q in
record "$cgn" outside outside -Q in
sleep 2
make_traffic
stop_recording 2
kill -INT "$nat"
sleep 1
cat "$work/log" >&2
merge
