//! IPv4 headers: checking, changing, making.

element::elements![];
