//! What the VLAN elements share: the tag's fields (IEEE 802.1Q, clause 9.6) and where it is in a frame.

use args::{Args, Word};
use element::{annotation, Arg, Packet};

/// Bytes of the two addresses at the start of a frame.
pub const ADDRESSES: usize = 12;
/// Bytes of a tag: type and control information.
pub const TAG: usize = 4;
/// Type of a tagged frame.
pub const ETHERTYPE: u16 = 0x8100;
/// The bits of the control information that name the VLAN.
pub const ID_MASK: u16 = 0x0FFF;

/// The argument `VLAN_TCI`.
pub const VLAN_TCI: Arg =
    Arg::optional("VLAN_TCI", "0 to 65535 or ANNO", "The tag's control information: VLAN and priority.");
/// The argument `VLAN_PCP`.
pub const VLAN_PCP: Arg = Arg::optional("VLAN_PCP", "0 to 7", "The priority. Default 0.");
/// The argument `VLAN_ID`.
pub const VLAN_ID: Arg = Arg::keyword("VLAN_ID", "0 to 4095", "The VLAN; only without VLAN_TCI. Default 0.");
/// The argument `NATIVE_VLAN`.
pub const NATIVE_VLAN: Arg =
    Arg::keyword("NATIVE_VLAN", "-1 to 4095", "The VLAN whose frames get no tag; -1 is none. Default 0.");

/// What tags frames get.
pub struct Tagging {
    /// The control information; `None`: from the annotation.
    pub tci: Option<u16>,
    /// The VLAN whose frames get no tag.
    pub native_vlan: Option<u16>,
}

impl Tagging {
    /// Reads VLAN_TCI, VLAN_PCP, VLAN_ID and NATIVE_VLAN.
    pub fn read(args: &mut Args<'_>) -> Tagging {
        let Word(word) = args.get_or("VLAN_TCI", Word::default());
        let priority = args.get_with("VLAN_PCP", args::bounded(0, 7)).unwrap_or(0);
        let id = args.get_with("VLAN_ID", args::bounded(0, i32::from(ID_MASK))).unwrap_or(0);
        let native = args.get_with("NATIVE_VLAN", args::bounded(-1, i32::from(ID_MASK)));
        let mut tci = None;
        if word != "ANNO" {
            let number = if word.is_empty() { Ok(id) } else { args::bounded_integer(&word, 0, 0xFFFF) };
            match number {
                Ok(number) => tci = Some(control_information(number as u16, priority as u16)),
                Err(message) => args.fail(format!("VLAN_TCI: {message}")),
            }
        }
        Tagging { tci, native_vlan: u16::try_from(native.unwrap_or(0)).ok() }
    }

    /// The control information of a packet's tag; `None` if it is to have no tag.
    #[inline(always)]
    pub fn of(&self, packet: &Packet) -> Option<u16> {
        let tci = self.tci.unwrap_or_else(|| u16::from_be_bytes(packet.anno(annotation::VLAN_TCI)));
        (Some(tci & ID_MASK) != self.native_vlan).then_some(tci)
    }

    /// The configuration that means the same.
    pub fn config(&self) -> String {
        let vlan = self.tci.map_or("ANNO".to_string(), config);
        match self.native_text() {
            Some(native) => format!("{vlan}, NATIVE_VLAN {native}"),
            None => vlan,
        }
    }

    /// No native VLAN is told as 65535.
    fn native_text(&self) -> Option<String> {
        match self.native_vlan {
            Some(0) => None,
            native => Some(native.unwrap_or(u16::MAX).to_string()),
        }
    }

    /// Answers the handlers `vlan_tci`, `vlan_id`, `vlan_pcp` and `native_vlan`.
    pub fn read_handler(&self, name: &str) -> Option<String> {
        Some(match (name, self.tci) {
            ("vlan_tci", None) => "ANNO".to_string(),
            ("vlan_tci", Some(tci)) => tci.to_string(),
            ("vlan_id", Some(tci)) => (tci & ID_MASK).to_string(),
            ("vlan_pcp", Some(tci)) => (tci >> 13).to_string(),
            ("native_vlan", _) => self.native_text().unwrap_or_default(),
            ("vlan_id" | "vlan_pcp", None) => String::new(),
            _ => return None,
        })
    }
}

/// The control information of a VLAN and a priority.
pub fn control_information(tci_or_id: u16, priority: u16) -> u16 {
    tci_or_id | priority << 13
}

/// The configuration that means this control information.
pub fn config(tci: u16) -> String {
    format!("VLAN_ID {}, VLAN_PCP {}", tci & ID_MASK, tci >> 13)
}

/// The control information of a frame, if it has a tag of this type.
#[inline]
pub fn read(packet: &Packet, ethertype: u16) -> Option<u16> {
    read_short(packet, ethertype).filter(|_| packet.len() >= ADDRESSES + TAG)
}

/// As [`read`], for a frame that may end behind the tag's type or in the middle of its control information; what is missing of that
/// counts as 0.
#[inline]
pub fn read_short(packet: &Packet, ethertype: u16) -> Option<u16> {
    let tag = packet.data().get(ADDRESSES..)?;
    let rest = tag.strip_prefix(&ethertype.to_be_bytes())?;
    let byte = |at: usize| rest.get(at).copied().unwrap_or(0);
    Some(u16::from_be_bytes([byte(0), byte(1)]))
}

/// Removes the tag of a frame that has one, or the beginning of one.
#[inline]
pub fn remove(packet: &mut Packet) {
    let data = packet.data_mut();
    if let Some(head) = data.first_chunk_mut::<{ ADDRESSES + TAG }>() {
        let addresses: [u8; ADDRESSES] = head.first_chunk().copied().unwrap_or_default();
        head[TAG..].copy_from_slice(&addresses);
        return packet.strip(TAG);
    }
    let n = data.len().saturating_sub(TAG).min(ADDRESSES);
    data.copy_within(..n, data.len().min(TAG));
    packet.strip(TAG);
}

/// Inserts a tag behind the addresses; of a frame that is too short, what there is of it moves to the front.
#[inline]
pub fn insert(packet: &mut Packet, ethertype: u16, tci: u16) {
    let data = packet.prepend(TAG);
    let Some(head) = data.first_chunk_mut::<{ ADDRESSES + TAG }>() else {
        return data.copy_within(TAG.min(data.len()).., 0);
    };
    let addresses: [u8; ADDRESSES] = head.last_chunk().copied().unwrap_or_default();
    head[..ADDRESSES].copy_from_slice(&addresses);
    let [t0, t1] = ethertype.to_be_bytes();
    let [c0, c1] = tci.to_be_bytes();
    head[ADDRESSES..].copy_from_slice(&[t0, t1, c0, c1]);
}
