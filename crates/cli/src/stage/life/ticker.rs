//! What wakes a driver that waits for something of which nobody tells it.

use std::io::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use engine::world::World;

/// How often the driver is woken.
const TICK: Duration = Duration::from_millis(1);

/// Wakes a driver again and again until it is dropped.
pub(super) struct Ticker {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Ticker {
    pub(super) fn start(world: &mut World) -> Result<Ticker, String> {
        let writer = world.wake_writer().ok_or("no descriptor is left; raise the limit of open files")?;
        let is_over = Arc::new(AtomicBool::new(false));
        let thread = sys::thread::start("drain", sys::thread::SMALL_STACK, {
            let is_over = is_over.clone();
            move || {
                while !is_over.load(Ordering::Relaxed) {
                    // A full socket means that the driver will wake anyway.
                    let _ = (&writer).write(&[0]);
                    std::thread::sleep(TICK);
                }
            }
        });
        let thread = thread.map_err(|error| sys::no_thread(&error))?;
        Ok(Ticker { is_over, thread: Some(thread) })
    }
}

impl Drop for Ticker {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        // It has nothing to say.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}
