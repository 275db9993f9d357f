{# Functions that treat each direction by itself: the packets of each chosen direction go through the element that the caller writes,
   which is called `to_right` or `to_left`. #}
{% macro each_way(direction) %}
{% for side, other in [["right", "left"], ["left", "right"]] %}
{% if direction in ["both", side] %}
{{ from(other) }} -> to_{{ side }} :: {{ caller(side) }} -> {{ to(side) }};
{% else %}
{{ from(other) }} -> {{ to(side) }};
{% endif %}
{% endfor %}
{% endmacro %}
