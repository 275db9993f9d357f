//! TCP and UDP headers.

element::elements![udp_ip_encap];
