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

/// The colour that is written to a handler.
pub fn parse(value: &str) -> Result<u8, String> {
    args::integer::<u8>(value.trim()).map_err(|_| "expected uint8_t".to_string())
}
