//! Packet annotations as arguments.

use std::fmt;

use crate::names::{NameKind, Scope};
use crate::parse_error;

/// Bytes of annotations that a packet has.
pub const ANNO_SIZE: u32 = 48;

/// A packet annotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Anno {
    /// Offset in bytes.
    pub offset: u8,
    /// Size in bytes; 0 if not known.
    pub size: u8,
}

impl Anno {
    /// The value under which the annotation is kept among the names: size << 16 | offset.
    pub fn to_name_value(self) -> u32 {
        u32::from(self.size) << 16 | u32::from(self.offset)
    }
}

/// The offset, as a configuration would give it.
impl fmt::Display for Anno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.offset.fmt(f)
    }
}

/// Parses the name or the offset of an annotation of `size` bytes; of any size if 0.
pub fn anno(text: &str, scope: &Scope<'_>, size: u8) -> Result<Anno, String> {
    // A signed number, as in Click: -0 is one.
    let number = || crate::integer::<i32>(text).ok().and_then(|number| u32::try_from(number).ok());
    let value = scope.integer(NameKind::Annotation, text).or_else(number).ok_or_else(parse_error)?;
    let (offset, known_size) = (value & 0xffff, value >> 16);
    let wanted_size = u32::from(size);
    let fits = match wanted_size {
        0 => offset < ANNO_SIZE,
        _ => (known_size == 0 || known_size == wanted_size) && offset + wanted_size <= ANNO_SIZE,
    };
    let size = if size == 0 { u8::try_from(known_size).unwrap_or(0) } else { size };
    let offset = u8::try_from(offset).ok().filter(|_| fits).ok_or_else(parse_error)?;
    Ok(Anno { offset, size })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::Names;
    use expect_test::{expect, Expect};

    fn check(text: &str, size: u8, expect: Expect) {
        let names = Names::default();
        let scope = Scope::new(&names, "a/b");
        scope.define(NameKind::Annotation, "MARK", Anno { offset: 40, size: 2 }.to_name_value());
        let anno = anno(text, &scope, size).map(|anno| format!("{}+{}", anno.offset, anno.size));
        expect.assert_eq(&anno.unwrap_or_else(|e| e));
    }

    #[test]
    fn names_have_sizes_and_offsets_have_not() {
        check("PAINT", 1, expect!["16+1"]);
        check("PAINT", 0, expect!["16+1"]);
        check("VLAN", 2, expect!["20+2"]);
        check("DST_IP6", 16, expect!["0+16"]);
        check("MARK", 2, expect!["40+2"]);
        check("20", 4, expect!["20+4"]);
        check("47", 1, expect!["47+1"]);
        check("20", 0, expect!["20+0"]);
        check("-0", 4, expect!["0+4"]);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        check("PAINT", 4, expect!["parse error"]);
        check("48", 1, expect!["parse error"]);
        check("45", 4, expect!["parse error"]);
        check("48", 0, expect!["parse error"]);
        check("-1", 1, expect!["parse error"]);
        check("FOO", 1, expect!["parse error"]);
    }
}
