//! Sets the aggregate annotation to a field of the IP packet.
//!
//! The field is a name (`ip tos`, `tcp sport`, `icmp type`) or a place: `ip[12:4]` in bytes, `ip{96:8}` in bits, counted
//! from the IP header, the transport header (`transp`, or `tcp`, `udp`, `icmp` for that protocol only) or the `payload`.
//! `/N` keeps the first N bits, `& MASK` the bits of a contiguous mask. It must lie in one 32-bit word of its header.
//!
//! Packets without the field, being short, later fragments or of another protocol, leave by output 1 if there is one.
//!
//! ```click
//! FromIPSummaryDump(-, STOP true) -> AggregateIP(ip dst/24) -> AggregateCounter -> Discard;
//! ```

use element::{
    annotation, per_packet, Arg, Causes, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Packet,
    Verdict,
};

use super::ip_field::{IpField, PAYLOAD, TCP_OR_UDP, TRANSPORT};

/// The class.
pub const CLASS: Class = Class::new::<AggregateIP>("AggregateIP", "1/1-2", "a/ah", "x/x")
    .causes(Causes::NOTHING)
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS);

const ARGS: &[Arg] = &[
    Arg::required("FIELD", "IP field", "The field, such as `ip dst/24`."),
    Arg::keyword("INCREMENTAL", "boolean", "Append the field's bits to the annotation. Default false."),
    Arg::keyword("UNSHIFT_IP_ADDR", "boolean", "Keep bits of addresses where they are. Default false."),
];

const HANDLERS: &[Handler] = &[
    Handler::read("header", "The header that holds the field.").flags("alike"),
    Handler::read("bit_offset", "Where the field begins in its header.").flags("alike"),
    Handler::read("bit_length", "Length of the field.").flags("alike"),
    Handler::read("field", "The field as it could be written.").flags("alike"),
];

const DROPS: &[DropReason] = &[DropReason::new("no-field", "The packet does not have the field.")];
const NO_FIELD: usize = 0;

/// See the page above.
pub struct AggregateIP {
    field: IpField,
    /// Offset in its header of the 32-bit word that holds the field.
    word_offset: usize,
    shift: u32,
    mask: u32,
    /// How far the old annotation moves, if it stays.
    keep_shift: Option<u32>,
    header_text: String,
    field_text: String,
}

impl Element for AggregateIP {
    fn configure(conf: &mut Configure<'_>) -> Result<AggregateIP, Failed> {
        let args::Raw(text) = conf.args.need("FIELD");
        let is_incremental = conf.args.get_or("INCREMENTAL", false);
        let keeps_place = conf.args.get_or("UNSHIFT_IP_ADDR", false);
        conf.finish()?;
        let (field, rest) = IpField::parse(&text, conf.scope)?;
        if !rest.is_empty() {
            return Err("garbage after field specification".into());
        }
        let field =
            field.filter(|field| field.bit_offset / 32 == (field.bit_offset + field.bit_length - 1) / 32);
        let Some(field) = field else {
            return Err("field specification does not fit within a single word".into());
        };
        if field.bit_length == 32 && is_incremental {
            return Err("'INCREMENTAL' is incompatible with field length 32".into());
        }
        let behind = 31 - (field.bit_offset + field.bit_length - 1) % 32;
        let mask = u32::MAX >> (32 - field.bit_length);
        let is_address = field.protocol == 0 && (12 * 8..20 * 8).contains(&field.bit_offset);
        let (shift, mask) = if keeps_place && is_address { (0, mask << behind) } else { (behind, mask) };
        let name = conf.scope.name_of(args::NameKind::Protocol, field.protocol);
        Ok(AggregateIP {
            field,
            word_offset: (field.bit_offset / 32 * 4) as usize,
            shift,
            mask,
            keep_shift: is_incremental.then_some(field.bit_length),
            header_text: name.unwrap_or_default(),
            field_text: field.unparse(conf.scope),
        })
    }

    per_packet!();

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        Ok(match name {
            "header" => self.header_text.clone(),
            "bit_offset" => self.field.bit_offset.to_string(),
            "bit_length" => self.field.bit_length.to_string(),
            "field" => self.field_text.clone(),
            _ => return Err(format!("no {name} read handler")),
        })
    }
}

impl AggregateIP {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        let header = if self.field.protocol == 0 { Some(packet.network()) } else { self.header(packet) };
        let word =
            header.and_then(|header| header.get(self.word_offset..)).and_then(|rest| rest.first_chunk());
        let Some(word) = word else { return Verdict::port_or_drop(1, NO_FIELD) };
        let mut aggregate = u32::from_be_bytes(*word) >> self.shift & self.mask;
        if let Some(shift) = self.keep_shift {
            aggregate = (packet.anno_u32(annotation::AGGREGATE) << shift).wrapping_add(aggregate);
        }
        packet.set_anno_u32(annotation::AGGREGATE, aggregate);
        Verdict::PASS
    }

    /// The bytes from the field's header on, if it is not the IP header.
    fn header<'p>(&self, packet: &'p Packet) -> Option<&'p [u8]> {
        let ip = packet.network();
        let protocol = u32::from(*ip.get(9)?);
        if ip.get(6)? & 0x1F != 0 || *ip.get(7)? != 0 {
            return None;
        }
        let transport = packet.transport();
        match self.field.protocol {
            TCP_OR_UDP => (protocol == 6 || protocol == 17).then_some(transport),
            TRANSPORT => Some(transport),
            PAYLOAD if protocol == 6 && transport.len() >= 20 => {
                transport.get(usize::from(transport.get(12)? >> 4) * 4..)
            }
            PAYLOAD if protocol == 17 => transport.get(8..),
            wanted => (protocol == wanted).then_some(transport),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn a_wrong_field_is_told() {
        check_reading(
            "Idle -> AggregateIP(ip dst/33) -> Discard",
            &[],
            expect![[r#"
            config:1: While configuring 'AggregateIP@2 :: AggregateIP':
              bad prefix or mask in TCP/IP field
            Router could not be initialized!
        "#]],
        );
        check_reading(
            "Idle -> AggregateIP(ip[2:4]) -> Discard",
            &[],
            expect![[r#"
            config:1: While configuring 'AggregateIP@2 :: AggregateIP':
              field specification does not fit within a single word
            Router could not be initialized!
        "#]],
        );
    }

    #[test]
    fn reads_and_sets() {
        check_reading(
            "InfiniteSource(DATA \\<4500001c00000000401100000a0102030a040506 0035 0036 0008 0000>, LIMIT 1)
             -> MarkIPHeader -> AggregateIP(ip src/8) -> AggregateIP(udp dport, INCREMENTAL true)
             -> c :: AggregateCounter -> a :: AggregateIP(ip dst/16, UNSHIFT_IP_ADDR true)
             -> c2 :: AggregateCounter -> Discard; DriverManager(wait_time 0.1, write c.write_text_file -)",
            &["a.header", "a.bit_offset", "a.bit_length", "a.field", "c.nagg", "c2.nagg"],
            expect![[r#"
                a.header: 
                a.bit_offset: 128
                a.bit_length: 16
                a.field: ip dst/16
                c.nagg: 1
                c2.nagg: 1
            "#]],
        );
    }
}
