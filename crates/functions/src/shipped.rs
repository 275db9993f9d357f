//! The functions that come with weir.

use crate::Package;

/// A function's files, by the folder's name.
macro_rules! shipped {
    ($($name:literal),* $(,)?) => {
        &[$(($name,
            include_str!(concat!("../../../functions/", $name, "/", $name, ".yang")),
            include_str!(concat!("../../../functions/", $name, "/", $name, ".click")))),*]
    };
}

/// Names, schemas and templates, in the order in which help lists them.
const SHIPPED: &[(&str, &str, &str)] = shipped![
    "nat",
    "firewall",
    "router",
    "bridge",
    "filter",
    "tee",
    "count",
    "print",
    "hex",
    "shape",
    "delay",
    "loss",
    "policer",
    "loadbalancer",
    "ddos-mitigator",
    "mirror",
    "capture",
    "flow-monitor",
    "simple-forwarder",
    "helloworld",
];

/// Texts that templates include, by name.
pub const PARTS: &[(&str, &str)] = &[
    ("directions.click", include_str!("../../../functions/directions.click")),
    ("flows.click", include_str!("../../../functions/flows.click")),
    ("frames.click", include_str!("../../../functions/frames.click")),
    ("headers.click", include_str!("../../../functions/headers.click")),
    ("routing.click", include_str!("../../../functions/routing.click")),
    ("routing6.click", include_str!("../../../functions/routing6.click")),
];

impl Package {
    /// The functions that come with weir.
    pub fn shipped() -> Vec<Package> {
        SHIPPED.iter().map(|files| Package::of_texts(files.0, files.1, files.2)).collect()
    }

    /// The function of this name that comes with weir.
    pub fn shipped_one(name: &str) -> Option<Package> {
        let files = SHIPPED.iter().find(|files| files.0 == name)?;
        Some(Package::of_texts(files.0, files.1, files.2))
    }

    /// The commands by which functions that come with weir are stages, and the functions' names. No schema is compiled for that.
    pub fn shipped_commands() -> impl Iterator<Item = (&'static str, &'static str)> {
        let command = |schema: &'static str| {
            let (_, rest) = schema.split_once("weir:command \"")?;
            rest.split_once('"').map(|(command, _)| command)
        };
        SHIPPED.iter().filter_map(move |files| Some((command(files.1)?, files.0)))
    }

    /// The template and all that it may include.
    pub fn templates(&self) -> impl Iterator<Item = &str> {
        let parts = self.parts.values().map(String::as_str).chain(PARTS.iter().map(|(_, text)| *text));
        std::iter::once(self.template.as_str()).chain(parts)
    }

    /// The names of the functions that come with weir.
    pub fn shipped_names() -> impl Iterator<Item = &'static str> {
        SHIPPED.iter().map(|files| files.0)
    }
}
