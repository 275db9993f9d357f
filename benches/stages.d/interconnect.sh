# Frames from one stage to another, through the ring and through the pipe, a processor each; beside a bare ring and bare pipes.
ring_program=$(bench_program ring ring)
seconds=0.7

# Million frames of $1 bytes a second from stage to stage; what follows are options of both.
stages_mpps() {
  local length=$1
  shift
  timeout -s KILL 20 taskset -c 0 "$weir" stage "$@" -e "InfiniteSource(LENGTH $length, BURST 64) -> ToInterface(right)" 2>/dev/null |
    timeout -s KILL 20 taskset -c 1 "$weir" stage "$@" -e "FromInterface(left) -> c :: Counter -> Discard;
      DriverManager(wait 0.3s, print \"\$(c.count) \$(now)\", wait ${seconds}s, print \"\$(c.count) \$(now)\", stop)" |
    awk 'NR == 1 { n = $1; t = $2 } NR == 2 { printf "%.3f\n", ($1 - n) / ($2 - t) / 1e6 }'
}

# As much of a bare ring of the size that stages have and of a bare pipe of 1 MiB, with as many frames of $1 bytes a batch as $2 says.
bare_mpps() {
  taskset -c 0,1 "$ring_program" --rounds 1 --capacity 2097152 --frame "$1" --batch "$2" |
    awk -F'|' '$2 + 0 > 0 { print $4 + 0 > ring; print $6 + 0 > pipe }' ring="$tmp/ring.out" pipe="$tmp/pipe.out"
}

{
  echo
  echo "## Between two processes"
  echo
  echo "Million frames a second in batches of 64, from one processor to the other. A stage makes packets, and packets of what it"
  echo "reads; the bare loops hand bytes over and touch the first 8 of a frame. The bare pipe has 1 MiB, and is given frames alone,"
  echo "or the 16 bytes more that a capture has for each, as the stages' pipe."
} >>"$report"
for length in 64 1500 65000; do
  batch=$((length > 9000 ? 1 : 64))
  # What making and counting the packets takes, without anything between.
  for _ in $(seq "$rounds"); do
    stages_mpps $length | keep ring-$length
    stages_mpps $length --plain | keep plain-$length
    bare_mpps $length $batch
    keep bare-ring-$length <"$tmp/ring.out"
    keep bare-pipe-$length <"$tmp/pipe.out"
    bare_mpps $((length + 16)) $batch
    keep capture-pipe-$length <"$tmp/pipe.out"
  done
  {
    echo
    echo "| $length bytes | Mpps | range | ratio | to | target |"
    echo "|---|--:|--:|--:|---|---|"
    echo "$(row ring-$length 'stages, ring' bare-pipe-$length 'bare pipe') $([ $length = 64 ] && echo 'at least 4x') |"
    echo "$(row ring-$length 'stages, ring' plain-$length 'stages, pipe') |"
    echo "$(row ring-$length 'stages, ring' bare-ring-$length 'bare ring') |"
    echo "$(row plain-$length 'stages, pipe' capture-pipe-$length 'bare pipe, same bytes') at least 0.9x |"
    echo "$(row bare-ring-$length 'bare ring' bare-pipe-$length 'bare pipe') |"
    echo "$(row capture-pipe-$length 'bare pipe, same bytes') |"
    echo "$(row bare-pipe-$length 'bare pipe, frames alone') |"
  } >>"$report"
done
