# From a command's start to the first packet that leaves it; and what memory an instance takes.
first_packet=$(bench_program stack first_packet)
cp "$first_packet" "$tmp/first_packet"
starts=20 many=100
cat >"$tmp/five-rules" <<'SCRIPT'
#!/bin/sh
iptables-legacy -t nat -A POSTROUTING -o right -j MASQUERADE
iptables-legacy -A FORWARD -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT
iptables-legacy -A FORWARD -i left -j ACCEPT
iptables-legacy -A FORWARD -j DROP
iptables-legacy -t nat -A PREROUTING -i right -p tcp --dport 8080 -j DNAT --to-destination 10.0.0.9:80
exec "$@"
SCRIPT
# The same rules as `iptables-legacy-save` writes them.
cat >"$tmp/five-rules-restored" <<'SCRIPT'
#!/bin/sh
iptables-legacy-restore <<'RULES'
*nat
-A POSTROUTING -o right -j MASQUERADE
-A PREROUTING -i right -p tcp --dport 8080 -j DNAT --to-destination 10.0.0.9:80
COMMIT
*filter
-A FORWARD -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT
-A FORWARD -i left -j ACCEPT
-A FORWARD -j DROP
COMMIT
RULES
exec "$@"
SCRIPT
chmod 755 "$tmp"/{five-rules,five-rules-restored,first_packet}
stack=("$weir" linux --left 10.0.0.1/24 --right 10.0.1.1/24 --)
graph="InfiniteSource(LIMIT 1) -> EtherEncap(0x0800, 2:0:0:0:0:1, 2:0:0:0:0:2) -> ToInterface(right); Idle -> Discard"

"$weir" stage -e "${graph/LIMIT 1/LIMIT 1, STOP true}" </dev/null >"$tmp/capture"

# Keeps the figures that first_packet prints under a name.
starts_of() {
  local name=$1 line
  shift
  line=$(timeout -s KILL 60 "$tmp/first_packet" "$@") || return 0
  for figure in median_ms first_ms last_ms available_kib_each private_kib_each; do
    awk -v figure=$figure '{ for (i = 1; i < NF; i += 2) if ($i == figure) print $(i + 1) }' <<<"$line" | keep "$name-$figure"
  done
}
for _ in $(seq "$rounds"); do
  starts_of true --starts $starts cat "$tmp/capture"
  starts_of graph --starts $starts "$weir" stage -e "$graph"
  starts_of bare --starts $starts "${stack[@]}" SELF --send 10.0.1.2
  starts_of five --starts $starts "${stack[@]}" "$tmp/five-rules" SELF --send 10.0.1.2
  starts_of restored --starts $starts "${stack[@]}" "$tmp/five-rules-restored" SELF --send 10.0.1.2
done
# What the command takes by itself: it waits, outside any stack.
for _ in $(seq $((rounds < 3 ? rounds : 3))); do
  starts_of command --starts $many --keep sh -c 'cat "$1"; exec "$0" --send 127.0.0.1' SELF "$tmp/capture"
  starts_of many-linux --starts $many --keep "${stack[@]}" SELF --send 10.0.1.2
  starts_of many-graph --starts $many --keep "$weir" stage -e "$graph"
done
{
  echo
  echo "## Starting"
  echo
  echo "From the start of the command to the first packet on its standard output, in milliseconds; the kernel's time to start any"
  echo "program included. The program in the stacks sends a datagram as soon as it runs."
  echo
  echo "| | ms | range | ratio | to | target |"
  echo "|---|--:|--:|--:|---|---|"
  echo "$(row true-median_ms 'cat of a capture, for comparison') |"
  echo "$(row graph-median_ms 'weir stage') at most 4 ms |"
  echo "$(row bare-median_ms 'weir linux') at most 6 ms |"
  echo "$(row restored-median_ms 'weir linux, 5 rules by iptables-legacy-restore') at most 10 ms |"
  echo "$(row five-median_ms 'weir linux, 5 rules by iptables-legacy, 5 times') |"
  echo "$(row many-linux-first_ms "weir linux, first 10 of $many") |"
  echo "$(row many-linux-last_ms "weir linux, last 10 of $many" many-linux-first_ms 'first 10') as fast |"
  echo "$(row many-graph-last_ms "weir stage, last 10 of $many" many-graph-first_ms 'first 10') as fast |"
  echo
  echo "Memory of $many that run, for each, in KiB: what the machine has less, and what only its processes have."
  echo
  echo "| | KiB less | range | ratio | to | KiB of its own |"
  echo "|---|--:|--:|--:|---|--:|"
  for who in 'command the program alone' 'many-linux weir linux with the program' 'many-graph weir stage'; do
    echo "$(row "${who%% *}-available_kib_each" "${who#* }") $(median "${who%% *}-private_kib_each") |"
  done
} >>"$report"
# What was killed has left its sockets; they are removed here.
"$weir" status >/dev/null || true
