{# What enters by ports without a rule, and what rules drop. #}
unruled :: Counter -> Discard;
Idle -> unruled;
{% set ns = namespace(ruled=[]) %}
{% for one in rule %}
{% set ns.ruled = ns.ruled + [one.in_port] %}
{% if one.in_port in ports %}
{{ from(one.in_port) }} -> rule_{{ one.in_port }} :: Counter -> {{ to(one.out_port) if one.action == "forward" and one.out_port in ports else "Discard" }};
{% else %}
Idle -> rule_{{ one.in_port }} :: Counter -> Discard;
{% endif %}
{% endfor %}
{% for port in ports if port not in ns.ruled %}
{{ from(port) }} -> unruled;
{% endfor %}
{# A port that nothing leaves by is connected all the same. #}
{% for port in ports %}
Idle -> {{ to(port) }};
{% endfor %}
