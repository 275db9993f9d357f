{% from "directions.click" import each_way %}
elementclass LossFunction { $probability |
    input -> sample :: RandomSample(DROP $probability) -> output;
}
{% call(side) each_way(direction) %}
LossFunction({{ probability | probability }})
{%- endcall %}
