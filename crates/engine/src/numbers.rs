//! Numbers for what elements have: tasks, timers, searches.

/// Which numbers are given next. Lists of several threads give different ones, so that they can become one list again.
#[derive(Clone, Debug)]
pub struct Numbers {
    /// Numbers that nothing has any more.
    free: Vec<u32>,
    /// New numbers are those that leave this rest ...
    rest: usize,
    /// ... when divided by this.
    step: usize,
}

impl Default for Numbers {
    fn default() -> Numbers {
        Numbers { free: Vec::new(), rest: 0, step: 1 }
    }
}

impl Numbers {
    /// The numbers that thread `thread` of `n` gives.
    pub fn of_thread(thread: usize, n: usize) -> Numbers {
        Numbers { free: Vec::new(), rest: thread, step: n.max(1) }
    }

    /// All numbers, those first that nothing has.
    pub fn of_all(free: impl Iterator<Item = u32>) -> Numbers {
        Numbers { free: free.collect(), ..Numbers::default() }
    }

    /// Takes a number back.
    pub fn give_back(&mut self, number: u32) {
        self.free.push(number);
    }

    /// The next number, where a list has `len` places: one of these that is free, or the first behind them.
    pub fn next(&mut self, len: usize) -> usize {
        match self.free.pop() {
            Some(free) => free as usize,
            None => (len..).find(|number| self.gives(*number)).unwrap_or(len),
        }
    }

    /// Whether a number is one of this thread's.
    pub fn gives(&self, number: usize) -> bool {
        number % self.step == self.rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_give_different_numbers() {
        let (mut first, mut second) = (Numbers::of_thread(0, 2), Numbers::of_thread(1, 2));
        assert_eq!((first.next(5), first.next(7)), (6, 8));
        assert_eq!((second.next(5), second.next(6)), (5, 7));
        let mut only = Numbers::of_all([2].into_iter());
        assert_eq!((only.next(5), only.next(5)), (2, 5));
    }
}
