//! Names of the parts of HTTP.

use super::payload::Part;

/// Options that name a part: Snort's, behind a content, and after `.` Suricata's, before it.
const PARTS: &[(&str, Part)] = &[
    ("http_uri", Part::Uri),
    ("http_raw_uri", Part::Uri),
    ("http_method", Part::Method),
    ("http_header", Part::Header),
    ("http_raw_header", Part::Header),
    ("http_cookie", Part::Cookie),
    ("http_raw_cookie", Part::Cookie),
    ("http_client_body", Part::Body),
    ("http_server_body", Part::Body),
    ("http_stat_code", Part::StatusCode),
    ("http_stat_msg", Part::StatusMessage),
    ("http_user_agent", Part::Field("user-agent")),
    ("http_host", Part::Field("host")),
    ("http_raw_host", Part::Field("host")),
    ("http_content_type", Part::Field("content-type")),
    ("http_referer", Part::Field("referer")),
    ("http_accept", Part::Field("accept")),
    ("http_connection", Part::Field("connection")),
    ("http_request_line", Part::FirstLine),
    ("http.uri", Part::Uri),
    ("http.uri.raw", Part::Uri),
    ("http.method", Part::Method),
    ("http.header", Part::Header),
    ("http.header.raw", Part::Header),
    ("http.cookie", Part::Cookie),
    ("http.request_body", Part::Body),
    ("http.response_body", Part::Body),
    ("http.stat_code", Part::StatusCode),
    ("http.stat_msg", Part::StatusMessage),
    ("http.user_agent", Part::Field("user-agent")),
    ("http.host", Part::Field("host")),
    ("http.host.raw", Part::Field("host")),
    ("http.content_type", Part::Field("content-type")),
    ("http.content_len", Part::Field("content-length")),
    ("http.referer", Part::Field("referer")),
    ("http.accept", Part::Field("accept")),
    ("http.accept_lang", Part::Field("accept-language")),
    ("http.accept_enc", Part::Field("accept-encoding")),
    ("http.connection", Part::Field("connection")),
    ("http.location", Part::Field("location")),
    ("http.server", Part::Field("server")),
    ("http.request_line", Part::FirstLine),
    ("http.response_line", Part::FirstLine),
    ("file_data", Part::Body),
    ("file.data", Part::Body),
    ("pkt_data", Part::All),
];

/// The part that an option names, and whether it is about the content before it rather than those behind.
pub fn part(name: &str) -> Option<(Part, bool)> {
    let (_, part) = PARTS.iter().find(|(known, _)| *known == name)?;
    Some((*part, name.starts_with("http_")))
}
