//! Route lookup.

mod next_hops;
mod order;
mod route;
mod route_lookup;
mod route_table;

element::elements![
    direct_ip_lookup,
    linear_ip_lookup,
    linux_ip_lookup,
    lookup_ip_route_mp,
    radix_ip_lookup,
    range_ip_lookup,
    sorted_ip_lookup,
    static_ip_lookup
];
