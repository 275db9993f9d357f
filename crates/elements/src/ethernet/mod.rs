//! Ethernet frames, ARP and VLAN tags.

element::elements![];
