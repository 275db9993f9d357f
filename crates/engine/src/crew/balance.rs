//! Balance: parts of a graph that nobody has given a thread are spread over the threads.

use element::Balance;

use crate::world::World;

/// Gives a thread to each part that has tasks and no thread yet: the one that has the least to do so far. What a part does is
/// measured by its tasks' tickets, their shares of the processor, for nothing has run yet.
pub(super) fn spread(
    world: &World,
    order: Balance,
    n: usize,
    parts: &[usize],
    thread_of: &mut [Option<usize>],
) {
    let mut tickets = vec![0u64; thread_of.len()];
    for (idx, part) in parts.iter().enumerate() {
        let tasks = world.tasks.of_element(idx).filter_map(|task| world.tasks.get(task));
        tickets[*part] += tasks.map(|task| u64::from(task.tickets)).sum::<u64>();
    }
    let mut loads = vec![0u64; n];
    let mut left: Vec<usize> = Vec::new();
    for (part, tickets) in tickets.iter().enumerate().filter(|(_, tickets)| **tickets > 0) {
        match thread_of[part] {
            Some(thread) => loads[thread] += tickets,
            None => left.push(part),
        }
    }
    match order {
        Balance::Increasing => left.sort_by_key(|part| tickets[*part]),
        Balance::Decreasing => left.sort_by_key(|part| std::cmp::Reverse(tickets[*part])),
    }
    for part in left {
        let thread = (0..n).min_by_key(|thread| loads[*thread]).unwrap_or(0);
        loads[thread] += tickets[part];
        thread_of[part] = Some(thread);
    }
}
