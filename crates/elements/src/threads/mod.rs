//! What concerns the threads that a graph runs on.

element::elements![static_thread_sched, balanced_thread_sched, block_thread, cpu_queue, cpu_switch, ms_queue];
