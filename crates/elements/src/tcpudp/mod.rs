//! TCP and UDP headers.

element::elements![];
