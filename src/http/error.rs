//! Failures, and the shapes in which each family of clients reads them.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::{Value, json};

use super::json::Json;
use atelier_core::advice::Advice;

/// The clients of a route, who read failures in their own way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// A1111's clients, and everybody who is not named here.
    Sdapi,
    OpenAi,
    /// sd-server's jobs.
    Jobs,
    /// Our own page, and what is ours alone: as A1111's clients read it.
    Own,
}

impl Family {
    /// The clients of this path.
    pub(crate) fn of(path: &str) -> Self {
        if path == "/v1" || path.starts_with("/v1/") {
            Self::OpenAi
        } else if path.starts_with("/sdcpp/") {
            Self::Jobs
        } else if path.starts_with("/atelier/") {
            Self::Own
        } else {
            Self::Sdapi
        }
    }
}

/// A value of a request that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The field, from the outermost on.
    pub(crate) field: Vec<String>,
    pub(crate) sentence: String,
    /// It is one of the query, not of the body.
    pub(crate) is_in_query: bool,
}

impl Fault {
    pub(crate) fn new(field: &str, sentence: impl Into<String>) -> Self {
        Self { field: vec![field.to_owned()], sentence: sentence.into(), is_in_query: false }
    }
}

/// Why a request is not answered as it asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// Values that cannot be used.
    Invalid(Vec<Fault>),
    /// The body cannot be read at all.
    Unreadable(String),
    /// There is nothing at this address.
    NoRoute,
    /// Something with a name is not there: what, and its name.
    NotFound {
        what: &'static str,
        sentence: String,
    },
    Forbidden(String),
    /// It was there.
    Gone(String),
    /// It cannot be done any more.
    Conflict(String),
    TooLarge(String),
    /// The client asks for more than it may at a time; seconds after which it may again.
    Busy {
        sentence: String,
        retry_secs: u64,
    },
    /// The pictures of the client fill the disk space that they may.
    NoSpace(String),
    /// It was cancelled while the client waited.
    Cancelled,
    /// The picture could not be made.
    Failed(Advice),
    /// Nor could this one: a device had no memory left.
    OutOfMemory(Advice),
    Unauthorized(&'static str),
}

impl Failure {
    pub(crate) fn invalid(field: &str, sentence: impl Into<String>) -> Self {
        Self::Invalid(vec![Fault::new(field, sentence)])
    }

    pub(crate) fn not_found(what: &'static str, sentence: impl Into<String>) -> Self {
        Self::NotFound { what, sentence: sentence.into() }
    }

    const fn status(&self, family: Family) -> StatusCode {
        match self {
            Self::Invalid(_) if matches!(family, Family::Sdapi | Family::Own) => StatusCode::UNPROCESSABLE_ENTITY,
            Self::Invalid(_) | Self::Unreadable(_) => StatusCode::BAD_REQUEST,
            Self::NoRoute | Self::NotFound { .. } => StatusCode::NOT_FOUND,
            Self::Forbidden(_) => StatusCode::FORBIDDEN,
            Self::Gone(_) => StatusCode::GONE,
            Self::Conflict(_) => StatusCode::CONFLICT,
            Self::TooLarge(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Self::Busy { .. } => StatusCode::TOO_MANY_REQUESTS,
            // As OpenAI says that nothing is left.
            Self::NoSpace(_) if matches!(family, Family::OpenAi) => StatusCode::TOO_MANY_REQUESTS,
            Self::NoSpace(_) => StatusCode::INSUFFICIENT_STORAGE,
            Self::Cancelled | Self::Failed(_) | Self::OutOfMemory(_) => StatusCode::INTERNAL_SERVER_ERROR,
            Self::Unauthorized(_) => StatusCode::UNAUTHORIZED,
        }
    }

    /// The failure in one sentence or two.
    pub(crate) fn sentence(&self) -> String {
        match self {
            Self::Invalid(faults) => {
                faults.iter().map(|fault| format!("{}: {}", fault.field.join("."), fault.sentence)).collect::<Vec<_>>().join(" ")
            }
            Self::Unreadable(sentence)
            | Self::Forbidden(sentence)
            | Self::Gone(sentence)
            | Self::Conflict(sentence)
            | Self::TooLarge(sentence)
            | Self::NoSpace(sentence)
            | Self::NotFound { sentence, .. }
            | Self::Busy { sentence, .. } => sentence.clone(),
            Self::NoRoute => "There is nothing at this address.".to_owned(),
            Self::Cancelled => "The job was cancelled.".to_owned(),
            Self::Failed(advice) | Self::OutOfMemory(advice) => advice.to_string(),
            Self::Unauthorized(sentence) => (*sentence).to_owned(),
        }
    }

    /// The answer in the words of these clients.
    pub(crate) fn answer(&self, family: Family) -> Response {
        let body = match family {
            Family::Sdapi | Family::Own => self.sdapi(),
            Family::OpenAi => self.openai(),
            Family::Jobs => json!({"error": self.sentence()}),
        };
        let mut response = (self.status(family), Json(body)).into_response();
        let headers = response.headers_mut();
        if family == Family::OpenAi && !matches!(self, Self::Busy { .. }) {
            // The client of OpenAI sends the same request three times otherwise: three pictures.
            headers.insert("x-should-retry", HeaderValue::from_static("false"));
        }
        match self {
            Self::Busy { retry_secs, .. } => {
                headers.insert(header::RETRY_AFTER, HeaderValue::from(*retry_secs));
            }
            Self::Unauthorized(_) => {
                // A browser would ask for a login in place of the page.
                let scheme = if family == Family::Sdapi { "Basic realm=\"Atelier\"" } else { "Bearer realm=\"Atelier\"" };
                headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static(scheme));
            }
            _ => {}
        }
        response
    }

    fn sdapi(&self) -> Value {
        match self {
            Self::Invalid(faults) => {
                let detail = faults.iter().map(|fault| {
                    let part = if fault.is_in_query { "query" } else { "body" };
                    let location: Vec<&str> = std::iter::once(part).chain(fault.field.iter().map(String::as_str)).collect();
                    json!({"loc": location, "msg": fault.sentence, "type": "value_error"})
                });
                json!({"detail": detail.collect::<Vec<_>>()})
            }
            // Clients tell by these words what is missing.
            Self::NotFound { what, .. } => json!({"detail": format!("{what} not found")}),
            Self::NoRoute => json!({"detail": "Not Found"}),
            Self::Unauthorized(sentence) => json!({"detail": sentence}),
            _ => {
                let kind = match self {
                    Self::Unreadable(_) | Self::TooLarge(_) => "Bad request",
                    Self::Forbidden(_) => "Forbidden",
                    Self::Busy { .. } => "Too many requests",
                    Self::NoSpace(_) => "Insufficient storage",
                    Self::Cancelled => "Cancelled",
                    _ => "RuntimeError",
                };
                json!({"error": kind, "detail": self.sentence(), "body": "", "errors": self.sentence()})
            }
        }
    }

    /// The type, parameter and code of OpenAI's form.
    pub(crate) fn openai(&self) -> Value {
        let (kind, code) = match self {
            Self::Invalid(_) | Self::Unreadable(_) | Self::Gone(_) | Self::Conflict(_) => ("invalid_request_error", None),
            Self::TooLarge(_) => ("invalid_request_error", Some("request_too_large")),
            Self::Forbidden(_) => ("permission_error", None),
            Self::NotFound { what: "Model", .. } => ("invalid_request_error", Some("model_not_found")),
            Self::NoRoute | Self::NotFound { .. } => ("invalid_request_error", Some("not_found")),
            Self::Busy { .. } => ("rate_limit_error", Some("rate_limit_exceeded")),
            Self::NoSpace(_) => ("insufficient_quota", Some("insufficient_quota")),
            Self::Cancelled => ("server_error", Some("cancelled")),
            Self::Failed(_) => ("server_error", None),
            Self::OutOfMemory(_) => ("server_error", Some("out_of_memory")),
            Self::Unauthorized(_) => ("authentication_error", Some("invalid_api_key")),
        };
        let parameter = match self {
            Self::Invalid(faults) => faults.first().map(|fault| fault.field.join(".")),
            Self::NotFound { what: "Model", .. } => Some("model".to_owned()),
            _ => None,
        };
        json!({"error": {"message": self.sentence(), "type": kind, "param": parameter, "code": code}})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_has_a_status_in_each_family_and_openai_clients_do_not_try_again() {
        let failures = [
            (Failure::invalid("size", "It is too large."), [422, 400, 400]),
            (Failure::Unreadable("It is no JSON.".into()), [400, 400, 400]),
            (Failure::not_found("Model", "There is no model x."), [404, 404, 404]),
            (Failure::TooLarge("x".into()), [413, 413, 413]),
            (Failure::Busy { sentence: "Wait.".into(), retry_secs: 7 }, [429, 429, 429]),
            (Failure::NoSpace("It is full.".into()), [507, 429, 507]),
            (Failure::Failed(Advice::new("It failed.", "Try again.")), [500, 500, 500]),
            (Failure::OutOfMemory(Advice::new("No memory.", "Close something.")), [500, 500, 500]),
            (Failure::Unauthorized("A token is needed."), [401, 401, 401]),
        ];
        for (failure, statuses) in failures {
            assert_eq!(failure.answer(Family::Own).status().as_u16(), statuses[0], "{failure:?}");
            for (family, status) in [Family::Sdapi, Family::OpenAi, Family::Jobs].into_iter().zip(statuses) {
                let answer = failure.answer(family);
                assert_eq!(answer.status().as_u16(), status, "{failure:?} {family:?}");
                let may_retry = answer.headers().get("x-should-retry").is_none();
                assert_eq!(may_retry, family != Family::OpenAi || matches!(failure, Failure::Busy { .. }), "{failure:?}");
            }
        }
        let scheme_at = |path: &str| {
            let answer = Failure::Unauthorized("A token is needed.").answer(Family::of(path));
            answer.headers()[header::WWW_AUTHENTICATE].to_str().unwrap().split(' ').next().unwrap().to_owned()
        };
        let paths = ["/sdapi/v1/cmd-flags", "/atelier/v1/pairing", "/sdcpp/v1/capabilities", "/v1/models"];
        assert_eq!(paths.map(scheme_at), ["Basic", "Bearer", "Bearer", "Bearer"], "no browser asks for a login on our page");
        assert_eq!(Failure::not_found("Sampler", "x").sdapi(), json!({"detail": "Sampler not found"}));
        let invalid = Failure::invalid("n", "It is too large.");
        assert_eq!(invalid.sdapi()["detail"][0]["loc"], json!(["body", "n"]));
        assert_eq!(invalid.openai()["error"]["param"], "n");
        let error = &Failure::OutOfMemory(Advice::new("No memory.", "Close something.")).openai()["error"];
        assert_eq!((error["code"].as_str(), error["message"].as_str()), (Some("out_of_memory"), Some("No memory. Close something.")));
    }
}
