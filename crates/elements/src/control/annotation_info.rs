//! Gives names to packet annotations.
//!
//! Each argument is a name, an offset in bytes, which may be a known name, and perhaps a size in bytes. An argument that begins with
//! `CHECK_OVERLAP` lists annotations of which no two may share a byte; one that begins with `#` is a comment. The names that are
//! known without being defined, such as `PAINT`, cannot be given another meaning.
//!
//! Names are seen in the compound element they are defined in and inside of it.
//!
//! ```click
//! AnnotationInfo(COLOR 20 1, CHECK_OVERLAP COLOR PAINT);
//! Idle -> Paint(3, ANNO COLOR) -> Discard;
//! ```

use args::{Anno, NameKind, Scope};
use element::{Arg, Class, Configure, Ctx, Element, Failed, Phase};

/// The class.
pub const CLASS: Class =
    Class::new::<AnnotationInfo>("AnnotationInfo", "0/0", "a/a", "x/x").args(ARGS).phase(Phase::FIRST);

const ARGS: &[Arg] = &[Arg::rest(
    "NAME OFFSET [SIZE]",
    "name and integers",
    "A name and what it stands for, or `CHECK_OVERLAP ANNO...`.",
)];

const CHECK_OVERLAP: &str = "CHECK_OVERLAP";

/// See the page above.
pub struct AnnotationInfo {
    /// Lists of annotations that must not overlap.
    checks: Vec<Vec<String>>,
}

impl Element for AnnotationInfo {
    fn configure(conf: &mut Configure<'_>) -> Result<AnnotationInfo, Failed> {
        let mut checks = Vec::new();
        for argument in conf.args.rest() {
            let words = args::split_words(&argument);
            match words.split_first() {
                None => {}
                Some((name, _)) if name.starts_with('#') => {}
                Some((name, rest)) if name == CHECK_OVERLAP => checks.push(rest.to_vec()),
                Some((name, rest)) => {
                    if let Err(message) = define(conf.scope, name, rest) {
                        conf.error(message);
                    }
                }
            }
        }
        conf.finish()?;
        Ok(AnnotationInfo { checks })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let errors: Vec<String> =
            self.checks.iter().flat_map(|words| overlaps(&ctx.scope(), words)).collect();
        let Some((last, others)) = errors.split_last() else { return Ok(()) };
        for error in others {
            ctx.tell(error);
        }
        Err(last.clone())
    }
}

/// Defines a name; the error is a sentence.
fn define(scope: &Scope<'_>, name: &str, rest: &[String]) -> Result<(), String> {
    if !args::is_word(name) || args::anno(name, &Scope::builtin(), 0).is_ok() {
        return Err(format!("bad NAME '{name}'"));
    }
    let bad = || format!("bad entry for '{name}'");
    let (offset, size) = match rest {
        [offset] => (offset, 0),
        [offset, size] => (offset, args::integer::<u32>(size).map_err(|_| bad())?),
        _ => return Err(bad()),
    };
    let anno = args::anno(offset, scope, 0).map_err(|_| bad())?;
    let size = u8::try_from(size).map_err(|_| bad())?;
    let fits = u32::from(anno.offset) + u32::from(size) <= args::ANNO_SIZE;
    if !fits || (size > 0 && anno.size > 0 && size != anno.size) {
        return Err(bad());
    }
    scope.define(NameKind::Annotation, name, Anno { size, ..anno }.to_name_value());
    Ok(())
}

/// What is wrong with a list of annotations that must not overlap.
fn overlaps(scope: &Scope<'_>, words: &[String]) -> Vec<String> {
    let mut errors = Vec::new();
    let mut annos = Vec::new();
    for word in words {
        match args::anno(word, scope, 0) {
            Ok(anno) => annos.push((word, u32::from(anno.offset), u32::from(anno.size.max(1)))),
            Err(_) => errors.push(format!("bad ANNO '{word}'")),
        }
    }
    for (idx, (word, offset, size)) in annos.iter().enumerate() {
        for (other_word, other_offset, other_size) in &annos[idx + 1..] {
            if offset + size > *other_offset && other_offset + other_size > *offset {
                errors.push(format!("annotations '{word}' and '{other_word}' conflict"));
            }
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn annotations_have_names() {
        check(
            "AnnotationInfo(COLOR 20 1, , # nothing, WIDE 24 4, SAME COLOR, CHECK_OVERLAP COLOR WIDE PAINT);
            InfiniteSource(DATA x, LIMIT 1) -> Paint(3, ANNO COLOR) -> Paint(4, SAME) -> SetAnnoByte(WIDE, 5)
                -> Print(x, PRINTANNO true) -> Discard",
            expect![[r#"
                config:2: While configuring 'SetAnnoByte@5 :: SetAnnoByte':
                  warning: SetAnnoByte(ANNO, VALUE) is obsolete, use Paint(VALUE, ANNO) instead
                  ANNO: parse error
                Router could not be initialized!
            "#]],
        );
    }

    #[test]
    fn what_is_no_annotation_is_told() {
        check(
            "AnnotationInfo(PAINT 3, a, b 48, c 45 4, d PAINT 2, e 3 -1, f 3 1 1, 5 3, g x)",
            expect![[r#"
                config:1: While configuring 'AnnotationInfo@1 :: AnnotationInfo':
                  bad NAME 'PAINT'
                  bad entry for 'a'
                  bad entry for 'b'
                  bad entry for 'c'
                  bad entry for 'd'
                  bad entry for 'e'
                  bad entry for 'f'
                  bad NAME '5'
                  bad entry for 'g'
                Router could not be initialized!
            "#]],
        );
    }

    #[test]
    fn overlaps_are_told() {
        check(
            "AnnotationInfo(A 20 4, B 23 2, C 24, CHECK_OVERLAP A B C x, CHECK_OVERLAP A C, CHECK_OVERLAP)",
            expect![[r#"
                config:1: While initializing 'AnnotationInfo@1 :: AnnotationInfo':
                  bad ANNO 'x'
                  annotations 'A' and 'B' conflict
                  annotations 'B' and 'C' conflict
                Router could not be initialized!
            "#]],
        );
    }
}
