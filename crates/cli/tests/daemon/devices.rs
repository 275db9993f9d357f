//! Packets through the daemon's functions: taps in a network namespace, and real programs.

use super::namespaces::{run, run_with_daemon};

/// Two namespaces, joined by the daemon's taps, whose addresses their kernels have.
const SETUP: &str = r#"
weir create firewall fw --default allow --stateful
weir create nat edge --transparent --address 10.0.0.77 --inside 10.0.0.1/32
weir connect fw:left tap:wl
weir connect fw:right edge:left
weir connect edge:right tap:wr
ip link set wr netns $other
ip addr add 10.0.0.1/24 dev wl
in_other ip link set lo up
in_other ip addr add 10.0.0.2/24 dev wr
in_other ip link set wr up
# Whoever is outside sends to the NAT's address this way.
mac=$(ip -o link show wl | sed 's/.*ether \([^ ]*\).*/\1/')
in_other ip neigh add 10.0.0.77 lladdr $mac dev wr
"#;

fn run_joined(script: &str) -> Option<String> {
    run_with_daemon(&format!("{SETUP}\n{script}"))
}

/// Needs devices, and so root, as which CI runs.
#[test]
fn pings_and_connections_pass_chains_of_functions() {
    let Some(text) = run_joined(
        r#"
ping -c 3 -i 0.2 -W 5 -q 10.0.0.2 | sed -n 's/.*\(3 packets transmitted, 3 received\).*/\1/p'
weir show edge statistics/pings
weir set fw 'rule=deny icmp'
ping -c 1 -W 1 -q 10.0.0.2 >/dev/null && echo 'this ping should not have passed'
weir delete fw rule/1
ping -c 1 -W 5 -q 10.0.0.2 | grep -c '1 received'
weir attach firewall guard edge:right
weir set guard default=allow
ping -c 1 -W 5 -q 10.0.0.2 | grep -c '1 received'
weir show | sed 's/ *$//'
"#,
    ) else {
        return;
    };
    expect_test::expect![[r#"
        3 packets transmitted, 3 received
        1
        1
        1
        INSTANCE  FUNCTION  PORTS
        edge      nat       left > fw:right, right > guard:left
        fw        firewall  left > tap:wl, right > edge:left
        guard     firewall  left > edge:right, right > tap:wr
    "#]]
    .assert_eq(&text);
}

/// A download goes on while functions are put in front of it, changed, and taken away.
#[test]
fn a_download_survives_all_changes() {
    let Some(text) = run_joined(
        r#"
in_other iperf3 -s -1 >/dev/null & server=$!
while ! in_other ss -ltn | grep -q :5201; do sleep 0.05; done
iperf3 -c 10.0.0.2 -t 6 -J > result.json & client=$!
n=0
while kill -0 $client 2>/dev/null; do
  n=$((n + 1))
  weir create firewall guard$n --default allow
  weir attach firewall guard$n edge:right
  weir set fw rule/$((100 + n))/action=deny rule/$((100 + n))/match="src host 192.0.2.1"
  weir delete guard$n
  weir create bridge br$n
  weir connect br$n:a tap:wt$n
  weir delete br$n
done
status=0; wait $client || status=$?
[ $n -ge 3 ] || echo "only $n rounds"
[ $status = 0 ] || cat result.json
jq '.end.sum_received.bytes > 0' result.json
"#,
    ) else {
        return;
    };
    assert_eq!(text, "true\n");
}

/// A connection through a NAT whose daemon ends and begins again. Outside speaks first afterwards: it is not heard without a mapping.
#[test]
fn a_connection_survives_another_daemon() {
    let script = r#"
export WEIR_SOCKET=api.socket
ip link set lo up
make_space; inside=$space
make_space; outside=$space
daemon=
trap 'kill $daemon $inside $outside 2>/dev/null || :' EXIT
in_inside() { nsenter -t $inside -n "$@"; }
in_outside() { nsenter -t $outside -n "$@"; }
ip link add name vl type veth peer name vi
ip link add name vr type veth peer name vo
ip link set vi netns $inside; ip link set vo netns $outside
ip link set vl up; ip link set vr up
in_inside ip addr add 10.0.0.1/24 dev vi; in_inside ip link set vi up
in_outside ip addr add 10.0.0.2/24 dev vo; in_outside ip link set vo up; in_outside ip link set lo up
mac=$(in_inside ip -o link show vi | sed 's/.*ether \([^ ]*\).*/\1/')
in_outside ip neigh add 10.0.0.77 lladdr $mac dev vo
start() {
  weir serve --state state --keep-state=$1 --socket api.socket 2>>serve.log & daemon=$!
  while ! weir show >/dev/null 2>&1; do sleep 0.05; done
}
start 0s
weir create nat edge --transparent --address 10.0.0.77 --inside 10.0.0.1/32
weir connect edge:left dev:vl
weir connect edge:right dev:vr
in_outside python3 -c '
import os, socket, time
server = socket.create_server(("10.0.0.2", 7000))
open("listens", "w").close()
connection, peer = server.accept()
file = connection.makefile("rw")
for n in range(3):
    word = file.readline()
    open("heard%d" % n, "w").close()
    while not os.path.exists("go%d" % n):
        time.sleep(0.05)
    file.write("%s said %s" % (peer[0], word)); file.flush()
' &
while [ ! -e listens ]; do sleep 0.05; done
in_inside python3 -c '
import socket
file = socket.create_connection(("10.0.0.2", 7000), 20).makefile("rw")
for n in range(3):
    file.write("%d\n" % n); file.flush(); print(file.readline(), end="", flush=True)
' & client=$!
wait_for() { while [ ! -e $1 ]; do sleep 0.05; done; }
wait_for heard0
kill -TERM $daemon; wait $daemon
start 100ms
> go0
wait_for heard1
# What is written meanwhile outlives a kill.
rm state/learned; while [ ! -e state/learned ]; do sleep 0.05; done
kill -KILL $daemon; wait $daemon 2>/dev/null || :
start 0s
> go1
wait_for heard2; > go2; wait $client
weir show edge statistics/flows
grep -c 'what was learned is restored' serve.log
grep WARN serve.log || :
"#;
    let Some(text) = run(script) else { return };
    expect_test::expect![[r#"
        10.0.0.77 said 0
        10.0.0.77 said 1
        10.0.0.77 said 2
        1
        3
    "#]]
    .assert_eq(&text);
}

/// Connections through a load balancer whose daemon ends and begins again. In turn, the second one would go to the first server.
#[test]
fn connections_keep_their_servers_with_another_daemon() {
    let script = r#"
export WEIR_SOCKET=api.socket
ip link set lo up
make_space; clients=$space
make_space; servers=$space
daemon= server=
trap 'kill -9 $daemon $clients $servers $server 2>/dev/null || :' EXIT
in_clients() { nsenter -t $clients -n "$@"; }
in_servers() { nsenter -t $servers -n "$@"; }
ip link add name vl type veth peer name vc
ip link add name vr type veth peer name vs
ip link set vc netns $clients; ip link set vs netns $servers
ip link set vl up; ip link set vr up
in_clients ip addr add 203.0.113.5/24 dev vc; in_clients ip link set vc up
in_servers ip addr add 10.0.1.2/24 dev vs; in_servers ip addr add 10.0.1.3/24 dev vs
in_servers ip link set vs up; in_servers ip route add default via 10.0.1.1
start() {
  weir serve --state state --keep-state=0s --socket api.socket 2>>serve.log & daemon=$!
  while ! weir show >/dev/null 2>&1; do sleep 0.05; done
}
start
weir create loadbalancer lb --left-address 203.0.113.1/24 --right-address 10.0.1.1/24 --scheduler round-robin
weir set lb 'service=[{"name": "echo", "address": "203.0.113.10", "port": 7000,
  "backend": [{"address": "10.0.1.2", "port": 7000}, {"address": "10.0.1.3", "port": 7000}]}]'
weir connect lb:left dev:vl
weir connect lb:right dev:vr
nsenter -t $servers -n python3 -c '
import socketserver, threading
class Echo(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            self.wfile.write(self.connection.getsockname()[0].encode() + b" heard " + line)
class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True
for address in ("10.0.1.2", "10.0.1.3"):
    threading.Thread(target=Server((address, 7000), Echo).serve_forever).start()
open("listens", "w").close()
' & server=$!
while [ ! -e listens ]; do sleep 0.05; done
in_clients python3 -c '
import os, socket, time
files = [socket.create_connection(("203.0.113.10", 7000), 20).makefile("rw") for _ in range(2)]
def ask(n, word):
    files[n].write(word + "\n"); files[n].flush(); print(n, files[n].readline(), end="", flush=True)
ask(0, "first"); ask(1, "first")
open("asked", "w").close()
while not os.path.exists("go"):
    time.sleep(0.05)
ask(1, "again"); ask(0, "again")
' & client=$!
while [ ! -e asked ]; do sleep 0.05; done
kill -TERM $daemon; wait $daemon
start
while ! grep -q 'what was learned is restored' serve.log; do sleep 0.05; done
> go
wait $client
weir show lb statistics/flows
grep WARN serve.log || :
"#;
    let Some(text) = run(script) else { return };
    expect_test::expect![[r#"
        0 10.0.1.2 heard first
        1 10.0.1.3 heard first
        1 10.0.1.3 heard again
        0 10.0.1.2 heard again
        2
    "#]]
    .assert_eq(&text);
}

/// A device is deleted and made again. Packets that could not be sent meanwhile are told of.
#[test]
fn a_port_goes_on_with_another_device_of_the_same_name() {
    let Some(text) = run_with_daemon(
        r#"
echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6
pair() { ip link add $1a type veth peer name $1b; ip link set $1a up; ip link set $1b up; }
port() { weir topology --json | jq -r ".ports[] | select(.name == \"$1\") | .\"$2\""; }
received() { ip -j -s link show $1 | jq '.[0].stats64.rx.packets'; }
await() { want=$1; shift; n=0; until [ "$("$@")" = $want ]; do n=$((n + 1)); [ $n -lt 200 ] || { echo "$*: $("$@"), not $want"; exit 1; }; sleep 0.05; done; }
pair t2; pair t3
weir create count c
weir connect c:left dev:t2a
weir connect c:right dev:t3a
send t2b 3 46; await 3 received t3b
for round in 1 2; do
  ip link del t2a
  await gone port left device-state
  weir topology
  weir show | tail -1
  send t3b 3 46
  await $((3 * round)) port left tx-drops
  pair t2
  await up port left device-state
  ip -j -d link show t2a | jq '.[0].promiscuity'
  send t2b 3 46; await $((3 + 3 * round)) port left rx-packets
  send t3b 3 46; await 3 received t2b
done
weir topology
curl -s --unix-socket api.socket http://weir/metrics | grep not-sent
"#,
    ) else {
        return;
    };
    expect_test::expect![[r#"
        c:left - dev:t2a (gone)
        c:right - dev:t3a
        c         count     left > dev:t2a (gone), right > dev:t3a
        1
        c:left - dev:t2a (gone)
        c:right - dev:t3a
        c         count     left > dev:t2a (gone), right > dev:t3a
        1
        c:left - dev:t2a
        c:right - dev:t3a
        weir_dropped_packets_total{name="c",port="left",element="_to_dev_t2a",reason="not-sent"} 6
    "#]]
    .assert_eq(&text);
}

/// A capture stops at a full disk and goes on when there is room again.
#[test]
fn files_that_cannot_be_written_are_told_of_and_a_capture_goes_on() {
    let Some(text) = run_with_daemon(
        r#"
echo 1 > /proc/sys/net/ipv6/conf/default/disable_ipv6
of() { weir show cap statistics --json | jq -r ".\"$1\""; }
drops() { weir topology --json | jq -r '.ports[] | select(.name == "right") | ."tx-drops"'; }
warnings() { sed 's/\x1b\[[0-9;]*m//g' serve.log | sed -n 's/.*WARN weir::element: //p'; }
mkdir disk; mount -t tmpfs -o size=64k tmpfs disk
ip link add ea type veth peer name eb; ip link set ea up; ip link set eb up
weir create capture cap $PWD/disk/out.pcap
weir connect cap:left dev:ea
weir connect cap:right file:/dev/full
n=0; while [ "$(of failures)" = 0 ] && [ $n -lt 100 ]; do send eb 1 1400; n=$((n + 1)); done
send eb 5 1400; n=$((n + 5))
until [ $(of lost) -ge 5 ] && [ $(drops) -ge 5 ]; do sleep 0.05; done
weir call cap resume 2>&1 | grep -o 'No space left on device'
of failures
mount -o remount,size=1m disk
weir call cap resume
send eb 3 1400; n=$((n + 3))
until [ $(($(of captured) + $(of lost))) = $n ]; do sleep 0.05; done
of failures
written=$(weir run --quiet --read c.count -e "FromDump($PWD/disk/out.pcap, STOP true) -> c :: Counter -> Discard" 2>/dev/null | sed -n 's/^c.count: *//p')
[ $((written + $(of lost))) = $n ] || echo "$written of $n packets were written, $(of lost) lost"
warnings | sed "s#$PWD/##; s#_file_[^ \"]*#_file#" | sort -u
"#,
    ) else {
        return;
    };
    expect_test::expect![[r#"
        No space left on device
        2
        2
        ToDump(disk/out.pcap): No space left on device instance="cap" element="file"
        weir: /dev/full: No space left on device instance="cap" port="right" element="_file"
    "#]]
    .assert_eq(&text);
}
