//! Takes an Ethernet switch's ports out of loops: the spanning tree of IEEE 802.1D.
//!
//! Bridge messages come in and go out by the ports of the same numbers as those of the switch. Frames go through the switch by way of
//! two `Suppressor`s, one in front of it and one behind it, that this element closes: both on a port that would close a loop,
//! or that is not yet known not to; and, for a time before it forwards, the one behind it while the switch already learns.
//!
//! The priority of this bridge is low (0xdead): it hardly becomes the root. A root that wants messages every 0 seconds gets
//! one a second. Messages that are too short are dropped.
//!
//! ```click
//! tree :: EtherSpanTree(2:0:0:0:0:1, before, behind, switch);
//! switch :: EtherSwitch; before, behind :: Suppressor;
//! FromDump(a.pcap) -> c0 :: Classifier(14/4242, -); c0[0] -> [0]tree[0] -> q0 :: Queue -> ToDump(to-a.pcap);
//! FromDump(b.pcap) -> c1 :: Classifier(14/4242, -); c1[0] -> [1]tree[1] -> q1 :: Queue -> ToDump(to-b.pcap);
//! c0[1] -> [0]before[0] -> [0]switch[0] -> [0]behind[0] -> q0;
//! c1[1] -> [1]before[1] -> [1]switch[1] -> [1]behind[1] -> q1;
//! ```

use std::cmp::Ordering;

use args::EtherAddr;
use element::{
    same, Arg, Batch, Class, Configure, Ctx, DropReason, Element, ElementIdx, Failed, Handler, Packet,
    TimerId,
};

use super::bridge_message::{Message, FRAME};

/// The class.
pub const CLASS: Class = Class::new::<EtherSpanTree>("EtherSpanTree", "-/=", "h/h", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS);

const ARGS: &[Arg] = &[
    Arg::required("ADDR", "Ethernet address", "The address of the switch."),
    Arg::required("INPUT_SUPPRESSOR", "element", "The Suppressor in front of the switch."),
    Arg::required("OUTPUT_SUPPRESSOR", "element", "The Suppressor behind the switch."),
    Arg::required("SWITCH", "element", "The EtherSwitch or VLANSwitch."),
];

const HANDLERS: &[Handler] =
    &[Handler::read("msgs", "The best message heard on each port, and that of this bridge, a line each.")];

const SHORT: usize = 0;
const DROPS: &[DropReason] = &[DropReason::new("short", "The frame is too short for a bridge message.")];

const PRIORITY: u64 = 0xdead;
const NS_PER_S: i64 = 1_000_000_000;

/// See the page above.
pub struct EtherSpanTree {
    address: EtherAddr,
    /// Priority and address. Click has the address the other way round.
    bridge: u64,
    before: ElementIdx,
    behind: ElementIdx,
    ports: Vec<Port>,
    best: Message,
    /// Whether the root is to hear of a change.
    tells_change: bool,
    timer: Option<TimerId>,
}

/// A port, its state and what was heard there.
struct Port {
    state: State,
    since_ns: i64,
    heard: Message,
}

/// What a port does; it comes to forward step by step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Block,
    Listen,
    /// The switch hears, but does not talk.
    Learn,
    Forward,
}

impl State {
    fn next(self) -> State {
        match self {
            State::Block => State::Listen,
            State::Listen => State::Learn,
            State::Learn | State::Forward => State::Forward,
        }
    }
}

impl Element for EtherSpanTree {
    fn configure(conf: &mut Configure<'_>) -> Result<EtherSpanTree, Failed> {
        let address: EtherAddr = conf.args.need("ADDR");
        let before = conf.element("INPUT_SUPPRESSOR", &["Suppressor"]);
        let behind = conf.element("OUTPUT_SUPPRESSOR", &["Suppressor"]);
        conf.element("SWITCH", &["EtherSwitch", "VLANSwitch"]);
        conf.finish()?;
        let [a0, a1, a2, a3, a4, a5] = address.0;
        let bridge = PRIORITY << 48 | u64::from_le_bytes([a0, a1, a2, a3, a4, a5, 0, 0]);
        let port = || Port { state: State::Block, since_ns: 0, heard: Message::NONE };
        Ok(EtherSpanTree {
            address,
            bridge,
            before: before.ok_or("INPUT_SUPPRESSOR: required argument missing")?,
            behind: behind.ok_or("OUTPUT_SUPPRESSOR: required argument missing")?,
            ports: (0..conf.n_outputs).map(|_| port()).collect(),
            best: Message::of_root(bridge, 0),
            tells_change: false,
            timer: None,
        })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        for port in 0..self.ports.len() {
            self.advance(ctx, port);
        }
        let timer = ctx.new_timer();
        ctx.schedule_after(timer, self.hello_ns());
        self.timer = Some(timer);
        Ok(())
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, port: usize, mut batch: Batch) {
        for packet in batch.drain() {
            let now_ns = ctx.now_ns();
            match Message::read(packet.data(), now_ns) {
                Some(message) => self.hear(port, message, &packet),
                None => ctx.drop_packet(SHORT, packet),
            }
            self.find_tree(ctx);
        }
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, timer: TimerId) {
        self.forward_ports(ctx);
        self.expire(ctx);
        self.find_tree(ctx);
        for port in 0..self.ports.len() {
            if let Some(packet) = self.message(ctx, port) {
                ctx.emit_now(port, Batch::of(packet));
            }
        }
        ctx.schedule_after(timer, self.hello_ns());
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "msgs" => {
                Ok(self.ports.iter().map(|port| &port.heard).chain([&self.best]).map(Message::line).collect())
            }
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<EtherSpanTree>(ctx, old) else { return };
        self.tells_change |= old.tells_change;
        for (idx, Port { state, since_ns, heard }) in old.ports.into_iter().enumerate().take(self.ports.len())
        {
            if self.ports.get(idx).is_some_and(|port| port.state != state) {
                self.set_state(ctx, idx, state);
            }
            if let Some(port) = self.ports.get_mut(idx) {
                (port.since_ns, port.heard) = (since_ns, heard);
            }
        }
        self.find_tree(ctx);
    }
}

impl EtherSpanTree {
    fn hello_ns(&self) -> i64 {
        i64::from(self.best.hello_s.max(1)) * NS_PER_S
    }

    /// Remembers a message that is not worse than the last one of its port.
    fn hear(&mut self, port: usize, message: Message, packet: &Packet) {
        let Some(port) = self.ports.get_mut(port) else { return };
        if message.compare(&port.heard) != Ordering::Greater {
            port.heard = message;
            self.tells_change &= !Message::acknowledges(packet.data());
        }
    }

    /// Moves ports on that have listened or learned long enough.
    fn forward_ports(&mut self, ctx: &mut Ctx<'_>) {
        let cutoff_ns = ctx.now_ns().saturating_sub(i64::from(self.best.forward_delay_s) * NS_PER_S);
        for idx in 0..self.ports.len() {
            let is_due =
                |port: &Port| matches!(port.state, State::Listen | State::Learn) && port.since_ns < cutoff_ns;
            if self.ports.get(idx).is_some_and(is_due) {
                self.advance(ctx, idx);
            }
        }
    }

    fn expire(&mut self, ctx: &mut Ctx<'_>) {
        let cutoff_ns = ctx.now_ns().saturating_sub(i64::from(self.best.max_age_s) * NS_PER_S);
        for (idx, port) in self.ports.iter_mut().enumerate() {
            if port.heard.expire(cutoff_ns) {
                ctx.chatter(&format!("Expiring message on port {idx}"));
            }
        }
    }

    /// Finds the best message, this bridge's own or one heard, and blocks the ports that are not in its tree.
    fn find_tree(&mut self, ctx: &mut Ctx<'_>) {
        let mut root_port = None;
        self.best = Message::of_root(self.bridge, self.best.port);
        for (idx, port) in self.ports.iter().enumerate() {
            let farther = port.heard.farther();
            if self.best.compare(&farther) == Ordering::Greater {
                self.best = farther;
                root_port = Some(idx);
            }
        }
        for idx in 0..self.ports.len() {
            let Some(port) = self.ports.get(idx) else { continue };
            // In the tree are the way to the root, and the ports on which nobody has a better message than this bridge.
            let is_worse = self.best.compare_as(self.bridge, idx as u16, &port.heard) == Ordering::Greater;
            match (is_worse && root_port != Some(idx), port.state) {
                (true, State::Block) => {}
                (true, _) => self.block(ctx, idx),
                (false, State::Block) => self.advance(ctx, idx),
                (false, _) => {}
            }
        }
    }

    /// Takes a port one step towards forwarding.
    fn advance(&mut self, ctx: &mut Ctx<'_>, idx: usize) {
        let Some(port) = self.ports.get(idx) else { return };
        let next = port.state.next();
        if port.state == State::Block {
            ctx.chatter(&format!("Setting send_tc_msg: BLOCK -> FORWARD on {idx}"));
            self.tells_change = true;
        }
        self.set_state(ctx, idx, next);
    }

    fn block(&mut self, ctx: &mut Ctx<'_>, idx: usize) {
        ctx.chatter(&format!("Setting send_tc_msg: FORWARD -> BLOCK on {idx}"));
        self.tells_change = true;
        self.set_state(ctx, idx, State::Block);
    }

    fn set_state(&mut self, ctx: &mut Ctx<'_>, idx: usize, state: State) {
        let Some(port) = self.ports.get_mut(idx) else { return };
        ctx.chatter(&format!("Changing port {idx} from {} to {}", port.state as u8, state as u8));
        port.state = state;
        port.since_ns = ctx.now_ns();
        for (suppressor, is_open) in
            [(self.before, state >= State::Learn), (self.behind, state == State::Forward)]
        {
            let (handler, value) = (format!("active{idx}"), is_open.to_string());
            // A Suppressor that has no such port lets nothing through there.
            ctx.with_any(suppressor, |element, ctx| element.write(ctx, &handler, &value).ok());
        }
    }

    /// What is to be sent on a port: this bridge's message where it is better than what was heard, and news of a change
    /// towards the root.
    fn message(&mut self, ctx: &mut Ctx<'_>, idx: usize) -> Option<Packet> {
        let port = self.ports.get(idx)?;
        let mut frame: [u8; FRAME] = match self.best.compare(&port.heard) {
            Ordering::Less => self.best.frame(self.bridge, idx as u16, || ctx.now_ns()),
            Ordering::Equal if self.tells_change => Message::change_frame(),
            _ => return None,
        };
        if let Some(source) = frame.get_mut(6..12) {
            source.copy_from_slice(&self.address.0);
        }
        Some(Packet::from_bytes(&frame))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, run};
    use expect_test::expect;

    /// A bridge of two ports whose classifiers and outputs are called after it.
    fn bridge(name: &str, address: &str) -> String {
        let mut graph = format!(
            "{name} :: EtherSpanTree({address}, {name}_before, {name}_behind, {name}_switch);
             {name}_switch :: EtherSwitch; {name}_before, {name}_behind :: Suppressor;"
        );
        for port in 0..2 {
            graph += &format!(
                "{name}_in{port} :: Classifier(14/4242, -) -> [{port}]{name}[{port}] -> {name}_out{port} :: Null;
                 {name}_in{port}[1] -> [{port}]{name}_before[{port}] -> [{port}]{name}_switch[{port}]
                     -> [{port}]{name}_behind[{port}] -> {name}_out{port};"
            );
        }
        graph
    }

    #[test]
    fn one_of_two_links_between_two_bridges_is_closed() {
        let mut graph = bridge("a", "0:0:0:0:0:1") + &bridge("b", "0:0:0:0:0:2");
        for (from, to) in [("a", "b"), ("b", "a")] {
            for port in 0..2 {
                graph += &format!("{from}_out{port} -> Queue -> DelayUnqueue(0.001) -> {to}_in{port};");
            }
        }
        graph += "DriverManager(wait 65s)";
        let ports = ["a_before.active0", "a_before.active1", "b_before.active0", "b_before.active1"];
        expect![[r#"
            Setting send_tc_msg: BLOCK -> FORWARD on 0
            Changing port 0 from 0 to 1
            Setting send_tc_msg: BLOCK -> FORWARD on 1
            Changing port 1 from 0 to 1
            Setting send_tc_msg: BLOCK -> FORWARD on 0
            Changing port 0 from 0 to 1
            Setting send_tc_msg: BLOCK -> FORWARD on 1
            Changing port 1 from 0 to 1
            Setting send_tc_msg: FORWARD -> BLOCK on 1
            Changing port 1 from 1 to 0
            Changing port 0 from 1 to 2
            Changing port 1 from 1 to 2
            Changing port 0 from 1 to 2
            Expiring message on port 0
            Expiring message on port 1
            Changing port 0 from 2 to 3
            Changing port 1 from 2 to 3
            Changing port 0 from 2 to 3
            a.msgs:  ffffffffffffffff:0000: tc  ffffffff -> ffffffffffffffff  m/h/d: 14/2/f
             ffffffffffffffff:0001: tc  ffffffff -> ffffffffffffffff  m/h/d: 14/2/f
             dead010000000000:0000: tc  0 -> dead010000000000  m/h/d: 14/2/f

            b.msgs:  dead010000000000:0000: tc  0 -> dead010000000000  m/h/d: 14/2/f
             dead010000000000:0001: tc  0 -> dead010000000000  m/h/d: 14/2/f
             dead010000000000:0000: tc  1 -> dead010000000000  m/h/d: 14/2/f

            a_before.active0: true
            a_before.active1: true
            b_before.active0: true
            b_before.active1: false
        "#]]
        .assert_eq(&run(&graph, &[&["a.msgs", "b.msgs"], &ports[..]].concat()));
    }

    #[test]
    fn elements_of_other_classes_are_refused() {
        check(
            "t :: EtherSpanTree(2:0:0:0:0:1, c, x, s); c :: Counter; s :: Switch; Idle -> t -> Discard; Idle -> c -> s -> Discard",
            expect![[r#"
                config:1: While configuring 't :: EtherSpanTree':
                  INPUT_SUPPRESSOR: element type mismatch, expected Suppressor
                  OUTPUT_SUPPRESSOR: does not name an element
                  SWITCH: element type mismatch, expected EtherSwitch
                Router could not be initialized!
            "#]],
        );
    }
}
