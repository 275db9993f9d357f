//! The element library, one file an element.
