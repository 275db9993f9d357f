{# What a function that routes IPv6 needs. An interface is `{idx, name, element, addresses, ethernet}`: its addresses with the lengths
   of their prefixes, one of them link-local. A network is `{idx, name, address}`, a route `{prefix, hop, address, zone, weight}`: the
   next hop in words, its address, and the interface that leads to it if that is named. #}
{# A router's end of an IPv6 network between whatever frames come from and go to. #}
{% macro router_port6(source, sink, one, mtu) %}
{{ source }} -> {{ one.element }} :: RouterPort6({{ one.ethernet | ethernet }}, {{ one.addresses | join(" ") }}, {{ mtu }}, {{ one.idx }}) -> {{ sink }};
{{ one.element }}[1] -> routes6;
{{ one.element }}[2] -> itself6;
{{ one.element }}[3] -> beyond6;
{{ one.element }}[4] -> [4] errors6;
{{ one.element }}[5] -> [5] errors6;
{{ one.element }}[6] -> [2] errors6;
routes6[{{ one.idx }}] -> [1] {{ one.element }};
links6[{{ one.idx }}] -> [2] {{ one.element }};
{% endmacro %}
{# What tells hosts of a router: `told` is how, `sink` is where frames go. #}
{% macro advertiser6(one, told, mtu, networks, sink) %}
{% set prefixes %}
{% for given in told.prefix %}
{% if given.prefix == "default" or "fe80::/10" | contains(given.prefix) or "ff00::/8" | contains(given.prefix) %}
{{ raise("router-advertisement of " ~ one.name ~ ": " ~ given.prefix ~ " is no network that hosts have addresses in") }}
{% endif %}
PREFIX {{ given.prefix | network }} {{ given.valid_lifetime }} {{ given.preferred_lifetime }}{% if given.on_link %} onlink{% endif %}{% if given.autonomous %} autonomous{% endif %}

{% else %}
{% for network in networks if network.idx == one.idx %}
PREFIX {{ network.address | network }} 2592000 604800 onlink{% if network.address | prefix_length == 64 %} autonomous{% endif %}

{% endfor %}
{% endfor %}
{% endset %}
{% set interval = [told.max_interval, told.lifetime] | min if told.lifetime else told.max_interval %}
{{ one.element }}[7] -> {{ one.element }}_advertiser :: IP6RouterAdvertiser({{ one.ethernet | ethernet }}, {{ one.addresses[0] | address }}, LIFETIME {{ told.lifetime }}, MAX_INTERVAL {{ interval }}, MANAGED {{ "true" if told.managed else "false" }}, OTHER {{ "true" if told.other else "false" }}, MTU {{ mtu }}
{%- for prefix in prefixes | trim | lines | unique %}, {{ prefix }}{% endfor %}
{%- if told.dns_server %}, DNS {{ told.dns_server | join(" ") }}{% endif %}) -> {{ sink }};
{% endmacro %}
{# What tells groups of next hops from each other: the hops with their weights. #}
{% macro hops6(routes) %}
{% for one in routes | sort(attribute="hop") %}{{ one.hop }}{% if one.weight != 1 %} {{ one.weight }}{% endif %}{% if not loop.last %}, {% endif %}{% endfor %}
{% endmacro %}
{# The number of the interface that leads to a route's next hop. #}
{% macro towards6(route, interfaces, networks) %}
{% set given = "--route6 `" ~ route.prefix ~ " via " ~ route.hop ~ "`" %}
{% for one in interfaces if not route.zone or one.name == route.zone %}
{% for own in one.addresses if own | address == route.address %}
{{ raise(given ~ ": " ~ route.address ~ " is this router's own address on " ~ one.name ~ "; name the next router's") }}
{% endfor %}
{% endfor %}
{% set found = namespace(idx=none) %}
{% if route.zone %}
{% for one in interfaces if one.name == route.zone %}
{% set found.idx = one.idx %}
{% else %}
{{ raise(given ~ ": no interface `" ~ route.zone ~ "` with an IPv6 address; there are " ~ interfaces | map(attribute="name") | join(", ")) }}
{% endfor %}
{% else %}
{% for one in networks if one.address | contains(route.address) %}
{% set found.idx = one.idx if found.idx is none else found.idx %}
{% endfor %}
{% if found.idx is none %}
{{ raise(given ~ ": " ~ route.address ~ " is in none of the router's networks (" ~ described6(networks) ~ ")") }}
{% endif %}
{% endif %}
{{ found.idx }}
{% endmacro %}
{% macro described6(networks) %}
{% for one in networks %}{{ one.address }} on {{ one.name }}{% if not loop.last %}, {% endif %}{% else %}there are only link-local addresses{% endfor %}
{% endmacro %}
{# The element that looks up the routes that `table` has, a line each; what has none goes to output `unreachable`. #}
{% macro lookup6(table, unreachable) %}
{% set routes = table | trim | lines | unique | list %}
{% set networks = routes | map("split", " ", 1) | map("first") | list %}
{% set twice = networks | twice %}
{% if twice is not none %}
{{ raise("there are two routes for " ~ twice ~ "; give one") }}
{% endif %}
routes6 :: LookupIP6Route(
    {{ routes | join(",\n    ") }}
{%- if "::/0" not in networks %}
,
    ::/0 {{ unreachable }}
{%- endif %}
);
{% endmacro %}
{# A router: routes to `networks` by `interfaces` and to those behind other routers, what is for the router itself, errors, and its
   ports, which are given. #}
{% macro router6(interfaces, networks, routes, mtu, ports) %}
{% set n = interfaces | length %}
{% set own, unreachable, nowhere, links = n, n + 1, n + 2, n + 3 %}
{% set ways = namespace(groups=[]) %}
{% set table %}
{% for one in networks %}
{{ one.address | address }}/128 {{ own }}
{% endfor %}
{% for one in networks if one.address | prefix_length < 127 %}
{{ one.address | network | address }}/128 {{ own }}
{% endfor %}
{% for one in networks if one.address | prefix_length < 128 %}
{{ one.address | network }} {{ one.idx }}
{% endfor %}
{% for network, those in routes | by_network("::/0") %}
{% if "fe80::/10" | contains(network) or "ff00::/8" | contains(network) %}
{{ raise("--route6 `" ~ network ~ " via " ~ those[0].hop ~ "`: link-local addresses and groups are not routed") }}
{% endif %}
{% for one in those %}
{% set idx = towards6(one, interfaces, networks) | trim %}
{% if those | length == 1 %}
{{ network }} {{ one.address }} {{ idx }}
{% endif %}
{% endfor %}
{% if those | length > 1 %}
{% set hops = hops6(those) %}
{% set twice = those | map(attribute="hop") | twice %}
{% if twice is not none %}
{{ raise("there are two routes for " ~ network ~ " via " ~ twice ~ "; give one") }}
{% endif %}
{% if hops not in ways.groups | map(attribute="hops") | list %}
{% set ways.groups = ways.groups + [{"hops": hops, "routes": those | sort(attribute="hop")}] %}
{% endif %}
{{ network }} {% for group in ways.groups %}{% if group.hops == hops %}{{ links + 1 + loop.index0 }}{% endif %}{% endfor %}

{% endif %}
{% endfor %}
fe80::/10 {{ links }}
{# What is on no wire, and groups (RFC 4291, sections 2.5.2, 2.5.3 and 2.5.5.2). #}
::/128 {{ nowhere }}
::1/128 {{ nowhere }}
::ffff:0.0.0.0/96 {{ nowhere }}
ff00::/8 {{ nowhere }}
{% endset %}
{{ lookup6(table, unreachable) }}
{%- set paints %}
{% for one in interfaces %}{{ one.idx }} {{ one.addresses | join(" ") }}{% if not loop.last %} {% endif %}{% endfor %}
{% endset %}
// What is for the router itself: it answers pings, and nobody listens on its ports.
itself6 :: ICMP6PingResponder({{ paints | trim }});
// What came from a link-local address and is not for this link: the router's own addresses are, whichever port has them.
beyond6 :: LookupIP6Route({% for address in networks | map(attribute="address") | map("address") | unique %}{{ address }}/128 0, {% endfor %}::/0 1);
// To link-local addresses only the router itself speaks, by the port by which it was spoken to.
links6 :: PaintSwitch;
errors6 :: ICMP6Errors(unreachable 0, unreachable 2, unreachable 3, unreachable 4, timeexceeded 0, packettoobig 0, PMTU {{ mtu }},
    INTERFACES {{ paints | trim }});
routes6[{{ own }}] -> itself6 -> routes6;
itself6[1] -> services6 :: Classifier(6/06, 6/11, -);
services6[0], services6[1] => [3] errors6, [3] errors6;
services6[2] -> other6 :: Counter -> Discard;
beyond6[0] -> itself6;
beyond6[1] -> [1] errors6;
routes6[{{ unreachable }}] -> [0] errors6;
routes6[{{ nowhere }}] -> nowhere6 :: Counter -> Discard;
routes6[{{ links }}] -> links6;
errors6 -> limit6 :: RatedSplitter(1000) -> routes6;
limit6[1] -> too_many_errors6 :: Counter -> Discard;
{{ ports -}}
{% for group in ways.groups %}
{% set element = "hops6_" ~ (group.hops | identifier) %}
routes6[{{ links + 1 + loop.index0 }}] -> {{ element }} :: NextHopSwitch6({{ group.hops }});
{% for one in group.routes %}
{% set idx = towards6(one, interfaces, networks) | trim | int %}
{{ element }}[{{ loop.index0 }}] -> [1] {{ interfaces[idx].element }};
{% endfor %}
{% endfor %}
{% endmacro %}

// An IPv6 router's end of a network.
// Input 0: frames from the network. Output 0: frames to it.
// Output 1: packets from the network to be routed, headers checked and painted, without Ethernet headers.
// Output 2: packets for the router itself on this link. Output 3: packets from link-local addresses for elsewhere.
// Input 1: packets to the network, the next hop in the destination annotation. Input 2: the router's own to link-local addresses.
// Outputs 4, 5 and 6: packets whose hop limit has run out, that are too big, whose next hop does not answer.
// Output 7: frames with router solicitations.
elementclass RouterPort6 { $ethernet, $addresses, $mtu, $color |
    nd :: IP6Neighbors($ethernet, $addresses) -> [0] output;
    input[0] -> HostEtherFilter($ethernet) -> kind :: Classifier(20/3a 54/85, 20/3a 54/87, 20/3a 54/88, -);
    kind[0] -> solicitations :: Tee -> [1] nd;
    solicitations[1] -> [7] output;
    kind[1], kind[2] => [1] nd, [1] nd;
    kind[3] -> Paint($color) -> Strip(14) -> check :: CheckIP6Header -> scope :: IP6ScopeClassifier($addresses) -> [1] output;
    scope[1] -> [2] output;
    scope[2] -> [3] output;
    input[1] -> hops :: DecIP6HLIM -> size :: IP6Fragmenter($mtu) -> [0] nd;
    input[2] -> [0] nd;
    hops[1] -> [4] output;
    size[1] -> [5] output;
    nd[1] -> [6] output;
}
