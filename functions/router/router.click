{% from "routing.click" import router_port, check_networks, network_routes, given_routes, nowhere_routes, lookup %}
{% for one in address if one.port not in ports %}
{{ raise("--address `" ~ one.port ~ "=" ~ one.address ~ "`: no interface `" ~ one.port ~ "`; there are " ~ ports | join(", ") ~ "; add it with --if " ~ one.port ~ "=KIND:ARGS") }}
{% endfor %}
{% for one in ethernet if one.port not in ports %}
{{ raise("--ethernet `" ~ one.port ~ "=" ~ one.address ~ "`: no interface `" ~ one.port ~ "`; there are " ~ ports | join(", ") ~ "; add it with --if " ~ one.port ~ "=KIND:ARGS") }}
{% endfor %}
{% set all = namespace(list=[]) %}
{% for port in ports %}
{% set own = address | selectattr("port", "equalto", port) | map(attribute="address") | list %}
{% if not own %}
{{ raise("interface " ~ port ~ " has no address; add --address " ~ port ~ "=ADDRESS/LENGTH") }}
{% endif %}
{% set all.list = all.list + [{"idx": loop.index0, "name": port, "address": own[0]}] %}
{% endfor %}
{% set interfaces = all.list %}
{{ check_networks(interfaces) }}
{% set n = ports | length %}
{% set own = n %}
{% set unreachable = n + 1 %}
{% set nowhere = n + 2 %}
{% set table %}
{% for interface in interfaces %}
{{ interface.address | address }}/32 {{ own }}
{% endfor %}
{% for interface in interfaces %}
{{ network_routes(interface, nowhere) }}
{%- endfor %}
{{ given_routes(route, interfaces) }}
{{- nowhere_routes(nowhere) }}
{%- endset %}
{% include "routing.click" %}
{{ lookup(table, unreachable) }}
{% for interface in interfaces %}
{% set other = ethernet | selectattr("port", "equalto", interface.name) | map(attribute="address") | list %}
{{ router_port(interface, [], other[0] if other else none, mtu, interfaces) }}
port{{ interface.idx }}[1] -> routes;
port{{ interface.idx }}[2] -> routes;
routes[{{ interface.idx }}] -> [1] port{{ interface.idx }};
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
