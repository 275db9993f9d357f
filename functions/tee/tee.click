{% from "directions.click" import each_way %}
{% if file == "-" %}
{{ raise("FILE `-`: standard output is where packets go; name a file or a pipe made by mkfifo") }}
{% endif %}
copy :: ToDump({{ file | quoted }}, SNAPLEN {{ snaplen }}, UNBUFFERED true, FORMAT auto);
{% call(side) each_way(direction) %}
Tee
{%- endcall %}
{% for side in ["right", "left"] if direction in ["both", side] %}
to_{{ side }}[1] -> copy;
{% endfor %}
