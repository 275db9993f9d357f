{# Elements that find IP headers in frames. #}
{% include "headers.click" %}

copied :: Counter -> {% if truncate is not none %}Truncate({{ truncate }}, EXTRA_LENGTH false) -> {% endif %}{{ to("mirror") }};
{{ from("mirror") }} -> ignored :: Counter -> Discard;

{# A direction, copied or not. #}
{% macro pass(there, here, is_copied) %}
copied_{{ there }} :: Counter -> copied;
{% if is_copied and sample > 1 %}
sample_{{ there }} :: StrideSwitch(1, {{ sample - 1 }}) -> copied_{{ there }};
sample_{{ there }}[1] -> Discard;
{% endif %}
{% if is_copied %}
{{ from(here) }} -> tee_{{ there }} :: Tee(2) -> {{ to(there) }};
{% set sampled = "sample_" ~ there if sample > 1 else "copied_" ~ there %}
{% if match is not none %}
tee_{{ there }}[1] -> kinds_{{ there }} :: MarkedHeaders;
kinds_{{ there }}[0] -> match_{{ there }} :: IPClassifier({{ match }}) -> {{ sampled }};
kinds_{{ there }}[1] -> Discard;
kinds_{{ there }}[2] -> Discard;
{% else %}
tee_{{ there }}[1] -> {{ sampled }};
{% endif %}
{% else %}
{{ from(here) }} -> {{ to(there) }};
Idle -> copied_{{ there }};
{% endif %}
{% endmacro %}
{{ pass("right", "left", direction != "left") }}
{{ pass("left", "right", direction != "right") }}
