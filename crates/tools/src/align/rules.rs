//! What each class of elements does to the alignment of packets, and what alignment it wants.

use args::{Args, Names, Scope};
use graph::{Arg, Diagnostics, Place};

use super::alignment::Alignment;
use crate::router::Element;

/// How an element's packets are aligned.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rule {
    /// What is known of packets at outputs, given what is known at inputs.
    pub have: Effect,
    /// What is wanted of packets at inputs, given what is wanted at outputs.
    pub want: Effect,
    /// Whether any alignment to at least four bytes will do.
    pub adjusts: bool,
}

/// How what holds on one side of an element is told from what holds on the other.
#[derive(Clone, Copy, Debug)]
pub(super) enum Effect {
    /// It is the same; as in Click's tool, packets from any input may leave by any output.
    Pass,
    /// It is this, whatever holds on the other side.
    Fixed(Alignment),
    /// All ports are alike: packets begin so many bytes further on at outputs than at inputs.
    Shift(i64),
    /// Port 0 is as in `Shift`, all others are as in `Fixed`.
    FirstShifts(i64, Alignment),
}

use Effect::{FirstShifts, Fixed, Pass, Shift};

const WORDS: Alignment = Alignment::At { modulus: 4, offset: 0 };
/// As a frame whose IP header is aligned to words.
const FRAMES: Alignment = Alignment::At { modulus: 4, offset: 2 };
const PAIRS: Alignment = Alignment::At { modulus: 2, offset: 0 };

const ETHER_LEN: i64 = 14;
const GRID_LEN: i64 = 98;

const LENGTH: &[Arg] = &[Arg::required("LENGTH", "unsigned", "")];
const ALIGN: &[Arg] = &[Arg::required("MODULUS", "int", ""), Arg::required("OFFSET", "int", "")];
const OFFSET: &[Arg] = &[Arg::optional("OFFSET", "unsigned", "")];
/// As older elements have it.
const BADSRC_OFFSET: &[Arg] = &[Arg::optional("BADSRC*", "any", ""), Arg::optional("OFFSET", "unsigned", "")];
const DEVICE: &[Arg] = &[Arg::keyword("ALIGNMENT", "any", ""), Arg::keyword("TYPE", "word", "")];
const ICMP_ERROR: &[Arg] = &[Arg::keyword("ETHER", "bool", "")];

/// The rule for an element; what is wrong with its arguments is told, and then nothing is known of it.
pub(super) fn rule(element: &Element, diagnostics: &mut Diagnostics) -> Rule {
    let pass = Rule { have: Pass, want: Pass, adjusts: false };
    let shift = |n| Rule { have: Shift(n), want: Shift(n), ..pass };
    let makes = |alignment| Rule { have: Fixed(alignment), want: Fixed(Alignment::Unknown), ..pass };
    let wants = |alignment| Rule { want: Fixed(alignment), ..pass };
    match element.class() {
        "Align" => alignment(element, &element.config, diagnostics).map_or(pass, makes),
        "Strip" => length(element, diagnostics).map_or(pass, shift),
        "Unstrip" => length(element, diagnostics).map_or(pass, |n| shift(-n)),
        "CheckIPHeader" | "CheckIPHeader2" | "MarkIPHeader" => wants(WORDS.shifted(-header_offset(element))),
        "Classifier" => Rule { adjusts: true, ..pass },
        "EtherEncap" => shift(-ETHER_LEN),
        "FromHost" | "FromDevice" | "PollDevice" => device(element, diagnostics).map_or(pass, makes),
        "ToHost" => device(element, diagnostics).map_or(pass, wants),
        "SR2SetChecksum" | "SR2CheckHeader" | "SetSRChecksum" | "CheckSRHeader" => makes(FRAMES),
        "ICMPError" if is_ether(element) => pass,
        "ICMPError" | "InfiniteSource" | "RatedSource" => makes(WORDS),
        "Idle" => makes(Alignment::Any),
        "IPEncap"
        | "UDPIPEncap"
        | "ICMPPingEncap"
        | "RandomUDPIPEncap"
        | "RoundRobinUDPIPEncap"
        | "RoundRobinTCPIPEncap"
        | "StoreUDPTimeSeqRecord" => wants(WORDS),
        "ARPResponder" => wants(PAIRS),
        "ARPQuerier" => Rule {
            have: FirstShifts(-ETHER_LEN, FRAMES),
            want: FirstShifts(-ETHER_LEN, PAIRS),
            adjusts: false,
        },
        "IPInputCombo" => Rule { have: Shift(ETHER_LEN), want: Fixed(FRAMES), adjusts: false },
        "GridEncap" => Rule { have: Shift(GRID_LEN), want: Fixed(WORDS), adjusts: false },
        "Discard" => wants(Alignment::Unknown),
        _ => pass,
    }
}

/// Whether elements of a class ask where their packets begin.
pub(super) fn asks(class: &str) -> bool {
    matches!(
        class,
        "CheckIPHeader"
            | "CheckIPHeader2"
            | "Classifier"
            | "DynamicUDPIPEncap"
            | "GridProxy"
            | "ICMPIPEncap"
            | "ICMPPingEncap"
            | "IPInputCombo"
            | "IPsecEncap"
            | "UDPIP6Encap"
            | "UDPIPEncap"
    )
}

/// The alignment that an Align gives.
pub(super) fn of_align(element: &Element) -> Alignment {
    alignment(element, &element.config, &mut Diagnostics::default()).unwrap_or(Alignment::Impossible)
}

/// Matches a configuration with arguments.
fn with_args<T>(element: &Element, config: &str, facts: &[Arg], read: impl FnOnce(Args<'_>) -> T) -> T {
    let names = Names::default();
    let scope = Scope { names: &names, element: &element.name };
    read(Args::new(config, facts, &scope))
}

/// Reads arguments; `None`, and it is told, if some are wrong.
fn read<T>(
    element: &Element,
    config: &str,
    facts: &[Arg],
    diagnostics: &mut Diagnostics,
    take: impl FnOnce(&mut Args<'_>) -> T,
) -> Option<T> {
    let (taken, errors) =
        with_args(element, config, facts, |mut args| (take(&mut args), args.finish().err()));
    for message in errors.iter().flatten() {
        let context = format!("While analyzing alignment for '{}':", element.declaration());
        diagnostics.error(&Place::default(), format!("{context}\n  {message}"));
    }
    errors.is_none().then_some(taken)
}

fn length(element: &Element, diagnostics: &mut Diagnostics) -> Option<i64> {
    read(element, &element.config, LENGTH, diagnostics, |args| args.need::<u32>("LENGTH")).map(i64::from)
}

fn alignment(element: &Element, config: &str, diagnostics: &mut Diagnostics) -> Option<Alignment> {
    read(element, config, ALIGN, diagnostics, |args| {
        let (modulus, offset) = (args.need::<i32>("MODULUS"), args.need::<i32>("OFFSET"));
        let alignment = Alignment::new(modulus, offset);
        if alignment.is_none() {
            args.fail("OFFSET must be smaller than MODULUS");
        }
        alignment
    })?
}

/// Where a frame's IP header is.
fn header_offset(element: &Element) -> i64 {
    let tried = [OFFSET, BADSRC_OFFSET].into_iter().find_map(|facts| {
        with_args(element, &element.config, facts, |mut args| {
            let offset = args.get_or::<u32>("OFFSET", 0);
            args.is_ok().then_some(offset)
        })
    });
    tried.map_or(0, i64::from)
}

/// The alignment of a device's packets.
fn device(element: &Element, diagnostics: &mut Diagnostics) -> Option<Alignment> {
    let (words, is_ip) = with_args(element, &element.config, DEVICE, |args| {
        let words = args.text("ALIGNMENT").unwrap_or_default().to_string();
        (words, args.text("TYPE") == Some("IP"))
    });
    match words.is_empty() {
        false => alignment(element, &args::join_args(&args::split_words(&words)), diagnostics),
        true => Some(if is_ip { WORDS } else { FRAMES }),
    }
}

fn is_ether(element: &Element) -> bool {
    with_args(element, &element.config, ICMP_ERROR, |mut args| args.get_or("ETHER", false))
}
