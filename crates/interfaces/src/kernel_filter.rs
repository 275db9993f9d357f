//! Keeps packets from the host's own IP stack.
//!
//! Each FILTERSPEC is `drop dev DEVNAME`: the kernel is not to handle what arrives on that device, which `FromDevice` and other
//! programs see all the same. The rules are installed with iptables(8) before packets flow, and removed in the end.
//!
//! ```click
//! KernelFilter(drop dev eth0);
//! FromDevice(eth0) -> Discard;
//! ```

use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use args::{Args, Raw, Word};
use element::{Arg, Class, Configure, Ctx, Element, Failed, Phase, Role};

use crate::device::iptables;
use element::output::reason;

/// The class. Rules are installed while the process may.
pub const CLASS: Class = Class::new::<KernelFilter>("KernelFilter", "0/0", "a/a", "x/x")
    .args(ARGS)
    .phase(Phase::PRIVILEGED)
    .role(Role::Single);

const ARGS: &[Arg] = &[
    Arg::keyword(
        "IPTABLES_COMMAND",
        "string",
        "The command to use. Default: /sbin/iptables or /usr/sbin/iptables.",
    ),
    Arg::rest("FILTERSPEC", "filter", "What to keep from the kernel, `drop dev DEVNAME`."),
];

/// What a FILTERSPEC is made of.
const WORDS: &[Arg] = &[
    Arg::required("ACTION", "word", "`drop`."),
    Arg::required("TYPE", "word", "`dev`."),
    Arg::required("ARG", "string", "The device."),
];

/// See the page above.
pub struct KernelFilter {
    command: String,
    devices: Vec<String>,
    /// The devices for which there is a rule.
    hidden: Vec<String>,
}

impl Element for KernelFilter {
    fn configure(conf: &mut Configure<'_>) -> Result<KernelFilter, Failed> {
        let command = conf.args.get_or("IPTABLES_COMMAND", String::new());
        let filters = conf.args.rest();
        conf.proceed()?;
        let devices = filters.iter().map(|text| device(conf, text)).collect::<Result<_, _>>()?;
        Ok(KernelFilter { command, devices, hidden: Vec::new() })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let mut errors = Vec::new();
        for device in &self.devices {
            match change(&self.command, "-A", device) {
                Ok(()) => self.hidden.push(device.clone()),
                Err(message) => errors.push(message),
            }
        }
        let Some(last) = errors.pop() else { return Ok(()) };
        errors.iter().for_each(|message| ctx.tell(message));
        Err(last)
    }

    fn cleanup(&mut self, ctx: &mut Ctx<'_>) {
        while let Some(device) = self.hidden.pop() {
            if let Err(message) = change(&self.command, "-D", &device) {
                ctx.chatter(&message);
            }
        }
    }
}

/// The device of a FILTERSPEC.
fn device(conf: &Configure<'_>, text: &str) -> Result<String, Failed> {
    let mut args = Args::from_words(text, WORDS, conf.scope);
    let Word(action) = args.need("ACTION");
    let Word(ty) = args.need("TYPE");
    let Raw(device) = args.need("ARG");
    args.finish().map_err(|errors| Failed { errors })?;
    if action != "drop" || ty != "dev" || device.is_empty() {
        return Err("arguments must follow 'drop dev DEVNAME'".into());
    }
    Ok(device)
}

/// Adds or removes the rule for a device. What the command prints on standard output is an error.
fn change(command: &str, action: &str, device: &str) -> Result<(), String> {
    let command = match command {
        "" => iptables().ok_or("no 'iptables' executable found")?,
        given => given,
    };
    let line = format!("{command} {action} INPUT -i {} -j DROP", quote(device));
    let output = Command::new("/bin/sh")
        .arg0("sh")
        .args(["-c", &line])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output();
    let output = output.map_err(|error| format!("'{line}': {}", reason(&error)))?;
    match String::from_utf8_lossy(&output.stdout).trim_end_matches('\n') {
        "" => Ok(()),
        told => Err(format!("{line}: {told}")),
    }
}

/// A word of a shell's command line.
fn quote(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "./-_,~".contains(c);
    if text.chars().all(is_plain) {
        return text.to_string();
    }
    format!("'{}'", text.replace('\'', "'\"'\"'"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{check, Scratch};
    use expect_test::expect;

    #[test]
    fn rules_are_installed_and_removed_in_reverse() {
        let scratch = Scratch::new();
        let (program, log) = (scratch.path("iptables"), scratch.path("log"));
        std::fs::write(&program, format!("#!/bin/sh\necho \"$@\" >> {log}\n")).unwrap();
        let command = format!("sh {program}");
        let config = format!("KernelFilter(drop dev eth0, drop dev 'e 1', IPTABLES_COMMAND \"{command}\"); DriverManager(stop)");
        check(&config, expect![[""]]);
        expect![[r#"
            -A INPUT -i eth0 -j DROP
            -A INPUT -i 'e 1' -j DROP
            -D INPUT -i 'e 1' -j DROP
            -D INPUT -i eth0 -j DROP
        "#]]
        .assert_eq(&std::fs::read_to_string(log).unwrap());
    }

    #[test]
    fn what_the_command_prints_is_an_error() {
        check(
            "KernelFilter(drop dev a, drop dev b, IPTABLES_COMMAND echo)",
            expect![[r#"
            config:1: While initializing 'KernelFilter@1 :: KernelFilter':
              echo -A INPUT -i a -j DROP: -A INPUT -i a -j DROP
              echo -A INPUT -i b -j DROP: -A INPUT -i b -j DROP
            Router could not be initialized!
        "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check("KernelFilter(foo); KernelFilter(drop dev a b); KernelFilter(drop device a); KernelFilter(FOO x y)", expect![[r#"
            config:1: While configuring 'KernelFilter@1 :: KernelFilter':
              TYPE: required argument missing
              ARG: required argument missing
            config:1: While configuring 'KernelFilter@2 :: KernelFilter':
              too many arguments
            config:1: While configuring 'KernelFilter@3 :: KernelFilter':
              arguments must follow 'drop dev DEVNAME'
            config:1: While configuring 'KernelFilter@4 :: KernelFilter':
              arguments must follow 'drop dev DEVNAME'
            Router could not be initialized!
        "#]]);
    }

    #[test]
    fn words_are_quoted_for_the_shell_where_needed() {
        assert_eq!([quote("eth0.5"), quote("a b"), quote("a'b")], ["eth0.5", "'a b'", "'a'\"'\"'b'"]);
    }
}
