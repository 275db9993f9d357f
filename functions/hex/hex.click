{% if out == "-" %}
{{ raise("--out `-`: standard output is where packets go; name a file, or leave --out away") }}
{% endif %}
// The first input's packets go to the right, the second's to the left.
elementclass HexFunction { $most, __REST__ $file |
    file :: ToHexDump(DIRECTIONS "O I", MAXLENGTH $most, $file);
    input[0] -> [0] file [0] -> [0] output;
    input[1] -> [1] file [1] -> [1] output;
}
dump :: HexFunction({{ max_length }}{% if out is not none %}, FILENAME {{ out | quoted }}{% endif %});
{% for side, other in [["right", "left"], ["left", "right"]] %}
{% if direction in ["both", side] %}
{{ from(other) }} -> [{{ loop.index0 }}] dump [{{ loop.index0 }}] -> {{ to(side) }};
{% else %}
{{ from(other) }} -> {{ to(side) }};
Idle -> [{{ loop.index0 }}] dump [{{ loop.index0 }}] -> Discard;
{% endif %}
{% endfor %}
