//! Sources, sinks, queues, switches, schedulers, and what works on any packet.

pub mod color;
pub mod ewma;
pub mod gap_rate;
pub mod jiffies;
pub mod neighbours;
pub mod rate_limit;
pub mod red_decision;
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
    hub,
    mark_mac_header,
    pad,
    paint_tee,
    prio_sched,
    pull_switch,
    random_sample,
    random_switch,
    resize,
    round_robin_sched,
    round_robin_switch,
    set_timestamp,
    simple_pull_switch,
    static_pull_switch,
    static_switch,
    stride_sched,
    stride_switch,
    time_sorted_sched,
    truncate,
    average_counter,
    bandwidth_meter,
    bandwidth_rated_splitter,
    bandwidth_rated_unqueue,
    bandwidth_shaper,
    counter,
    delay_shaper,
    delay_unqueue,
    front_drop_queue,
    full_note_queue,
    meter,
    mixed_queue,
    notifier_queue,
    pull_null,
    pull_tee,
    push_null,
    quick_note_queue,
    random_source,
    rated_source,
    rated_splitter,
    rated_unqueue,
    red,
    shaper,
    simple_queue,
    tee,
    thread_safe_queue,
    timed_sink,
    timed_source,
];
