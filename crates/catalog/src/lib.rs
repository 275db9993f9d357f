//! The registry of every stock element class.
