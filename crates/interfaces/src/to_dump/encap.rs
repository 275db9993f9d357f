//! The link type that other elements tell of.

use element::Ctx;

use crate::capture::link;

/// The link type that all these elements' `encap` handlers tell.
pub fn encap_of(ctx: &mut Ctx<'_>, names: &[String]) -> Result<u32, String> {
    let mut encaps = Vec::new();
    for name in names {
        let handler = format!("{name}.encap");
        if !ctx.handler_exists(&handler).0 {
            return Err(format!("'{}' has no 'encap' read handler", declaration(ctx, name)));
        }
        encaps.push(args::uncomment(&ctx.read_handler(&handler, "")?).trim().to_string());
    }
    let mut link_type = None;
    for (name, encap) in names.iter().zip(&encaps) {
        let Some(found) = link::parse(encap) else {
            let declared = declaration(ctx, name);
            return Err(format!("'{declared}.encap' did not return a valid encapsulation type"));
        };
        if *link_type.get_or_insert(found) != found {
            return Err(disagreement(ctx, names, &encaps));
        }
    }
    link_type.ok_or_else(|| "element names missing after 'USE_ENCAP_FROM'".to_string())
}

/// Who tells what, a line each.
fn disagreement(ctx: &mut Ctx<'_>, names: &[String], encaps: &[String]) -> String {
    let mut text = "source encapsulation types disagree:".to_string();
    for (name, encap) in names.iter().zip(encaps) {
        text += &format!("\n  {} has {encap}", declaration(ctx, name));
    }
    text
}

/// An element's name and class, and the file of one that reads a file.
fn declaration(ctx: &mut Ctx<'_>, name: &str) -> String {
    let class = ctx.find(name).map_or("", |idx| ctx.class(idx));
    let file =
        if class == "FromDump" { ctx.read_handler(&format!("{name}.filename"), "").ok() } else { None };
    let file = file.map(|file| format!("({file})")).unwrap_or_default();
    format!("{name} :: {class}{file}")
}
