//! Prints programs: reads lines of tab-separated class, number of outputs, patterns.
use std::io::BufRead;
fn main() {
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("text");
        let fields: Vec<&str> = line.split('\t').collect();
        let n: usize = fields[1].parse().expect("number");
        let pats = &fields[2..];
        let (text, diags) = match fields[0] {
            "Classifier" => filter::classifier_text(pats),
            "IPClassifier" => filter::ipclassifier_text(pats),
            _ => filter::ipfilter_text(pats, n),
        };
        for d in diags { println!("  {d}"); }
        print!("{text}");
        println!("===");
    }
}
