//! What packets cause on their way.

/// What packets that come to an element cause beside the packets that it emits for each of them, in order, and what it keeps or
/// writes to a file of its own. Where nothing shows that packets did not go one by one, the engine takes many of them through the
/// graph at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Causes(u8);

impl Causes {
    /// Nothing.
    pub const NOTHING: Causes = Causes(0);
    /// Lines about packets ([`Ctx::chatter_of`](crate::Ctx::chatter_of)).
    pub const LINES: Causes = Causes(1);
    /// Changes of what elements share, such as draws of random numbers.
    pub const CHANGES: Causes = Causes(2);
    /// Tasks that wake up, for packets are stored.
    pub const WAKEUPS: Causes = Causes(4);
    /// Further packets by one output, or packets that it makes.
    pub const MORE: Causes = Causes(8);
    /// What depends on how many packets are stored behind the element: they may go together as far as all of them have room there,
    /// while nobody takes any out.
    pub const LOOKS_AT_STORES: Causes = Causes(16);
    /// Copies of a packet by several outputs.
    pub const COPIES: Causes = Causes(32);
    /// A choice of whether and where to pull, by what is stored then or the time.
    pub const CHOICE: Causes = Causes(64);
    /// Anything: handlers are written, or what becomes of a packet depends on more than those before it.
    pub const ANYTHING: Causes = Causes(u8::MAX);

    /// Both.
    pub const fn and(self, other: Causes) -> Causes {
        Causes(self.0 | other.0)
    }

    /// Whether this causes all that the other does.
    pub const fn include(self, other: Causes) -> bool {
        self.0 & other.0 == other.0
    }
}

/// What an element makes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// Pieces of at least so many bytes, but for the last, by output 0; of 0, any number.
    Pieces(usize),
    /// An answer, but none to an answer.
    Answer,
}

/// What an element that stores packets has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// How many more packets.
    pub left: usize,
    pub is_empty: bool,
    /// How often packets were taken out, or looked for, and none was left.
    pub n_emptied: u32,
    /// Packets that were taken out.
    pub n_taken: u32,
}

/// What an element has stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stock {
    /// Packets that it holds.
    pub len: usize,
    /// How many more it has room for.
    pub room: usize,
    /// How often pulls may find nothing, one after the other, before pullers are told to sleep.
    pub patience: usize,
    /// The same after the next packet.
    pub patience_anew: usize,
}
