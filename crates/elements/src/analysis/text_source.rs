//! Sources of packets that read a description of each from a line of a text.

use args::{Filename, FixedPoint, Scope};
use element::{
    annotation, at_place, handlers, same, same_ref, Arg, Batch, Causes, Configure, Ctx, DropReason, Element,
    Failed, Handler, Notifies, Packet, TaskId, TimerId, BATCH_MAX,
};

use super::summary::input::Input;
use super::summary::multipacket::Series;
use super::turn::Turn;

/// The argument FILENAME.
pub const FILENAME: Arg = Arg::required("FILENAME", "file name", "The file; `-` is standard input.");
/// The argument STOP.
pub const STOP: Arg =
    Arg::keyword("STOP", "bool", "Whether to stop the driver at the end of the file. Default false.");
/// The argument ACTIVE.
pub const ACTIVE: Arg = Arg::keyword("ACTIVE", "bool", "Whether to make packets. Default true.");
/// The argument ZERO.
pub const ZERO: Arg = Arg::keyword(
    "ZERO",
    "bool",
    "Whether bytes that no line sets must be zero; they always are. Default true.",
);

/// The argument SAMPLE.
pub const SAMPLE: Arg =
    Arg::keyword("SAMPLE", "fraction", "Probability that a packet is emitted, 0 to 1. Default 1.");

/// The handler `sampling_prob`.
pub const SAMPLING_PROB: Handler =
    Handler::read("sampling_prob", "Probability that a packet is emitted.").flags("alike");
/// The handler `active`.
pub const IS_ACTIVE: Handler = Handler::read_write("active", "Whether packets are made.").flags("checkbox");
/// The handler `encap`.
pub const ENCAP: Handler = Handler::read("encap", "The kind of packets: IP.").flags("alike");
/// The handlers about the file and the task.
pub const FILE_NAME: Handler = Handler::read("filename", "Name of the file.").flags("alike");
/// See [`FILE_NAME`].
pub const FILE_SIZE: Handler = Handler::read("filesize", "Size of the file in bytes, or `-`.").flags("alike");
/// See [`FILE_NAME`].
pub const FILE_POSITION: Handler = Handler::read("filepos", "Bytes of the file that were read.");
/// The handlers of the task.
pub const TASK: [Handler; 3] = [handlers::SCHEDULED, handlers::TICKETS, handlers::HOME_THREAD];

/// Bits of fraction of a probability.
pub const SAMPLE_BITS: u32 = 28;
/// The probability 1.
pub const ALWAYS: u32 = 1 << SAMPLE_BITS;

/// Reads the argument SAMPLE, which may be more than 1: see [`checked_sampling`].
pub fn read_sampling(conf: &mut Configure<'_>) -> u32 {
    let FixedPoint(sampling) = conf.args.get_or("SAMPLE", FixedPoint::<SAMPLE_BITS>(ALWAYS));
    sampling
}

/// A probability that is one, with a warning if the argument SAMPLE is not, or makes the source of no use.
pub fn checked_sampling(conf: &mut Configure<'_>, sampling: u32) -> u32 {
    if sampling > ALWAYS {
        conf.warning("SAMPLE probability reduced to 1");
    } else if sampling == 0 {
        conf.warning("SAMPLE probability is 0; emitting no packets");
    }
    sampling.min(ALWAYS)
}

/// What becomes of packets that are left out.
pub const DROPS: &[DropReason] =
    &[DropReason::new("not-sampled", "The packet was left out, as SAMPLE wants it.")];
/// The first of them.
pub const NOT_SAMPLED: usize = 0;

/// What a line is.
pub enum Line {
    /// A packet.
    Packet(Packet),
    /// Not a packet: the source goes on with the next line when its turn comes again.
    Nothing,
    /// Comments and the like.
    Skip,
    /// The end, as after the last line.
    End,
}

/// How a line describes a packet.
pub trait Format: Send + Sized + 'static {
    /// What is said to a value of `active` that is none.
    const BAD_ACTIVE: &'static str;

    /// Reads all arguments.
    fn configure(conf: &mut Configure<'_>) -> Result<(Self, Wishes), Failed>;

    /// A doubt about the first line of a file, if there is one.
    fn doubt(_first: &[u8]) -> Option<&'static str> {
        None
    }

    /// Goes on from what the lines have told another one of the same file.
    fn go_on_from(&mut self, _old: Self) {}

    /// Reads a line, in which names of `scope` may stand. What is to be told goes to `tell`.
    fn read(&mut self, line: &[u8], scope: &Scope<'_>, tell: &mut dyn FnMut(&str)) -> Line;
}

/// What the arguments say that all formats have in common.
pub struct Wishes {
    /// The file.
    pub filename: String,
    /// Whether the driver is stopped at the end.
    pub stops: bool,
    /// Whether packets are made.
    pub is_active: bool,
    /// The probability that a packet is emitted.
    pub sampling: u32,
    /// Whether the time between packets is kept.
    pub keeps_time: bool,
    /// Whether a packet that stands for several is split.
    pub splits: bool,
}

impl Wishes {
    /// Reads FILENAME, STOP, ACTIVE and ZERO; what other arguments say is as by default.
    pub fn configure(conf: &mut Configure<'_>) -> Wishes {
        let Filename(filename) = conf.args.need("FILENAME");
        let stops = conf.args.get_or("STOP", false);
        let is_active = conf.args.get_or("ACTIVE", true);
        conf.args.get::<bool>("ZERO");
        Wishes { filename, stops, is_active, sampling: ALWAYS, keeps_time: false, splits: false }
    }
}

/// A source.
pub struct TextSource<F> {
    format: F,
    wishes: Wishes,
    input: Input,
    /// Whether the file is one that another element has begun to read.
    goes_on: bool,
    line: Vec<u8>,
    /// The packet that comes next: it is not yet due.
    next: Option<Packet>,
    /// What is left of a packet that is being split.
    rest: Option<Packet>,
    series: Series,
    turn: Turn,
}

/// What comes next.
pub enum Step {
    Packet(Packet),
    Nothing,
    End,
    Wait,
}

impl<F: Format> Element for TextSource<F> {
    fn configure(conf: &mut Configure<'_>) -> Result<TextSource<F>, Failed> {
        let (format, wishes) = F::configure(conf)?;
        let input = Input::new(wishes.filename.clone());
        Ok(TextSource {
            format,
            wishes,
            input,
            goes_on: false,
            line: Vec::new(),
            next: None,
            rest: None,
            series: Series::default(),
            turn: Turn::new(),
        })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        if !self.goes_on {
            self.open(ctx)?;
        }
        self.turn.initialize(ctx, self.wishes.is_active);
        Ok(())
    }

    fn reads_once(&self) -> bool {
        self.input.is_stdin()
    }

    fn notifies(&self) -> Notifies {
        Notifies::LATE
    }

    fn run_task(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
        let mut batch = Batch::new();
        let burst = ctx.default_burst().clamp(1, BATCH_MAX);
        let most = ctx.fitting(burst, Causes::NOTHING);
        let mut goes_on = self.wishes.is_active;
        while goes_on && batch.len() < most {
            match self.step(ctx) {
                Step::Packet(packet) => batch.push(packet),
                Step::Nothing => break,
                Step::End | Step::Wait => goes_on = false,
            }
        }
        let worked = most > 0 && (goes_on || !batch.is_empty());
        ctx.emit(0, batch);
        if goes_on {
            ctx.schedule(task);
        }
        worked
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let mut batch = Batch::new();
        while self.wishes.is_active && batch.len() < max.min(BATCH_MAX) {
            match self.step(ctx) {
                Step::Packet(packet) => batch.push(packet),
                Step::Nothing => break,
                Step::End | Step::Wait => {
                    self.turn.set_awake(ctx, false);
                    return batch;
                }
            }
        }
        self.turn.set_awake(ctx, self.wishes.is_active);
        batch
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, _timer: TimerId) {
        if self.wishes.is_active {
            self.turn.wake(ctx);
        }
    }

    fn has_handler(&self, name: &str) -> bool {
        self.turn.has_task() || !TASK.iter().any(|handler| handler.name == name)
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        Ok(match name {
            "sampling_prob" => args::unparse_binary(self.wishes.sampling, SAMPLE_BITS),
            "active" => self.wishes.is_active.to_string(),
            "encap" => "IP".to_string(),
            "filename" => self.input.name().to_string(),
            "filesize" => self.input.size().map_or("-".to_string(), |size| size.to_string()),
            "filepos" => self.input.position().to_string(),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "active" => {
                self.wishes.is_active = args::boolean(&args::uncomment(value)).map_err(|_| F::BAD_ACTIVE)?;
                if self.wishes.is_active {
                    self.turn.wake(ctx);
                } else if !self.turn.has_task() {
                    self.turn.set_awake(ctx, false);
                }
            }
            "stop" => {
                self.wishes.is_active = false;
                ctx.stop();
            }
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    fn cleanup(&mut self, _ctx: &mut Ctx<'_>) {
        self.input.close();
        (self.next, self.rest) = (None, None);
    }

    fn foresee(&mut self, old: &dyn Element) {
        self.goes_on = same_ref::<TextSource<F>>(old).is_some_and(|old| old.input.is_of_same(&self.input));
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(mut old) = same::<TextSource<F>>(ctx, old) else { return };
        if !old.input.is_of_same(&self.input) {
            return old.cleanup(ctx);
        }
        std::mem::swap(&mut self.input, &mut old.input);
        old.input.close();
        (self.next, self.rest, self.series) = (old.next, old.rest, old.series);
        self.turn.go_on_from(&old.turn);
        self.format.go_on_from(old.format);
    }
}

impl<F: Format> TextSource<F> {
    fn open(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        self.input.open(false)?;
        let first = self.input.look_at_first_line().map_err(|error| element::output::reason(&error))?;
        if let Some(doubt) = F::doubt(&first) {
            ctx.tell(&format!("warning: {}", at_place(self.input.name(), doubt)));
        }
        Ok(())
    }

    fn step(&mut self, ctx: &mut Ctx<'_>) -> Step {
        loop {
            let packet = match self.next.take() {
                Some(packet) => packet,
                None => match self.read_packet(ctx) {
                    Step::Packet(packet) => packet,
                    Step::End => {
                        if self.wishes.stops {
                            ctx.stop();
                        }
                        return Step::End;
                    }
                    other => return other,
                },
            };
            if self.wishes.keeps_time && !self.turn.is_due(ctx, &packet) {
                self.next = Some(packet);
                return Step::Wait;
            }
            let sampling = self.wishes.sampling;
            if sampling >= ALWAYS || ctx.random() & (ALWAYS - 1) < sampling {
                return Step::Packet(packet);
            }
            ctx.drop_packet(NOT_SAMPLED, packet);
        }
    }

    /// Splits the next packet off, or reads lines up to it.
    fn read_packet(&mut self, ctx: &mut Ctx<'_>) -> Step {
        let is_new = self.rest.is_none();
        let packet = match self.rest.take() {
            Some(rest) => rest,
            None => match self.read_lines(ctx) {
                Line::Packet(packet) => packet,
                Line::Nothing | Line::Skip => return Step::Nothing,
                Line::End => return Step::End,
            },
        };
        // A packet that stands for none has the largest number here, and is not split.
        let n_more = packet.anno_u32(annotation::EXTRA_PACKETS);
        if !self.wishes.splits || n_more == 0 || n_more == u32::MAX {
            return Step::Packet(packet);
        }
        let (first, rest) = self.series.split(packet, is_new);
        self.rest = Some(rest);
        Step::Packet(first)
    }

    fn read_lines(&mut self, ctx: &mut Ctx<'_>) -> Line {
        loop {
            match self.input.read_line(&mut self.line) {
                Ok(true) => {}
                Ok(false) => return Line::End,
                Err(error) => {
                    let text = self.input.at(&element::output::reason(&error));
                    ctx.chatter(&text);
                    return Line::End;
                }
            }
            let TextSource { format, input, line, .. } = self;
            let mut told = Vec::new();
            let read = format.read(line, &ctx.scope(), &mut |text| told.push(input.at(text)));
            told.iter().for_each(|text| ctx.chatter(text));
            match read {
                Line::Skip => {}
                other => return other,
            }
        }
    }
}
