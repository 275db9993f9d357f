{# A direction: what enters by the port `here` leaves by the port `there`, if the mode says so. #}
{% macro direction(here, there) %}
{{ from(here) }} -> from_{{ here }} :: Counter
{% if mode == "forward" %}
    -> {{ to(there) }};
{% elif mode == "reflect" %}
    -> EtherMirror -> {{ to(here) }};
{% else %}
    -> Discard;
{% endif %}
// A port must be there even if nothing leaves by it.
Idle -> {{ to(there) }};
{% endmacro %}
{{ direction("left", "right") }}
{{ direction("right", "left") }}
