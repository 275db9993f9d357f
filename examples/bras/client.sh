#!/bin/sh
# What the subscribers do; record.sh runs it as the first process of a Linux in user mode. TREE is where ppp and user-mode-linux are.
. "${0%/*}/../user-mode/begin"
for module in slhc ppp_generic pppox pppoe; do
    file=$(find "$TREE"/usr/lib/uml/modules -name $module.ko)
    [ -z "$file" ] || "$TREE/bin/busybox" insmod "$file"
done
ip link set lo up
ip link set vec0 up

# dial UNIT ARGUMENT...: begins a session whose interface is pppUNIT.
dial() {
    unit=$1
    shift
    "$TREE/usr/sbin/pppd" plugin "$TREE"/usr/lib/pppd/*/pppoe.so nic-vec0 unit "$unit" noauth nodetach \
        noipdefault nodefaultroute usepeerdns noipv6 noccp novj lcp-echo-interval 4 lcp-echo-failure 3 "$@" &
    eval "pid$unit=$!"
}

await() {
    for _ in $(seq 50); do
        if ip -4 address show "$1" 2>/dev/null | grep -q inet; then return; fi
        sleep 0.1
    done
}

dial 0 pppoe-service internet user ann password s3cret
await ppp0
dial 1 user bob password 'pass word' refuse-chap
await ppp1
dial 2 user eve password guess
ip -4 address
ip route add 192.0.2.0/24 dev ppp0
ping -c 3 -i 0.3 -I ppp0 10.67.0.1
ping -c 2 -i 0.3 -I ppp1 10.67.0.1
# More than the rate lets through.
ping -q -c 40 -i 0.01 -s 700 -I ppp0 192.0.2.80
# Somebody else's address.
ip address add 10.67.0.77/32 dev ppp0
ping -q -c 2 -i 0.3 -W 1 -I 10.67.0.77 192.0.2.80
sleep 6
# The first hangs up, the second is gone without a word.
kill -TERM "$pid0"
wait "$pid0"
"$TREE/bin/busybox" poweroff -f
