//! The handlers of rewriters.

use std::fmt::Write;
use std::net::Ipv4Addr;

use args::{Args, Port, Scope};
use element::{llrpc, Arg, Ctx, DropReason, LlrpcError};
use wire::protocol;

use super::base::{now_ms, Base, Kind};
use super::flow_id::FlowId;
use super::input::{Action, Input};

/// Why rewriters drop packets.
pub const DROPS: &[DropReason] = &[
    DropReason::new("no-header", "The packet has no IP header, or it is cut off."),
    DropReason::new("input-drops", "The packet has no mapping and its input makes none for it."),
    DropReason::new("no-mapping", "There was no room, address or port for a new mapping."),
];

/// Handlers of every rewriter.
macro_rules! common_handlers {
    ($($handler:expr),* $(,)?) => {
        &[
            $($handler,)*
            element::Handler::read("table_size", "Number of mappings."),
            element::Handler::read("nmappings", "Old name of table_size.").flags("deprecated"),
            element::Handler::read("mapping_failures", "Flows that could get no mapping."),
            element::Handler::read("patterns", "The input specifications, a line each, and their numbers of mappings."),
            element::Handler::read("size", "Number of mappings of all rewriters that share the capacity."),
            element::Handler::read_write("capacity", "Most mappings."),
            element::Handler::write("clear", "Removes all mappings of all rewriters that share the capacity."),
            element::Handler::read_write("pattern#", "An input's specification; writing it removes the input's mappings.").flags("inputs"),
        ]
    };
}
pub(super) use common_handlers;

/// The handlers of rewriters with a single table.
macro_rules! table_handlers {
    ($($handler:expr),* $(,)?) => {
        $crate::rewriter::handlers::common_handlers![
            element::Handler::read("table", "The mappings, a line each direction; the direction's output has a star."),
            element::Handler::read("mappings", "Old name of table.").flags("deprecated"),
            $($handler,)*
        ]
    };
}
pub(super) use table_handlers;

const LOOKUP_ARGS: &[Arg] = &[
    Arg::required("SADDR", "ip", "Source address."),
    Arg::required("SPORT", "port", "Source port."),
    Arg::required("DADDR", "ip", "Destination address."),
    Arg::required("DPORT", "port", "Destination port."),
];

const CAPACITY_ARGS: &[Arg] = &[Arg::required("CAPACITY", "int", "Most mappings.")];

impl Base {
    /// Reads a handler.
    pub fn read(&mut self, ctx: &mut Ctx<'_>, name: &str, param: &str) -> Result<String, String> {
        Ok(match name {
            "table" | "mappings" | "tcp_table" | "tcp_mappings" => self.table(0, now_ms(ctx)),
            "udp_table" | "udp_mappings" => self.table(1, now_ms(ctx)),
            "lookup" | "tcp_lookup" => self.look_up(param, &ctx.scope())?,
            "table_size" | "nmappings" => {
                (0..self.inputs.len()).map(|number| self.count(number)).sum::<u32>().to_string()
            }
            "mapping_failures" => {
                self.inputs.iter().fold(0u32, |sum, input| sum.wrapping_add(input.failures)).to_string()
            }
            "size" => self.set.lock().len().to_string(),
            "capacity" => self.set.lock().capacity.to_string(),
            "patterns" => (0..self.inputs.len()).map(|number| self.describe(number)).collect(),
            _ => self.describe(self.number(name).ok_or_else(|| format!("no {name} read handler"))?),
        })
    }

    /// Writes a handler.
    pub fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        let now_ms = now_ms(ctx);
        match name {
            "capacity" => {
                let scope = ctx.scope();
                let mut args = Args::from_words(value, CAPACITY_ARGS, &scope);
                let capacity = args.need("CAPACITY");
                args.finish().map_err(|errors| errors.join("\n"))?;
                let mut set = self.set.lock();
                set.capacity = capacity;
                set.shrink(now_ms);
            }
            "clear" => self.set.lock().clear(now_ms),
            _ => {
                let number = self.number(name).ok_or_else(|| format!("no {name} write handler"))?;
                let input = Input::parse(value, self.n_outputs, &mut &mut *ctx)
                    .map_err(|message| format!("input spec {number}: {message}"))?;
                self.set.lock().destroy_owned(self.first_owner + number as u32);
                if let Some(place) = self.inputs.get_mut(number) {
                    *place = input;
                }
            }
        }
        Ok(())
    }

    /// The input that a handler such as `pattern0` is about.
    fn number(&self, handler: &str) -> Option<usize> {
        let number = handler.strip_prefix("pattern")?.parse().ok()?;
        (number < self.inputs.len()).then_some(number)
    }

    fn count(&self, number: usize) -> u32 {
        self.set.lock().count(self.first_owner + number as u32)
    }

    fn describe(&self, number: usize) -> String {
        let Some(input) = self.inputs.get(number) else { return String::new() };
        let mut text = match &input.action {
            Action::Drop => "<drop>".to_string(),
            Action::Pass => "<nochange>".to_string(),
            Action::Keep => "<keep>".to_string(),
            Action::Pattern(pattern) => pattern.to_string(),
            Action::Mapper(_) => "<mapper>".to_string(),
        };
        let count = self.count(number);
        if count > 0 {
            let _ = write!(text, " [{count}]");
        }
        text + "\n"
    }

    fn table(&self, map: usize, now_ms: i64) -> String {
        let set = self.set.lock();
        let Some(space) = self.spaces.get(map).copied() else { return String::new() };
        let timeouts = set.timeouts(space);
        let shift = |link: u32| set.shifts(link).map_or(0, |shifts| shifts.current(link as usize & 1));
        let mut text = String::new();
        for link in set.list(space) {
            let Some(flow) = set.flow(link) else { continue };
            let direction = link as usize & 1;
            let input = flow.owner.saturating_sub(self.first_owner);
            text += &self.describe_ids(&flow.ids[direction], &flow.rewritten(direction));
            match shift(link) {
                0 => {}
                delta => {
                    let _ = write!(text, " seq {delta:+}");
                }
            }
            text += &flow.describe_ports(direction, input, &timeouts, now_ms);
            text.push('\n');
        }
        text
    }

    fn describe_ids(&self, id: &FlowId, rewritten: &FlowId) -> String {
        let addresses = |id: &FlowId| (Ipv4Addr::from_bits(id.src), Ipv4Addr::from_bits(id.dst));
        let ((src, dst), (new_src, new_dst)) = (addresses(id), addresses(rewritten));
        match self.kind {
            Kind::Ip | Kind::Tcp | Kind::Udp => format!("{id} => {rewritten}"),
            Kind::Pair => format!("({src}, {dst}) => ({new_src}, {new_dst})"),
            Kind::Address => format!("{src} => {new_src}"),
            Kind::Ping => {
                let (sport, new_sport) = (id.sport, rewritten.sport);
                format!("({src}, {dst}, {sport}) => ({new_src}, {new_dst}, {new_sport})")
            }
        }
    }

    /// Answers LLRPCs: what a flow becomes. The data are addresses and ports as in a packet.
    pub fn llrpc(&self, number: u32, data: &mut [u8]) -> Result<(), LlrpcError> {
        let protocol = match number {
            llrpc::MAP_TCP => protocol::TCP,
            llrpc::MAP_UDP if self.kind == Kind::Tcp => return Err(LlrpcError::Again),
            llrpc::MAP_UDP => protocol::UDP,
            _ => return Err(LlrpcError::Invalid),
        };
        let data = data.first_chunk_mut::<12>().ok_or(LlrpcError::Invalid)?;
        let word = |at: usize| u32::from_be_bytes([data[at], data[at + 1], data[at + 2], data[at + 3]]);
        let id = FlowId {
            src: word(0),
            dst: word(4),
            sport: u16::from_be_bytes([data[8], data[9]]),
            dport: u16::from_be_bytes([data[10], data[11]]),
        };
        let mapping = self.mapping(protocol, &id).ok_or(LlrpcError::Again)?;
        for (bytes, halfword) in data.chunks_exact_mut(2).zip(mapping.rewritten.halfwords()) {
            bytes.copy_from_slice(&halfword.to_be_bytes());
        }
        Ok(())
    }

    /// What a TCP flow becomes: addresses and ports separated by spaces, or nothing.
    fn look_up(&self, param: &str, scope: &Scope<'_>) -> Result<String, String> {
        let mut args = Args::from_words(param, LOOKUP_ARGS, scope);
        let src: Ipv4Addr = args.need("SADDR");
        let Port(sport) = args.need::<Port<6>>("SPORT");
        let dst: Ipv4Addr = args.need("DADDR");
        let Port(dport) = args.need::<Port<6>>("DPORT");
        args.finish().map_err(|errors| errors.join("\n"))?;
        let id = FlowId { src: src.to_bits(), dst: dst.to_bits(), sport, dport };
        let set = self.set.lock();
        let link = self.spaces.first().and_then(|space| set.find(&id, *space));
        Ok(link.and_then(|link| Some(set.flow(link)?.rewritten(link as usize & 1))).map_or_else(
            String::new,
            |new| {
                let (src, dst) = (Ipv4Addr::from_bits(new.src), Ipv4Addr::from_bits(new.dst));
                format!("{src} {} {dst} {}", new.sport, new.dport)
            },
        ))
    }
}
