{# What the functions that route have in common. An interface is `{idx, name, address}`, its address with the length of its
   network's prefix; a route is `{prefix, gateway}`. An interface with several addresses stands several times in lists of
   interfaces, once with each of them. #}
{# An IPv4 router's end of a network between the rest of the router and its port. Without an Ethernet address it gets
   one that belongs to its IPv4 address, and so is alone on its network. #}
{% macro router_port(interface, answers, ethernet, mtu, interfaces) %}
{{ router_port_between(from(interface.name), to(interface.name), "port" ~ interface.idx, interface, answers, ethernet, mtu, interfaces) }}
{%- endmacro %}
{# The same as an element called `element` between whatever frames come from and go to. #}
{% macro router_port_between(source, sink, element, interface, answers, ethernet, mtu, interfaces) %}
{% set own = interface.address | address %}
{% set networks = interfaces | selectattr("idx", "equalto", interface.idx) | map(attribute="address") | join(" ") %}
{{ source }} -> {{ element }} :: RouterPort({{ own }}, {{ ([own] + answers) | unique | join(" ") }}, {{ interface.address }}, {{ networks }}, {{ (ethernet or own | ethernet_of_address) | ethernet }}, {{ mtu }}, {{ interface.idx + 1 }}, {{ interfaces | map(attribute="address") | join(" ") }}) -> {{ sink }};
{% endmacro %}
{# Raises an error if two interfaces are in one network. #}
{% macro check_networks(interfaces) %}
{% for one in interfaces %}
{% for other in interfaces[loop.index:] if one.idx != other.idx and (one.address | contains(other.address) or other.address | contains(one.address)) %}
{{ raise(one.name ~ " (" ~ one.address ~ ") and " ~ other.name ~ " (" ~ other.address ~ ") are in one network; give them addresses of different networks, or use `weir bridge`") }}
{% endfor %}
{% endfor %}
{% endmacro %}
{# The lines of a routing table that an interface's network needs: its broadcasts go to `nowhere`. #}
{% macro network_routes(interface, nowhere) %}
{{ interface.address | network }} {{ interface.idx }}
{% if interface.address | prefix_length < 31 %}
{{ interface.address | first_address }}/32 {{ nowhere }}
{{ interface.address | last_address }}/32 {{ nowhere }}
{% endif %}
{% endmacro %}
{# The number of the interface that leads to a next hop; `given` is what names it. #}
{% macro towards(gateway, interfaces, given) %}
{% for one in interfaces if one.address | address == gateway %}
{{ raise(given ~ ": " ~ gateway ~ " is this router's own address on " ~ one.name ~ "; name the next router's") }}
{% endfor %}
{% set found = namespace(idx=none) %}
{% for one in interfaces if one.address | contains(gateway) %}
{% set found.idx = one.idx if found.idx is none else found.idx %}
{% endfor %}
{% if found.idx is none %}
{{ raise(given ~ ": " ~ gateway ~ " is in none of the router's networks (" ~ described(interfaces) ~ ")") }}
{% endif %}
{{ found.idx }}
{% endmacro %}
{% macro described(interfaces) %}
{% for one in interfaces %}{{ one.address }} on {{ one.name }}{% if not loop.last %}, {% endif %}{% endfor %}
{% endmacro %}
{# The lines of a routing table for networks behind other routers. #}
{% macro given_routes(list, interfaces) %}
{% for one in list %}
{{ one.prefix | network }} {{ one.gateway }} {{ towards(one.gateway, interfaces, "--route `" ~ one.prefix ~ " via " ~ one.gateway ~ "`") | trim }}
{% endfor %}
{% endmacro %}
{# The lines for addresses to which nothing is routed: this network, loopback, groups and what is reserved (RFC 1122, section
   3.2.1.3). #}
{% macro nowhere_routes(nowhere) %}
0.0.0.0/8 {{ nowhere }}
127.0.0.0/8 {{ nowhere }}
224.0.0.0/4 {{ nowhere }}
240.0.0.0/4 {{ nowhere }}
{% endmacro %}
{# The element that looks up the routes that `table` has, a line each; what has none goes to output `unreachable`. #}
{% macro lookup(table, unreachable) %}
{% set routes = table | trim | lines %}
{% set networks = routes | map("split", " ", 1) | map("first") | list %}
{% set twice = networks | twice %}
{% if twice is not none %}
{{ raise("there are two routes for " ~ twice ~ "; give one") }}
{% endif %}
routes :: RadixIPLookup(
    {{ routes | join(",\n    ") }}
{%- if "0.0.0.0/0" not in networks %}
,
    0.0.0.0/0 {{ unreachable }}
{%- endif %}
);
{% endmacro %}

// An IPv4 router's end of a network.
// Input 0: frames from the network. Output 0: frames to it.
// Output 1: IPv4 packets from the network, headers checked and marked, without Ethernet headers.
// Input 1: IPv4 packets to the network, the next hop in the destination annotation.
// Output 2: ICMP errors about packets that cannot leave.
// ANSWERS are the addresses for which ARP requests are answered, NETWORKS the addresses here with their networks, NETWORK the first of
// them, INTERFACES all the router's addresses with their networks.
elementclass RouterPort { $address, $answers, $network, $networks, $ethernet, $mtu, $color, $interfaces |
    arp :: ARPQuerier($network, $ethernet, ENTRY_CAPACITY 65536, NETWORKS $networks, REQUESTS true) -> [0] output;
    input[0] -> HostEtherFilter($ethernet)
        -> kind :: Classifier(12/0806 20/0001, 12/0806 20/0002, 12/0800, -);
    kind[0] -> asked :: Tee -> ARPResponder($answers $ethernet) -> [0] output;
    asked[1] -> [1] arp;
    kind[1] -> [1] arp;
    kind[2] -> Paint($color) -> Strip(14) -> check :: CheckIPHeader(INTERFACES $interfaces) -> [1] output;
    kind[3] -> other :: Counter -> Discard;

    input[1]
        -> DropBroadcasts
        -> redirect :: PaintTee($color)
        -> options :: IPGWOptions($address, $answers)
        -> FixIPSrc($address, NETWORKS $networks)
        -> ttl :: DecIPTTL
        -> fragments :: IPFragmenter($mtu)
        -> [0] arp;
    redirect[1] -> ICMPError($address, redirect, host) -> errors :: RatedSplitter(1000);
    options[1] -> ICMPError($address, parameterproblem) -> errors;
    ttl[1] -> ICMPError($address, timeexceeded) -> errors;
    fragments[1] -> ICMPError($address, unreachable, needfrag, PMTU $mtu) -> errors;
    errors[0] -> [2] output;
    errors[1] -> too_many_errors :: Counter -> Discard;
}

// What is for the router itself: it answers pings, and nobody listens on its ports.
elementclass RouterItself { $address |
    input -> kind :: IPClassifier(icmp type echo, tcp or udp, -);
    kind[0] -> ICMPPingResponder -> output;
    kind[1] -> ICMPError($address, unreachable, port) -> errors :: RatedSplitter(1000);
    kind[2] -> Discard;
    errors[0] -> output;
    errors[1] -> Discard;
}
