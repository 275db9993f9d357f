//! ICMP messages.

element::elements![];
