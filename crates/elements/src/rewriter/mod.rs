//! Rewriting of addresses and ports: NAT and load balancing.

element::elements![];
