//! What can go wrong with a request, as RFC 8040, section 7, tells it.

use serde_json::{json, Value};
use yang::Problem;

/// Why a request was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The status of the answer.
    pub status: u16,
    /// The kind of error (`error-tag`, RFC 8040, section 7).
    pub tag: &'static str,
    /// One sentence, and what to do.
    pub message: String,
    /// The node that it is about.
    pub path: Option<String>,
    /// The schema's own name for it.
    pub app_tag: Option<String>,
}

impl Fault {
    fn new(status: u16, tag: &'static str, message: impl Into<String>) -> Fault {
        Fault { status, tag, message: message.into(), path: None, app_tag: None }
    }

    /// A request that cannot be understood.
    pub fn malformed(message: impl Into<String>) -> Fault {
        Fault::new(400, "malformed-message", message)
    }

    /// A value that cannot be.
    pub fn invalid(message: impl Into<String>) -> Fault {
        Fault::new(400, "invalid-value", message)
    }

    /// A node that no schema has.
    pub fn unknown(message: impl Into<String>) -> Fault {
        Fault::new(400, "unknown-element", message)
    }

    /// A resource that is not there.
    pub fn missing(message: impl Into<String>) -> Fault {
        Fault::new(404, "invalid-value", message)
    }

    /// Data to be changed or deleted that is not there.
    pub fn data_missing(message: impl Into<String>) -> Fault {
        Fault::new(409, "data-missing", message)
    }

    /// Data to be created that is there already.
    pub fn data_exists(message: impl Into<String>) -> Fault {
        Fault::new(409, "data-exists", message)
    }

    /// A method that a resource does not have.
    pub fn not_allowed(message: impl Into<String>) -> Fault {
        Fault::new(405, "operation-not-supported", message)
    }

    /// An answer in no form that is accepted.
    pub fn not_acceptable(message: impl Into<String>) -> Fault {
        Fault::new(406, "invalid-value", message)
    }

    /// What somebody may not do.
    pub fn denied(message: impl Into<String>) -> Fault {
        Fault::new(403, "access-denied", message)
    }

    /// A resource that somebody else has changed meanwhile.
    pub fn precondition(message: impl Into<String>) -> Fault {
        Fault::new(412, "operation-failed", message)
    }

    /// A body of a type that is not understood.
    pub fn media_type(message: impl Into<String>) -> Fault {
        Fault::new(415, "invalid-value", message)
    }

    /// A body that is too large.
    pub fn too_big(message: impl Into<String>) -> Fault {
        Fault::new(413, "too-big", message)
    }

    /// A configuration that is right by its schema, but that cannot be a graph.
    pub fn refused(message: impl Into<String>) -> Fault {
        Fault::new(409, "operation-failed", message)
    }

    /// Something that is used by somebody else now.
    pub fn in_use(message: impl Into<String>) -> Fault {
        Fault::new(409, "in-use", message)
    }

    /// The machine does not do what it should.
    pub fn broken(message: impl Into<String>) -> Fault {
        Fault::new(500, "operation-failed", message)
    }

    /// With the node that it is about.
    pub fn at(self, path: impl Into<String>) -> Fault {
        Fault { path: Some(path.into()), ..self }
    }

    /// The error as the element `error` of RFC 8040.
    pub fn to_json(&self) -> Value {
        let kind = if self.status == 400 && self.tag == "malformed-message" { "rpc" } else { "application" };
        let mut error = json!({ "error-type": kind, "error-tag": self.tag });
        if let Some(app_tag) = &self.app_tag {
            error["error-app-tag"] = app_tag.as_str().into();
        }
        if let Some(path) = &self.path {
            error["error-path"] = path.as_str().into();
        }
        error["error-message"] = self.message.as_str().into();
        error
    }

    /// The body of an answer that tells of it.
    pub fn body(&self) -> Value {
        json!({ "ietf-restconf:errors": { "error": [self.to_json()] } })
    }
}

impl From<Problem> for Fault {
    fn from(problem: Problem) -> Fault {
        let tag =
            if problem.message.starts_with("Mandatory node") { "missing-element" } else { "invalid-value" };
        let Problem { message, path, app_tag } = problem;
        Fault { status: 400, tag, message, path, app_tag }
    }
}
