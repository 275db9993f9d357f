//! Functions that know each other, and one of them.

use std::collections::HashSet;
use std::sync::Arc;

use yang::{Kind, Modules, Node, Problem};

use crate::{render, Package, CORE, WEIR};

/// Functions whose schemas are compiled together.
#[derive(Clone)]
pub struct Functions {
    packages: Arc<[Arc<Package>]>,
    modules: Modules,
}

/// A function: its package and its schema.
#[derive(Clone, Copy)]
pub struct Function<'f> {
    /// Its files.
    pub package: &'f Package,
    /// The list whose entries are its instances.
    pub node: &'f Node,
}

impl Functions {
    /// Compiles the schemas of packages.
    pub fn new(packages: Vec<Arc<Package>>) -> Result<Functions, String> {
        let mut names = HashSet::from([CORE]);
        for package in &packages {
            if !names.insert(&package.name) {
                return Err(format!("there are two functions called `{}`", package.name));
            }
        }
        let own = packages.iter().map(|package| (package.name.as_str(), package.schema.as_str()));
        let texts: Vec<(&str, &str)> = std::iter::once((CORE, WEIR)).chain(own).collect();
        let modules = Modules::compile(&texts).map_err(|problem| problem.to_string())?;
        for package in &packages {
            check_module(&modules, package).map_err(|message| format!("{}.yang: {message}", package.name))?;
        }
        Ok(Functions { packages: packages.into(), modules })
    }

    /// All that come with weir.
    pub fn shipped() -> Functions {
        let packages = Package::shipped().into_iter().map(Arc::new).collect();
        Functions::new(packages).expect("a test compiles them")
    }

    /// One that comes with weir, by itself.
    pub fn shipped_one(name: &str) -> Option<Functions> {
        let package = Package::shipped_one(name)?;
        Some(Functions::new(vec![Arc::new(package)]).expect("a test compiles it"))
    }

    /// All that come with weir, and others; one of the same name is replaced.
    pub fn shipped_and(added: Vec<Package>) -> Result<Functions, String> {
        let mut packages = Package::shipped().into_iter().map(Arc::new).collect();
        added.into_iter().for_each(|package| put(&mut packages, package));
        Functions::new(packages)
    }

    /// With another package, whose templates are checked; one of the same name is replaced.
    pub fn with(&self, package: Package) -> Result<Functions, String> {
        render::check_syntax(&package)?;
        let mut packages = self.packages.to_vec();
        put(&mut packages, package);
        Functions::new(packages)
    }

    /// Without a package.
    pub fn without(&self, name: &str) -> Result<Functions, String> {
        Functions::new(self.packages.iter().filter(|package| package.name != name).cloned().collect())
    }

    /// Whether these are the very same, and not others of the same names.
    pub fn is(&self, other: &Functions) -> bool {
        Arc::ptr_eq(&self.packages, &other.packages)
    }

    /// The modules, that of weir itself first.
    pub fn modules(&self) -> &Modules {
        &self.modules
    }

    /// The functions.
    pub fn iter(&self) -> impl Iterator<Item = Function<'_>> {
        self.packages.iter().filter_map(|package| self.get(&package.name))
    }

    /// The function of this name.
    pub fn get(&self, name: &str) -> Option<Function<'_>> {
        let package = self.packages.iter().find(|package| package.name == name)?;
        let node = self.modules.get(name)?.nodes.iter().find(|node| node.name == name)?;
        Some(Function { package, node })
    }

    /// Whether data is valid: JSON from the top on.
    pub fn validate(&self, json: &serde_json::Value) -> Result<(), Problem> {
        let mut data = yang::Data::new(&self.modules);
        data.merge(&json.to_string())?;
        data.check().map(drop)
    }
}

/// Adds a package, in the place of one of the same name.
fn put(packages: &mut Vec<Arc<Package>>, package: Package) {
    let package = Arc::new(package);
    match packages.iter_mut().find(|other| other.name == package.name) {
        Some(other) => *other = package,
        None => packages.push(package),
    }
}

/// What a function's module must have.
fn check_module(modules: &Modules, package: &Package) -> Result<(), String> {
    let name = &package.name;
    let module = modules
        .get(name)
        .ok_or_else(|| format!("the module in it has another name; it must be `{name}`, as the file"))?;
    let list = module.nodes.iter().find(|node| node.name == *name && node.kind == Kind::List);
    let list =
        list.ok_or_else(|| format!("there is no list `{name}` at its top, whose entries are the instances"))?;
    if list.keys != ["name"] {
        return Err(format!(
            "the key of list `{name}` must be `name`: put `key name; uses weir:instance;` into it"
        ));
    }
    if let Some(other) = module.nodes.iter().find(|node| node.name != *name) {
        return Err(format!("`{}` stands at its top; put it into list `{name}`", other.name));
    }
    if let Some(rpc) = module.rpcs.first() {
        return Err(format!("`rpc {}` has no instance; make it an action of list `{name}`", rpc.name));
    }
    Ok(())
}

impl<'f> Function<'f> {
    /// Its name.
    pub fn name(&self) -> &'f str {
        &self.package.name
    }

    /// The first sentence of its description.
    pub fn about(&self) -> &'f str {
        let text = self.node.description.as_str();
        let end = text.find(".\n").or_else(|| text.find(". "));
        end.map_or(text, |end| &text[..=end])
    }

    /// The ports that every instance has.
    pub fn fixed_ports(&self) -> Vec<&'f str> {
        self.node.all_extensions("port").collect()
    }

    /// The list whose entries are ports.
    pub fn port_list(&self) -> Option<&'f Node> {
        self.node.children.iter().find(|child| child.has("ports"))
    }

    /// Whether an instance has whatever ports something is connected with.
    pub fn has_any_port(&self) -> bool {
        self.node.has("any-port")
    }

    /// The ports of an instance with this data, of which `connected` are in use, in the order of their numbers.
    pub fn ports(&self, data: &serde_json::Value, connected: &[&str]) -> Result<Vec<String>, String> {
        let mut ports: Vec<String> = self.fixed_ports().into_iter().map(str::to_string).collect();
        if let Some(list) = self.port_list() {
            let key = list.keys.first().map(String::as_str).unwrap_or_default();
            let entries = data.get(&list.name).and_then(|value| value.as_array()).into_iter().flatten();
            let unless = list.extension("ports-unless");
            let entries = entries.filter(|entry| unless.is_none_or(|leaf| entry.get(leaf).is_none()));
            ports.extend(entries.filter_map(|entry| entry.get(key)).map(text_of));
        }
        for name in connected {
            if !ports.iter().any(|port| port == name) {
                if !self.has_any_port() {
                    let known = if ports.is_empty() { "none yet".to_string() } else { ports.join(", ") };
                    return Err(format!("a {} has no port `{name}`; its ports: {known}", self.name()));
                }
                ports.push(name.to_string());
            }
        }
        Ok(ports)
    }
}

/// A leaf's value as text.
pub fn text_of(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
