copies :: Null -> enabled :: Switch({{ 0 if enabled else -1 }}) -> filter :: PcapFilter({{ filter | quoted }})
    -> file :: ToDump({{ file | quoted }}, SNAPLEN {{ snaplen }}, UNBUFFERED true, FORMAT auto, MAX_PACKETS {{ max_packets }}, MAX_BYTES {{ max_bytes }}, FILES {{ files }});
{# A direction, written or not. #}
{% macro pass(there, here, is_written) %}
{% if is_written %}
{{ from(here) }} -> tee_{{ there }} :: Tee(2) -> {{ to(there) }};
tee_{{ there }}[1] -> copies;
{% else %}
{{ from(here) }} -> {{ to(there) }};
{% endif %}
{% endmacro %}
{{ pass("right", "left", direction != "left") }}
{{ pass("left", "right", direction != "right") }}
