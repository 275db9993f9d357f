//! Lookup structures: longest-prefix match and flow tables.
