//! An old name of `Queue`.
//!
//! ```click
//! InfiniteSource -> FullNoteQueue(200) -> Unqueue -> Discard;
//! ```

use element::{Class, Configure, Element, Failed};

use super::queue::{self, Kind, Queue};

/// The class.
pub const CLASS: Class = queue::class("FullNoteQueue", "1/1-2", configure).alias_of("Queue");

fn configure(conf: &mut Configure<'_>) -> Result<Box<dyn Element>, Failed> {
    Queue::of_kind(conf, Kind::Full)
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn elements_are_known_as_queues() {
        check_reading(
            "Idle -> q :: FullNoteQueue -> Idle",
            &["q.class", "flatconfig"],
            expect![[r#"
            q.class: Queue
            flatconfig: 
        "#]],
        );
    }
}
