set -e
iptables-legacy -A FORWARD -i left -p tcp --dport 81 -j DROP
echo 1 >/proc/sys/net/ipv4/ip_forward
