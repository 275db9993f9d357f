//! When a source of packets from a file has its turn.

use element::{Ctx, Packet, TaskId, TimerId};

/// The task of a source whose output is push or its notifier, and the timer of one that keeps the time between packets.
pub struct Turn {
    /// What is added to a timestamp to get the steady time at which the packet is due.
    offset_ns: Option<i64>,
    is_awake: bool,
    task: Option<TaskId>,
    timer: Option<TimerId>,
}

impl Turn {
    /// The turn of a source that is not initialised yet.
    pub fn new() -> Turn {
        Turn { offset_ns: None, is_awake: true, task: None, timer: None }
    }

    /// Makes the timer and, with a push output, the task.
    pub fn initialize(&mut self, ctx: &mut Ctx<'_>, is_active: bool) {
        self.timer = Some(ctx.new_timer());
        if ctx.output_is_push(0) {
            let task = ctx.new_task();
            if is_active {
                ctx.schedule(task);
            }
            self.task = Some(task);
        }
    }

    /// Keeps time as another one has kept it.
    pub fn go_on_from(&mut self, old: &Turn) {
        self.offset_ns = old.offset_ns;
    }

    /// Whether there is a task: the output is push.
    pub fn has_task(&self) -> bool {
        self.task.is_some()
    }

    /// Whether it is time for a packet; sets the timer if not.
    pub fn is_due(&mut self, ctx: &mut Ctx<'_>, packet: &Packet) -> bool {
        let now = ctx.steady_ns();
        let offset = *self.offset_ns.get_or_insert(now.saturating_sub(packet.timestamp_ns()));
        let due = packet.timestamp_ns().saturating_add(offset);
        if let Some(timer) = self.timer.filter(|_| now < due) {
            ctx.schedule_at(timer, due);
            return false;
        }
        true
    }

    /// Lets packets flow: by the task, or by telling who pulls.
    pub fn wake(&mut self, ctx: &mut Ctx<'_>) {
        match self.task {
            Some(task) if !ctx.is_scheduled(task) => ctx.schedule(task),
            Some(_) => {}
            None => self.set_awake(ctx, true),
        }
    }

    /// Tells who pulls whether there may be packets.
    pub fn set_awake(&mut self, ctx: &mut Ctx<'_>, is_awake: bool) {
        if self.is_awake != is_awake {
            self.is_awake = is_awake;
            ctx.set_empty_signal(is_awake);
        }
    }
}
