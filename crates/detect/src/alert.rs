//! Alerts as Suricata writes them: EVE, a JSON object a line.

use std::io::Write;
use std::net::IpAddr;

use base64::display::Base64Display;
use base64::engine::general_purpose::STANDARD;
use serde::Serialize;

use crate::detector::Outcome;
use crate::packet::View;
use crate::rules::address::address;
use crate::rules::{Action, Rule};

const SECOND_NS: i64 = 1_000_000_000;
const DAY_S: i64 = 86_400;

/// How alerts are written.
#[derive(Clone, Debug, Default)]
pub struct Style {
    /// `in_iface`, if it is to be there.
    pub interface: Option<String>,
    /// Whether the packet's payload is written.
    pub has_payload: bool,
}

#[derive(Serialize)]
struct Event<'a> {
    timestamp: String,
    flow_id: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    in_iface: Option<&'a str>,
    event_type: &'static str,
    src_ip: IpAddr,
    #[serde(skip_serializing_if = "Option::is_none")]
    src_port: Option<u16>,
    dest_ip: IpAddr,
    #[serde(skip_serializing_if = "Option::is_none")]
    dest_port: Option<u16>,
    proto: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    icmp_type: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    icmp_code: Option<u8>,
    direction: &'static str,
    alert: Alert<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payload_printable: Option<String>,
}

#[derive(Serialize)]
struct Alert<'a> {
    action: &'static str,
    gid: u32,
    signature_id: u32,
    rev: u32,
    signature: &'a str,
    category: &'a str,
    severity: u8,
}

/// Appends the line that tells of a rule's match.
pub fn write(
    lines: &mut Vec<u8>,
    style: &Style,
    rule: &Rule,
    outcome: &Outcome<'_>,
    is_blocked: bool,
    now_ns: i64,
) {
    let view = &outcome.view;
    let has_ports = matches!(view.transport, wire::protocol::TCP | wire::protocol::UDP);
    let event = Event {
        timestamp: timestamp(now_ns),
        flow_id: outcome.flow,
        in_iface: style.interface.as_deref(),
        event_type: if rule.action == Action::Log { "log" } else { "alert" },
        src_ip: address(view.source),
        src_port: has_ports.then_some(view.source_port),
        dest_ip: address(view.destination),
        dest_port: has_ports.then_some(view.destination_port),
        proto: protocol(view),
        icmp_type: view.icmp.map(|icmp| icmp.kind),
        icmp_code: view.icmp.map(|icmp| icmp.code),
        direction: if outcome.to_server { "to_server" } else { "to_client" },
        alert: Alert {
            action: if is_blocked { "blocked" } else { "allowed" },
            gid: rule.gid,
            signature_id: rule.sid,
            rev: rule.rev,
            signature: &rule.message,
            category: &rule.category,
            severity: rule.priority,
        },
        payload: style.has_payload.then(|| Base64Display::new(view.payload, &STANDARD).to_string()),
        payload_printable: style.has_payload.then(|| printable(view.payload)),
    };
    // Writing to memory cannot fail, nor can a structure of texts and numbers.
    let _ = serde_json::to_writer(&mut *lines, &event);
    let _ = lines.write_all(b"\n");
}

fn protocol(view: &View<'_>) -> String {
    match view.protocol {
        wire::protocol::TCP => "TCP".to_string(),
        wire::protocol::UDP => "UDP".to_string(),
        wire::protocol::ICMP => "ICMP".to_string(),
        wire::protocol::ICMPV6 => "IPv6-ICMP".to_string(),
        number => number.to_string(),
    }
}

/// The bytes that print, and dots for the others.
fn printable(bytes: &[u8]) -> String {
    let is_shown = |byte: u8| byte.is_ascii_graphic() || matches!(byte, b' ' | b'\r' | b'\n');
    bytes.iter().map(|byte| if is_shown(*byte) { char::from(*byte) } else { '.' }).collect()
}

/// A time in UTC, such as `2026-11-22T01:49:32.123456+0000`.
fn timestamp(ns: i64) -> String {
    let (seconds, below) = (ns.div_euclid(SECOND_NS), ns.rem_euclid(SECOND_NS));
    let (days, second) = (seconds.div_euclid(DAY_S), seconds.rem_euclid(DAY_S));
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:06}+0000", below / 1000)
}

/// The date of a day counted from 1970-01-01, in the Gregorian calendar: years begin in March, so that the day that leap
/// years add comes last.
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let of_month = day - (153 * month + 2) / 5 + 1;
    let (month, later) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + later, month, of_month)
}

#[cfg(test)]
mod tests {
    use super::timestamp;

    #[test]
    fn times_are_those_of_the_calendar() {
        assert_eq!(timestamp(0), "1970-01-01T00:00:00.000000+0000");
        assert_eq!(timestamp(951_782_399_999_999_000), "2000-02-28T23:59:59.999999+0000");
        assert_eq!(timestamp(951_782_400_000_000_999), "2000-02-29T00:00:00.000000+0000");
        assert_eq!(timestamp(4_107_542_400_000_001_000), "2100-03-01T00:00:00.000001+0000");
        assert_eq!(timestamp(-1_000), "1969-12-31T23:59:59.999999+0000");
    }
}
