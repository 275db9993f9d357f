bridge :: EtherSwitch(TIMEOUT {{ ageing | seconds | int }});
{% if stp %}
// Tells the messages of bridges from other frames.
elementclass BridgeInput {
    input -> kind :: Classifier(14/4242, -);
    kind[0] -> [0] output;
    kind[1] -> [1] output;
}
tree :: EtherSpanTree({{ (ethernet or (name | ethernet_of_name)) | ethernet }}, before, behind, bridge);
before, behind :: Suppressor;
{% for port in ports %}
{% set i = loop.index0 %}
{{ from(port) }} -> in{{ i }} :: BridgeInput [0] -> [{{ i }}] tree [{{ i }}] -> out{{ i }} :: Null -> {{ to(port) }};
in{{ i }} [1] -> [{{ i }}] before [{{ i }}] -> [{{ i }}] bridge [{{ i }}] -> [{{ i }}] behind [{{ i }}] -> out{{ i }};
{% endfor %}
{# A switch has two ports at least. #}
{% for i in range(ports | length, 2) %}
idle{{ i }} :: Idle -> [{{ i }}] tree [{{ i }}] -> out{{ i }} :: Discard;
quiet{{ i }} :: Idle -> [{{ i }}] before [{{ i }}] -> [{{ i }}] bridge [{{ i }}] -> [{{ i }}] behind [{{ i }}] -> out{{ i }};
{% endfor %}
{% else %}
{% for port in ports %}
{{ from(port) }} -> [{{ loop.index0 }}] bridge [{{ loop.index0 }}] -> {{ to(port) }};
{% endfor %}
{% for i in range(ports | length, 2) %}
idle{{ i }} :: Idle -> [{{ i }}] bridge [{{ i }}] -> out{{ i }} :: Discard;
{% endfor %}
{% endif %}
