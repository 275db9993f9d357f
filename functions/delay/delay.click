{% from "directions.click" import each_way %}
{% set longest = time | nanoseconds %}
{% set spread = jitter | nanoseconds %}
{% if spread > longest %}
{{ raise("--jitter `" ~ jitter ~ "`: a packet cannot leave before it came; the delay is " ~ time) }}
{% endif %}
elementclass DelayFunction { $delay, $jitter, $queue |
    input -> SetTimestamp -> jitter :: JitterTimestamp($jitter) -> queue :: Queue($queue) -> line :: DelayUnqueue($delay) -> output;
}
{% call(side) each_way(direction) %}
DelayFunction({{ longest - spread }}ns, {{ 2 * spread }}ns, {{ queue }})
{%- endcall %}
