//! The crates' layers: an edge may only point to a lower layer, or sideways where the design says so.

use std::path::Path;

/// Layer of each crate.
const LAYERS: &[(&str, u32)] = &[
    ("wire", 0),
    ("packet", 0),
    ("graph", 0),
    ("table", 0),
    ("filter", 0),
    ("sys", 0),
    ("yang", 0),
    ("ring", 1),
    ("stack", 1),
    ("events", 1),
    ("args", 1),
    ("detect", 1),
    ("lang", 2),
    ("element", 2),
    ("functions", 2),
    ("tools", 3),
    ("elements", 3),
    ("interfaces", 3),
    ("engine", 3),
    ("middleboxes", 3),
    ("testing", 4),
    ("catalog", 4),
    ("daemon", 5),
    ("cli", 6),
];

fn layer(name: &str) -> Option<u32> {
    LAYERS.iter().find(|(known, _)| *known == name).map(|(_, layer)| *layer)
}

#[test]
fn dependencies_point_to_lower_layers() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut n_edges = 0;
    for entry in std::fs::read_dir(crates).expect("the crates' folder exists") {
        let folder = entry.expect("the folder can be read").path();
        let name = folder.file_name().expect("an entry has a name").to_string_lossy().into_owned();
        let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).expect("a crate has a manifest");
        let own = layer(&name).unwrap_or_else(|| panic!("crate `{name}` has no layer; give it one here"));
        let normal = manifest.split("[dev-dependencies]").next().expect("there is a first part");
        let dependencies = normal.split("[dependencies]").nth(1).unwrap_or("");
        for line in dependencies.lines() {
            let dependency = line.split(['.', ' ', '=']).next().expect("there is a first part");
            if let Some(other) = layer(dependency) {
                n_edges += 1;
                assert!(other < own, "`{name}` (layer {own}) depends on `{dependency}` (layer {other})");
            }
        }
    }
    assert!(n_edges > 20, "only {n_edges} edges were found: the manifests are not read right");
}
