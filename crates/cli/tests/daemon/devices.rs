//! Packets through the daemon's functions: taps in a network namespace, and real programs.

use super::process::Place;

/// Two namespaces, joined by the daemon's taps, whose addresses their kernels have.
const SETUP: &str = r#"
set -eu
exec 2>&1
export WEIR_SOCKET=api.socket
ip link set lo up
weir serve --volatile --socket api.socket 2>serve.log &
daemon=$!
unshare -n sleep 1000 & other=$!
trap 'kill $daemon $other 2>/dev/null || :' EXIT
while ! weir show >/dev/null 2>&1; do sleep 0.05; done
weir create firewall fw --default allow --stateful
weir create nat edge --transparent --address 10.0.0.77 --inside 10.0.0.1/32
weir connect fw:left tap:wl
weir connect fw:right edge:left
weir connect edge:right tap:wr
ip link set wr netns $other
in_other() { nsenter -t $other -n "$@"; }
ip addr add 10.0.0.1/24 dev wl
in_other ip link set lo up
in_other ip addr add 10.0.0.2/24 dev wr
in_other ip link set wr up
# Whoever is outside sends to the NAT's address this way.
mac=$(ip -o link show wl | sed 's/.*ether \([^ ]*\).*/\1/')
in_other ip neigh add 10.0.0.77 lladdr $mac dev wr
"#;

fn run(script: &str) -> String {
    let place = Place::new(0);
    place.output(&format!("exec unshare -n bash -c \"$(cat <<'SCRIPT'\n{SETUP}\n{script}\nSCRIPT\n)\""))
}

/// Needs devices, and so root, as which CI runs.
#[test]
fn pings_and_connections_pass_chains_of_functions() {
    if !rustix::process::geteuid().is_root() {
        println!("SKIP needs root to make taps");
        return;
    }
    let text = run(r#"
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
"#);
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
    if !rustix::process::geteuid().is_root() {
        println!("SKIP needs root to make taps");
        return;
    }
    let text = run(r#"
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
"#);
    assert_eq!(text, "true\n");
}
