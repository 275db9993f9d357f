//! The keyword arguments of rewriters, in the order in which Click reads them.

use args::{ElementName, Seconds};
use element::{Arg, Configure, Failed};

use super::base::Kind;
use super::timeouts::{Timeouts, Tracking};

/// What the keyword arguments say.
pub struct Settings {
    /// The capacity, or the rewriter that shares its flow set.
    pub capacity: Option<ElementName>,
    /// Which annotations are set.
    pub annotations: Annotations,
    /// Timeouts of the flows of both maps.
    pub timeouts: [Timeouts; 2],
    /// Seconds between looks for expired flows; 0 for none.
    pub reap_s: u32,
}

/// Which annotations are set.
#[derive(Clone, Copy, Debug)]
pub struct Annotations {
    /// The destination address.
    pub sets_dst: bool,
    /// The byte that replies get from the first packet of their flow.
    pub reply: Option<usize>,
}

/// Arguments of every rewriter but the specifications.
macro_rules! common_args {
    ($($arg:expr),* $(,)?) => {
        &[
            element::Arg::rest("INPUTSPEC", "input specification", "What becomes of packets without a mapping, an argument an input."),
            $($arg,)*
            element::Arg::keyword("CAPACITY", "int or element", "Another name of MAPPING_CAPACITY."),
            element::Arg::keyword("MAPPING_CAPACITY", "int or element", "Most mappings, or the rewriter whose capacity is shared. Default no limit."),
            element::Arg::keyword("GUARANTEE", "seconds", "How long a mapping is safe from being removed after a packet. Default 5."),
            element::Arg::keyword("REAP_INTERVAL", "seconds", "Time between removals of mappings that timed out. Default 15 minutes."),
            element::Arg::keyword("REAP_TIME", "seconds", "Old name of REAP_INTERVAL."),
            element::Arg::keyword("REPLY_ANNO", "anno", "A byte that packets of the reply direction get from the flow's first packet."),
        ]
    };
}
pub(super) use common_args;

/// The argument of rewriters that may leave the destination annotation alone.
pub const DST_ANNO: Arg =
    Arg::keyword("DST_ANNO", "bool", "Whether to set the destination address annotation. Default true.");

/// Argument of rewriters of UDP.
pub const UDP_TIMEOUT: Arg =
    Arg::keyword("UDP_TIMEOUT", "seconds", "How long a UDP mapping lasts after a packet. Default 5 minutes.");
/// Argument of rewriters of UDP.
pub const UDP_STREAMING_TIMEOUT: Arg = Arg::keyword(
    "UDP_STREAMING_TIMEOUT",
    "seconds",
    "The same with three packets or more, some of them replies. Default UDP_TIMEOUT.",
);
/// Argument of rewriters of TCP.
pub const TCP_NODATA_TIMEOUT: Arg = Arg::keyword(
    "TCP_NODATA_TIMEOUT",
    "seconds",
    "How long a TCP mapping lasts without data in both directions. Default 5 minutes.",
);
/// Argument of rewriters of TCP.
pub const TCP_GUARANTEE: Arg = Arg::keyword("TCP_GUARANTEE", "seconds", "As GUARANTEE, which counts more.");
/// Argument of rewriters of TCP.
pub const TCP_TIMEOUT: Arg = Arg::keyword(
    "TCP_TIMEOUT",
    "seconds",
    "How long a TCP mapping with data in both directions lasts. Default 24 hours.",
);
/// Argument of rewriters of TCP.
pub const TCP_DONE_TIMEOUT: Arg = Arg::keyword(
    "TCP_DONE_TIMEOUT",
    "seconds",
    "How long a TCP mapping lasts after the connection's end. Default 4 minutes.",
);
/// Argument of rewriters of TCP.
pub const TIMEOUT_OF_TCP: Arg = Arg::keyword("TIMEOUT", "seconds", "Another name of TCP_TIMEOUT.");

const GUARANTEE_S: u32 = 5;

impl Settings {
    /// Reads the arguments. Mistakes in the first ones hide those in the later ones, as in Click.
    pub fn read(kind: Kind, conf: &mut Configure<'_>) -> Result<Settings, Failed> {
        let mut udp = Timeouts::plain(0, 0);
        if kind == Kind::Ip {
            udp = udp_timeouts(conf);
            conf.proceed()?;
        }
        let mut guarantee_s = GUARANTEE_S;
        let mut timeouts = match kind {
            Kind::Ip | Kind::Tcp => tcp_timeouts(conf, &mut guarantee_s),
            _ => Timeouts::plain(0, 0),
        };
        let mut annotations = Annotations { sets_dst: true, reply: None };
        if !matches!(kind, Kind::Pair | Kind::Address) {
            annotations.sets_dst = conf.args.get_or("DST_ANNO", true);
        }
        let reply = conf.args.get_with("REPLY_ANNO", args::sized_anno(1));
        // Click reads the argument of the two others and forgets it.
        annotations.reply = reply.filter(|_| annotations_are_kept(kind)).map(|anno| usize::from(anno.offset));
        if kind == Kind::Udp {
            timeouts = plain_udp_timeouts(conf, &mut guarantee_s);
        }
        conf.proceed()?;
        let capacity = conf.args.get("CAPACITY");
        let capacity = capacity.or(conf.args.get("MAPPING_CAPACITY"));
        if matches!(kind, Kind::Pair | Kind::Address | Kind::Ping) {
            let default_s = if kind == Kind::Ping { 300 } else { 7200 };
            timeouts.plain_ms = ms(conf.args.get_or("TIMEOUT", Seconds(default_s)));
        }
        let Seconds(guarantee_s) = conf.args.get_or::<Seconds<0>>("GUARANTEE", Seconds(guarantee_s));
        let reap = conf.args.get("REAP_INTERVAL");
        if conf.args.is_given("REAP_TIME") {
            conf.args.warn("REAP_TIME", "argument deprecated");
        }
        let Seconds(reap_s) = reap.or(conf.args.get("REAP_TIME")).unwrap_or(Seconds::<0>(15 * 60));
        conf.proceed()?;
        timeouts.guarantee_ms = ms(Seconds(guarantee_s));
        Ok(Settings { capacity, annotations, timeouts: [timeouts, udp], reap_s })
    }
}

fn annotations_are_kept(kind: Kind) -> bool {
    !matches!(kind, Kind::Pair | Kind::Address)
}

fn ms(seconds: Seconds<0>) -> i64 {
    i64::from(seconds.0) * 1000
}

fn udp_timeouts(conf: &mut Configure<'_>) -> Timeouts {
    let plain_ms = ms(conf.args.get_or("UDP_TIMEOUT", Seconds(300)));
    let other_ms = conf.args.get("UDP_STREAMING_TIMEOUT").map_or(plain_ms, ms);
    let guarantee_ms = ms(conf.args.get_or("UDP_GUARANTEE", Seconds(GUARANTEE_S)));
    Timeouts { tracking: Tracking::Udp, plain_ms, guarantee_ms, other_ms, done_ms: 0 }
}

fn tcp_timeouts(conf: &mut Configure<'_>, guarantee_s: &mut u32) -> Timeouts {
    let plain_ms = ms(conf.args.get_or("TCP_NODATA_TIMEOUT", Seconds(300)));
    *guarantee_s = conf.args.get_or::<Seconds<0>>("TCP_GUARANTEE", Seconds(*guarantee_s)).0;
    let data = conf.args.get_or("TIMEOUT", Seconds(86_400));
    let other_ms = ms(conf.args.get_or("TCP_TIMEOUT", data));
    let done_ms = ms(conf.args.get_or("TCP_DONE_TIMEOUT", Seconds(240)));
    Timeouts { tracking: Tracking::Tcp, plain_ms, guarantee_ms: 0, other_ms, done_ms }
}

fn plain_udp_timeouts(conf: &mut Configure<'_>, guarantee_s: &mut u32) -> Timeouts {
    let plain = conf.args.get_or("UDP_TIMEOUT", Seconds(300));
    let plain_ms = ms(conf.args.get_or("TIMEOUT", plain));
    let streaming = conf.args.get("UDP_STREAMING_TIMEOUT");
    let other_ms = conf.args.get("STREAMING_TIMEOUT").or(streaming).map_or(plain_ms, ms);
    *guarantee_s = conf.args.get_or::<Seconds<0>>("UDP_GUARANTEE", Seconds(*guarantee_s)).0;
    Timeouts { tracking: Tracking::Udp, plain_ms, guarantee_ms: 0, other_ms, done_ms: 0 }
}
