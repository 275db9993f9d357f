{% from "directions.click" import each_way %}
elementclass PrintFunction { $label, $timestamp, $contents, $contents6, $payload, $ttl, $length, $most |
    input -> MarkMACHeader -> Unbatch
        -> kind :: Classifier(12/0800, 12/0806 16/0800 !18/00 19/04, 12/86dd, 12/8100 16/0800, -);
    kind[0] -> MarkIPHeader(14)
        -> ip :: IPPrint($label, CONTENTS $contents, PAYLOAD $payload, MAXLENGTH $most, TIMESTAMP $timestamp, TTL $ttl,
            LENGTH $length)
        -> output;
    kind[1] -> MarkIPHeader(14) -> arp :: ARPPrint($label, TIMESTAMP $timestamp) -> output;
    kind[2] -> MarkIP6Header(14) -> ip6 :: IP6Print($label, CONTENTS $contents6, NBYTES $most, TIMESTAMP $timestamp) -> output;
    kind[3] -> MarkIPHeader(18)
        -> vlan :: IPPrint("$label vlan", CONTENTS $contents, PAYLOAD $payload, MAXLENGTH $most, TIMESTAMP $timestamp,
            TTL $ttl, LENGTH $length)
        -> output;
    kind[4] -> other :: Print($label, TIMESTAMP $timestamp) -> output;
}
{% call(side) each_way(direction) %}
PrintFunction({{ side }}, {{ (not no_time) | string | lower }}, {{ contents | upper }}, {{ (contents != "none") | string | lower }}, {{ payload | upper }}, {{ ttl | string | lower }}, {{ length | string | lower }}, {{ max_length }})
{%- endcall %}
