//! The order in which elements are configured and initialised.
//!
//! Click sorts elements by phase with a quicksort that is not stable, and the order within a phase decides which of two
//! sources runs first and which of two errors is told first. The order here is what its exchanges yield.

/// Indexes of elements in the order in which they are configured, given each element's phase.
pub fn configure_order(phases: &[u32]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..phases.len()).collect();
    let mut ranges = vec![(0, order.len())];
    while let Some((from, to)) = ranges.pop() {
        let range = &mut order[from..to];
        if range.len() < 7 {
            insertion_sort(range, phases);
            continue;
        }
        let (left, right) = partition(range, phases);
        if left > 1 {
            ranges.push((from, from + left));
        }
        if right > 1 {
            ranges.push((to - right, to));
        }
    }
    order
}

fn insertion_sort(range: &mut [usize], phases: &[u32]) {
    for i in 1..range.len() {
        let mut j = i;
        while j > 0 && phases[range[j - 1]] > phases[range[j]] {
            range.swap(j - 1, j);
            j -= 1;
        }
    }
}

/// Index of the middle one of three by phase; the first of equal ones.
fn median(range: &[usize], a: usize, b: usize, c: usize, phases: &[u32]) -> usize {
    let (x, y, z) = (phases[range[a]], phases[range[b]], phases[range[c]]);
    if x < y {
        if y < z {
            b
        } else if x < z {
            c
        } else {
            a
        }
    } else if y > z {
        b
    } else if x > z {
        c
    } else {
        a
    }
}

fn pivot(range: &[usize], phases: &[u32]) -> usize {
    let n = range.len();
    let middle = n / 2;
    if n == 7 {
        return middle;
    }
    let (mut low, mut mid, mut high) = (0, middle, n - 1);
    if n > 40 {
        let step = n / 8;
        low = median(range, low, low + step, low + 2 * step, phases);
        mid = median(range, mid - step, mid, mid + step, phases);
        high = median(range, high - 2 * step, high - step, high, phases);
    }
    median(range, low, mid, high, phases)
}

/// Puts smaller phases before the pivot's equals and larger ones behind; yields the numbers of smaller and larger ones.
fn partition(range: &mut [usize], phases: &[u32]) -> (usize, usize) {
    let n = range.len();
    let chosen = pivot(range, phases);
    let pivot_phase = phases[range[chosen]];
    range.swap(0, chosen);
    // `equal_left..next` is smaller, `last..equal_right` larger; equals gather at both ends. Ends are exclusive on the
    // right, so that no index falls below zero.
    let (mut equal_left, mut next) = (1, 1);
    let (mut last, mut equal_right) = (n, n);
    loop {
        while next < last && phases[range[next]] <= pivot_phase {
            if phases[range[next]] == pivot_phase {
                range.swap(equal_left, next);
                equal_left += 1;
            }
            next += 1;
        }
        while last > next && phases[range[last - 1]] >= pivot_phase {
            if phases[range[last - 1]] == pivot_phase {
                range.swap(last - 1, equal_right - 1);
                equal_right -= 1;
            }
            last -= 1;
        }
        if next >= last {
            break;
        }
        range.swap(next, last - 1);
        next += 1;
        last -= 1;
    }
    let n_smaller = next - equal_left;
    let n_larger = equal_right - last;
    for i in 0..equal_left.min(n_smaller) {
        range.swap(i, next - equal_left.min(n_smaller) + i);
    }
    let n_equal_right = n - equal_right;
    for i in 0..n_larger.min(n_equal_right) {
        range.swap(next + i, n - n_larger.min(n_equal_right) + i);
    }
    (n_smaller, n_larger)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_elements_stay_in_order() {
        assert_eq!(configure_order(&[100, 20, 100, 100]), [1, 0, 2, 3]);
    }

    #[test]
    fn phases_come_in_order() {
        let mut random = fastrand::Rng::with_seed(3);
        for n in 0..200 {
            let phases: Vec<u32> = (0..n).map(|_| [0, 20, 90, 100, 110, 2000][random.usize(..6)]).collect();
            let order = configure_order(&phases);
            assert!(order.windows(2).all(|pair| phases[pair[0]] <= phases[pair[1]]));
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert!(sorted.iter().copied().eq(0..n));
        }
    }
}
