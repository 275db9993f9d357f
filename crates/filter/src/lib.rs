//! Packet classification: filter expressions compiled into decision structures.
#![forbid(unsafe_code)]

mod diagnostic;
pub mod ip;
mod patterns;
pub mod program;

use ip::Names;
pub use diagnostic::{Diagnostic, Severity};

struct Extra; impl ip::Names for Extra { fn protocol(&self, n:&str)->Option<i32>{ if n=="ip" {Some(0)} else {ip::BuiltInNames.protocol(n)} } }
pub fn classifier_text(p: &[&str]) -> (String, Vec<Diagnostic>) {
    let (tree, mut d) = patterns::parse(p, 0);
    let (mut program, _, _) = tree.into_parts();
    program.optimize(false);
    if d.is_empty() {
        d.extend(program.unused_outputs(p.len()).into_iter().map(Diagnostic::unused_output));
        (program.to_string(), d)
    } else { (String::new(), d) }
}
pub fn ipfilter_text(p: &[&str], n: usize) -> (String, Vec<Diagnostic>) {
    let (rules, d) = ip::parse_rules(p, n, &Extra);
    if d.iter().any(|d| d.is_error()) { return (String::new(), d); }
    (program::Compressed::new(&ip::join(&rules)).to_string(), d)
}
pub fn ipclassifier_text(p: &[&str]) -> (String, Vec<Diagnostic>) {
    let p2: Vec<String> = p.iter().enumerate().map(|(i, s)| format!("{i} {s}")).collect();
    let (rules, mut d) = ip::parse_rules(&p2, p.len(), &Extra);
    if d.iter().any(|d| d.is_error()) { return (String::new(), d); }
    let c = program::Compressed::new(&ip::join(&rules));
    d.extend(c.unused_outputs(p.len()).into_iter().map(Diagnostic::unused_output));
    (c.to_string(), d)
}
