//! Functions themselves: which there are, and adding, upgrading and removing them while instances run.

use serde_json::{json, Value};

use ::functions::{Function, Functions, Package};

use super::{only, Reply, Request, Service};
use crate::beside::put_file;
use crate::fault::Fault;
use crate::private::make_folder;
use crate::roles::Access;

impl Service {
    /// Answers at `/functions` and `/functions/NAME`.
    pub(super) fn functions(&self, request: &Request, name: &str) -> Result<Reply, Fault> {
        if name.is_empty() {
            return only(request, &["GET"], || {
                self.permit(&request.who, Access::Read, "/functions")?;
                let store = self.store();
                let list: Vec<Value> = store.functions().iter().map(|function| about(&function)).collect();
                Ok(Reply::text(200, "application/json", json!({ "functions": list }).to_string()))
            });
        }
        match request.method.as_str() {
            "PUT" => self.add_function(request, name),
            "DELETE" => self.remove_function(request, name),
            _ => only(request, &["GET", "PUT", "DELETE"], || {
                self.permit(&request.who, Access::Read, "/functions")?;
                let store = self.store();
                let function =
                    store.functions().get(name).ok_or_else(|| no_function(store.functions(), name))?;
                Ok(Reply::text(200, "application/x-tar", function.package.to_tar()))
            }),
        }
    }

    /// Adds a function, or upgrades it: its instances go on with the new graph and their state.
    fn add_function(&self, request: &Request, name: &str) -> Result<Reply, Fault> {
        self.permit(&request.who, Access::Administer, &format!("/functions/{name}"))?;
        let package = Package::of_tar(request.body.as_slice(), name).map_err(Fault::invalid)?;
        if package.name != name {
            return Err(Fault::invalid(format!("the archive holds `{}`, not `{name}`", package.name)));
        }
        let mut store = self.store();
        self.none_may_wait()?;
        let is_new = store.functions().get(name).is_none();
        let before = store.functions().clone();
        let next = before.with(package).map_err(Fault::invalid)?;
        store.try_out(&next, name)?;
        store.change_functions(next)?;
        if let Err(fault) = self.keep(name, Some(&request.body)) {
            store.change_functions(before)?;
            return Err(fault);
        }
        self.events.function_changed(name, if is_new { "added" } else { "upgraded" });
        Ok(Reply::empty(if is_new { 201 } else { 204 }))
    }

    fn remove_function(&self, request: &Request, name: &str) -> Result<Reply, Fault> {
        self.permit(&request.who, Access::Administer, &format!("/functions/{name}"))?;
        let mut store = self.store();
        self.none_may_wait()?;
        let before = store.functions().clone();
        let present = before.get(name);
        let present = present.ok_or_else(|| no_function(&before, name))?;
        let next = match Package::shipped_one(name) {
            Some(shipped) if *present.package == shipped => {
                return Err(Fault::refused(format!("`{name}` comes with weir and stays")));
            }
            // What was put in its place goes; it itself stays.
            Some(shipped) => before.with(shipped),
            None => before.without(name),
        };
        store.change_functions(next.map_err(Fault::refused)?)?;
        if let Err(fault) = self.keep(name, None) {
            store.change_functions(before)?;
            return Err(fault);
        }
        self.events.function_changed(name, "removed");
        Ok(Reply::empty(204))
    }

    /// Keeps a function's archive for the next start, or forgets it.
    fn keep(&self, name: &str, archive: Option<&[u8]>) -> Result<(), Fault> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let path = folder.join(format!("{name}.tar"));
        let result = match archive {
            Some(archive) => make_folder(folder).and_then(|()| put_file(&path, archive)),
            None => match std::fs::remove_file(&path) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
                other => other,
            },
        };
        result.map_err(|error| Fault::broken(format!("{}: {}", path.display(), sys::reason(&error))))
    }
}

fn no_function(functions: &Functions, name: &str) -> Fault {
    let known: Vec<&str> = functions.iter().map(|function| function.name()).collect();
    Fault::missing(format!("no function `{name}`; there are {}", known.join(", ")))
}

fn about(function: &Function<'_>) -> Value {
    json!({
        "name": function.name(),
        "about": function.about(),
        "ports": function.fixed_ports(),
        "shipped": Package::shipped_names().any(|shipped| shipped == function.name()),
    })
}
