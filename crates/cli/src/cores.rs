//! Threads and cores: what `--cores`, `--threads` and `--affinity` mean on this machine.

use engine::Layout;

/// Most threads that a graph may run on.
pub const MAX: u16 = 1024;

/// Why several cores and simulated time exclude each other.
pub const NO_SIMTIME: &str = "simulated time runs on one core; leave out --simtime or --cores";

/// The number of a processor that this process may use.
pub fn cpu(text: &str) -> Result<usize, String> {
    let Ok(cpu) = text.parse() else { return Err("expected the number of a processor".to_string()) };
    let allowed = sys::cpu::allowed().map_err(|error| error.to_string())?;
    match allowed.contains(&cpu) {
        true => Ok(cpu),
        false => Err(format!("this process may use the processors {}", ranges(&allowed))),
    }
}

/// The first processor that this process may use.
pub fn first() -> usize {
    // Without a list of processors threads run where the system puts them.
    sys::cpu::allowed().ok().and_then(|allowed| allowed.first().copied()).unwrap_or(0)
}

/// Ascending numbers as users write them: `0-3, 8`.
fn ranges(numbers: &[usize]) -> String {
    let mut runs: Vec<(usize, usize)> = Vec::new();
    for &number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let words = runs.iter().map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    words.collect::<Vec<_>>().join(", ")
}

/// The processors that the threads of a layout run on: a replica stays on a core of its own. Warns where there are not enough.
pub fn cpus(layout: Layout, warns: bool) -> Vec<usize> {
    let Layout::Cores(n @ 2..) = layout else { return Vec::new() };
    // Without a list of processors threads run where the system puts them.
    let allowed = sys::cpu::allowed().unwrap_or_default();
    if warns && n > allowed.len() {
        let n_allowed = allowed.len();
        eprintln!(
            "warning: {n} cores are asked for, but this process may use {n_allowed}; threads share them"
        );
    }
    if n > allowed.len() {
        return Vec::new();
    }
    allowed.into_iter().take(n).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_among_processors_are_told_as_a_range() {
        assert_eq!(ranges(&[0, 1, 2, 5, 7, 8]), "0-2, 5, 7-8");
        assert_eq!(ranges(&[]), "");
        assert!(cpu("100000").unwrap_err().starts_with("this process may use the processors "));
        assert_eq!(cpu("x").unwrap_err(), "expected the number of a processor");
    }
}
