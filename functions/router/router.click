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
{% for one in ipv6_address if one.interface not in names %}
{{ raise("--address6 `" ~ one.interface ~ "=" ~ one.address ~ "`: no interface `" ~ one.interface ~ "`; there are " ~ names | join(", ") ~ "; add it with --if " ~ one.interface ~ "=KIND:ARGS") }}
{% endfor %}
{% for one in router_advertisement if one.interface not in ipv6_address | map(attribute="interface") | list %}
{{ raise("--router-advertisement `" ~ one.interface ~ "`: interface " ~ one.interface ~ " has no IPv6 address; add --address6 " ~ one.interface ~ "=ADDRESS/LENGTH") }}
{% endfor %}
{% set names6 = ipv6_address | map(attribute="interface") | list %}
{# All interfaces with IPv4 addresses, and all these. #}
{% set all = namespace(interfaces=[], networks=[]) %}
{% for name in names %}
{% set idx = all.interfaces | length %}
{% for one in interface if one.name == name and one.address is not none %}
{% set all.interfaces = all.interfaces + [{"idx": idx, "name": name, "address": one.address, "more": one.secondary_address, "parent": one.parent, "vlan": one.vlan, "element": "port_" ~ name | identifier}] %}
{% for address in [one.address] + one.secondary_address %}
{% set all.networks = all.networks + [{"idx": idx, "name": name, "address": address}] %}
{% endfor %}
{% else %}
{% if name not in names6 and vlans | selectattr("parent", "equalto", name) | list | length == 0 %}
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
{% if port not in interfaces | map(attribute="name") and port not in names6 %}
untagged_{{ id }} -> unaddressed_{{ id }} :: Counter -> Discard;
{% endif %}
{% endif %}
{% endfor %}
{% set parents = vlans | map(attribute="parent") | list %}
{# What frames of an interface come from, and where they go. #}
{% macro source_of(name, vlan, parents) %}
{% if vlan %}vlan_{{ name | identifier }}{% elif name in parents %}untagged_{{ name | identifier }}{% else %}{{ from(name) }}{% endif %}
{% endmacro %}
{% macro sink_of(name, vlan, parent) %}
{% if vlan %}VLANEncap(VLAN_ID {{ vlan }}) -> {{ to(parent) }}{% else %}{{ to(name) }}{% endif %}
{% endmacro %}
{# What is IPv6 goes its own way. #}
{% for name in names if name in names6 %}
{% set own = interface | selectattr("name", "equalto", name) | list %}
{{ source_of(name, own[0].vlan if own else none, parents) | trim }} -> family_{{ name | identifier }} :: Classifier(12/86dd, -);
{% endfor %}
{% for interface in interfaces %}
{% set is_dual = interface.name in names6 %}
{% set source = "family_" ~ (interface.name | identifier) ~ "[1]" if is_dual else source_of(interface.name, interface.vlan, parents) | trim %}
{% set sink = sink_of(interface.name, interface.vlan, interface.parent) | trim %}
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
{% if ipv6_address or ipv6_route %}
{% from "routing6.click" import router_port6, advertiser6, router6 %}
{% if mtu < 1280 %}
{{ raise("an MTU of " ~ mtu ~ " is too small for IPv6; 1280 is least (RFC 8200)") }}
{% endif %}
{# All interfaces with IPv6 addresses, and their networks, of which link-local addresses have none. #}
{% set six = namespace(interfaces=[], networks=[], routes=[], addresses=[], link_local=none) %}
{% for name in names if name in names6 %}
{% set idx = six.interfaces | length %}
{% set own = interface | selectattr("name", "equalto", name) | list %}
{% set parent = own[0].parent if own else none %}
{% set vlan = own[0].vlan if own else none %}
{% set six.addresses = [] %}
{% set six.link_local = none %}
{% for one in ipv6_address if one.interface == name %}
{% set address = (one.address | address) ~ "/" ~ (one.address | prefix_length) %}
{% if address | is_link_local %}
{% if six.link_local is not none %}
{{ raise("interface " ~ name ~ " has two link-local addresses, " ~ six.link_local ~ " and " ~ address ~ "; give one") }}
{% endif %}
{% set six.link_local = address %}
{% else %}
{% set six.addresses = six.addresses + [address] %}
{% set six.networks = six.networks + [{"idx": idx, "name": name, "address": address}] %}
{% endif %}
{% endfor %}
{# Without an Ethernet address it has that which belongs to its IPv4 address, or one that hardly any other has. #}
{% set given = (ethernet | selectattr("port", "equalto", name) | list) + (ethernet | selectattr("port", "equalto", parent) | list) %}
{% set first = (six.addresses + [six.link_local])[0] %}
{% if given %}
{% set mac = given[0].address %}
{% elif own and own[0].address is not none %}
{% set mac = own[0].address | address | ethernet_of_address %}
{% else %}
{% set mac = first | ethernet_of_name %}
{% endif %}
{% set link_local = six.link_local or (mac | link_local_of_ethernet) ~ "/64" %}
{% set six.interfaces = six.interfaces + [{"idx": idx, "name": name, "parent": parent, "vlan": vlan, "element": "port6_" ~ name | identifier, "addresses": [link_local] + six.addresses, "ethernet": mac}] %}
{% endfor %}
{{ check_networks(six.networks) }}
{# Paint tells by which interface a packet came; 255 is all of them. #}
{% if six.interfaces | length > 255 %}
{{ raise("there are " ~ six.interfaces | length ~ " interfaces with IPv6 addresses; 255 is most: use several routers") }}
{% endif %}
{% for one in ipv6_route %}
{% set parts = one.gateway | split("%") | list %}
{% set address = parts[0] | address %}
{% set zone = parts[1] if parts | length > 1 else "" %}
{% set six.routes = six.routes + [{"prefix": one.prefix, "hop": address ~ "%" ~ zone if zone else address, "address": address, "zone": zone, "weight": one.weight}] %}
{% endfor %}
{% include "routing6.click" %}
{% set between %}
{% for one in six.interfaces %}
{% set id = one.name | identifier %}
{% if one.name not in interfaces | map(attribute="name") %}
family_{{ id }}[1] -> other_{{ id }} :: Counter -> Discard;
{% endif %}
{% set sink = sink_of(one.name, one.vlan, one.parent) | trim %}
{{ router_port6("family_" ~ id, sink, one, mtu) }}
{%- for told in router_advertisement if told.interface == one.name %}
{{ advertiser6(one, told, mtu, six.networks, sink) }}
{%- else %}
{{ one.element }}[7] -> Discard;
{% endfor %}
{%- endfor %}
{% endset %}
{{ router6(six.interfaces, six.networks, six.routes, mtu, between) }}
{% endif %}
