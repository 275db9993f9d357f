//! Hands: threads that live as long as the worlds they work in.
//!
//! A world is made on the thread that will run it, so that what it allocates then and later lies together, apart from what
//! the others write: two worlds that share cache lines would slow each other down.

use std::sync::mpsc::{channel, sync_channel, Receiver, Sender};

type Job = Box<dyn FnOnce() + Send>;

/// A thread that does one job after the other. It ends when this is dropped and its last job is done.
pub(crate) struct Hand {
    jobs: Sender<Job>,
}

/// A job that a hand does.
pub(crate) struct Working<R>(Receiver<R>);

impl Hand {
    /// Starts a thread, which stays on a processor if one is given.
    pub fn new(index: usize, cpu: Option<usize>) -> std::io::Result<Hand> {
        let (jobs, todo) = channel::<Job>();
        sys::thread::start(&format!("weir-{index}"), sys::thread::STACK, move || {
            super::drive::pin(cpu);
            todo.into_iter().for_each(|job| job());
        })?;
        Ok(Hand { jobs })
    }

    /// Begins a job.
    pub fn begin<R: Send + 'static>(&self, act: impl FnOnce() -> R + Send + 'static) -> Working<R> {
        let (sender, result) = sync_channel(1);
        // If the thread has ended nobody sends a result, which is told by `Working::finish`.
        let _ = self.jobs.send(Box::new(move || {
            // Nobody may want the result.
            let _ = sender.send(act());
        }));
        Working(result)
    }
}

impl<R> Working<R> {
    /// Waits for the result. `None` if the thread has panicked.
    pub fn finish(self) -> Option<R> {
        self.0.recv().ok()
    }
}
