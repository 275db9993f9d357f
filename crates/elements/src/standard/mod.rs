//! Sources, sinks, queues, switches, schedulers, and what works on any packet.

pub mod color;
pub mod outputs;
pub mod storage;

element::elements![
    discard,
    idle,
    null,
    queue,
    strip,
    unqueue,
    paint,
    paint_switch,
    print,
    store_data,
    switch,
    unstrip,
];
