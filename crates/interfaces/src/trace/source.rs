//! Sources as elements.

use args::{Filename, FixedPoint};
use element::{
    same, same_ref, Batch, Causes, Configure, Ctx, Element, Failed, Packet, TaskId, TimerId, BATCH_MAX,
};

use super::cells::Cells;
use super::reading::Ahead;
use super::{Trace, TraceSource};
use crate::dump_bounds::{bounds, check_bounds, warn_of_sample};
use crate::dump_end::EndCall;
use crate::dump_source::{ALWAYS, SAMPLE_BITS};
use crate::dump_window::Window;

/// What comes next.
enum Step {
    Packet(Packet),
    /// A packet whose time has not come.
    Early,
    /// Nothing so far.
    Later,
    End,
}

impl<T: Trace> Element for TraceSource<T> {
    fn configure(conf: &mut Configure<'_>) -> Result<TraceSource<T>, Failed> {
        conf.read_first::<bool>("MMAP")?;
        let Filename(filename) = conf.args.need("FILENAME");
        let mut trace = T::new();
        trace.configure(conf, "FILENAME");
        let stops = conf.args.get_or("STOP", false);
        let is_active = conf.args.get_or("ACTIVE", true);
        trace.configure(conf, "ACTIVE");
        let bounds = bounds(conf);
        let end_call = conf.handler_call("END_CALL");
        trace.configure(conf, "END_CALL");
        let FixedPoint(sample) = conf.args.get_or("SAMPLE", FixedPoint::<SAMPLE_BITS>(ALWAYS));
        let keeps_time = conf.args.get_or("TIMING", false);
        trace.configure(conf, "TIMING");
        conf.finish()?;
        warn_of_sample(conf, sample);
        match bounds[0].1 > 1 {
            true => conf.args.fail(T::STARTS),
            false => check_bounds(conf, &bounds),
        }
        if conf.args.is_ok() && stops && end_call.is_some() {
            conf.args.fail("END_CALL and STOP are mutually exclusive");
        }
        conf.finish()?;
        trace.check(conf, &filename)?;
        let window = Window::new(bounds[0].0, bounds[1].0);
        let end_call = match end_call {
            Some(call) => Some(EndCall::Handler(call)),
            None if stops => Some(EndCall::Stop),
            None => window.ends().then_some(EndCall::Deactivate),
        };
        let sample = sample.min(ALWAYS);
        let source = TraceSource::new(trace, filename);
        Ok(TraceSource { window, sample, is_active, keeps_time, end_call, ..source })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        if let Some(EndCall::Handler(call)) = &self.end_call {
            call.check_writable(ctx)?;
        }
        self.timer = Some(ctx.new_timer());
        if ctx.output_is_push(0) {
            self.task = Some(ctx.new_task());
        }
        if !self.goes_on {
            self.cells.open()?;
            self.trace.start(self.keeps_time)?;
            self.cells.skip_to(self.trace.begin())?;
            self.read_ahead(ctx);
            if let Some(packet) = &self.next {
                self.offset_ns = ctx.steady_ns().saturating_sub(packet.timestamp_ns());
            }
        }
        self.is_started = true;
        if let Some(task) = self.task.filter(|_| self.is_active) {
            ctx.schedule(task);
        }
        Ok(())
    }

    fn reads_once(&self) -> bool {
        self.cells.is_stdin()
    }

    fn run_task(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
        let mut has_worked = false;
        let burst = ctx.default_burst();
        for _ in 0..ctx.fitting(burst.max(1), Causes::NOTHING) {
            if !self.is_active {
                return has_worked;
            }
            match self.step(ctx) {
                Step::Packet(packet) => {
                    has_worked = true;
                    // The packet is on its way before the next one is looked at, which may be the end.
                    ctx.emit_now(0, Batch::of(packet));
                    if self.read_ahead(ctx).is_last() {
                        self.end(ctx, false);
                        return true;
                    }
                }
                Step::Early => return has_worked,
                Step::Later => break,
                Step::End => {
                    self.end(ctx, false);
                    return true;
                }
            }
        }
        ctx.schedule(task);
        true
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let mut batch = Batch::new();
        while self.is_active && batch.len() < max.min(BATCH_MAX) {
            match self.step(ctx) {
                Step::Packet(packet) => {
                    batch.push(packet);
                    if self.read_ahead(ctx).is_last() {
                        self.end(ctx, false);
                        break;
                    }
                }
                Step::Early | Step::Later => break,
                Step::End => {
                    if batch.is_empty() {
                        self.end(ctx, false);
                    }
                    break;
                }
            }
        }
        batch
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, _timer: TimerId) {
        if let Some(task) = self.task.filter(|_| self.is_active) {
            ctx.schedule(task);
        }
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        Ok(match name {
            "sampling_prob" => args::unparse_binary(self.sample, SAMPLE_BITS),
            "active" => self.is_active.to_string(),
            "encap" => self.trace.encap(),
            "packet_filepos" => self.record_at.to_string(),
            "filename" => self.cells.name().to_string(),
            "filesize" => self.cells.len().map_or("-".to_string(), |len| len.to_string()),
            "filepos" => self.cells.position().to_string(),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "active" => {
                let is_active = args::boolean(&args::uncomment(value)).map_err(|_| "type mismatch")?;
                self.set_active(ctx, is_active);
            }
            "stop" => {
                self.set_active(ctx, false);
                ctx.stop();
            }
            "extend_interval" => {
                let interval = args::timestamp(&args::uncomment(value))
                    .map_err(|_| "'extend_interval' takes a time interval")?;
                self.window.extend(interval, self.end_call.is_some());
                if self.end_call.is_some() {
                    self.set_active(ctx, true);
                }
            }
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    fn cleanup(&mut self, _ctx: &mut Ctx<'_>) {
        self.next = None;
        self.held.clear();
        self.cells.close();
    }

    fn foresee(&mut self, old: &dyn Element) {
        self.goes_on = same_ref::<TraceSource<T>>(old)
            .is_some_and(|old| old.cells.is_of_same(&self.cells) && old.cells.is_open());
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(mut old) = same::<TraceSource<T>>(ctx, old) else { return };
        if self.goes_on {
            std::mem::swap(&mut self.cells, &mut old.cells);
            if self.window.is_like(&old.window) {
                std::mem::swap(&mut self.window, &mut old.window);
            }
            (self.next, self.held) = (old.next.take(), std::mem::take(&mut old.held));
            (self.record_at, self.offset_ns) = (old.record_at, old.offset_ns);
        }
        old.cleanup(ctx);
    }
}

impl<T: Trace> TraceSource<T> {
    /// A source of all packets of a file.
    fn new(trace: T, filename: String) -> TraceSource<T> {
        TraceSource {
            trace,
            cells: Cells::new(filename),
            goes_on: false,
            window: Window::default(),
            sample: ALWAYS,
            is_active: true,
            keeps_time: false,
            end_call: None,
            next: None,
            record_at: 0,
            offset_ns: 0,
            header: Vec::new(),
            data: Vec::new(),
            held: Batch::new(),
            task: None,
            timer: None,
            is_started: false,
        }
    }

    /// Takes the next packet, if its time has come.
    fn step(&mut self, ctx: &mut Ctx<'_>) -> Step {
        let held = std::mem::take(&mut self.held);
        self.emit_other(ctx, held);
        if self.next.is_none() {
            match self.read_ahead(ctx) {
                Ahead::Later => return Step::Later,
                Ahead::Nothing => return Step::End,
                Ahead::More | Ahead::Last => {}
            }
        }
        let Some(packet) = self.next.take() else { return Step::End };
        let due_ns = packet.timestamp_ns().saturating_add(self.offset_ns);
        if self.keeps_time && ctx.steady_ns() < due_ns {
            self.next = Some(packet);
            if let Some(timer) = self.timer.filter(|_| self.task.is_some()) {
                ctx.schedule_at(timer, due_ns);
            }
            return Step::Early;
        }
        Step::Packet(packet)
    }

    fn set_active(&mut self, ctx: &mut Ctx<'_>, is_active: bool) {
        if self.is_active == is_active {
            return;
        }
        self.is_active = is_active;
        if let Some(task) = self.task.filter(|_| is_active) {
            if !ctx.is_scheduled(task) {
                ctx.schedule(task);
            }
        }
    }

    /// Writes the handler of the end.
    pub(super) fn end(&mut self, ctx: &mut Ctx<'_>, is_quiet: bool) {
        if let Some(call) = self.end_call.clone() {
            call.write(ctx, self, is_quiet);
        }
    }
}
