{# Elements that find IPv4 packets in frames. #}
{% include "frames.click" %}

{# A stage of the way to the right: packets for its output 1 are counted as `reason` and dropped. #}
{% macro counted(stage, reason) %}
{{ stage }}[1] -> {{ reason }} :: Counter -> dropped;
{% endmacro %}
{% macro limit(rate, burst, per) %}
Policer({{ rate }}pps, {% if burst is not none %}BURST {{ burst }}, {% endif %}PER {{ per }}, CAPACITY {{ capacity }})
{%- endmacro %}
{{ from("right") }} -> {{ to("left") }};
{{ from("left") }} -> packets :: PacketsOfFrames(0);
passed :: Counter -> {{ to("right") }};
dropped :: Counter -> Discard;
Idle -> dropped;

// IPv4 and IPv6.
source_rate :: Null
{% if source_rate is not none %}
    -> source_limit :: {{ limit(source_rate, source_burst, "source") }} -> passed;
source_limit[1] -> dropped;
{% else %}
    -> passed;
{% endif %}
// Connections that are asked for.
syn_rate :: Null
{% if syn_rate is not none %}
    -> asks :: IPClassifier(tcp opt syn && not tcp opt ack, -) -> syn_limit :: {{ limit(syn_rate, syn_burst, "destination") }} -> source_rate;
asks[1] -> source_rate;
syn_limit[1] -> dropped;
{% else %}
    -> source_rate;
{% endif %}

packets[1] -> others :: Classifier(12/86dd, 12/8100 16/86dd, -);
others[0] -> MarkIP6Header(14) -> source_rate;
others[1] -> MarkIP6Header(18) -> source_rate;
others[2] -> {% if drop_non_ip %}non_ip :: Counter -> dropped{% else %}passed{% endif %};

packets[0]
{% if trusted_source %}
    -> trusted :: IPFilter({% for one in trusted_source %}1 src net {{ one.network | network }}, {% endfor %}0 all)
{% endif %}
{% if blocked_source %}
    -> sources :: IPFilter({% for one in blocked_source %}1 src net {{ one.network | network }}, {% endfor %}0 all)
{% endif %}
{% if blocked_destination %}
    -> destinations :: IPFilter({% for one in blocked_destination %}1 dst net {{ one.network | network }}, {% endfor %}0 all)
{% endif %}
{% if drop_fragments %}
    -> whole :: IPFilter(0 ip unfrag, 1 all)
{% endif %}
{% if drop_invalid_tcp %}
{# Only first fragments have flags. #}
    -> flags :: IPFilter(0 not tcp, 0 not ip[6:2] & 0x1fff == 0, 1 syn && (fin or rst), 1 fin && (rst or not ack), 0 syn or ack or rst or fin, 1 all)
{% endif %}
    -> syn_rate;
{% if trusted_source %}
trusted[1] -> passed;
{% endif %}
{% if blocked_source %}
{{ counted("sources", "from_blocked") }}
{%- endif %}
{% if blocked_destination %}
{{ counted("destinations", "to_blocked") }}
{%- endif %}
{% if drop_fragments %}
{{ counted("whole", "fragments") }}
{%- endif %}
{% if drop_invalid_tcp %}
{{ counted("flags", "invalid") }}
{%- endif %}
