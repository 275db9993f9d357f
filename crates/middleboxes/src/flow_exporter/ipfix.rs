//! IPFIX messages (RFC 7011): information elements, templates, sets and the message header.

/// Version of the protocol.
const VERSION: u16 = 10;
/// Bytes of a message's header.
pub const HEADER: usize = 16;
/// Bytes of a set's header.
const SET_HEADER: usize = 4;
/// The set of templates, and that of options templates.
const TEMPLATE_SET: u16 = 2;
const OPTIONS_TEMPLATE_SET: u16 = 3;
/// In an element's number: the number of an enterprise follows.
const ENTERPRISE: u16 = 0x8000;
/// The enterprise of the elements of the other direction (RFC 5103, section 6.1).
const REVERSE: u32 = 29305;

/// A field of a template: an information element and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its number in IANA's registry.
    pub id: u16,
    pub len: u16,
    /// Whether it tells of the packets in the other direction.
    pub is_reverse: bool,
}

/// A message that is being made, of at most as many bytes as were reserved.
pub struct Message {
    bytes: Vec<u8>,
    limit: usize,
    set: Option<(u16, usize)>,
    n_records: u32,
}

/// What a message's header tells besides its length.
#[derive(Clone, Copy, Debug)]
pub struct Head {
    pub export_s: u32,
    pub sequence: u32,
    pub domain: u32,
}

impl Field {
    /// An element.
    pub const fn new(id: u16, len: u16) -> Field {
        Field { id, len, is_reverse: false }
    }

    /// The same of the other direction.
    pub const fn reverse(self) -> Field {
        Field { is_reverse: true, ..self }
    }
}

impl Message {
    /// An empty message of at most `limit` bytes.
    pub fn new(limit: usize) -> Message {
        let mut message = Message { bytes: Vec::with_capacity(limit), limit, set: None, n_records: 0 };
        message.clear();
        message
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.bytes.len() <= HEADER
    }

    /// Data records in it.
    pub fn n_records(&self) -> u32 {
        self.n_records
    }

    /// Takes everything out.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.bytes.resize(HEADER, 0);
        (self.set, self.n_records) = (None, 0);
    }

    /// Whether a data record of a set with this number, of `len` bytes, has room.
    #[inline]
    pub fn has_room(&self, set: u16, len: usize) -> bool {
        let header = if self.set.is_some_and(|(id, _)| id == set) { 0 } else { SET_HEADER };
        self.bytes.len() + header + len <= self.limit
    }

    /// Begins a data record; what is written next is its fields.
    #[inline]
    pub fn record(&mut self, set: u16) {
        self.open(set);
        self.n_records += 1;
    }

    /// Adds a template.
    pub fn template(&mut self, id: u16, fields: &[Field]) {
        self.open(TEMPLATE_SET);
        self.u16(id);
        self.u16(fields.len() as u16);
        self.fields(fields);
    }

    /// Adds a template of options, the first of whose fields is what they are about.
    pub fn options_template(&mut self, id: u16, fields: &[Field]) {
        self.open(OPTIONS_TEMPLATE_SET);
        self.u16(id);
        self.u16(fields.len() as u16);
        self.u16(1);
        self.fields(fields);
    }

    /// Writes the header and yields the message.
    pub fn finish(&mut self, head: Head) -> &[u8] {
        self.close();
        let len = self.bytes.len() as u16;
        self.put(0, &VERSION.to_be_bytes());
        self.put(2, &len.to_be_bytes());
        self.put(4, &head.export_s.to_be_bytes());
        self.put(8, &head.sequence.to_be_bytes());
        self.put(12, &head.domain.to_be_bytes());
        &self.bytes
    }

    /// Writes bytes of a record.
    #[inline]
    pub fn write(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    fn u16(&mut self, value: u16) {
        self.write(&value.to_be_bytes());
    }

    fn fields(&mut self, fields: &[Field]) {
        for field in fields {
            self.u16(if field.is_reverse { field.id | ENTERPRISE } else { field.id });
            self.u16(field.len);
            if field.is_reverse {
                self.write(&REVERSE.to_be_bytes());
            }
        }
    }

    fn open(&mut self, id: u16) {
        if self.set.is_some_and(|(open, _)| open == id) {
            return;
        }
        self.close();
        self.set = Some((id, self.bytes.len()));
        self.u16(id);
        self.u16(0);
    }

    fn close(&mut self) {
        if let Some((_, at)) = self.set.take() {
            let len = self.bytes.len().saturating_sub(at) as u16;
            self.put(at + 2, &len.to_be_bytes());
        }
    }

    fn put(&mut self, at: usize, bytes: &[u8]) {
        if let Some(place) = self.bytes.get_mut(at..at + bytes.len()) {
            place.copy_from_slice(bytes);
        }
    }
}
