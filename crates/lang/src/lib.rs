//! The Click language: text to graph and back.
