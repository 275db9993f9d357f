{% from "routing.click" import router_port_between, check_networks, network_routes, given_routes, nowhere_routes, lookup %}
{% for one in interface if one.name not in ports %}
{{ raise("--address `" ~ one.name ~ "=" ~ one.address ~ "`: no interface `" ~ one.name ~ "`; there are " ~ ports | join(", ") ~ "; add it with --if " ~ one.name ~ "=KIND:ARGS") }}
{% endfor %}
{% for one in ethernet if one.port not in ports %}
{{ raise("--ethernet `" ~ one.port ~ "=" ~ one.address ~ "`: no interface `" ~ one.port ~ "`; there are " ~ ports | join(", ") ~ "; add it with --if " ~ one.port ~ "=KIND:ARGS") }}
{% endfor %}
{# All interfaces, and all their addresses. #}
{% set all = namespace(interfaces=[], networks=[]) %}
{% for name in ports %}
{% set idx = all.interfaces | length %}
{% for one in interface if one.name == name and one.address is not none %}
{% set all.interfaces = all.interfaces + [{"idx": idx, "name": name, "address": one.address, "more": one.secondary_address, "element": "port_" ~ name | identifier}] %}
{% for address in [one.address] + one.secondary_address %}
{% set all.networks = all.networks + [{"idx": idx, "name": name, "address": address}] %}
{% endfor %}
{% else %}
{{ raise("interface " ~ name ~ " has no address; add --address " ~ name ~ "=ADDRESS/LENGTH") }}
{% endfor %}
{% endfor %}
{% set interfaces = all.interfaces %}
{% set networks = all.networks %}
{{ check_networks(networks) }}
{% set n = interfaces | length %}
{% set own = n %}
{% set unreachable = n + 1 %}
{% set nowhere = n + 2 %}
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
{{ given_routes(route, networks) }}
{{- nowhere_routes(nowhere) }}
{%- endset %}
{% include "routing.click" %}
{{ lookup(table, unreachable) }}
{% for interface in interfaces %}
{% set other = ethernet | selectattr("port", "equalto", interface.name) | map(attribute="address") | list %}
{{ router_port_between(from(interface.name), to(interface.name), interface.element, interface, interface.more | map("address") | list, other[0] if other else none, mtu, networks) }}
{{- interface.element }}[1] -> routes;
{{ interface.element }}[2] -> routes;
routes[{{ interface.idx }}] -> [1] {{ interface.element }};
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
