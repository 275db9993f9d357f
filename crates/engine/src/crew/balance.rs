//! Balance: parts of a graph that nobody has given a thread are spread over the threads, first by what they may do, then by what
//! they do.

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

/// Moves parts from the threads that do most to those that do least, as long as that makes the difference smaller; parts that were
/// given a thread stay.
pub(super) fn even_out(
    costs: &[u64],
    order: Balance,
    n: usize,
    is_given: &[bool],
    thread_of: &mut [Option<usize>],
) {
    let mut loads = vec![0u64; n];
    for (cost, thread) in costs.iter().zip(&*thread_of) {
        loads[thread.unwrap_or(0)] += cost;
    }
    let mean = loads.iter().sum::<u64>() / n as u64;
    for _ in 0..n {
        let least = (0..n).min_by_key(|thread| loads[*thread]).unwrap_or(0);
        let most = (0..n).rev().max_by_key(|thread| loads[*thread]).unwrap_or(0);
        if mean - loads[least] < mean / 8 && loads[most] - mean < mean / 8 {
            break;
        }
        let mut parts: Vec<usize> =
            (0..costs.len()).filter(|part| thread_of[*part] == Some(most) && !is_given[*part]).collect();
        match order {
            Balance::Increasing => parts.sort_by_key(|part| costs[*part]),
            Balance::Decreasing => parts.sort_by_key(|part| std::cmp::Reverse(costs[*part])),
        }
        for part in parts {
            let cost = costs[part];
            if cost > 0 && loads[least] + cost < mean + mean / 4 && loads[least] + 2 * cost <= loads[most] {
                loads[least] += cost;
                loads[most] -= cost;
                thread_of[part] = Some(least);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(costs: &[u64], order: Balance, threads: &[usize], given: &[usize]) -> Vec<usize> {
        let mut thread_of: Vec<Option<usize>> = threads.iter().copied().map(Some).collect();
        let is_given: Vec<bool> = (0..costs.len()).map(|part| given.contains(&part)).collect();
        even_out(costs, order, 2, &is_given, &mut thread_of);
        thread_of.into_iter().flatten().collect()
    }

    #[test]
    fn parts_move_to_the_thread_that_does_least() {
        assert_eq!(moved(&[50, 0, 50, 0], Balance::Increasing, &[0, 1, 0, 1], &[]), [1, 1, 0, 1]);
        assert_eq!(moved(&[10, 30, 60], Balance::Increasing, &[0, 0, 0], &[]), [1, 1, 0]);
        assert_eq!(moved(&[10, 30, 60], Balance::Decreasing, &[0, 0, 0], &[]), [1, 1, 0]);
        assert_eq!(moved(&[50, 50], Balance::Increasing, &[0, 0], &[0]), [0, 1]);
    }

    #[test]
    fn what_is_about_even_or_cannot_be_evened_out_stays() {
        assert_eq!(moved(&[50, 45, 5], Balance::Increasing, &[0, 1, 0], &[]), [0, 1, 0]);
        assert_eq!(moved(&[100, 0], Balance::Increasing, &[0, 1], &[]), [0, 1]);
        assert_eq!(moved(&[50, 50], Balance::Increasing, &[0, 0], &[0, 1]), [0, 0]);
        assert_eq!(moved(&[0, 0], Balance::Decreasing, &[0, 1], &[]), [0, 1]);
    }
}
