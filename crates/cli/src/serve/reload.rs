//! SIGHUP, by which administrators ask daemons to read their files anew.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use daemon::http::tls::Tls;
use engine::world::World;
use sys::signals::{is_ignored, unblock, Signal};

use crate::stop;

/// Listens to SIGHUP.
pub struct Reload {
    is_asked: Arc<AtomicBool>,
    tls: Option<Arc<Tls>>,
}

impl Reload {
    /// Listens from now on, unless whoever started this wants it to be ignored (`nohup`).
    pub fn listen(world: &mut World, tls: Option<Arc<Tls>>) -> Reload {
        let reload = Reload { is_asked: Arc::default(), tls };
        if !is_ignored(Signal::Hangup) {
            unblock(Signal::Hangup);
            stop::hear(Signal::Hangup.number(), &reload.is_asked, world);
        }
        reload
    }

    /// Does what was asked, beside the packets.
    pub fn work(&self) {
        // The flag is looked at between all rounds, and hardly ever written.
        if !self.is_asked.load(Ordering::Relaxed) || !self.is_asked.swap(false, Ordering::Relaxed) {
            return;
        }
        let Some(tls) = self.tls.clone() else {
            return tracing::info!(target: "weir", "SIGHUP: nothing is to be read anew without --listen");
        };
        if let Err(error) = sys::thread::start("reload", sys::thread::STACK, move || tls.read_anew()) {
            tracing::warn!(target: "weir", "SIGHUP: {}", sys::no_thread(&error));
        }
    }
}
