//! From a template and values to the text of a graph.

use minijinja::syntax::SyntaxConfig;
use minijinja::{context, AutoEscape, Environment, Error, ErrorKind, UndefinedBehavior, Value};

use crate::shipped::PARTS;
use crate::values;
use crate::{Function, Package};

/// Most steps of a template: about a second's work, in which the daemon answers nobody. A firewall of 10,000 rules takes far less.
const MAX_STEPS: u64 = 30_000_000;

/// Where an instance runs: what stands for its ports in the graph.
pub trait Placement: Send + Sync + 'static {
    /// What packets that enter port `idx`, called `name`, come from.
    fn from(&self, idx: usize, name: &str) -> String;
    /// What packets that leave by port `idx`, called `name`, go to.
    fn to(&self, idx: usize, name: &str) -> String;
}

/// A graph between the interfaces of a stage, which are called like the ports.
pub struct Interfaces;

impl Placement for Interfaces {
    fn from(&self, _idx: usize, name: &str) -> String {
        format!("FromInterface({name})")
    }

    fn to(&self, _idx: usize, name: &str) -> String {
        format!("ToInterface({name})")
    }
}

impl Function<'_> {
    /// The text of the graph of an instance: `data` is its entry, `ports` are the names of its ports.
    pub fn render(
        &self,
        data: &serde_json::Value,
        ports: &[String],
        placement: impl Placement,
    ) -> Result<String, String> {
        self.try_render(data, ports, placement).map_err(Rendering::told)
    }

    /// As [`Function::render`]: what goes wrong is told apart.
    pub fn try_render(
        &self,
        data: &serde_json::Value,
        ports: &[String],
        placement: impl Placement,
    ) -> Result<String, Rendering> {
        let failed = |error: Error| template_error(self.name(), &error);
        let mut env = environment(self.package).map_err(failed)?;
        let known: Vec<String> = ports.to_vec();
        let idx_of = move |name: &str| {
            known.iter().position(|known| known == name).ok_or_else(|| {
                let message = format!("there is no port `{name}`; there are: {}", known.join(", "));
                Error::new(ErrorKind::InvalidOperation, message)
            })
        };
        let placement = std::sync::Arc::new(placement);
        let (idx_from, placed) = (idx_of.clone(), placement.clone());
        env.add_function("from", move |name: &str| idx_from(name).map(|idx| placed.from(idx, name)));
        env.add_function("to", move |name: &str| idx_of(name).map(|idx| placement.to(idx, name)));
        let values = values::of_instance(self.node, data);
        let ports = Value::from_iter(ports.iter().map(String::as_str));
        let template = env.get_template(&file_name(self.name())).map_err(failed)?;
        template.render(context! { ports, ..values }).map_err(failed)
    }
}

/// Why there is no graph.
pub enum Rendering {
    /// The template gives up on purpose: values do not go together, or more are needed.
    Raised(String),
    /// The template is wrong.
    Wrong(String),
}

impl Rendering {
    fn told(self) -> String {
        let (Rendering::Raised(told) | Rendering::Wrong(told)) = self;
        told
    }
}

/// Checks the syntax of a package's templates.
pub fn check_syntax(package: &Package) -> Result<(), String> {
    environment(package).map(drop).map_err(|error| template_error(&package.name, &error).told())
}

/// The templates of a package and those that it may include.
fn environment(package: &Package) -> Result<Environment<'_>, Error> {
    let mut env = Environment::new();
    env.set_auto_escape_callback(|_| AutoEscape::None);
    env.set_undefined_behavior(UndefinedBehavior::Strict);
    let syntax =
        SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).keep_trailing_newline(true).build();
    env.set_syntax(syntax.expect("only white space differs from the usual syntax"));
    env.set_fuel(Some(MAX_STEPS));
    values::add_filters(&mut env);
    for (name, text) in PARTS {
        env.add_template(name, text)?;
    }
    for (name, text) in &package.parts {
        env.add_template(name, text)?;
    }
    env.add_template_owned(file_name(&package.name), package.template.as_str())?;
    Ok(env)
}

/// The file of a function's template.
fn file_name(function: &str) -> String {
    format!("{function}.click")
}

/// What is told of a function's template that gives up: what it says itself if it does so on purpose, else where it is wrong.
fn template_error(function: &str, error: &Error) -> Rendering {
    let mut causes = std::iter::successors(Some(error as &dyn std::error::Error), |error| error.source());
    if let Some(raised) = causes.find_map(|cause| {
        let cause = cause.downcast_ref::<Error>()?;
        cause.detail()?.strip_prefix(values::RAISED).map(str::to_string)
    }) {
        return Rendering::Raised(raised);
    }
    let place = match (error.name(), error.line()) {
        (Some(name), Some(line)) => format!("{name}:{line}: "),
        _ => format!("{}: ", file_name(function)),
    };
    let detail = match error.kind() {
        ErrorKind::OutOfFuel => {
            format!("the template takes more than {MAX_STEPS} steps; look at the loops around this line")
        }
        kind => error.detail().map_or_else(|| kind.to_string(), str::to_string),
    };
    Rendering::Wrong(format!("{place}{detail}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Placement;
    use crate::{Functions, Package};

    struct Numbered;

    impl Placement for Numbered {
        fn from(&self, idx: usize, _name: &str) -> String {
            format!("input[{idx}]")
        }

        fn to(&self, idx: usize, _name: &str) -> String {
            format!("[{idx}] output")
        }
    }

    fn render(template: &str, data: serde_json::Value) -> String {
        let schema = "module f { yang-version 1.1; namespace 'urn:f'; prefix f; import weir { prefix weir; } \
            list f { key name; weir:port left; uses weir:instance; leaf a-b { type uint8; default 3; } leaf c { type string; } \
              leaf-list d { type string; } list e { key k; leaf k { type string; } } container g { leaf h { type boolean; } } } }";
        let functions = Functions::new(vec![Package::of_texts("f", schema, template).into()]).unwrap();
        let function = functions.get("f").unwrap();
        function.render(&data, &["left".to_string()], Numbered).unwrap_or_else(|error| error)
    }

    #[test]
    fn values_are_those_of_the_schema() {
        let all =
            "{{ a_b }} {{ c }} {{ d }} {{ e }} {{ g.h }} {{ ports }} {{ from('left') }} {{ to('left') }}";
        assert_eq!(render(all, json!({ "name": "x" })), "3 None [] [] None ['left'] input[0] [0] output");
        let data =
            json!({ "name": "x", "a-b": 4, "c": "t", "d": ["u"], "e": [{ "k": "v" }], "g": { "h": true } });
        assert_eq!(render(all, data), "4 t ['u'] [{'k': 'v'}] True ['left'] input[0] [0] output");
    }

    #[test]
    fn errors_say_where_and_what() {
        assert_eq!(render("a\n{{ nothing }}", json!({ "name": "x" })), "f.click:2: undefined value");
        assert_eq!(
            render("{{ from('up') }}", json!({ "name": "x" })),
            "f.click:1: there is no port `up`; there are: left"
        );
        assert_eq!(
            render("{% if c is none %}{{ raise('give c') }}{% endif %}", json!({ "name": "x" })),
            "give c"
        );
        assert_eq!(
            render("{% for %}", json!({ "name": "x" })),
            "f.click:1: unexpected end of block, expected in"
        );
        assert_eq!(
            render("{{ '10.0.0.1/24' | network }} {{ '10.0.0.1/24' | last_address }}", json!({})),
            "10.0.0.0/24 10.0.0.255"
        );
        assert_eq!(render("{{ 'x y)' | quoted }}", json!({})), "\"x y)\"");
    }

    #[test]
    fn loops_that_hardly_end_are_given_up() {
        let endless = "{% for i in range(9999) %}\n{% for j in range(9999) %}{% for k in range(9999) %}{% endfor %}{% endfor %}{% endfor %}";
        assert_eq!(
            render(endless, json!({ "name": "x" })),
            "f.click:2: the template takes more than 30000000 steps; look at the loops around this line"
        );
        let functions = Functions::shipped_one("firewall").unwrap();
        let rule = |id| json!({ "id": id, "action": "deny", "match": "tcp" });
        let rules: Vec<serde_json::Value> = (1..=10_000).map(rule).collect();
        let data = json!({ "name": "x", "rule": rules, "count-rules": true });
        let ports = ["left", "right"].map(str::to_string);
        let rendered = functions.get("firewall").unwrap().render(&data, &ports, Numbered);
        assert!(rendered.is_ok(), "{rendered:?}");
    }

    #[test]
    fn a_package_is_added_only_if_its_template_can_be_read() {
        let schema =
            "module f { yang-version 1.1; namespace 'urn:f'; prefix f; import weir { prefix weir; } \
            list f { key name; weir:port left; uses weir:instance; } }";
        let added = |template: &str| {
            let functions = Functions::new(Vec::new()).unwrap();
            functions.with(Package::of_texts("f", schema, template)).err().unwrap_or_default()
        };
        assert_eq!(added("{{ from('left') }} -> {{ foo( }}"), "f.click:1: unexpected `}`");
        assert_eq!(added("{{ nothing }}"), "");
    }

    #[test]
    fn filters_know_addresses_times_and_rates() {
        for (template, told) in [
            ("{{ '10.0.0.1' | ethernet_of_address | ethernet }}", "02:00:0A:00:00:01"),
            ("{{ '2:0:0:0:0:1' | ethernet }}", "02:00:00:00:00:01"),
            ("{{ 'br0' | ethernet_of_name | ethernet }}", "02:19:13:6F:7B:9F"),
            ("{{ 'x' | ethernet }}", "f.click:1: `x` is no Ethernet address"),
            ("{{ ['a', 'b', 'b'] | twice }} {{ [] | twice }}", "b None"),
            (
                "{{ [{'prefix': 'default', 'a': 1}, {'prefix': '10.0.0.0/8', 'a': 2}, {'prefix': '0.0.0.0/0', 'a': 3}] \
                 | by_network | map('first') }}",
                "['0.0.0.0/0', '10.0.0.0/8']",
            ),
            ("{{ 'eth1_a.2-b' | identifier }}", "eth1__a_2e_2_2d_b"),
            ("{{ '1.5ms' | nanoseconds }} {{ '1.5ms' | seconds }}", "1500000 0.0015"),
            ("{{ '1%' | probability }}", "0.010000000"),
            (
                "{{ '2' | probability }}",
                "f.click:1: expected a probability such as 1% or 0.01, at most 100% or 1",
            ),
            ("{{ ('8Mbps' | rate).number }} {{ ('2kpps' | rate).is_packets }}", "1000000 True"),
            ("{{ ('5ms' | burst).ms }} {{ ('64k' | burst).number }}", "5 64000"),
        ] {
            assert_eq!(render(template, json!({ "name": "x" })), told, "{template}");
        }
    }
}
