//! A decoder of IPFIX messages (RFC 7011, section 3), strict about what an exporter must do.

use std::collections::BTreeMap;

/// A record's values by the number of the information element and whether it is of the other direction.
pub type Record = BTreeMap<(u16, bool), u128>;

/// What some messages say.
#[derive(Default)]
pub struct Decoded {
    /// Data records: whether an options template describes them, and their values.
    records: Vec<(bool, Record)>,
    /// Templates in each message.
    pub n_templates: Vec<usize>,
    /// Bytes of each message.
    pub lengths: Vec<usize>,
    templates: BTreeMap<u16, Template>,
}

#[derive(Clone, Debug, Default, PartialEq)]
struct Template {
    is_options: bool,
    fields: Vec<((u16, bool), usize)>,
}

struct Bytes<'b>(&'b [u8]);

impl<'b> Bytes<'b> {
    fn take(&mut self, n: usize) -> Result<&'b [u8], String> {
        let (taken, rest) = self.0.split_at_checked(n).ok_or("it ends too early")?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self, n: usize) -> Result<u128, String> {
        Ok(self.take(n)?.iter().fold(0, |value, byte| value << 8 | u128::from(*byte)))
    }

    fn u16(&mut self) -> Result<u16, String> {
        Ok(self.number(2)? as u16)
    }
}

impl Decoded {
    /// The records of flows.
    pub fn flows(&self) -> impl Iterator<Item = &Record> {
        self.records.iter().filter(|(is_options, _)| !is_options).map(|(_, record)| record)
    }

    /// The records of options.
    pub fn options(&self) -> impl Iterator<Item = &Record> {
        self.records.iter().filter(|(is_options, _)| *is_options).map(|(_, record)| record)
    }

    fn message(&mut self, mut bytes: Bytes<'_>) -> Result<(), String> {
        self.n_templates.push(0);
        while !bytes.0.is_empty() {
            let (id, len) = (bytes.u16()?, usize::from(bytes.u16()?));
            let set = Bytes(bytes.take(len.checked_sub(4).ok_or("a set is too short")?)?);
            match id {
                2 => self.read_templates(set, false)?,
                3 => self.read_templates(set, true)?,
                256.. => self.data(id, set)?,
                _ => return Err(format!("there is no set {id}")),
            }
        }
        Ok(())
    }

    fn read_templates(&mut self, mut set: Bytes<'_>, is_options: bool) -> Result<(), String> {
        while !set.0.is_empty() {
            let (id, n_fields) = (set.u16()?, set.u16()?);
            let n_scopes = if is_options { set.u16()? } else { 0 };
            if id < 256 || n_fields == 0 || is_options && n_scopes == 0 {
                return Err(format!("template {id} has {n_fields} fields, {n_scopes} of them scopes"));
            }
            let mut fields = Vec::new();
            for _ in 0..n_fields {
                let (number, len) = (set.u16()?, set.u16()?);
                let is_reverse = number & 0x8000 != 0;
                if is_reverse && set.number(4)? != 29305 {
                    return Err("an enterprise is unknown".to_string());
                }
                fields.push(((number & 0x7fff, is_reverse), usize::from(len)));
            }
            let template = Template { is_options, fields };
            if self.templates.insert(id, template.clone()).is_some_and(|before| before != template) {
                return Err(format!("template {id} changed"));
            }
            *self.n_templates.last_mut().ok_or("no message")? += 1;
        }
        Ok(())
    }

    fn data(&mut self, id: u16, mut set: Bytes<'_>) -> Result<(), String> {
        let template = self.templates.get(&id).ok_or(format!("data come before template {id}"))?;
        if set.0.is_empty() {
            return Err("a set is empty".to_string());
        }
        while !set.0.is_empty() {
            let mut record = Record::new();
            for (key, len) in &template.fields {
                record.insert(*key, set.number(*len)?);
            }
            self.records.push((template.is_options, record));
        }
        Ok(())
    }
}

/// What messages one after the other say, or what is wrong with them.
pub fn decode(bytes: &[u8]) -> Result<Decoded, String> {
    let (mut decoded, mut rest) = (Decoded::default(), Bytes(bytes));
    let mut export_s = 0;
    while !rest.0.is_empty() {
        let (version, len) = (rest.u16()?, usize::from(rest.u16()?));
        let mut message = Bytes(rest.take(len.checked_sub(4).ok_or("a message is too short")?)?);
        let (time, sequence, domain) = (message.number(4)?, message.number(4)?, message.number(4)?);
        if (version, sequence, domain) != (10, decoded.records.len() as u128, 1) || time < export_s {
            return Err(format!("version {version}, sequence {sequence}, domain {domain}, time {time}"));
        }
        export_s = time;
        decoded.message(message)?;
        decoded.lengths.push(len);
    }
    Ok(decoded)
}
