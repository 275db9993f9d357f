{% from "routing.click" import router_port, check_networks, network_routes, given_routes, nowhere_routes, lookup, towards %}
{% if transparent %}
{# What is only for a router. #}
{% set of_routers = [["left-address", left_address], ["right-address", right_address], ["gateway", gateway], ["left-ethernet", left_ethernet], ["right-ethernet", right_ethernet]] %}
{% for flag, value in of_routers if value is not none %}
{{ raise("--" ~ flag ~ " `" ~ value ~ "`: a transparent NAT has no addresses of its own; leave this or --transparent away") }}
{% endfor %}
{% for one in route %}
{{ raise("--route `" ~ one.prefix ~ " via " ~ one.gateway ~ "`: a transparent NAT has no addresses of its own; leave this or --transparent away") }}
{% endfor %}
{% if address is none %}
{{ raise("--transparent needs the outside address: add --address ADDRESS") }}
{% endif %}
{% else %}
{% for flag, value in [["left-address", left_address], ["right-address", right_address]] if value is none %}
{{ raise("--" ~ flag ~ " ADDRESS/LENGTH is needed, such as 10.0.0.1/24; or be --transparent, without addresses") }}
{% endfor %}
{% endif %}
{# A router's own address inside, if it is one: with it inside hosts reach forwarded ports and static mappings by their outside
   addresses, too. #}
{% set own = none if transparent else left_address | address %}
{% set outside = address or right_address | address %}
{% for one in static %}
{% if one.outside == outside %}
{{ raise("--static `" ~ one.outside ~ "=" ~ one.inside ~ "`: " ~ outside ~ " is everybody's outside address; give this host another") }}
{% endif %}
{% endfor %}
{% set twice = static | map(attribute="inside") | twice %}
{% for one in static if one.inside == twice %}
{% if not loop.first %}
{{ raise("--static `" ~ one.outside ~ "=" ~ one.inside ~ "`: another --static has one of these addresses; each can be in one only") }}
{% endif %}
{% endfor %}
{% include "frames.click" %}
{% include "flows.click" %}
{# A way of packets to an input of each rewriter. #}
{% macro way(side, number, flows, others) %}
    from_{{ side }}[{{ number }}] -> {{ side }}{{ number }} :: ByProtocol [0] -> [{{ flows }}] flows;
    {{ side }}{{ number }}[1] -> [{{ others }}] pings; {{ side }}{{ number }}[5] -> [{{ others }}] others;
    {{ side }}{{ number }}[2] -> flow_errors; {{ side }}{{ number }}[3] -> ping_errors; {{ side }}{{ number }}[4] -> other_errors;
{% endmacro %}
{# Inputs of the rewriters tell what becomes of packets that have no mapping: 0 is for what is refused, 1 for everybody's packets. Those
   are first, and static mappings next, so that flows keep their input when forwarded ports come and go. #}
{% set n_static = static | length %}
{% set n_forward = forward | length %}
{% set inputs_of_forward = 1 if own is none else 2 %}
{% set first_forward = 2 + 2 * n_static %}
{% set first_hairpin = first_forward + n_forward * inputs_of_forward %}
{# The ways of packets from the left that are for the NAT's own addresses. #}
{% set own_ways = 0 if own is none else n_forward + 2 * n_static + 2 %}
{% set is_for_all = not inside or (inside | map("prefix_length") | min) == 0 %}

// Inputs: packets from the left, from the right, and errors about translated packets. Outputs: to the right, to the left, packets for
// the NAT's own addresses that have no mapping, and those that are none of the NAT's from the left and from the right.
elementclass NATMappings {
    flows :: IPRewriter(pass 2,
        pattern {{ outside }} {{ port_range }} - - 0 1,
{% for one in static %}
        pattern {{ one.outside }} - - - 0 1,
        pattern - - {{ one.inside }} - 1 0,
{% endfor %}
{% for one in forward %}
        pattern - - {{ one.address }} {{ one.inside_port or one.port }} 1 0,
{% if own is not none %}
        pattern {{ own }} {{ port_range }} {{ one.address }} {{ one.inside_port or one.port }} 1 1,
{% endif %}
{% endfor %}
{% for one in static if own is not none %}
        pattern {{ own }} {{ port_range }} {{ one.inside }} - 1 1,
{% endfor %}
        TCP_TIMEOUT {{ tcp_timeout }}, TCP_NODATA_TIMEOUT {{ tcp_timeout }}, UDP_TIMEOUT {{ udp_timeout }}, MAPPING_CAPACITY {{ capacity }});
    pings :: ICMPPingRewriter(pass 2,
        pattern {{ outside }} - 0-65535 0 1,
{% for one in static %}
        pattern {{ one.outside }} - - 0 1,
        pattern - {{ one.inside }} - 1 0,
{% endfor %}
        TIMEOUT {{ icmp_timeout }}, MAPPING_CAPACITY {{ capacity }});
    others :: IPAddrPairRewriter(pass 2,
        pattern {{ outside }} - 0 1,
{% for one in static %}
        pattern {{ one.outside }} - 0 1,
        pattern - {{ one.inside }} 1 0,
{% endfor %}
        TIMEOUT {{ udp_timeout }}, MAPPING_CAPACITY {{ capacity }});
    flow_errors :: ICMPRewriter(flows:0); ping_errors :: ICMPRewriter(pings:0); other_errors :: ICMPRewriter(others:0);
    right :: Null -> [0] output; left :: Null -> [1] output; refused :: Null -> [2] output;
    // ICMP errors from inside get the source that their sender has outside (RFC 5508, section 4.2).
    senders :: IPClassifier({% for one in static %}src host {{ one.inside }}, {% endfor %}-);
{% for one in static %}
    senders[{{ loop.index0 }}] -> StoreIPAddress({{ one.outside }}, src) -> right;
{% endfor %}
    senders[{{ n_static }}] -> StoreIPAddress({{ outside }}, src) -> right;
    input[0] -> from_left :: IPClassifier(
{% if own is not none %}
{% for one in forward %}
        {{ one.protocol }} && dst host {{ outside }} && dst port {{ one.port }},
{% endfor %}
{% for one in static %}
        (tcp or udp) && dst host {{ one.outside }},
{% endfor %}
{# Answers of hosts that were reached from inside are for the NAT's own addresses. #}
{% for one in static %}
        dst host {{ one.outside }},
{% endfor %}
        dst host {{ outside }},
        dst host {{ own }},
{% endif %}
{% for one in static %}
        src host {{ one.inside }},
{% endfor %}
{% if not is_for_all %}
        src net {{ inside | map("network") | join(" or src net ") }},
{% endif %}
        -);
{% if own is not none %}
{% for one in forward %}
    from_left[{{ loop.index0 }}] -> [{{ first_forward + 2 * loop.index0 + 1 }}] flows;
{% endfor %}
{% for one in static %}
    from_left[{{ n_forward + loop.index0 }}] -> [{{ first_hairpin + loop.index0 }}] flows;
{% endfor %}
{% for i in range(n_forward + n_static, own_ways) %}
{{ way("left", i, 0, 0) }}
{%- endfor %}
{% endif %}
{% for one in static %}
{{ way("left", own_ways + loop.index0, 2 + 2 * loop.index0, 2 + 2 * loop.index0) }}
{%- endfor %}
{{ way("left", own_ways + n_static, 1, 1) }}
{%- if not is_for_all %}
    from_left[{{ own_ways + n_static + 1 }}] -> [3] output;
{% endif %}
    input[1] -> from_right :: IPClassifier(
{% for one in forward %}
        {{ one.protocol }} && dst host {{ outside }} && dst port {{ one.port }},
{% endfor %}
{% for one in static %}
        dst host {{ one.outside }},
{% endfor %}
        dst host {{ outside }},
        -);
{% for one in forward %}
    from_right[{{ loop.index0 }}] -> [{{ first_forward + inputs_of_forward * loop.index0 }}] flows;
{% endfor %}
{% for one in static %}
{{ way("right", n_forward + loop.index0, 3 + 2 * loop.index0, 3 + 2 * loop.index0) }}
{%- endfor %}
{{ way("right", n_forward + n_static, 0, 0) }}
{{- "    from_right[" ~ (n_forward + n_static + 1) ~ "] -> [4] output;" }}
    input[2] -> own :: ByProtocol;
    Idle -> right; Idle -> refused;
    own[0], own[1], own[5] => Discard, Discard, Discard;
    own[2] -> flow_errors; own[3] -> ping_errors; own[4] -> other_errors;
    flows[0] -> right; flows[1] -> left; flows[2] -> refused;
    flow_errors[0] -> senders; flow_errors[1] -> left; flow_errors[2] -> refused;
    pings[0] -> right; pings[1] -> left; pings[2] -> refused;
    ping_errors[0] -> senders; ping_errors[1] -> left; ping_errors[2] -> refused;
    others[0] -> right; others[1] -> left; others[2] -> refused;
    other_errors[0] -> senders; other_errors[1] -> left; other_errors[2] -> refused;
    Idle -> [3] output;
    Idle -> [4] output;
}
nat :: NATMappings;
{% if transparent %}
{{ from("left") }} -> from_left :: PacketsOfFrames(0) -> whole_left :: WholePackets -> [0] nat;
{{ from("right") }} -> from_right :: PacketsOfFrames(0) -> whole_right :: WholePackets -> [1] nat;
Idle -> [2] nat;
to_right :: PacketsAsTheyCame({{ mtu }}) -> {{ to("right") }};
to_left :: PacketsAsTheyCame({{ mtu }}) -> {{ to("left") }};
from_left[1] -> {{ to("right") }};
from_right[1] -> {{ to("left") }};
nat[0] -> to_right;
nat[1] -> to_left;
nat[2] -> unsolicited :: Counter -> Discard;
nat[3] -> to_right;
nat[4] -> to_left;
{% else %}
{% include "routing.click" %}
{% set interfaces = [{"idx": 0, "name": "left", "address": left_address}, {"idx": 1, "name": "right", "address": right_address}] %}
{% set inner, outer = interfaces %}
{% set at_right = right_address | address %}
{{ check_networks(interfaces) }}
{# The routing table: output 0 is left, 1 right, 2 unreachable, 3 nowhere. #}
{% set table %}
{{ network_routes(inner, 3) }}
{{- network_routes(outer, 3) }}
{{- given_routes(route, interfaces) }}
{{- nowhere_routes(3) }}
{%- if gateway is not none %}
0.0.0.0/0 {{ gateway }} {{ towards(gateway, interfaces, "--gateway `" ~ gateway ~ "`") | trim }}
{% endif %}
{% endset %}
{{ lookup(table, 2) }}
{% set answers = (static | map(attribute="outside") | list + [outside]) | reject("equalto", at_right) | list %}
{{ router_port(inner, [], left_ethernet, mtu, interfaces) }}
{{- router_port(outer, answers, right_ethernet, mtu, interfaces) }}
{%- for i in [0, 1] %}
port{{ i }}[2] -> [2] nat;
routes[{{ i }}] -> [1] port{{ i }};
{% endfor %}
port0[1] -> whole_left :: IPReassembler(HIMEM 4194304) -> for_left :: IPClassifier(dst net {{ left_address | network }} && not dst host {{ own }}, -);
for_left[0] -> routes;
for_left[1] -> [0] nat;
port1[1] -> whole_right :: IPReassembler(HIMEM 4194304) -> [1] nat;
// What was translated may go back to where it came from: that calls for no redirect.
nat[0] -> translated :: Paint(0) -> routes;
nat[1] -> translated;
nat[2] -> itself :: RouterItself({{ own }}) -> routes;
nat[3] -> not_inside :: Counter -> Discard;
nat[4] -> for_right :: IPClassifier(dst host {{ at_right }}, -);
for_right[0] -> itself;
for_right[1] -> unsolicited :: Counter -> Discard;
routes[2] -> unreachable :: ICMPError({{ at_right }}, unreachable, net) -> no_route :: RatedSplitter(1000) -> [2] nat;
no_route[1] -> Discard;
routes[3] -> nowhere :: Counter -> Discard;
{% endif %}
