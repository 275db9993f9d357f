//! Frames from one process to another, on a core each: the ring against the best plain pipe.
//!
//! `cargo bench -p ring -- [--capacity BYTES] [--rounds N] [--cpu-time] [--frame BYTES --batch N]` prints a table in Markdown;
//! with one round, the ring that is polled is left out. Both sides keep their frames as packets
//! are kept, each in a buffer of its own, and touch the first bytes of every frame. The ring's frames are copied in and out
//! with their headers; the pipe's writer is spared that and writes the same batch of bare frames with one call.

#[path = "ring/contest.rs"]
mod contest;
#[path = "ring/pipe.rs"]
mod pipe;
#[path = "ring/process.rs"]
mod process;
#[path = "ring/through.rs"]
mod through;

use contest::{Contest, Figures};
use process::{measure, Time};

/// The value behind an option of the command line.
fn option(name: &str) -> Option<usize> {
    let mut words = std::env::args().skip_while(|word| word != name);
    words.nth(1).map(|value| value.parse().unwrap_or_else(|_| panic!("{name} takes a number, not `{value}`")))
}

/// Million frames a second, each figure the median of the rounds; the rivals take turns.
fn run(contest: Contest, time: Time, capacity: usize, n_rounds: usize) -> Figures {
    let mut figures = Figures::default();
    for _ in 0..n_rounds {
        figures.sleeping.push(measure(contest, time, || through::ends(capacity, true)));
        if n_rounds > 1 {
            figures.polling.push(measure(contest, time, || through::ends(capacity, false)));
        }
        figures.pipe.push(measure(contest, time, pipe::ends));
    }
    figures
}

fn main() {
    let capacity = option("--capacity").unwrap_or(1 << 20);
    let by_processor = std::env::args().any(|word| word == "--cpu-time");
    let time = if by_processor { Time::Processor } else { Time::Elapsed };
    let n_rounds = option("--rounds").unwrap_or(5);
    let contests: Vec<Contest> = match option("--frame") {
        Some(frame_len) => vec![Contest::of(frame_len, option("--batch").unwrap_or(64))],
        None => contest::ALL.into_iter().take(option("--sizes").unwrap_or(3)).collect(),
    };
    let longest = contests.iter().map(|contest| contest.frame_len).max();
    assert!(
        longest <= Some(ring::max_data(capacity)),
        "a frame does not fit into a ring of {capacity} bytes"
    );
    println!(
        "ring of {} KiB, pipe of 1 MiB, {n_rounds} rounds, medians, (slowest-fastest) in Mpps\n",
        capacity >> 10
    );
    println!("| frame | batch | ring, eventfd | ring, polling | pipe | ring to pipe |");
    println!("|--:|--:|--:|--:|--:|--:|");
    for contest in contests {
        println!("{}", run(contest, time, capacity, n_rounds).row(contest));
    }
}
