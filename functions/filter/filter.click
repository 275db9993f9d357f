{% from "directions.click" import each_way %}
elementclass FilterFunction { $expression |
    input -> match :: PcapFilter($expression) -> output;
}
{% call(side) each_way(direction) %}
FilterFunction({{ expression | quoted }})
{%- endcall %}
