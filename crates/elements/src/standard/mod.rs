//! Sources, sinks, queues, switches, schedulers, and what works on any packet.

pub mod storage;

element::elements![discard, idle, null, queue, strip, unqueue, infinite_source,];
