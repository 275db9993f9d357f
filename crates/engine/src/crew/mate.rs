//! Mates: the worlds of a crew besides the first, each with its thread.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::board::Board;
use crate::build::Engine;
use crate::run::Pace;

/// A world that another thread works in.
pub(crate) struct Mate {
    /// Its number, 1 or more.
    pub index: usize,
    board: Arc<Board>,
    shop: Mutex<Shop>,
    /// Told when somebody who wanted the world has done with it.
    freed: Condvar,
    /// Told when the thread has had its turn.
    turned: Condvar,
}

/// What the lock guards.
struct Shop {
    engine: Engine,
    /// Whether the thread works.
    is_working: bool,
    /// Whether somebody else had the world and the thread did not since: it goes first then, lest it starves.
    owes_turn: bool,
}

/// A world that the first thread has.
pub(crate) struct Held<'a> {
    shop: MutexGuard<'a, Shop>,
    freed: &'a Condvar,
}

impl Held<'_> {
    /// The engine of the world.
    pub fn engine(&mut self) -> &mut Engine {
        &mut self.shop.engine
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        // Whoever is told of it waits for the lock, which is given back next.
        self.freed.notify_one();
    }
}

/// Says that the thread has stopped, however it ends.
struct Leaving<'a>(&'a Mate);

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            // The run ends, and the panic goes on from the first thread.
            self.0.board.set_over(true);
        }
        self.0.lock().is_working = false;
        self.0.turned.notify_one();
        self.0.board.desk(self.0.index).set_stopped(true);
        self.0.board.desk(0).waker.wake();
    }
}

impl Mate {
    /// A mate of this number.
    pub fn new(index: usize, board: Arc<Board>, engine: Engine) -> Mate {
        let shop = Mutex::new(Shop { engine, is_working: false, owes_turn: false });
        Mate { index, board, shop, freed: Condvar::new(), turned: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, Shop> {
        self.shop.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with the world; its thread steps aside for it between two rounds. Called by the first thread alone.
    pub fn with<R>(&self, act: impl FnOnce(&mut Engine) -> R) -> R {
        act(self.hold().engine())
    }

    /// Has the world, and its thread standing still, as long as what is returned lives. Called by the first thread alone.
    pub fn hold(&self) -> Held<'_> {
        let desk = self.board.desk(self.index);
        desk.want(true);
        let must_wait = |shop: &mut Shop| shop.is_working && shop.owes_turn;
        let shop = self.turned.wait_while(self.lock(), must_wait);
        let mut shop = shop.unwrap_or_else(PoisonError::into_inner);
        desk.want(false);
        shop.owes_turn = true;
        Held { shop, freed: &self.freed }
    }

    /// Works until the run is over.
    pub fn work(&self) {
        let _leaving = Leaving(self);
        let desk = self.board.desk(self.index);
        let mut shop = self.lock();
        shop.is_working = true;
        shop.engine.world.is_running = true;
        shop.engine.world.tasks.start();
        let mut pace = Pace::default();
        loop {
            shop.owes_turn = false;
            if desk.is_wanted() {
                self.turned.notify_one();
                let is_next = |shop: &mut Shop| desk.is_wanted() && !shop.owes_turn;
                shop = self.freed.wait_while(shop, is_next).unwrap_or_else(PoisonError::into_inner);
            }
            if self.board.is_over() {
                return;
            }
            let world = &mut shop.engine.world;
            world.take_mail();
            if !world.flush() {
                world.doze();
            } else if world.runcount <= 0 {
                if !desk.has_stopped() {
                    desk.set_stopped(true);
                    self.board.desk(0).waker.wake();
                }
                world.doze();
            } else {
                world.round(&mut pace);
            }
        }
    }
}
