//! The types that arguments can have.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::anno::{self, Anno};
use crate::ether::{self, EtherAddr};
use crate::ip::{self, Prefix, PrefixOrAddress};
use crate::ip6::{self, Prefix6, Prefix6OrAddress};
use crate::names::Scope;
use crate::text;
use crate::timestamp::{self, Timestamp};
use crate::unit::{self, Bandwidth};
use crate::{number, parse_error};

/// A type that an argument can have.
pub trait Value: Sized {
    /// Parses an argument; the error is what is wrong, without the argument's name.
    fn parse(text: &str, scope: &Scope<'_>) -> Result<Self, String>;

    /// What a required argument has when it is wrong or missing, so that the others can still be read.
    fn zero() -> Self;
}

/// An argument taken as it is written, quotes and all.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Raw(pub String);

/// An argument that is a word: printable ASCII without quotes, backslashes and commas.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Word(pub String);

/// An argument that is an unquoted keyword: letters, digits and `_.:?!`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Keyword(pub String);

/// An argument that is a file name, in which `~` stands for a home directory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Filename(pub String);

/// An argument that is the name of an element, as written; whether it exists is for the router to say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ElementName(pub String);

/// An argument that is a time in units of `10^-DIGITS` seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Seconds<const DIGITS: u32>(pub u32);

/// An argument that is an unsigned number with `BITS` bits of fraction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FixedPoint<const BITS: u32>(pub u32);

/// An argument that is an unsigned number with `DIGITS` decimal digits of fraction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DecimalFixedPoint<const DIGITS: u32>(pub u32);

/// An argument that is the number or the name of a port of a transport protocol.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Port<const PROTOCOL: u8>(pub u16);

macro_rules! values {
    ($($ty:ty, $zero:expr, |$text:pat_param, $scope:pat_param| $parse:expr;)*) => {$(
        impl Value for $ty {
            fn parse($text: &str, $scope: &Scope<'_>) -> Result<Self, String> {
                $parse
            }
            fn zero() -> Self {
                $zero
            }
        }
    )*};
}

values! {
    u8, 0, |text, _| number::integer(text);
    u16, 0, |text, _| number::integer(text);
    u32, 0, |text, _| number::integer(text);
    u64, 0, |text, _| number::integer(text);
    usize, 0, |text, _| number::integer(text);
    i8, 0, |text, _| number::integer(text);
    i16, 0, |text, _| number::integer(text);
    i32, 0, |text, _| number::integer(text);
    i64, 0, |text, _| number::integer(text);
    bool, false, |text, _| number::boolean(text);
    f64, 0.0, |text, _| number::double(text);
    String, String::new(), |text, _| text::string(text);
    Vec<u8>, Vec::new(), |text, _| text::bytes(text);
    Raw, Raw::default(), |text, _| Ok(Raw(text.to_string()));
    Word, Word::default(), |text, _| text::word(text).map(Word);
    Keyword, Keyword::default(), |text, _| text::keyword(text).map(Keyword);
    Filename, Filename::default(), |text, scope| text::filename(text, scope).map(Filename);
    ElementName, ElementName::default(), |text, _| Ok(ElementName(text.to_string()));
    Ipv4Addr, Ipv4Addr::UNSPECIFIED, |text, scope| ip::ip(text, scope);
    Vec<Ipv4Addr>, Vec::new(), |text, scope| ip::ip_list(text, scope);
    Prefix, Prefix::new(Ipv4Addr::UNSPECIFIED, 0), |text, scope| ip::prefix(text, scope);
    PrefixOrAddress, PrefixOrAddress(Prefix::zero()), |text, scope| ip::prefix_or_address(text, scope).map(PrefixOrAddress);
    Ipv6Addr, Ipv6Addr::UNSPECIFIED, |text, scope| ip6::ip6(text, scope);
    Prefix6, Prefix6 { addr: Ipv6Addr::UNSPECIFIED, len: 0 }, |text, scope| ip6::prefix6(text, scope);
    Prefix6OrAddress, Prefix6OrAddress(Prefix6::zero()), |text, scope| ip6::prefix6_or_address(text, scope).map(Prefix6OrAddress);
    EtherAddr, EtherAddr::default(), |text, scope| ether::ether(text, scope);
    Timestamp, Timestamp::default(), |text, _| timestamp::timestamp(text);
    Bandwidth, Bandwidth::default(), |text, _| unit::bandwidth(text);
    Anno, Anno { offset: 0, size: 0 }, |text, scope| anno::anno(text, scope, 0);
}

impl<const DIGITS: u32> Value for Seconds<DIGITS> {
    fn parse(text: &str, _: &Scope<'_>) -> Result<Self, String> {
        unit::seconds(text, DIGITS).map(Seconds)
    }
    fn zero() -> Self {
        Seconds(0)
    }
}

impl<const BITS: u32> Value for FixedPoint<BITS> {
    fn parse(text: &str, _: &Scope<'_>) -> Result<Self, String> {
        unit::fixed_point(text, BITS).map(FixedPoint)
    }
    fn zero() -> Self {
        FixedPoint(0)
    }
}

impl<const DIGITS: u32> Value for DecimalFixedPoint<DIGITS> {
    fn parse(text: &str, _: &Scope<'_>) -> Result<Self, String> {
        unit::decimal_fixed_point(text, DIGITS).map(DecimalFixedPoint)
    }
    fn zero() -> Self {
        DecimalFixedPoint(0)
    }
}

impl<const PROTOCOL: u8> Value for Port<PROTOCOL> {
    fn parse(text: &str, scope: &Scope<'_>) -> Result<Self, String> {
        ip::port(text, scope, PROTOCOL).map(Port)
    }
    fn zero() -> Self {
        Port(0)
    }
}

/// A parser for [`crate::Args::get_with`] of integers in `low..=high`.
pub fn bounded<T: number::Integer>(low: T, high: T) -> impl Fn(&str, &Scope<'_>) -> Result<T, String> {
    move |text, _| number::bounded_integer(text, low, high)
}

/// A parser for [`crate::Args::get_with`] of annotations of `size` bytes.
pub fn sized_anno(size: u8) -> impl Fn(&str, &Scope<'_>) -> Result<Anno, String> {
    move |text, scope| anno::anno(text, scope, size)
}

/// A parser for [`crate::Args::get_with`] of one of some words, which gives its index.
pub fn choice<'c>(words: &'c [&'c str]) -> impl Fn(&str, &Scope<'_>) -> Result<usize, String> + 'c {
    move |text, _| {
        let word = text::word(text)?;
        words.iter().position(|choice| *choice == word).ok_or_else(parse_error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Args;
    use expect_test::{expect, Expect};
    use graph::Arg;

    const FACTS: &[Arg] = &[Arg::required("X", "any", "")];

    /// Reads an argument as an element does, which has the scope by reference.
    fn read<T: Value + std::fmt::Debug>(text: &str, scope: &Scope<'_>) -> String {
        let mut args = Args::new(text, FACTS, scope);
        let value = args.need::<T>("X");
        args.finish().map_or_else(|errors| errors.join("\n"), |()| format!("{value:?}"))
    }

    fn check<T: Value + std::fmt::Debug>(texts: &[&str], expect: Expect) {
        let values: Vec<_> = texts.iter().map(|text| read::<T>(text, &Scope::builtin())).collect();
        expect.assert_eq(&values.join("; "));
    }

    #[test]
    fn values_are_read_by_their_types() {
        check::<bool>(&["yes", "maybe"], expect!["true; X: parse error"]);
        check::<Vec<u8>>(&[r"\<00ff>", "a b"], expect!["[0, 255]; X: parse error"]);
        check::<Word>(&["\"a-b\"", "\"a b\""], expect![[r#"Word("a-b"); X: parse error"#]]);
        check::<Keyword>(&["a.b", "\"a\""], expect![[r#"Keyword("a.b"); X: parse error"#]]);
        check::<Filename>(&["\"/tmp//x\""], expect![[r#"Filename("/tmp/x")"#]]);
        check::<Raw>(&["'a'  b"], expect![[r#"Raw("'a'  b")"#]]);
        check::<Vec<Ipv4Addr>>(&["1.2.3.4 5.6.7.8"], expect!["[1.2.3.4, 5.6.7.8]"]);
        check::<PrefixOrAddress>(&["1.2.3.4"], expect!["PrefixOrAddress(Prefix(1.2.3.4/32))"]);
        check::<Prefix6OrAddress>(&["1::"], expect!["Prefix6OrAddress(Prefix6(1::/128))"]);
        check::<Seconds<3>>(&["1.5", "1x"], expect!["Seconds(1500); X: parse error"]);
        check::<FixedPoint<16>>(&["0.5"], expect!["FixedPoint(32768)"]);
        check::<DecimalFixedPoint<2>>(&["0.5"], expect!["DecimalFixedPoint(50)"]);
        check::<Port<6>>(&["www", "65536"], expect!["Port(80); X: overflow, range 0-65535"]);
        check::<Anno>(&["PAINT", "BRUSH"], expect!["Anno { offset: 16, size: 1 }; X: parse error"]);
    }

    #[test]
    fn parsers_of_their_own_take_parameters() {
        let scope = Scope::builtin();
        assert_eq!(bounded(0, 7)("9", &scope), Err("out of range, bound 7".to_string()));
        assert_eq!(sized_anno(2)("PAINT", &scope), Err("parse error".to_string()));
        assert_eq!(choice(&["HEX", "ASCII"])("ASCII", &scope), Ok(1));
    }
}
