{% from "routing.click" import router_port_between, check_networks, network_routes, given_routes, nowhere_routes, lookup, towards %}
{% set known = ports | join(", ") %}
{% for one in interface %}
{% if one.parent is none and one.name not in ports %}
{{ raise("--address `" ~ one.name ~ "=" ~ one.address ~ "`: no interface `" ~ one.name ~ "`; there are " ~ known ~ "; add it with --if " ~ one.name ~ "=KIND:ARGS") }}
{% elif one.parent is not none and one.name in ports %}
{{ raise("interface " ~ one.name ~ " is a port; give VLAN " ~ one.vlan ~ " of " ~ one.parent ~ " another name") }}
{% elif one.parent is not none and one.parent not in ports %}
{{ raise("interface " ~ one.name ~ ": no port `" ~ one.parent ~ "`; there are " ~ known) }}
{% endif %}
{% endfor %}
{# Interfaces that are VLANs of ports. #}
{% set vlans = interface | selectattr("vlan") | list %}
{% for one in vlans %}
{% for other in vlans[loop.index:] if other.parent == one.parent and other.vlan == one.vlan %}
{{ raise(one.name ~ " and " ~ other.name ~ " are both VLAN " ~ one.vlan ~ " of " ~ one.parent ~ "; give one, with secondary addresses if it has several") }}
{% endfor %}
{% endfor %}
{% set names = ports + (vlans | map(attribute="name") | list) %}
{% for one in ethernet if one.port not in names %}
{{ raise("--ethernet `" ~ one.port ~ "=" ~ one.address ~ "`: no interface `" ~ one.port ~ "`; there are " ~ names | join(", ") ~ "; add it with --if " ~ one.port ~ "=KIND:ARGS") }}
{% endfor %}
{# All interfaces with addresses, and all these. #}
{% set all = namespace(interfaces=[], networks=[]) %}
{% for name in names %}
{% set idx = all.interfaces | length %}
{% for one in interface if one.name == name and one.address is not none %}
{% set all.interfaces = all.interfaces + [{"idx": idx, "name": name, "address": one.address, "more": one.secondary_address, "parent": one.parent, "vlan": one.vlan, "element": "port_" ~ name | identifier}] %}
{% for address in [one.address] + one.secondary_address %}
{% set all.networks = all.networks + [{"idx": idx, "name": name, "address": address}] %}
{% endfor %}
{% else %}
{% if vlans | selectattr("parent", "equalto", name) | list | length == 0 %}
{{ raise("interface " ~ name ~ " has no address; add --address " ~ name ~ "=ADDRESS/LENGTH") }}
{% endif %}
{% endfor %}
{% endfor %}
{% set interfaces = all.interfaces %}
{% set networks = all.networks %}
{{ check_networks(networks) }}
{% set n = interfaces | length %}
{# The mark that tells by which interface a packet came is a byte, of which 0 is for none. #}
{% if n > 255 %}
{{ raise("there are " ~ n ~ " interfaces with addresses; 255 is most: use several routers") }}
{% endif %}
{% set own = n %}
{% set unreachable = n + 1 %}
{% set nowhere = n + 2 %}
{# What tells groups of next hops from each other: the hops with their weights. #}
{% macro hops_of(routes) %}
{% for one in routes | sort(attribute="gateway") %}{{ one.gateway }}{% if one.weight != 1 %} {{ one.weight }}{% endif %}{% if not loop.last %}, {% endif %}{% endfor %}
{% endmacro %}
{% set ways = namespace(groups=[]) %}
{% for network, routes in route | by_network if routes | length > 1 %}
{% set twice = routes | map(attribute="gateway") | twice %}
{% if twice is not none %}
{{ raise("there are two routes for " ~ network ~ " via " ~ twice ~ "; give one") }}
{% endif %}
{% set checked = given_routes(routes, networks) %}
{% set hops = hops_of(routes) %}
{% if hops not in ways.groups %}
{% set ways.groups = ways.groups + [hops] %}
{% endif %}
{% endfor %}
{% set groups = ways.groups %}
{% set connected %}
{% for network in networks %}
{{ network_routes(network, nowhere) }}
{%- endfor %}
{% endset %}
{% set table %}
{% for address in networks | map(attribute="address") | map("address") | unique %}
{{ address }}/32 {{ own }}
{% endfor %}
{{ connected | trim | lines | unique | join("\n") }}
{% for network, routes in route | by_network %}
{% if routes | length == 1 %}
{{ given_routes(routes, networks) }}
{%- else %}
{% set hops = hops_of(routes) %}
{{ network }} {% for group in groups %}{% if group == hops %}{{ nowhere + 1 + loop.index0 }}{% endif %}{% endfor %}

{% endif %}
{% endfor %}
{{ nowhere_routes(nowhere) }}
{%- endset %}
{% include "routing.click" %}
{{ lookup(table, unreachable) }}
{# A port with VLANs: what has a tag goes to its VLAN's interface, the rest, and what has only a priority, to the port's own. #}
{% for port in ports %}
{% set here = vlans | selectattr("parent", "equalto", port) | list %}
{% set id = port | identifier %}
{% if here %}
{{ from(port) }} -> tags_{{ id }} :: Classifier({% for one in here %}12/8100 14/{{ one.vlan | hex(4) }}%0fff, {% endfor %}12/8100 14/0000%0fff, 12/8100, -);
tags_{{ id }}[{{ here | length }}] -> VLANDecap(false) -> untagged_{{ id }} :: Null;
tags_{{ id }}[{{ here | length + 1 }}] -> other_vlans_{{ id }} :: Counter -> Discard;
tags_{{ id }}[{{ here | length + 2 }}] -> untagged_{{ id }};
{% for one in here %}
tags_{{ id }}[{{ loop.index0 }}] -> vlan_{{ one.name | identifier }} :: VLANDecap(false);
{% endfor %}
{% if port not in interfaces | map(attribute="name") %}
untagged_{{ id }} -> unaddressed_{{ id }} :: Counter -> Discard;
{% endif %}
{% endif %}
{% endfor %}
{% for interface in interfaces %}
{% set id = interface.name | identifier %}
{% set parents = vlans | map(attribute="parent") | list %}
{% if interface.vlan is not none %}
{% set source, sink = "vlan_" ~ id, "VLANEncap(VLAN_ID " ~ interface.vlan ~ ") -> " ~ to(interface.parent) %}
{% elif interface.name in parents %}
{% set source, sink = "untagged_" ~ id, to(interface.name) %}
{% else %}
{% set source, sink = from(interface.name), to(interface.name) %}
{% endif %}
{# Its own Ethernet address, or that of the port that it is a VLAN of. #}
{% set at_port = ethernet | selectattr("port", "equalto", interface.parent) | list %}
{% set given = (ethernet | selectattr("port", "equalto", interface.name) | list) + at_port %}
{{ router_port_between(source, sink, interface.element, interface, interface.more | map("address") | list, given[0].address if given else none, mtu, networks) }}
{{- interface.element }}[1] -> routes;
{{ interface.element }}[2] -> routes;
routes[{{ interface.idx }}] -> [1] {{ interface.element }};
{% endfor %}
{# Groups of next hops. #}
{% for hops in groups %}
{% set element = "hops_" ~ hops | replace(", ", "_") | replace(".", "_") | replace(" ", "x") %}
routes[{{ nowhere + 1 + loop.index0 }}] -> {{ element }} :: NextHopSwitch({{ hops }});
{% for hop in hops | split(", ") %}
{% set idx = towards(hop | split(" ") | first, networks, "") | trim | int %}
{{ element }}[{{ loop.index0 }}] -> [1] {{ (interfaces | list)[idx].element }};
{% endfor %}
{% endfor %}
{% if interfaces %}
{% set first = interfaces[0].address | address %}
routes[{{ own }}] -> itself :: RouterItself({{ first }}) -> routes;
routes[{{ unreachable }}] -> unreachable :: ICMPError({{ first }}, unreachable, net) -> no_route :: RatedSplitter(1000) -> routes;
no_route[1] -> Discard;
routes[{{ nowhere }}] -> nowhere :: Counter -> Discard;
{% else %}
{# Without ports nothing comes. #}
routes[0], routes[1], routes[2] => Discard, Discard, Discard;
Idle -> routes;
{% endif %}
