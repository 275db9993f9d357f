# Client | NAT | firewall with 500 rules | server, all of them Linux stacks with scripts of iptables and with iperf3; beside the
# same scripts in namespaces joined by cables in the kernel.
seconds=1.5
cat >"$tmp/nat" <<'SCRIPT'
#!/bin/sh
set -e
ip route add 10.9.3.0/24 via 10.9.2.2
iptables-legacy -t nat -A POSTROUTING -o right -j MASQUERADE
SCRIPT
{
  echo "#!/bin/sh"
  echo "iptables-legacy-restore <<'RULES'"
  echo "*filter"
  for n in $(seq 500); do echo "-A FORWARD -s 172.16.$((n / 250)).$((n % 250 + 1)) -j DROP"; done
  echo "COMMIT"
  echo "RULES"
} >"$tmp/firewall"
# Measures once the way to the server is there and the server answers, which iperf3's status does not tell; Gbps of what was
# received. A router that has no route yet answers a connection's first packet with an error, which lets iperf3 wait for ever
# even if the second packet gets through.
cat >"$tmp/client" <<SCRIPT
#!/bin/sh
for _ in \$(seq 100); do
  ping -q -c 1 -W 1 10.9.3.2 >/dev/null 2>&1 && break
  sleep 0.05
done
for _ in \$(seq 100); do
  iperf3 --client 10.9.3.2 --time $seconds --omit 0.3 --json >"\$1" 2>/dev/null
  grep -q sum_received "\$1" && exit 0
  sleep 0.05
done
exit 1
SCRIPT
chmod 755 "$tmp"/{nat,firewall,client}
gbps() { jq -e '.end.sum_received.bits_per_second / 1e9' "$1" 2>/dev/null; }

# The four stages as the user that $1 says, the client's on the processors $2 and the others on $3; what follows are options of
# each.
chain_on() {
  local as=$1 first=$2 others=$3 out
  shift 3
  out=$(mktemp -p "$tmp")
  chmod 666 "$out"
  timeout -s KILL 20 taskset -c "$others" $as sh -c '
    out=$1; tmp=$2; weir=$3; first=$4; shift 4
    taskset -c "$first" "$weir" linux "$@" --right 10.9.1.2/24 --gateway 10.9.1.1 --while-running -- "$tmp/client" "$out" </dev/null |
      "$weir" linux "$@" --left 10.9.1.1/24 --right 10.9.2.1/24 -- "$tmp/nat" |
      "$weir" linux "$@" --left 10.9.2.2/24 --right 10.9.3.1/24 -- "$tmp/firewall" |
      "$weir" linux "$@" --left 10.9.3.2/24 --gateway 10.9.3.1 -- iperf3 --server >/dev/null
  ' chain "$out" "$tmp" "$weir" "$first" "$@" 2>"$tmp/chain.err" || true
  gbps "$out" || echo "benches/stages: linux $*: no figure; $(tail -1 "$tmp/chain.err")" >&2
}
chain_gbps() { local as=$1; shift; chain_on "$as" 0,1 0,1 "$@"; }
ring_apart() { chain_on "$1" 0 1 --joint ring; }

# Joins two namespaces by a cable: namespace, device and address of each end.
cable() {
  ip link add "$2" netns "$1" type veth peer name "$5" netns "$4"
  ip -netns "$1" address add "$3" dev "$2"
  ip -netns "$4" address add "$6" dev "$5"
  ip -netns "$1" link set "$2" up
  ip -netns "$4" link set "$5" up
}
# The same in namespaces that are there already.
kernel_gbps() {
  local out
  out=$(mktemp -p "$tmp")
  timeout -s KILL 20 taskset -c 0,1 ip netns exec "$client" "$tmp/client" "$out" || true
  gbps "$out"
}
set -- $spaces
client=$1 nat=$2 firewall=$3 server=$4
for space in "$@"; do
  ip netns add "$space"
  ip -netns "$space" link set lo up
  ip netns exec "$space" sysctl -qw net.ipv4.ip_forward=1
done
cable "$client" right 10.9.1.2/24 "$nat" left 10.9.1.1/24
cable "$nat" right 10.9.2.1/24 "$firewall" left 10.9.2.2/24
cable "$firewall" right 10.9.3.1/24 "$server" left 10.9.3.2/24
ip -netns "$client" route add default via 10.9.1.1
ip -netns "$server" route add default via 10.9.3.1
ip netns exec "$nat" "$tmp/nat"
ip netns exec "$firewall" "$tmp/firewall"
ip netns exec "$server" taskset -c 0,1 iperf3 --server >/dev/null &
iperf_server=$!

# Runs a command as an ordinary user who may open taps, or may not.
for mode in 666 600; do
  mknod "$tmp/tun-$mode" c 10 200
  chmod $mode "$tmp/tun-$mode"
  cat >"$tmp/user-$mode" <<SCRIPT
#!/bin/sh
mount --bind "$tmp/tun-$mode" /dev/net/tun
unset XDG_RUNTIME_DIR
exec setpriv --reuid 65534 --regid 65534 --clear-groups "\$@"
SCRIPT
  chmod 755 "$tmp/user-$mode"
done
user="unshare --mount $tmp/user-666"
shut="unshare --mount $tmp/user-600"

for _ in $(seq "$rounds"); do
  kernel_gbps | keep kernel
  chain_gbps "" | keep root-veth
  chain_gbps "" --joint pump | keep root-pump
  chain_gbps "" --joint ring | keep root-ring
  ring_apart "" | keep root-apart
  chain_gbps "$user" | keep user-veth
  chain_gbps "$user" --joint pump | keep user-pump
  chain_gbps "$user" --joint ring | keep user-ring
  ring_apart "$user" | keep user-apart
  chain_gbps "$shut" | keep shut-veth
  chain_gbps "$shut" --joint ring | keep shut-ring
  ring_apart "$shut" | keep shut-apart
done
kill "$iperf_server"
wait "$iperf_server" 2>/dev/null || true
for space in "$@"; do ip netns delete "$space"; done
{
  echo
  echo "## Linux stacks"
  echo
  echo "Client, NAT, firewall with 500 rules that do not match, server: TCP by iperf3, one stream, $seconds s, all on two processors."
  echo
  echo "| | Gbps | range | ratio | to | target |"
  echo "|---|--:|--:|--:|---|---|"
  echo "$(row kernel 'namespaces, cables') |"
  for who in root user shut; do
    case $who in
      root) name=root ;;
      user) name='ordinary user' ;;
      shut) name='ordinary user without taps' ;;
    esac
    echo "$(row $who-veth "$name, cable" kernel namespaces) at least 0.95x |"
    [ $who = shut ] || echo "$(row $who-pump "$name, pump" kernel namespaces) |"
    echo "$(row $who-ring "$name, ring" kernel namespaces) at least 0.65x |"
    echo "$(row $who-apart "$name, ring, the client's stack on one processor, all others on the other" kernel namespaces) |"
  done
} >>"$report"
