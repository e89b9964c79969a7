//! Probe of a link whose address names no file: a request to its server, without the file.

use atelier_language::tr;
use reqwest::header::{self, HeaderMap};

use super::failure::{Cause, Failure};
use super::job::Source;
use super::web::{NoAnswer, Web};
use crate::link_text::{name_in, unescaped};

/// Name of the file at an address.
pub(super) async fn probe(web: &Web, url: &str) -> Result<String, Failure> {
    let failure = |sentence: String, hint: &str, cause| Failure::new(cause, sentence, hint);
    let copy = tr!("downloads-copy-the-address-of");
    let address = web.address(&Source::Url(url.into())).map_err(|sentence| failure(sentence, copy, Cause::Job))?;
    let host = address.host_str().unwrap_or(tr!("downloads-the-server")).to_owned();
    let answer = web.get(&address, None).await.map_err(|error| {
        let hint = match error {
            NoAnswer::Untrusted => tr!("downloads-check-the-date-of"),
            NoAnswer::QueuedJob(_) | NoAnswer::Nonsense(_) => tr!("downloads-check-the-connection-and-try-again"),
        };
        failure(tr!("downloads-could-not-be-asked", host, error), hint, Cause::Unreachable)
    })?;
    if !answer.response.status().is_success() {
        return Err(web.refusal(&answer, tr!("downloads-what-this-link-leads"), None, None, false).0);
    }
    let headers = answer.response.headers();
    if is_page(headers) {
        return Err(failure(tr!("downloads-this-link-leads-to-a-web").into(), copy, Cause::Job));
    }
    // The body is not read: the connection ends with the answer.
    let name = told_name(headers).or_else(|| name_in(answer.response.url().as_str())).filter(|name| !name.is_empty());
    name.ok_or_else(|| failure(tr!("downloads-this-link-leads-to").into(), copy, Cause::Job))
}

/// True if a page was sent: what a server shows to who must sign in first, in the place of a file.
pub(super) fn is_page(headers: &HeaderMap) -> bool {
    headers.get(header::CONTENT_TYPE).is_some_and(|it| it.as_bytes().to_ascii_lowercase().starts_with(b"text/html"))
}

/// The name in `Content-Disposition` (RFC 6266): the one in UTF-8 before the plain one, without
/// folders.
fn told_name(headers: &HeaderMap) -> Option<String> {
    let value = headers.get(header::CONTENT_DISPOSITION)?;
    let value = std::str::from_utf8(value.as_bytes()).ok()?;
    let (mut plain, mut utf8) = (None, None);
    for (key, text) in parameters(value) {
        match key.to_ascii_lowercase().as_str() {
            "filename" => plain = plain.or(Some(text)),
            "filename*" => {
                let (encoding, rest) = text.split_once('\'')?;
                let (_, encoded) = rest.split_once('\'')?;
                if encoding.eq_ignore_ascii_case("utf-8") {
                    utf8 = utf8.or_else(|| unescaped(encoded));
                }
            }
            _ => {}
        }
    }
    let name = utf8.or(plain)?;
    let last = name.rsplit(['/', '\\']).next()?.trim();
    (!last.is_empty()).then(|| last.to_owned())
}

/// The `key=value` parts of a header after its first word; values may stand in quotes, with `\`
/// before a quote in them.
fn parameters(value: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut rest = value.split_once(';').map_or("", |it| it.1);
    while let Some((key, after)) = rest.split_once('=') {
        let after = after.trim_start();
        let (mut text, mut end) = (String::new(), after.len());
        if let Some(quoted) = after.strip_prefix('"') {
            let mut escaped = false;
            for (at, c) in quoted.char_indices() {
                if c == '"' && !escaped {
                    end = at + 2;
                    break;
                }
                escaped = c == '\\' && !escaped;
                if !escaped {
                    text.push(c);
                }
            }
        } else {
            end = after.find(';').unwrap_or(after.len());
            text.push_str(after.get(..end).unwrap_or_default().trim());
        }
        found.push((key.trim().to_owned(), text));
        rest = after.get(end..).unwrap_or_default().split_once(';').map_or("", |it| it.1);
    }
    found
}

#[cfg(test)]
mod tests {
    use reqwest::header::HeaderValue;

    use super::*;

    #[test]
    fn the_name_that_a_server_tells_is_read_in_every_form_and_stays_a_name() {
        let name = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(header::CONTENT_DISPOSITION, HeaderValue::from_bytes(value.as_bytes()).unwrap());
            told_name(&headers)
        };
        for (value, expected) in [
            ("attachment; filename=a.gguf", Some("a.gguf")),
            ("attachment; filename=\"dream shaper; 8.safetensors\"; size=5", Some("dream shaper; 8.safetensors")),
            ("attachment; filename=\"say \\\"a\\\".gguf\"", Some("say \"a\".gguf")),
            ("attachment; filename=\"x.gguf\"; filename*=UTF-8''%e7%be%8e.gguf", Some("美.gguf")),
            ("attachment; filename=\"../../etc/x.gguf\"", Some("x.gguf")),
            ("attachment; filename=\"C:\\\\x\\\\y.gguf\"", Some("y.gguf")),
            ("attachment", None),
            ("attachment; filename=\"\"", None),
            ("attachment; filename=\"open", Some("open")),
            ("attachment; filename*=broken", None),
        ] {
            assert_eq!(name(value).as_deref(), expected, "{value}");
        }
    }
}
