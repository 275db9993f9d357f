//! Sends packets out of a network device.
//!
//! Pulls packets, which must begin with the device's link-layer header, and sends them as they are; packets with offload
//! metadata are sent with it, and the kernel segments them and completes their checksums. When the device has no room the
//! packets wait. Sent packets leave by output 0 and packets that could not be sent by output 1, if these are connected. Why
//! they could not is told when that begins, not for each packet. A FromDevice on the same device with the same METHOD does not
//! receive them, whatever its OUTBOUND.
//!
//! ```click
//! FromDevice(eth0) -> Queue -> ToDevice(eth1);
//! ```

use std::collections::VecDeque;
use std::os::fd::{AsFd, AsRawFd};

use args::{Timestamp, Word};
use element::{
    handlers, same, Arg, Batch, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Packet, Phase,
    Puller, Ready, TaskId, TimerId, BATCH_MAX,
};
use smallvec::SmallVec;
use sys::packet_socket::{Tx, TxFrame, TxOptions};
use sys::SysError;

use crate::device::{check_up, refusal, words};
use crate::from_device::{self, FromDevice};
use crate::refusals::Refusals;
use crate::segment::{is_for_kernel, segment};
use crate::traffic::Traffic;
use crate::vnet;

/// The class. It is configured after `FromDevice`.
pub const CLASS: Class = Class::new::<ToDevice>("ToDevice", "1/0-2", "l/h", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .phase(Phase::PRIVILEGED);

const ARGS: &[Arg] = &[
    Arg::required("DEVNAME", "string", "The device."),
    Arg::keyword("DEBUG", "bool", "Whether to tell when the device has no room. Default false."),
    Arg::keyword(
        "METHOD",
        "word",
        "`PCAP` or `LINUX`, which lets the device be down. Default that of FromDevice, or PCAP.",
    ),
    Arg::keyword(
        "BURST",
        "int",
        "Most packets to send each time scheduled, at least 1. Default what `--burst` says, 1 with `weir click`.",
    ),
];

const HANDLERS: &[Handler] = &[
    handlers::SCHEDULED,
    handlers::TICKETS,
    handlers::HOME_THREAD,
    Handler::read_write("debug", "Whether it is told when the device has no room.").flags("checkbox"),
    Handler::read("pulls", "How often a packet was asked for."),
    Handler::read("signal", "Whether there may be packets to pull."),
    Handler::read("q", "Whether packets wait for room in the device."),
    Handler::write("reopen", "Goes on with the device that has the name now.").flags("unlisted"),
    Handler::read("interface_name", "Where packets go: the device.").flags("unlisted"),
    Handler::read("tx_packets", "Packets sent since the start.").flags("unlisted"),
    Handler::read("tx_bytes", "Bytes of these packets.").flags("unlisted"),
];

const DROPS: &[DropReason] =
    &[DropReason::new("not-sent", "The device refused a packet and output 1 is not connected.")];
const NOT_SENT: usize = 0;

/// Longest pause before the device is tried again, in microseconds.
const MAX_BACKOFF_US: u32 = 256;

/// See the page above.
pub struct ToDevice {
    device: String,
    /// Whether METHOD is LINUX; none is that of `FromDevice`, or PCAP.
    is_linux: Option<bool>,
    is_debugging: bool,
    burst: usize,
    tx: Option<Tx>,
    /// Pulled and not yet sent.
    queue: VecDeque<Packet>,
    backoff_us: u32,
    refusals: Refusals,
    n_pulls: u64,
    traffic: Traffic,
    puller: Option<Puller>,
    timer: Option<TimerId>,
}

impl Element for ToDevice {
    fn configure(conf: &mut Configure<'_>) -> Result<ToDevice, Failed> {
        let device = conf.args.need::<String>("DEVNAME");
        let is_debugging = conf.args.get_or("DEBUG", false);
        let method = conf.args.get::<Word>("METHOD").unwrap_or_default().0;
        let burst = conf.args.get_or("BURST", conf.environment.default_burst().min(i32::MAX as usize) as i32);
        if device.is_empty() {
            conf.args.fail("interface not set");
        } else if burst <= 0 {
            conf.args.fail("bad BURST");
        } else if !["", "PCAP", "LINUX"].contains(&method.as_str()) {
            conf.args.fail("bad METHOD");
        }
        conf.finish()?;
        Ok(ToDevice {
            device,
            is_linux: (!method.is_empty()).then_some(method == "LINUX"),
            is_debugging,
            burst: burst as usize,
            tx: None,
            queue: VecDeque::new(),
            backoff_us: 0,
            refusals: Refusals::default(),
            n_pulls: 0,
            traffic: Traffic::default(),
            puller: None,
            timer: None,
        })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let tx = match self.shared(ctx) {
            Some(tx) => tx,
            None => self.open()?,
        };
        if self.has_rival(ctx) {
            return Err(format!("duplicate writer for device '{}'", self.device));
        }
        self.tx = Some(tx);
        (self.puller, self.timer) = (Some(ctx.new_puller(0)), Some(ctx.new_timer()));
        Ok(())
    }

    fn run_task(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
        let mut n_sent = 0;
        loop {
            self.pull_into_queue(ctx, (self.burst - n_sent).min(BATCH_MAX));
            if self.queue.is_empty() {
                break;
            }
            let n_waiting = self.queue.len();
            let result = self.send(ctx);
            n_sent += n_waiting - self.queue.len();
            match result {
                Ok(()) if !self.queue.is_empty() => {
                    self.back_off(ctx);
                    return n_sent > 0;
                }
                Ok(()) => {}
                Err(error) => {
                    // As in Click: what is refused ends the run. Others have their turn, and it can be stopped.
                    self.give_up_first(ctx, &error);
                    break;
                }
            }
            if n_sent >= self.burst {
                break;
            }
        }
        let has_more = self.puller.as_ref().is_some_and(|puller| ctx.is_active(&puller.signal));
        if !self.queue.is_empty() || has_more {
            ctx.schedule(task);
        }
        n_sent > 0
    }

    fn selected(&mut self, ctx: &mut Ctx<'_>, fd: i32, _ready: Ready) {
        ctx.remove_select(fd, Ready::WRITE);
        self.wake(ctx);
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, _timer: TimerId) {
        self.wake(ctx);
    }

    fn read(&mut self, ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        Ok(match name {
            "debug" => self.is_debugging.to_string(),
            "pulls" => self.n_pulls.to_string(),
            "signal" => {
                let signal = self.puller.as_ref().map(|puller| &puller.signal);
                signal.is_some_and(|signal| ctx.is_active(signal)).to_string()
            }
            "q" => (!self.queue.is_empty()).to_string(),
            "interface_name" => self.device.clone(),
            "tx_packets" => self.traffic.packets.to_string(),
            "tx_bytes" => self.traffic.bytes.to_string(),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "debug" => {
                self.is_debugging = args::boolean(&args::uncomment(value)).map_err(|_| "type mismatch")?;
            }
            "reopen" => {
                // A socket that is shared its FromDevice binds anew.
                let tx = match self.shared(ctx) {
                    Some(tx) => tx,
                    None => self.open_even_if_down()?,
                };
                self.close(ctx);
                self.tx = Some(tx);
                self.wake(ctx);
            }
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    fn cleanup(&mut self, ctx: &mut Ctx<'_>) {
        self.close(ctx);
        self.queue.clear();
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(mut old) = same::<ToDevice>(ctx, old) else { return };
        if old.device == self.device {
            self.queue.append(&mut old.queue);
            (self.n_pulls, self.traffic) = (old.n_pulls, old.traffic);
        }
        old.cleanup(ctx);
    }
}

impl ToDevice {
    /// A sender on the socket of the first `FromDevice` on the device, which then does not receive what is sent here.
    fn shared(&self, ctx: &mut Ctx<'_>) -> Option<Tx> {
        let n_elements = ctx.runtime().n_elements();
        let first = (0..n_elements).find(|idx| {
            ctx.class(*idx) == from_device::CLASS.facts.name
                && ctx.with::<FromDevice, _>(*idx, |from, _| from.is_on(&self.device)) == Some(true)
        })?;
        ctx.with::<FromDevice, _>(first, |from, _| from.sender(self.is_linux))?
    }

    fn open(&self) -> Result<Tx, String> {
        if self.is_linux != Some(true) {
            check_up(&self.device)?;
        }
        self.open_even_if_down()
    }

    fn open_even_if_down(&self) -> Result<Tx, String> {
        let tx = Tx::open(&self.device, &TxOptions::default());
        tx.map_err(|error| refusal(&self.device, self.is_linux == Some(true), &error))
    }

    fn close(&mut self, ctx: &mut Ctx<'_>) {
        if let Some(tx) = self.tx.take() {
            ctx.remove_select(tx.as_fd().as_raw_fd(), Ready::WRITE);
        }
    }

    /// Whether another element of the graph sends out of the same device.
    fn has_rival(&self, ctx: &mut Ctx<'_>) -> bool {
        let (own, n_elements) = (ctx.element, ctx.runtime().n_elements());
        (0..n_elements).filter(|idx| *idx != own).any(|idx| {
            ctx.class(idx) == CLASS.facts.name
                && ctx.with::<ToDevice, _>(idx, |other, _| other.tx.is_some() && other.device == self.device)
                    == Some(true)
        })
    }

    fn wake(&self, ctx: &mut Ctx<'_>) {
        if let Some(puller) = &self.puller {
            ctx.schedule(puller.task);
        }
    }

    /// Pulls until `wanted` packets wait, or there are no more.
    fn pull_into_queue(&mut self, ctx: &mut Ctx<'_>, wanted: usize) {
        if self.queue.len() >= wanted {
            return;
        }
        let missing = wanted - self.queue.len();
        let mut batch = ctx.pull(0, missing);
        self.n_pulls += batch.len() as u64 + u64::from(batch.len() < missing);
        for packet in batch.drain() {
            if is_for_kernel(&packet) {
                self.queue.push_back(packet);
            } else {
                segment(&packet, |part| self.queue.push_back(part));
            }
        }
    }

    /// Sends from the queue what there is room for.
    fn send(&mut self, ctx: &mut Ctx<'_>) -> Result<(), SysError> {
        let Some(tx) = &mut self.tx else { return Ok(()) };
        let frames: SmallVec<[TxFrame<'_>; BATCH_MAX]> = self
            .queue
            .iter()
            .map(|packet| TxFrame { vnet: vnet::header_of(packet), data: packet.data() })
            .collect();
        let n = tx.send_batch(&frames)?;
        drop(frames);
        if n > 0 {
            self.backoff_us = 0;
        }
        let n = n.min(self.queue.len());
        let mut sent = Batch::new();
        for packet in self.queue.drain(..n) {
            self.traffic.add(&packet);
            if ctx.n_outputs() == 0 {
                continue;
            }
            if sent.room() == 0 {
                ctx.emit(0, std::mem::take(&mut sent));
            }
            sent.push(packet);
        }
        ctx.emit(0, sent);
        Ok(())
    }

    /// The device has no room: waits for it, the longer the more often this happens in a row.
    fn back_off(&mut self, ctx: &mut Ctx<'_>) {
        let (Some(tx), Some(timer)) = (&self.tx, self.timer) else { return };
        if self.backoff_us == 0 {
            self.backoff_us = 1;
            if ctx.add_select(tx.as_fd(), Ready::WRITE).is_ok() {
                return;
            }
        }
        ctx.schedule_after(timer, i64::from(self.backoff_us) * 1000);
        if self.backoff_us < MAX_BACKOFF_US {
            self.backoff_us *= 2;
        }
        if self.is_debugging {
            let (name, backoff) = (ctx.own_name().to_string(), self.backoff_us);
            let now = Timestamp::from_nanos(ctx.now_ns());
            ctx.chatter(&format!("{name} backing off for {backoff} at {now}"));
        }
    }

    /// The first packet of the queue was refused. One with offload metadata is tried again, segmented here.
    fn give_up_first(&mut self, ctx: &mut Ctx<'_>, error: &SysError) {
        let Some(packet) = self.queue.pop_front() else { return };
        if packet.has_offload() {
            let mut parts = VecDeque::new();
            segment(&packet, |part| parts.push_back(part));
            parts.append(&mut self.queue);
            self.queue = parts;
            return;
        }
        if self.refusals.is_new(error.errno(), ctx.recent_steady_ns()) {
            ctx.complain(&format!("ToDevice({}): {}", self.device, words(error)));
        }
        ctx.emit_or_drop(1, NOT_SENT, Batch::of(packet));
    }
}
