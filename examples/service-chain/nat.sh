set -e
iptables-legacy -t nat -A POSTROUTING -o right -j MASQUERADE
echo 1 >/proc/sys/net/ipv4/ip_forward
