//! Prints what Click would say about filters: a line of standard input is the class, the number of outputs and the
//! patterns, separated by tabs.

use filter::{BuiltInNames, Classifier, Diagnostic, IpFilter, Names};
use std::io::BufRead;

/// The built-in names, and one that most systems have in `/etc/protocols`.
struct WithIp;

impl Names for WithIp {
    fn protocol(&self, name: &str) -> Option<i32> {
        if name == "ip" {
            return Some(0);
        }
        BuiltInNames.protocol(name)
    }
}

fn describe(line: &str) -> (Option<String>, Vec<Diagnostic>) {
    let mut fields = line.split('\t');
    let class = fields.next().unwrap_or_default();
    let n_outputs = fields.next().and_then(|n| n.parse().ok()).unwrap_or(0);
    let patterns: Vec<&str> = fields.collect();
    match class {
        "Classifier" => {
            let (classifier, diagnostics) = Classifier::parse(&patterns, n_outputs, 0);
            (classifier.map(|classifier| classifier.program().to_string()), diagnostics)
        }
        "IPClassifier" => {
            let (filter, mut diagnostics) = IpFilter::parse_classifier(&patterns, n_outputs, &WithIp);
            diagnostics.extend(filter.iter().flat_map(|filter| filter.unused_outputs(n_outputs)));
            (filter.map(|filter| filter.program().to_string()), diagnostics)
        }
        _ => {
            let (filter, diagnostics) = IpFilter::parse(&patterns, n_outputs, &WithIp);
            (filter.map(|filter| filter.program().to_string()), diagnostics)
        }
    }
}

fn main() -> std::io::Result<()> {
    for line in std::io::stdin().lock().lines() {
        let (program, diagnostics) = describe(&line?);
        for diagnostic in diagnostics {
            println!("  {diagnostic}");
        }
        println!("{}===", program.unwrap_or_default());
    }
    Ok(())
}
