//! What concerns the threads that a graph runs on.

pub mod spinlock;

element::elements![
    static_thread_sched,
    balanced_thread_sched,
    block_thread,
    cpu_queue,
    cpu_switch,
    ms_queue,
    sorted_task_sched,
    spinlock_acquire,
    spinlock_info,
    spinlock_push,
    spinlock_release,
];
