//! The text form of Prometheus, version 0.0.4.

use std::fmt::Write;

use super::{Family, Kind, Number};

/// Writes metrics.
pub fn write(families: &[Family]) -> String {
    let mut text = String::new();
    for family in families {
        let (name, kind) = match family.kind {
            Kind::Counter => (format!("{}_total", family.name), "counter"),
            Kind::Gauge => (family.name.clone(), "gauge"),
            Kind::Histogram => (family.name.clone(), "histogram"),
        };
        let help = family.help.split_whitespace().collect::<Vec<_>>().join(" ");
        let _ = writeln!(text, "# HELP {name} {}\n# TYPE {name} {kind}", help.replace('\\', r"\\"));
        for sample in &family.samples {
            let labels = labels(&sample.labels);
            match &sample.value {
                Number::Whole(value) => line(&mut text, &name, &labels, value),
                Number::Real(value) => line(&mut text, &name, &labels, value),
                Number::Spread { bounds, counts, sum } => {
                    let mut n = 0;
                    let ends = bounds.iter().map(f64::to_string).chain(["+Inf".to_string()]);
                    for (end, count) in ends.zip(counts) {
                        n += count;
                        let mut all = labels.clone();
                        all.push(format!("le=\"{end}\""));
                        line(&mut text, &format!("{name}_bucket"), &all, &n);
                    }
                    line(&mut text, &format!("{name}_sum"), &labels, sum);
                    line(&mut text, &format!("{name}_count"), &labels, &n);
                }
            }
        }
    }
    text
}

fn line(text: &mut String, name: &str, labels: &[String], value: &dyn std::fmt::Display) {
    let _ = match labels {
        [] => writeln!(text, "{name} {value}"),
        _ => writeln!(text, "{name}{{{}}} {value}", labels.join(",")),
    };
}

fn labels(labels: &[(String, String)]) -> Vec<String> {
    let escaped = |value: &str| value.replace('\\', r"\\").replace('"', "\\\"").replace('\n', r"\n");
    labels.iter().map(|(name, value)| format!("{name}=\"{}\"", escaped(value))).collect()
}
