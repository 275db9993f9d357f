{# Elements that find IPv4 packets in frames, put fragments together and cut them again, and tell flows apart. #}
{% include "frames.click" %}
{% include "flows.click" %}

// What passes because of what passed before. Inputs: to the right, allowed and denied by a rule; to the left, the same.
// Outputs: to the right, to the left.
elementclass FirewallState { $tcp, $udp, $icmp, $capacity |
    flows :: IPRewriter(keep 0 1, drop, keep 1 0, drop, TCP_TIMEOUT $tcp, TCP_NODATA_TIMEOUT $tcp, UDP_TIMEOUT $udp,
        MAPPING_CAPACITY $capacity, DST_ANNO false);
    pings :: ICMPPingRewriter(keep 0 1, drop, keep 1 0, drop, TIMEOUT $icmp, MAPPING_CAPACITY $capacity, DST_ANNO false);
    others :: IPAddrPairRewriter(keep 0 1, drop, keep 1 0, drop, TIMEOUT $udp, MAPPING_CAPACITY $capacity);
    flow_errors :: ICMPRewriter(flows:0, DST_ANNO false);
    ping_errors :: ICMPRewriter(pings:0, DST_ANNO false);
    other_errors :: ICMPRewriter(others:0, DST_ANNO false);
    c0, c1, c2, c3 :: ByProtocol;
    input[0] -> Paint(0, 20) -> c0; c0[0] -> [0] flows; c0[1] -> [0] pings; c0[5] -> [0] others;
    input[1] -> Paint(1, 20) -> c1; c1[0] -> [1] flows; c1[1] -> [1] pings; c1[5] -> [1] others;
    input[2] -> Paint(2, 20) -> c2; c2[0] -> [2] flows; c2[1] -> [2] pings; c2[5] -> [2] others;
    input[3] -> Paint(3, 20) -> c3; c3[0] -> [3] flows; c3[1] -> [3] pings; c3[5] -> [3] others;
    c0[2], c1[2], c2[2], c3[2] => flow_errors, flow_errors, flow_errors, flow_errors;
    c0[3], c1[3], c2[3], c3[3] => ping_errors, ping_errors, ping_errors, ping_errors;
    c0[4], c1[4], c2[4], c3[4] => other_errors, other_errors, other_errors, other_errors;
    // What was allowed goes on to where it was going, even if it answers what came the same way, as in a capture of both ways.
    // What was denied passes only if it goes where the flow's mapping sends it.
    to_right, to_left :: PaintSwitch(20);
    flows[0] -> to_right; flows[1] -> to_left;
    pings[0] -> to_right; pings[1] -> to_left;
    others[0] -> to_right; others[1] -> to_left;
    flow_errors[0] -> to_right; flow_errors[1] -> to_left;
    ping_errors[0] -> to_right; ping_errors[1] -> to_left;
    other_errors[0] -> to_right; other_errors[1] -> to_left;
    right :: Null -> [0] output; left :: Null -> [1] output; spoofed :: Counter -> Discard;
    to_right[0] -> right; to_right[1] -> right; to_right[2] -> left; to_right[3] -> spoofed;
    to_left[0] -> right; to_left[1] -> spoofed; to_left[2] -> left; to_left[3] -> left;
}

{# The pattern of a rule that names sets. #}
{% macro networks(name, side) %}
{% for one in set if one.name == name %}
({% for network in one.network %}{{ side }} net {{ network | network }}{% if not loop.last %} or {% endif %}{% endfor %})
{%- endfor %}
{% endmacro %}
{% macro pattern(rule) %}
{% if rule.source_set %}{{ networks(rule.source_set, "src") }} and {% endif %}
{% if rule.destination_set %}{{ networks(rule.destination_set, "dst") }} and {% endif %}
({{ rule.match }})
{% endmacro %}
{# A compound element for the rules of a direction: output 0 is for what is allowed, output 1 for the rest. #}
{% macro rules(to, list, default) %}
elementclass Rules_{{ to }} {
    input -> rules :: IPFilter(
{% for rule in list %}
        {{ loop.index0 if count_rules else (0 if rule.action == "allow" else 1) }} {% if rule.source_set or rule.destination_set %}{{ pattern(rule) }}{% else %}{{ rule.match }}{% endif %},
{% endfor %}
        {{ list | length if count_rules else (0 if default == "allow" else 1) }} all);
    allowed :: Counter -> [0] output;
    denied :: Counter -> [1] output;
{% if count_rules %}
{% for rule in list %}
    rules[{{ loop.index0 }}] -> rule{{ rule.id }} :: Counter -> {{ "allowed" if rule.action == "allow" else "denied" }};
{% endfor %}
    rules[{{ list | length }}] -> default :: Counter -> {{ "allowed" if default == "allow" else "denied" }};
    // Both need an input.
    Idle -> allowed; Idle -> denied;
{% else %}
    rules[0] -> allowed;
    rules[1] -> denied;
{% endif %}
}
{% endmacro %}
{# A direction without state. #}
{% macro one_way(to_name, from_name, list, default) %}
{{ rules(to_name, list, default) }}
{{ from(from_name) }} -> from_{{ from_name }} :: PacketsOfFrames({{ 1 if drop_non_ip else 0 }}) -> to_{{ to_name }} :: Rules_{{ to_name }} -> {{ to(to_name) }};
from_{{ from_name }}[1] -> {{ to(to_name) }};
to_{{ to_name }}[1] -> Discard;
{% endmacro %}
{# A direction with state: `number` is 0 to the right, 1 to the left. #}
{% macro with_state(number, to_name, from_name, list, default) %}
{{ rules(to_name, list, default) }}
{{ from(from_name) }} -> from_{{ from_name }} :: PacketsOfFrames({{ 1 if drop_non_ip else 0 }}) -> whole_{{ to_name }} :: WholePackets -> to_{{ to_name }} :: Rules_{{ to_name }};
to_{{ to_name }}[0] -> [{{ 2 * number }}] state;
to_{{ to_name }}[1] -> [{{ 2 * number + 1 }}] state;
from_{{ from_name }}[1] -> {{ to(to_name) }};
state[{{ number }}] -> PacketsAsTheyCame({{ mtu }}) -> {{ to(to_name) }};
{% endmacro %}
{% set to_left = reverse + rule if both else reverse %}
{% if stateful %}
state :: FirewallState({{ tcp_timeout }}, {{ udp_timeout }}, {{ icmp_timeout }}, {{ capacity }});
{{ with_state(0, "right", "left", rule, default) }}
{# Without rules, `default` is about packets to the right only. #}
{{ with_state(1, "left", "right", to_left, default if to_left else "deny") }}
{% else %}
{{ one_way("right", "left", rule, default) }}
{% if to_left or drop_non_ip %}
{{ one_way("left", "right", to_left, default if to_left else "allow") }}
{% else %}
{{ from("right") }} -> {{ to("left") }};
{% endif %}
{% endif %}
