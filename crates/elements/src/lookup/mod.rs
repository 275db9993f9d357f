//! Route lookup.

element::elements![];
