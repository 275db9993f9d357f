{% from "routing.click" import router_port, check_networks, network_routes, given_routes, nowhere_routes, lookup, towards %}
{% include "routing.click" %}
{% set interfaces = [{"idx": 0, "name": "left", "address": left_address}, {"idx": 1, "name": "right", "address": right_address}] %}
{% set left, right = interfaces %}
{% set at_left = left_address | address %}
{% set at_right = right_address | address %}
{{ check_networks(interfaces) }}
{% if mode == "dsr" %}
{% for one in service %}
{% for each in one.backend if not right_address | contains(each.address) %}
{{ raise("backend " ~ each.address ~ " of service " ~ one.name ~ " is not in " ~ right_address | network ~ ": with mode dsr backends are in the network on the right") }}
{% endfor %}
{% endfor %}
{% endif %}
{% set addresses = service | map(attribute="address") | unique | list %}
{# The routing table: output 0 is left, 1 right, 2 the balancer itself, 3 unreachable, 4 nowhere. #}
{% set table %}
{% for one in [at_left, at_right] + addresses | reject("in", [at_left, at_right]) | list %}
{{ one }}/32 2
{% endfor %}
{{ network_routes(left, 4) }}
{{- network_routes(right, 4) }}
{{- given_routes(route, interfaces) }}
{{- nowhere_routes(4) }}
{%- if gateway is not none %}
0.0.0.0/0 {{ gateway }} {{ towards(gateway, interfaces, "gateway " ~ gateway) | trim }}
{% endif %}
{% endset %}
{{ lookup(table, 3) }}
{% set schedulers = {"maglev": "maglev", "round-robin": "rr", "least-connections": "lc"} %}
lb :: LoadBalancer(
{% for one in service %}
    {{ one.address }}:{{ one.port }}/{{ one.protocol }}
{%- for each in one.backend %} {{ each.address }}:{{ each.port }}*{{ each.weight }}{% if each.state != "up" %}/{{ each.state }}{% endif %}{% endfor %},
{% endfor %}
    MODE {{ mode }}, {% if mode == "ipip" %}LOCAL {{ at_right }}, {% endif %}SCHEDULER {{ schedulers[scheduler] }}, AFFINITY {{ affinity }}, CAPACITY {{ capacity }},
    TCP_SYN_TIMEOUT {{ syn_timeout }}, TCP_TIMEOUT {{ tcp_timeout }}, TCP_FIN_TIMEOUT {{ fin_timeout }}, UDP_TIMEOUT {{ udp_timeout }});
{{ router_port(left, addresses | reject("equalto", at_left) | list, left_ethernet, mtu, interfaces) }}
{{- router_port(right, [], right_ethernet, mtu, interfaces) }}
{%- for i in [0, 1] %}
port{{ i }}[1] -> [{{ i }}] lb;
port{{ i }}[2] -> routes;
routes[{{ i }}] -> [1] port{{ i }};
{% endfor %}
// What was balanced goes where its destination annotation says, and calls for no redirect.
lb[0] -> balanced :: Paint(0) -> routes;
lb[1] -> balanced;
lb[2] -> routes;
routes[2] -> itself :: RouterItself({{ at_left }}) -> routes;
routes[3] -> unreachable :: Counter -> no_route :: ICMPError({{ at_left }}, unreachable, net) -> errors :: RatedSplitter(1000) -> routes;
errors[1] -> Discard;
routes[4] -> nowhere :: Counter -> Discard;
