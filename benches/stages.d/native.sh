# NAT and firewall as stages between two namespaces, beside the kernel's own path with the same rules in iptables: packets of
# 64 bytes a second, everything on one processor, whoever makes and takes the packets included.
seconds=1
a=${spaces%% *} b=$(cut -d' ' -f2 <<<"$spaces") m=$(cut -d' ' -f3 <<<"$spaces")
mac_a=02:00:00:00:01:02 mac_a1=02:00:00:00:01:01 mac_b1=02:00:00:00:02:01 mac_b=02:00:00:00:02:02
for space in $a $b $m; do
  ip netns add "$space"
  ip netns exec "$space" sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
done
ip link add name a netns "$a" address $mac_a type veth peer name a1 netns "$m" address $mac_a1
ip link add name b netns "$b" address $mac_b type veth peer name b1 netns "$m" address $mac_b1
for end in "$a a" "$b b" "$m a1" "$m b1"; do ip -netns "${end% *}" link set dev "${end#* }" up; done
ip -netns "$a" address add 10.9.1.2/24 dev a
ip -netns "$b" address add 10.9.2.2/24 dev b
ip -netns "$b" neighbour add 10.9.2.1 lladdr $mac_b1 dev b
# Nothing answers there, or asks.
ip netns exec "$b" iptables-legacy -t raw -A PREROUTING -p udp -j DROP

# Packets a second that come to b while a sends all it can.
arrivals() { ip netns exec "$b" cat /sys/class/net/b/statistics/rx_packets; }
kpps() {
  local sender before after
  ip netns exec "$a" timeout -s KILL 20 taskset -c 1 "$weir" run -e "InfiniteSource(LENGTH 22, BURST 32)
    -> UDPIPEncap(10.9.1.2, 1000, 10.9.2.2, 2000) -> EtherEncap(0x0800, $mac_a, $mac_a1) -> ToDevice(a)" >/dev/null 2>&1 &
  sender=$!
  sleep 0.4
  before="$(arrivals) $(date +%s%N)"
  sleep $seconds
  after="$(arrivals) $(date +%s%N)"
  kill $sender
  wait $sender 2>/dev/null || true
  awk -v before="$before" -v after="$after" 'BEGIN { split(before, o); split(after, n); print (n[1] - o[1]) / (n[2] - o[2]) * 1e6 }'
}
rules=()
for n in $(seq 500); do rules+=("deny src 172.16.$((n / 250)).$((n % 250 + 1))"); done

in_kernel() {
  ip -netns "$m" address add 10.9.1.1/24 dev a1
  ip -netns "$m" address add 10.9.2.1/24 dev b1
  ip -netns "$m" neighbour replace 10.9.2.2 lladdr $mac_b dev b1
  ip netns exec "$m" sysctl -qw net.ipv4.ip_forward=1
  ip netns exec "$m" iptables-legacy -t nat -A POSTROUTING -o b1 -j MASQUERADE
  {
    echo "*filter"
    printf -- '-A FORWARD -s %s -j DROP\n' "${rules[@]#deny src }"
    echo "COMMIT"
  } | ip netns exec "$m" iptables-legacy-restore
  kpps
  ip netns exec "$m" iptables-legacy -t nat -F
  ip netns exec "$m" iptables-legacy -F
  ip netns exec "$m" sysctl -qw net.ipv4.ip_forward=0
  ip -netns "$m" address flush dev a1
  ip -netns "$m" address flush dev b1
}
by_stages() {
  ip netns exec "$m" taskset -c 1 sh -c '
    "$1" port a1 | "$1" nat --left-address 10.9.1.1/24 --right-address 10.9.2.1/24 --left-ethernet '$mac_a1' --right-ethernet '$mac_b1' |
      "$1" firewall -f "$2" | "$1" port b1' sh "$weir" "$tmp/rules" >/dev/null 2>"$tmp/native.err" &
  local chain=$!
  sleep 0.3
  kpps
  ip netns pids "$m" | xargs -r kill
  wait $chain 2>/dev/null || true
}
printf '%s\n' "${rules[@]}" "allow all" >"$tmp/rules"
for _ in $(seq "$rounds"); do
  in_kernel | keep kernel-path
  by_stages | keep native
done
for space in $a $b $m; do ip netns delete "$space"; done
{
  echo
  echo "## Functions of weir instead of the kernel's"
  echo
  echo "NAT and firewall with 500 rules that do not match: UDP packets of 64 bytes from one namespace to another through a third,"
  echo "sender, both functions and receiver all on one processor. Thousand packets a second."
  echo
  echo "| | kpps | range | ratio | to | target |"
  echo "|---|--:|--:|--:|---|---|"
  echo "$(row kernel-path 'iptables') |"
  echo "$(row native 'weir port, nat, firewall, port' kernel-path iptables) at least 1.3x |"
} >>"$report"
