{# Elements that find IP headers in frames. #}
{% include "headers.click" %}

{# A token bucket called `name`, and what becomes of packets above its rate; `is_ipv4` if all of them are. #}
{% macro limiter(name, limit, is_ipv4) %}
{% set parsed = limit.rate | rate %}
    {{ name }} :: Policer({{ parsed.number }}{{ "pps" if parsed.is_packets else "Bps" }}, {% if limit.bucket is not none %}BURST {{ limit.bucket }}, {% endif %}PER {{ limit.per }});
    {{ name }}[0] -> passed;
{% if limit.action == "drop" %}
    {{ name }}[1] -> Discard;
{% elif limit.action == "pass" %}
    {{ name }}[1] -> passed;
{% elif is_ipv4 %}
    {{ name }}[1] -> SetIPDSCP({{ limit.dscp }}) -> passed;
{% else %}
    {{ name }}[1] -> {{ name }}_kind :: MarkedHeaders;
    {{ name }}_kind[0] -> SetIPDSCP({{ limit.dscp }}) -> passed;
    {{ name }}_kind[1] -> SetIP6DSCP({{ limit.dscp }}) -> passed;
    {{ name }}_kind[2] -> passed;
{% endif %}
{% endmacro %}
{# A direction. #}
{% macro police(there, here, is_limited) %}
{% if is_limited %}
elementclass Police_{{ there }} {
    passed :: Null -> output;
    input -> kinds :: MarkedHeaders;
{% if rate is not none %}
{{ limiter("rest", {"rate": rate, "bucket": bucket, "per": per, "action": action, "dscp": dscp}, false) }}
{% endif %}
{% set rest = "rest" if rate is not none else "passed" %}
{% if class %}
    kinds[0] -> classes :: IPClassifier({% for one in class %}{{ one.match }}, {% endfor %}-);
{% for one in class %}
{{ limiter("class_" ~ one.name, one, true) }}
    classes[{{ loop.index0 }}] -> class_{{ one.name }};
{% endfor %}
    classes[{{ class | length }}] -> {{ rest }};
{% else %}
    kinds[0] -> {{ rest }};
{% endif %}
    kinds[1] -> {{ rest }};
    kinds[2] -> {{ rest }};
}
{{ from(here) }} -> to_{{ there }} :: Police_{{ there }} -> {{ to(there) }};
{% else %}
{{ from(here) }} -> {{ to(there) }};
{% endif %}
{% endmacro %}
{{ police("right", "left", direction != "left") }}
{{ police("left", "right", direction != "right") }}
