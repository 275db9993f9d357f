//! Sources, sinks, queues, switches, schedulers, and what works on any packet.

pub mod color;
pub mod ewma;
pub mod gap_rate;
pub mod jiffies;
pub mod outputs;
pub mod source;
pub mod storage;
pub mod stride;
pub mod token_bucket;

element::elements![
    discard,
    idle,
    null,
    queue,
    strip,
    unqueue,
    infinite_source,
    paint,
    paint_switch,
    print,
    store_data,
    switch,
    unstrip,
    align,
    check_length,
    check_paint,
    hash_switch,
    pad,
    paint_tee,
    prio_sched,
    pull_switch,
    random_sample,
    random_switch,
    round_robin_sched,
    round_robin_switch,
    set_timestamp,
    static_pull_switch,
    static_switch,
    stride_sched,
    stride_switch,
    time_sorted_sched,
    truncate,
    counter,
    front_drop_queue,
    full_note_queue,
    mixed_queue,
    notifier_queue,
    quick_note_queue,
    random_source,
    rated_source,
    simple_queue,
    thread_safe_queue,
    timed_sink,
    timed_source,
];
