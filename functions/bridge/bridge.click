{# What a port with VLANs is. #}
{% macro membership(entry) %}
{% for vlans in entry.allowed if ".." in vlans | string %}
{% set bounds = vlans | split("..") | list %}
{% if bounds[0] | int > bounds[1] | int %}
{{ raise("port `" ~ entry.name ~ "`: allowed `" ~ vlans ~ "`: the lower VLAN comes first; say " ~ bounds[1] ~ ".." ~ bounds[0]) }}
{% endif %}
{% endfor %}
{{ entry.mode }}{% if entry.vlan is not none %} {{ entry.vlan }}{% endif %}{% if entry.allowed %} ALLOWED {{ entry.allowed | join(" ") }}{% endif %}
{% endmacro %}
{% if port %}
{% for entry in port if entry.name not in ports %}
{{ raise("there is no port `" ~ entry.name ~ "`; there are: " ~ ports | join(", ")) }}
{% endfor %}
{% set entries = port %}
bridge :: VLANSwitch(
{% for one in ports %}
    {% for entry in entries if entry.name == one %}{{ membership(entry) | trim }}{% else %}access{% endfor %},
{% endfor %}
    TIMEOUT {{ ageing | seconds | int }});
{% else %}
bridge :: EtherSwitch(TIMEOUT {{ ageing | seconds | int }});
{% endif %}
{% if stp %}
// Tells the messages of bridges from other frames.
elementclass BridgeInput {
    input -> kind :: Classifier(14/4242, -);
    kind[0] -> [0] output;
    kind[1] -> [1] output;
}
tree :: EtherSpanTree({{ (ethernet or (name | ethernet_of_name)) | ethernet }}, before, behind, bridge);
before, behind :: Suppressor;
{% for one in ports %}
{% set i = loop.index0 %}
{{ from(one) }} -> in{{ i }} :: BridgeInput [0] -> [{{ i }}] tree [{{ i }}] -> out{{ i }} :: Null -> {{ to(one) }};
in{{ i }} [1] -> [{{ i }}] before [{{ i }}] -> [{{ i }}] bridge [{{ i }}] -> [{{ i }}] behind [{{ i }}] -> out{{ i }};
{% endfor %}
{# A switch has two ports at least. #}
{% for i in range(ports | length, 2) %}
idle{{ i }} :: Idle -> [{{ i }}] tree [{{ i }}] -> out{{ i }} :: Discard;
quiet{{ i }} :: Idle -> [{{ i }}] before [{{ i }}] -> [{{ i }}] bridge [{{ i }}] -> [{{ i }}] behind [{{ i }}] -> out{{ i }};
{% endfor %}
{% else %}
{% for one in ports %}
{{ from(one) }} -> [{{ loop.index0 }}] bridge [{{ loop.index0 }}] -> {{ to(one) }};
{% endfor %}
{% for i in range(ports | length, 2) %}
idle{{ i }} :: Idle -> [{{ i }}] bridge [{{ i }}] -> out{{ i }} :: Discard;
{% endfor %}
{% endif %}
