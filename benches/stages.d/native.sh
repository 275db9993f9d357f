# NAT and firewall as stages between two namespaces, beside the kernel's own path with the same rules in iptables: packets of
# 64 bytes a second on one processor. Another one makes the packets, as many as it can: what does not get through is dropped.
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

# Thousand packets a second that arrive, by a command that tells how many have so far.
kpps() {
  local before after
  sleep 0.6
  before="$("$@") $(date +%s%N)"
  sleep $seconds
  after="$("$@") $(date +%s%N)"
  awk -v before="$before" -v after="$after" 'BEGIN { split(before, o); split(after, n); print (n[1] - o[1]) / (n[2] - o[2]) * 1e6 }'
}
# What sends all it can through a device.
sender() {
  echo "InfiniteSource(LENGTH 22, BURST 32) -> UDPIPEncap(10.9.1.2, 1000, 10.9.2.2, 2000)
    -> EtherEncap(0x0800, $mac_a, $mac_a1) -> ToDevice($1)"
}
arrived_at_b() { ip netns exec "$b" cat /sys/class/net/b/statistics/rx_packets; }
arrived_at_last_stage() {
  "$weir" status --json | jq -s 'map(select(.function | startswith("linux --left 10.9.2.2"))) | last.interfaces[0].rx_packets'
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
  ip netns exec "$a" timeout -s KILL 20 taskset -c 0 "$weir" run -e "$(sender a)" >/dev/null 2>&1 &
  local sender=$!
  echo 2 | ip netns exec "$m" tee /sys/class/net/a1/queues/rx-0/rps_cpus >/dev/null
  kpps arrived_at_b
  kill $sender
  wait $sender 2>/dev/null || true
  ip netns exec "$m" iptables-legacy -t nat -F
  ip netns exec "$m" iptables-legacy -F
  ip netns exec "$m" sysctl -qw net.ipv4.ip_forward=0
  ip -netns "$m" address flush dev a1
  ip -netns "$m" address flush dev b1
}
by_stages() {
  setsid taskset -c 1 sh -c '
    "$1" linux --right 10.9.1.2/24 -- taskset -c 0 "$1" run -e "$3" </dev/null |
      "$1" nat --left-address 10.9.1.1/24 --right-address 10.9.2.1/24 --left-ethernet '$mac_a1' |
      "$1" firewall -f "$2" |
      "$1" linux --left 10.9.2.2/24 -- sh -c "iptables-legacy -t raw -A PREROUTING -p udp -j DROP; sleep 20"
  ' sh "$weir" "$tmp/rules" "$(sender right)" >/dev/null 2>"$tmp/native.err" &
  local chain=$!
  sleep 0.3
  kpps arrived_at_last_stage
  kill -- -$chain
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
  echo "both functions and the receiver on one processor, the sender on another; thousand packets a second. With stages, the"
  echo "namespaces at both ends are those of \`weir linux\`."
  echo
  echo "| | kpps | range | ratio | to | target |"
  echo "|---|--:|--:|--:|---|---|"
  echo "$(row kernel-path 'iptables') |"
  echo "$(row native 'weir nat, firewall' kernel-path iptables) at least 1.3x |"
} >>"$report"
