//! Packets, batches and the pools they live in.
