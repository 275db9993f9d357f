//! What the paint elements share: the annotation they use and how colours are written.

use element::{annotation, Arg, Configure};

/// The argument that names the annotation.
pub const ANNO_ARG: Arg =
    Arg::optional("ANNO", "annotation", "The annotation of one byte that holds the paint. Default PAINT.");

/// The offset of the annotation that the arguments name.
pub fn anno(conf: &mut Configure<'_>) -> usize {
    let anno = conf.args.get_with("ANNO", args::sized_anno(1));
    anno.map_or(annotation::PAINT, |anno| usize::from(anno.offset))
}

/// The colour, or other byte, that is written to a handler: a signed number, as in Click, so that -0 is one.
pub fn parse(value: &str) -> Result<u8, String> {
    let number = args::integer::<i32>(value).ok();
    number.and_then(|number| u8::try_from(number).ok()).ok_or_else(|| "expected uint8_t".to_string())
}
