//! Packet classification: filter expressions compiled into decision structures.
