//! Messages of JSON-RPC.

use serde_json::{Value, json};

/// The codes of JSON-RPC.
const NO_JSON: i64 = -32700;
pub(super) const NO_REQUEST: i64 = -32600;
pub(super) const NO_METHOD: i64 = -32601;
pub(super) const WRONG_PARAMETERS: i64 = -32602;

/// Why a request has no result.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RpcError {
    code: i64,
    message: String,
}

impl RpcError {
    pub(super) fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }
}

/// A message of a client.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Message {
    Request {
        id: Value,
        method: String,
        params: Value,
    },
    Notification {
        method: String,
        params: Value,
    },
    /// An answer to something that was never asked.
    Answer,
    Faulty(RpcError),
}

pub(super) fn read(bytes: &[u8]) -> Message {
    // What serde says quotes the message, which may hold a prompt.
    let Ok(value) = serde_json::from_slice::<Value>(bytes) else { return Message::Faulty(RpcError::new(NO_JSON, "This is not JSON.")) };
    let Value::Object(mut map) = value else { return Message::Faulty(RpcError::new(NO_REQUEST, "This is not one message.")) };
    let params = map.remove("params").unwrap_or_default();
    match (map.remove("id"), map.remove("method")) {
        (Some(id @ (Value::String(_) | Value::Number(_))), Some(Value::String(method))) => Message::Request { id, method, params },
        (None, Some(Value::String(method))) => Message::Notification { method, params },
        (Some(_), None) if map.contains_key("result") || map.contains_key("error") => Message::Answer,
        _ => Message::Faulty(RpcError::new(NO_REQUEST, "This is not a request.")),
    }
}

pub(super) fn reply(id: &Value, result: Result<Value, RpcError>) -> Value {
    match result {
        Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
        Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": {"code": error.code, "message": error.message}}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_told_apart_and_faulty_ones_are_refused_without_being_repeated() {
        let request = read(br#"{"jsonrpc": "2.0", "id": 1, "method": "ping"}"#);
        assert_eq!(request, Message::Request { id: json!(1), method: "ping".into(), params: Value::Null });
        assert!(matches!(read(br#"{"method": "notifications/initialized"}"#), Message::Notification { .. }));
        assert_eq!(read(br#"{"id": "a", "result": {}}"#), Message::Answer);
        for (text, code) in
            [("{secret", NO_JSON), ("[]", NO_REQUEST), (r#"{"id": null, "method": "ping"}"#, NO_REQUEST), ("{}", NO_REQUEST)]
        {
            let Message::Faulty(error) = read(text.as_bytes()) else { panic!("{text}") };
            assert!(error.code == code && !error.message.contains("secret"), "{error:?}");
        }
    }
}
