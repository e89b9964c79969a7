//! Who asks, by the head of a request, and what becomes of it by what is known now.

use std::net::IpAddr;

use axum::http::HeaderMap;
use axum::http::request::Parts;
use axum::http::uri::Authority;

use super::clock::now_secs;
use super::connections::Peer;
use super::gate::Gate;
use super::guard::{Head, Verdict, judge};
use super::identity::Local;

/// The address that a request comes from.
pub(super) fn peer_of(asked: &Parts) -> Option<IpAddr> {
    asked.extensions.get::<Peer>().map(|peer| peer.0.ip())
}

/// The same, and the address of this computer that it asked.
pub(super) fn device_of(asked: &Parts) -> Option<(IpAddr, IpAddr)> {
    let here = asked.extensions.get::<Local>().map(|local| local.0.ip());
    peer_of(asked).zip(here).map(|(peer, here)| (peer.to_canonical(), here.to_canonical()))
}

/// What becomes of a request by what is known now.
pub(super) fn verdict_on(asked: &Parts, gate: &Gate) -> Verdict {
    let text = |name: &str| sole(&asked.headers, name);
    let head = Head {
        method: asked.method.as_str(),
        path: asked.uri.path(),
        host: host_of(asked),
        origin: text("origin"),
        sec_fetch_site: text("sec-fetch-site"),
        sec_fetch_mode: text("sec-fetch-mode"),
        sec_fetch_dest: text("sec-fetch-dest"),
        authorization: text("authorization"),
        cookie: text("cookie"),
        peer: peer_of(asked),
        is_admitted: device_of(asked).is_some_and(|(address, here)| gate.admits(address, here)),
        now_secs: now_secs(),
    };
    judge(&head, &gate.policy.read())
}

/// The text of a header; empty where it is none, or stands there more than once.
pub(super) fn sole<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let mut all = headers.get_all(name).iter();
    let first = all.next()?;
    Some(first.to_str().ok().filter(|_| all.next().is_none()).unwrap_or_default())
}

/// The host that a request names; empty where its target and its header name two.
fn host_of(asked: &Parts) -> Option<&str> {
    let host = sole(&asked.headers, "host")?;
    let target = asked.uri.authority().map_or(host, Authority::as_str);
    Some(if target.eq_ignore_ascii_case(host) { host } else { "" })
}
