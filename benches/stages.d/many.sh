# 300 stages at once, and chains of 2 and of 16.
chains=20 length=15
# A pipeline of stages that pass everything on, $1 of them.
pass() {
  local text=cat n
  for n in $(seq "$1"); do text+=" | $weir stage -e 'FromInterface(left) -> ToInterface(right); FromInterface(right) -> ToInterface(left);'"; done
  echo "${text#cat | }"
}
now_ms() { echo $(($(date +%s%N) / 1000000)); }

# Starts all, waits until every chain has let a packet through, and counts those that run.
at_once() {
  local begin n file groups=()
  file=$(mktemp -p "$tmp")
  begin=$(now_ms)
  for n in $(seq $chains); do
    setsid timeout -s KILL 60 sh -c "$weir stage -e 'RatedSource(LENGTH 64, RATE 100) -> ToInterface(right)' | $(pass $((length - 2))) |
      $weir stage -e 'FromInterface(left) -> c :: Counter -> Discard; DriverManager(label again, wait 1ms, goto again \$(lt \$(c.count) 1), print \"through\", wait 60s)'" \
      >>"$file" 2>/dev/null &
    groups+=($!)
  done
  for _ in $(seq 600); do
    [ "$(grep -c through "$file")" = $chains ] && break
    sleep 0.02
  done
  echo $(($(now_ms) - begin)) | keep at-once-ms
  "$weir" status --json | wc -l | keep at-once-stages
  grep -c through "$file" | keep at-once-through
  for n in "${groups[@]}"; do kill -- "-$n" 2>/dev/null || true; done
  wait "${groups[@]}" 2>/dev/null || true
}

# Million frames of 64 bytes a second through a chain of $1.
chain_mpps() {
  timeout -s KILL 20 sh -c "$weir stage -e 'InfiniteSource(LENGTH 64, BURST 64) -> ToInterface(right)' 2>/dev/null |
    $([ "$1" -gt 2 ] && echo "$(pass $(($1 - 2))) |")
    $weir stage -e 'FromInterface(left) -> c :: Counter -> Discard;
      DriverManager(wait 0.5s, print \"\$(c.count) \$(now)\", wait 1s, print \"\$(c.count) \$(now)\", stop)'" |
    awk 'NR == 1 { n = $1; t = $2 } NR == 2 { printf "%.3f\n", ($1 - n) / ($2 - t) / 1e6 }'
}
# Milliseconds there and back of pings between two stacks with $1 - 2 stages between them.
chain_ping() {
  timeout -s KILL 20 sh -c "$weir linux --joint ring --right 10.9.1.1/24 --while-running -- sh -c 'ping -q -c 100 -i 0.005 10.9.1.2 >&2' 2>'$tmp/ping' |
    $([ "$1" -gt 2 ] && echo "$(pass $(($1 - 2))) |")
    $weir linux --joint ring --left 10.9.1.2/24 -- true" >/dev/null 2>&1 || true
  sed -n 's|^rtt.* = [^/]*/\([^/]*\)/.*|\1|p' "$tmp/ping"
}
for _ in $(seq "$rounds"); do
  for n in 2 16; do
    chain_mpps $n | keep chain-$n
    chain_ping $n | keep ping-$n
  done
done
for _ in $(seq $((rounds < 3 ? rounds : 3))); do at_once; done
{
  echo
  echo "## Many"
  echo
  echo "| | | range | ratio | to | |"
  echo "|---|--:|--:|--:|---|---|"
  echo "$(row at-once-stages "stages of $chains chains that run at once") of $((chains * length)) |"
  echo "$(row at-once-through 'chains that let packets through') of $chains |"
  echo "$(row at-once-ms 'until all of them did, started together') ms |"
  echo "$(row chain-2 'frames of 64 bytes through 2 stages') Mpps |"
  echo "$(row chain-16 'frames of 64 bytes through 16 stages' chain-2 '2 stages') Mpps |"
  echo "$(row ping-2 'ping between stacks, joined by a ring') ms |"
  echo "$(row ping-16 'ping between stacks, 14 stages between' ping-2 '2 stages') ms |"
} >>"$report"
