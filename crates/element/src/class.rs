//! Classes: facts about an element and how to make one.

use graph::{Arg, ClassFacts, Drop, Handler, PortIdx};

use crate::fast_path::{FastPath, HasFastPath};
use crate::{same_ref, Causes, Configure, Element, Failed};

/// When an element is configured relative to others; lower comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Phase(pub u32);

impl Phase {
    /// Elements that all others depend on.
    pub const FIRST: Phase = Phase(0);
    /// Elements that give names to others, such as `AddressInfo`.
    pub const INFO: Phase = Phase(20);
    /// Elements that drop privileges or need them.
    pub const PRIVILEGED: Phase = Phase(90);
    /// All others.
    pub const DEFAULT: Phase = Phase(100);
    /// Elements that refer to others' configured state.
    pub const LATE: Phase = Phase(110);
    /// Elements that want everybody else ready.
    pub const LAST: Phase = Phase(2000);
}

/// What becomes of an element when the graph is replicated over cores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Every replica has its own.
    Plain,
    /// Every replica reads the same input and keeps the flows that are its own. Where only one can read it
    /// ([`crate::Element::reads_once`]), the first replica does and hands the others their flows.
    Input,
    /// Only the first replica has it, such as a file that is written; the others hand it what comes in, and go on with it
    /// where the element has outputs. It is pushed to then, whatever its input is.
    Output,
    /// Only the first replica has it: it acts on the whole graph. The others hand it what comes in.
    Single,
}

/// What a write that fails returns to a script (`$?`), where that is not -22.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// -1.
    Failed,
    /// -1 if an argument cannot be read; -22 if it can, but the value is none for the element.
    Misread,
    /// -1, but -22 if the message begins so.
    FailedUnless(&'static str),
    /// 0: what is wrong is told, and that is all.
    Told,
    /// Of routes: -17 if there is one already, -2 if there is none.
    Route,
}

impl Refusal {
    /// What a handler without a rule of its own returns.
    pub const INVALID: i32 = -22;

    /// What a write returns that failed with this message.
    pub fn status(self, message: &str) -> i32 {
        let failed_if = |is_failed| if is_failed { -1 } else { Refusal::INVALID };
        match self {
            Refusal::Told => 0,
            Refusal::Failed => -1,
            Refusal::Misread => failed_if(message.lines().any(args::is_of_reading)),
            Refusal::FailedUnless(beginning) => failed_if(!message.starts_with(beginning)),
            Refusal::Route if message.starts_with("conflict with existing route") => -17,
            Refusal::Route if message.ends_with(" not found") => -2,
            Refusal::Route => Refusal::INVALID,
        }
    }
}

/// An element class: its facts and how to make an element.
#[derive(Clone, Copy)]
pub struct Class {
    /// What the front end, the checks and the documentation read.
    pub facts: ClassFacts,
    /// Makes an element.
    pub configure: fn(&mut Configure<'_>) -> Result<Box<dyn Element>, Failed>,
    /// When it is configured.
    pub phase: Phase,
    /// What becomes of it when the graph is replicated.
    pub role: Role,
    /// Whether it may make packets of its own, as far as a search for notifiers is concerned.
    pub generates: bool,
    /// Whether it tells those who pull behind it, even from what it is pushed to, that it never has a packet.
    pub dormant: bool,
    /// Whether the `config` handler can be written while the graph runs.
    pub live: bool,
    /// Handlers, `config` among them, whose failed writes do not return -22. One of ports has its number as `#`.
    pub refusals: &'static [(&'static str, Refusal)],
    /// The class whose other name this is, and as which its elements are known once they are built.
    pub alias_of: Option<&'static str>,
    /// Whether it looks, while packets flow, into the storage around it, with which it then shares a thread.
    pub looks_around: bool,
    /// Whether its configuration names a lock: elements whose locks have one name share a thread.
    pub locks: bool,
    /// Whether it looks at no bytes of the packets that pass through it.
    pub blind: bool,
    /// Whether it shows in what order packets came to it and to others: it prints or writes them, or what becomes of them
    /// depends on what others drew at random.
    pub shows_order: bool,
    /// Whether it does the same to each packet, whichever came before, but for counts that only handlers tell.
    pub is_stateless: bool,
    /// By how many bytes at most its elements make packets longer, or what they make of them; `None` is any number.
    pub lengthens: Option<u16>,
    /// What packets that come to its elements cause, if an element does not say otherwise.
    pub causes: Causes,
    /// How often Click looks at the clock while it makes an element: simulated time passes by that.
    pub n_clock_looks: u8,
    /// The fast path of an element as it is now, if the class has such a thing.
    pub fast_path: Option<fn(&dyn Element) -> Option<FastPath>>,
    /// Whether [`Element::pulls_first`](crate::Element::pulls_first) is to be asked.
    pub pulls_first: bool,
    /// An output and an input: who pulls from the one pulls from what feeds the other.
    pub pulls_through: Option<(PortIdx, PortIdx)>,
    /// What is printed for each element of the class before the graph is checked, such as which class to use instead.
    pub notice: Option<&'static str>,
}

fn configure<T: Element>(conf: &mut Configure<'_>) -> Result<Box<dyn Element>, Failed> {
    Ok(Box::new(T::configure(conf)?))
}

impl Class {
    /// A class with Click's codes for port counts, processing and flow.
    pub const fn new<T: Element>(
        name: &'static str,
        ports: &'static str,
        processing: &'static str,
        flow: &'static str,
    ) -> Class {
        let facts =
            ClassFacts { name, ports, processing, flow, args: &[], handlers: &[], drops: &[], page: "" };
        Class {
            facts,
            configure: configure::<T>,
            phase: Phase::DEFAULT,
            role: Role::Plain,
            generates: true,
            dormant: false,
            live: false,
            refusals: &[],
            alias_of: None,
            looks_around: false,
            locks: false,
            blind: false,
            shows_order: false,
            is_stateless: false,
            lengthens: None,
            causes: Causes::ANYTHING,
            n_clock_looks: 0,
            fast_path: None,
            pulls_first: false,
            pulls_through: None,
            notice: None,
        }
    }

    /// With these arguments.
    pub const fn args(mut self, args: &'static [Arg]) -> Class {
        self.facts.args = args;
        self
    }

    /// With these handlers.
    pub const fn handlers(mut self, handlers: &'static [Handler]) -> Class {
        self.facts.handlers = handlers;
        self
    }

    /// With these reasons for dropping packets.
    pub const fn drops(mut self, drops: &'static [Drop]) -> Class {
        self.facts.drops = drops;
        self
    }

    /// Configured in this phase.
    pub const fn phase(mut self, phase: Phase) -> Class {
        self.phase = phase;
        self
    }

    /// With this role when the graph is replicated.
    pub const fn role(mut self, role: Role) -> Class {
        self.role = role;
        self
    }

    /// Never makes packets of its own: a search for notifiers that ends here has found nothing (Click's flag `S0`).
    pub const fn silent(mut self) -> Class {
        self.generates = false;
        self
    }

    /// Never sends a packet, and says so: a search for notifiers of emptiness ends here and has found nothing, also where
    /// packets would be pushed.
    pub const fn dormant(mut self) -> Class {
        self.dormant = true;
        self.silent()
    }

    /// Can be given a new configuration while the graph runs: a new element is made and takes the old one's state.
    pub const fn live(mut self) -> Class {
        self.live = true;
        self
    }

    /// Failed writes to these handlers return something else than -22.
    pub const fn refuses(mut self, refusals: &'static [(&'static str, Refusal)]) -> Class {
        self.refusals = refusals;
        self
    }

    /// Another name of a class.
    pub const fn alias_of(mut self, name: &'static str) -> Class {
        self.alias_of = Some(name);
        self
    }

    /// Looks into the storage around it while packets flow.
    pub const fn looks_around(mut self) -> Class {
        self.looks_around = true;
        self
    }

    /// Shares a thread with all elements of such classes that have the same configuration.
    pub const fn locks(mut self) -> Class {
        self.locks = true;
        self
    }

    /// Looks at no bytes of packets.
    pub const fn blind(mut self) -> Class {
        self.blind = true;
        self
    }

    /// Shows in what order packets came.
    pub const fn shows_order(mut self) -> Class {
        self.shows_order = true;
        self
    }

    /// Does the same to each packet, whichever came before.
    pub const fn stateless(mut self) -> Class {
        self.is_stateless = true;
        self
    }

    /// Makes no packet longer by more than so many bytes.
    pub const fn lengthens(mut self, bytes: u16) -> Class {
        self.lengthens = Some(bytes);
        self
    }

    /// Packets that come to its elements cause this.
    pub const fn causes(mut self, causes: Causes) -> Class {
        self.causes = causes;
        self
    }

    /// Takes the time of so many looks at the clock to be made.
    pub const fn looks_at_clock(mut self, n_times: u8) -> Class {
        self.n_clock_looks = n_times;
        self
    }

    /// Lets plain packets pass from input 0 to output 0. Which they are is asked again when a handler was written.
    pub const fn fast_path<T: Element + HasFastPath>(mut self) -> Class {
        self.fast_path = Some(|element| same_ref::<T>(element).and_then(T::fast_path));
        self
    }

    /// What feeds the element is pulled from before the element itself.
    pub const fn pulls_first(mut self) -> Class {
        self.pulls_first = true;
        self
    }

    /// Who pulls from this output is wired to what feeds this input. So the element may pull from itself.
    pub const fn pulls_through(mut self, output: PortIdx, input: PortIdx) -> Class {
        self.pulls_through = Some((output, input));
        self
    }

    /// Prints this line for each of its elements.
    pub const fn notice(mut self, notice: &'static str) -> Class {
        self.notice = Some(notice);
        self
    }

    /// With this page of documentation.
    pub const fn with_page(mut self, page: &'static str) -> Class {
        self.facts.page = page;
        self
    }
}

impl std::fmt::Debug for Class {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Class({})", self.facts.name)
    }
}
