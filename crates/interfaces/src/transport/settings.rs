//! How a socket behaves, as the keyword arguments say.

use args::Args;
use element::{Arg, Configure, ElementIdx, Failed};

use super::place::{Place, TYPE};

pub const VERBOSE: Arg =
    Arg::keyword("VERBOSE", "bool", "Whether to tell of connections and errors. Default false.");
pub const SNAPLEN: Arg = Arg::keyword("SNAPLEN", "int", "Most bytes of a received packet. Default 2048.");
pub const HEADROOM: Arg =
    Arg::keyword("HEADROOM", "unsigned", "Bytes of room before a packet's data. Default 128.");
pub const TIMESTAMP: Arg = Arg::keyword(
    "TIMESTAMP",
    "bool",
    "Whether received packets get the time as their timestamp. Default true.",
);
pub const RCVBUF: Arg = Arg::keyword(
    "RCVBUF",
    "int",
    "Bytes that the system keeps of what is received. Default: as the system has it.",
);
pub const SNDBUF: Arg = Arg::keyword(
    "SNDBUF",
    "int",
    "Bytes that the system keeps of what is sent. Default: as the system has it.",
);
pub const NODELAY: Arg =
    Arg::keyword("NODELAY", "int", "Whether TCP sends small segments at once; 0 for no. Default 1.");
pub const CLIENT: Arg = Arg::keyword(
    "CLIENT",
    "bool",
    "Whether to connect to the address instead of listening there. Default: whether there is no output.",
);
pub const PROPER: Arg = Arg::keyword("PROPER", "bool", "Of no effect.");
pub const ALLOW: Arg = Arg::keyword(
    "ALLOW",
    "route table",
    "Routes to the hosts that a server hears. All others are heard unless DENY has them.",
);
pub const DENY: Arg = Arg::keyword(
    "DENY",
    "route table",
    "Routes to the hosts that a server does not hear, as far as ALLOW has them not.",
);
const PLACE: Arg = Arg::rest("PLACE", "address", "Where, as TYPE says.");

/// The arguments of the classes.
pub const ARGS: &[Arg] = &[
    TYPE,
    Arg::optional("ADDR", "IP address", "Where a server listens and a client connects to, for TCP and UDP."),
    Arg::optional("PORT", "port", "The port there."),
    Arg::optional("LOCAL_ADDR", "IP address", "A client's own address. Default: any."),
    Arg::optional("LOCAL_PORT", "port", "A client's own port. Default: any."),
    Arg::keyword("FILENAME", "filename", "The file of a server, for UNIX and UNIX_DGRAM."),
    Arg::keyword("LOCAL_FILENAME", "filename", "A client's own file. Default: none."),
    VERBOSE,
    SNAPLEN,
    HEADROOM,
    TIMESTAMP,
    RCVBUF,
    SNDBUF,
    NODELAY,
    CLIENT,
    PROPER,
    ALLOW,
    DENY,
];
const KEYWORDS: &[Arg] = &[
    TYPE, VERBOSE, SNAPLEN, HEADROOM, TIMESTAMP, RCVBUF, SNDBUF, NODELAY, CLIENT, PROPER, ALLOW, DENY, PLACE,
];

const DEFAULT_SNAPLEN: i32 = 2048;
/// The longest packet that is received whole, whatever SNAPLEN says; datagrams are shorter.
const MAX_SNAPLEN: i32 = 1 << 18;
/// The most room before a packet, whatever HEADROOM says.
const MAX_HEADROOM: u32 = 1 << 16;

/// How packets are received.
#[derive(Clone, Copy, Debug)]
pub struct Receiving {
    pub snaplen: usize,
    pub headroom: usize,
    pub stamps: bool,
}

/// How a socket behaves.
pub struct Settings {
    pub place: Place,
    pub is_verbose: bool,
    pub receiving: Receiving,
    pub receive_buffer: i32,
    pub send_buffer: i32,
    pub no_delay: bool,
    pub is_client: bool,
    pub allow: Option<ElementIdx>,
    pub deny: Option<ElementIdx>,
}

impl Receiving {
    /// Reads SNAPLEN, HEADROOM and TIMESTAMP.
    pub fn read(args: &mut Args<'_>) -> Receiving {
        let receiving = Receiving::read_sizes(args);
        Receiving { stamps: args.get_or("TIMESTAMP", true), ..receiving }
    }

    /// Reads SNAPLEN and HEADROOM.
    pub fn read_sizes(args: &mut Args<'_>) -> Receiving {
        let snaplen = args.get_or("SNAPLEN", DEFAULT_SNAPLEN).clamp(0, MAX_SNAPLEN);
        let headroom = args.get_or("HEADROOM", packet::DEFAULT_HEADROOM as u32).min(MAX_HEADROOM);
        Receiving { snaplen: snaplen.unsigned_abs() as usize, headroom: headroom as usize, stamps: true }
    }
}

impl Settings {
    /// As it is where nothing is said.
    pub fn of_client(place: Place) -> Settings {
        let receiving =
            Receiving { snaplen: DEFAULT_SNAPLEN as usize, headroom: packet::DEFAULT_HEADROOM, stamps: true };
        Settings {
            place,
            is_verbose: false,
            receiving,
            receive_buffer: -1,
            send_buffer: -1,
            no_delay: true,
            is_client: true,
            allow: None,
            deny: None,
        }
    }

    /// Reads the arguments. Keywords are judged before it is known what else there has to be.
    pub fn read(conf: &mut Configure<'_>) -> Result<Settings, Failed> {
        conf.go_on_with(args::split_args(conf.config), KEYWORDS)?;
        let ty: String = conf.args.need("TYPE");
        conf.proceed()?;
        let is_verbose = conf.args.get_or("VERBOSE", false);
        let receiving = Receiving::read(&mut conf.args);
        let receive_buffer = conf.args.get_or("RCVBUF", -1);
        let send_buffer = conf.args.get_or("SNDBUF", -1);
        let no_delay = conf.args.get_or("NODELAY", 1) != 0;
        let is_client = conf.args.get_or("CLIENT", conf.n_outputs == 0);
        conf.args.get::<bool>("PROPER");
        let tables = [conf.element("ALLOW", &[]), conf.element("DENY", &[])];
        conf.proceed()?;
        let [allow, deny] = tables.map(|table| table.map(|idx| route_table(conf, idx)).transpose());
        let (allow, deny) = (allow?, deny?);
        let place = Place::read(conf, &ty.to_ascii_uppercase())?;
        Ok(Settings {
            place,
            is_verbose,
            receiving,
            receive_buffer,
            send_buffer,
            no_delay,
            is_client,
            allow,
            deny,
        })
    }
}

/// The element if it is a route table.
fn route_table(conf: &Configure<'_>, idx: ElementIdx) -> Result<ElementIdx, Failed> {
    let class = conf.environment.class(idx);
    if class.ends_with("IPLookup") || class.ends_with("IPsecLookup") {
        return Ok(idx);
    }
    Err(format!("{} is not an IPRouteTable", conf.environment.name(idx)).into())
}
