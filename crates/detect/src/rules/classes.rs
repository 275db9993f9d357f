//! Classes of rules, with their priorities.

use std::collections::HashMap;

use super::text::Mistake;

/// The classes that Snort's and Suricata's public rules use, and their priorities.
const STOCK: &[(&str, &str, u8)] = &[
    ("not-suspicious", "Not Suspicious Traffic", 3),
    ("unknown", "Unknown Traffic", 3),
    ("bad-unknown", "Potentially Bad Traffic", 2),
    ("attempted-recon", "Attempted Information Leak", 2),
    ("successful-recon-limited", "Information Leak", 2),
    ("successful-recon-largescale", "Large Scale Information Leak", 2),
    ("attempted-dos", "Attempted Denial of Service", 2),
    ("successful-dos", "Denial of Service", 2),
    ("attempted-user", "Attempted User Privilege Gain", 1),
    ("unsuccessful-user", "Unsuccessful User Privilege Gain", 1),
    ("successful-user", "Successful User Privilege Gain", 1),
    ("attempted-admin", "Attempted Administrator Privilege Gain", 1),
    ("successful-admin", "Successful Administrator Privilege Gain", 1),
    ("rpc-portmap-decode", "Decode of an RPC Query", 2),
    ("shellcode-detect", "Executable code was detected", 1),
    ("string-detect", "A suspicious string was detected", 3),
    ("suspicious-filename-detect", "A suspicious filename was detected", 2),
    ("suspicious-login", "An attempted login using a suspicious username was detected", 2),
    ("system-call-detect", "A system call was detected", 2),
    ("tcp-connection", "A TCP connection was detected", 4),
    ("trojan-activity", "A Network Trojan was detected", 1),
    ("unusual-client-port-connection", "A client was using an unusual port", 2),
    ("network-scan", "Detection of a Network Scan", 3),
    ("denial-of-service", "Detection of a Denial of Service Attack", 2),
    ("non-standard-protocol", "Detection of a non-standard protocol or event", 2),
    ("protocol-command-decode", "Generic Protocol Command Decode", 3),
    ("web-application-activity", "access to a potentially vulnerable web application", 2),
    ("web-application-attack", "Web Application Attack", 1),
    ("misc-activity", "Misc activity", 3),
    ("misc-attack", "Misc Attack", 2),
    ("icmp-event", "Generic ICMP event", 3),
    ("inappropriate-content", "Inappropriate Content was Detected", 1),
    ("policy-violation", "Potential Corporate Privacy Violation", 1),
    ("default-login-attempt", "Attempt to login by a default username and password", 2),
    ("sdf", "Sensitive Data", 2),
    ("file-format", "Known malicious file or file based exploit", 1),
    ("malware-cnc", "Known malware command and control traffic", 1),
    ("client-side-exploit", "Known client side exploit attempt", 1),
    ("targeted-activity", "Targeted Malicious Activity was Detected", 1),
    ("exploit-kit", "Exploit Kit Activity Detected", 1),
    ("external-ip-check", "Device Retrieving External IP Address Detected", 2),
    ("domain-c2", "Domain Observed Used for C2 Detected", 1),
    ("pup-activity", "Possibly Unwanted Program Detected", 2),
    ("credential-theft", "Successful Credential Theft Detected", 1),
    ("social-engineering", "Possible Social Engineering Attempted", 2),
    ("coin-mining", "Crypto Currency Mining Activity Detected", 2),
    ("command-and-control", "Malware Command and Control Activity Detected", 1),
];

/// What classes are called, and their priorities.
#[derive(Debug)]
pub struct Classes(HashMap<String, (String, u8)>);

impl Default for Classes {
    fn default() -> Classes {
        let stock =
            STOCK.iter().map(|(name, text, priority)| (name.to_string(), (text.to_string(), *priority)));
        Classes(stock.collect())
    }
}

impl Classes {
    /// A class's description and priority.
    pub fn get(&self, name: &str) -> Option<(&str, u8)> {
        self.0.get(name).map(|(text, priority)| (text.as_str(), *priority))
    }

    /// Adds `NAME,DESCRIPTION,PRIORITY`.
    pub fn define(&mut self, text: &str) -> Result<(), Mistake> {
        let wrong = || {
            Mistake::new(
                "a class has a name, a description and a priority",
                "write `NAME,DESCRIPTION,PRIORITY`",
            )
        };
        let (name, rest) = text.split_once(',').ok_or_else(wrong)?;
        let (description, priority) = rest.rsplit_once(',').ok_or_else(wrong)?;
        let priority = priority.trim().parse().map_err(|_| wrong())?;
        self.0.insert(name.trim().to_string(), (description.trim().to_string(), priority));
        Ok(())
    }
}
