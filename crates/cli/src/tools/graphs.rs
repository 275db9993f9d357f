//! Pages and graphs about a configuration: `click-pretty`.

use std::process::ExitCode;

use graph::Diagnostics;
use tools::{Drawing, Links, Page};

use super::input::{told, Input};
use super::{facts, write, Failure, Given};
use crate::clp::Item;
use crate::load::Origin;

/// What the command line of `click-pretty` asks for.
#[derive(Default)]
struct Wanted {
    input: Input,
    links: Links,
    definitions: Vec<(String, String)>,
    template: Option<String>,
    driver: Option<String>,
    action: Option<&'static str>,
}

/// `click-pretty`.
pub fn pretty(given: &mut Given) -> Result<ExitCode, Failure> {
    let mut wanted = Wanted::default();
    let tool = given.tool();
    for item in given.items() {
        if let Some(Item::Option { name, value, .. }) = wanted.input.take(item, &tool)? {
            wanted.take(name, value.unwrap_or_default())?;
        }
    }
    let drawing = match wanted.action {
        Some("dot") => Some(Drawing::Dot),
        Some("gml") => Some(Drawing::Gml),
        Some("graphml") => Some(Drawing::GraphMl),
        _ => None,
    };
    let standard = if drawing.is_some() { tools::GRAPH_TEMPLATE } else { tools::HTML_TEMPLATE };
    let template = wanted.template.as_deref().unwrap_or(standard);
    let output = wanted.input.output.as_deref();
    if wanted.action == Some("write-template") {
        write(output, template.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut diagnostics = Diagnostics::default();
    let loaded = wanted.input.load(&mut diagnostics)?;
    tools::check_outline(&loaded.router, &loaded.outline, &facts, &mut diagnostics);
    let page = Page {
        name: &wanted.input.name(),
        text: &loaded.text,
        outline: &loaded.outline,
        router: &loaded.router,
        links: &wanted.links,
        definitions: &wanted.definitions,
    };
    let text = match drawing {
        Some(drawing) => tools::write_drawing(&page, drawing, template, &facts),
        None => tools::pretty(&page, template, &facts),
    };
    // A page about a wrong configuration is of use too.
    write(output, text.as_bytes())?;
    told(&diagnostics)?;
    Ok(ExitCode::SUCCESS)
}

impl Wanted {
    fn take(&mut self, name: &'static str, value: String) -> Result<(), Failure> {
        let twice = |what: &str| Err(Failure::Usage(format!("{what} specified twice")));
        match name {
            "class-docs" => self.links.classes = Some(value),
            "package-docs" if !value.contains('=') => {
                let message = "'--package-urls' option must contain an equals sign";
                return Err(Failure::Usage(message.to_string()));
            }
            // The classes of weir are in no package.
            "package-docs" => {}
            "template" => {
                let bytes = Origin::named(&value).bytes().map_err(Failure::Error)?;
                self.template = Some(String::from_utf8_lossy(&bytes).into_owned());
            }
            "template-text" => self.template = Some(value),
            "define" => {
                let (tag, text) = value.split_once('=').unwrap_or((&value, ""));
                self.definitions.push((tag.to_lowercase(), text.to_string()));
            }
            "userlevel" | "linuxmodule" | "kernel" | "bsdmodule" => {
                if self.driver.replace(name.to_string()).is_some() {
                    return twice("driver");
                }
            }
            action => {
                if self.action.replace(action).is_some() {
                    return twice("action");
                }
            }
        }
        Ok(())
    }
}
