{% from "directions.click" import each_way %}
{% set limit = rate | rate %}
{% set size = bucket | burst %}
{% if limit.is_packets and size.ms is not none and size.ms * limit.number < 1000 %}
{# Less than one packet would never pass. #}
{{ raise("--bucket `" ~ bucket ~ "`: " ~ size.ms ~ " ms at this rate are less than one packet; try --bucket 1") }}
{% endif %}
elementclass ShapeFunction { $rate, $burst, $queue |
    input -> queue :: Queue($queue) -> limit :: BandwidthRatedUnqueue($rate, $burst) -> output;
}
elementclass ShapePacketsFunction { $rate, $burst, $queue |
    input -> queue :: Queue($queue) -> limit :: RatedUnqueue($rate, $burst) -> output;
}
{% set burst %}
{% if size.ms is not none %}
BURST_DURATION {{ size.ms }}ms
{%- else %}
{{ "BURST_SIZE" if limit.is_packets else "BURST_BYTES" }} {{ size.number }}
{%- endif %}
{% endset %}
{% call(side) each_way(direction) %}
{% if limit.is_packets %}
ShapePacketsFunction({{ limit.number }}, {{ burst }}, {{ queue }})
{%- else %}
ShapeFunction({{ limit.number }}Bps, {{ burst }}, {{ queue }})
{%- endif %}
{% endcall %}
