//! Element arguments: splitting a configuration string and parsing typed values.
//!
//! [`Args`] matches a configuration string with the arguments of a class and reads them as any [`Value`]. The functions
//! beside it parse single values; their errors are the words that follow the argument's name in a message.
#![forbid(unsafe_code)]

mod anno;
mod args;
mod decimal;
mod ether;
mod ip;
mod ip6;
mod item;
mod names;
mod number;
mod quote;
mod services;
mod split;
mod tables;
mod text;
mod timestamp;
mod unit;
mod value;

pub use anno::{anno, Anno, ANNO_SIZE};
pub use args::{is_of_reading, Args, Told};
pub use decimal::{unparse_binary, unparse_decimal, unparse_double};
pub use ether::{ether, EtherAddr};
pub use ip::{
    ip, ip_list, mask, mask_len, named_integer, port, prefix, prefix_or_address, Prefix, PrefixOrAddress,
};
pub use ip6::{ip6, prefix6, prefix6_or_address, unparse_ip6, Prefix6, Prefix6OrAddress};
pub use names::{Host, NameKind, Names, Scope};
pub use number::{
    boolean, bounded_integer, double, integer, integer_in_base, integer_prefix, saturating_integer, Integer,
};
pub use quote::{quote, quote_lines, unquote, unquote_text, Quoted};
pub use split::{
    is_comment, is_space, join_args, join_words, last_word, next_word, skip_comment, skip_comment_space,
    split_args, split_words, uncomment,
};
pub use tables::name_of as builtin_name_of;
pub use text::{
    bytes, filename, first_string, handler_name, is_identifier, is_word, keyword, string, word, HandlerName,
};
pub use timestamp::{signed_timestamp, timestamp, Timestamp};
pub use unit::{
    bandwidth, decimal_fixed_point, double_seconds, fixed_point, saturating_seconds, seconds,
    signed_decimal_fixed_point, signed_fixed_point, unparse_bandwidth, unparse_microseconds,
    unparse_milliseconds, Bandwidth,
};
pub use value::{
    bounded, choice, sized_anno, DecimalFixedPoint, ElementName, Filename, FixedPoint, Keyword, Port, Raw,
    Seconds, Value, Word,
};

/// What is told of an argument that does not parse, when there is nothing more to say.
pub fn parse_error() -> String {
    "parse error".to_string()
}
