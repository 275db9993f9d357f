fx :: FlowExporter(ETHER true, ACTIVE {{ active_timeout }}, IDLE {{ idle_timeout }}, CAPACITY {{ capacity }},
    BIFLOW {{ biflow | lower }}, SAMPLING {{ sampling }}, DOMAIN {{ domain }}, MTU {{ mtu }}, TEMPLATE_INTERVAL {{ template_interval }}
    {%- if file is not none %}, FILE {{ file | quoted }}{% endif %}) -> way :: PaintSwitch;
{{ from("left") }} -> Paint(1) -> fx;
{{ from("right") }} -> Paint(2) -> fx;
way[0] -> Discard;
way[1] -> {{ to("right") }};
way[2] -> {{ to("left") }};
{% if collector is not none %}
{# To the destination annotation: a collector that does not listen yet ends nothing. #}
fx[1] -> SetIPAddress({{ collector }}) -> collector :: Socket(UDP, 0.0.0.0, {{ port }}, CLIENT true);
{% endif %}
