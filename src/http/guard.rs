//! Who may ask for what: a pure function of a request's head, before its body is read.
//!
//! A page of a stranger's site that is open in a browser on this computer must reach nothing: its
//! name may be made to lead here (rebinding, so `Host` must be one of ours), and what it sends across
//! origins carries `Origin` or `Sec-Fetch-Site`. From the network a token is always needed. A browser
//! sends the cookie of its pairing whichever page asks, so a cookie counts for what our own page asks
//! and for what is only looked at.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

use super::tokens::{DEVICE, Tokens};
use atelier_gallery::queue::Owner;

/// Longest `Authorization` that is looked at, in bytes.
const MAX_CREDENTIALS: usize = 4096;
/// Links to pictures, whose names cannot be guessed.
const LINKS: &str = "/v1/files/";
/// Who this server is; what it proves, only who has a token can check.
const IDENTITY: &str = "/atelier/v1/identity/";
/// Where the page brings a token, to have it kept by the browser.
pub(super) const PAIRING: &str = "/atelier/v1/pairing";
/// Paths that tell nothing and change nothing here.
const OPEN_PATHS: [&str; 5] = ["/", "/healthz", "/icon.png", "/manifest.webmanifest", PAIRING];
/// The port of a host that names none.
const USUAL_PORT: &str = "80";
/// Time for which a browser keeps a token: as long as browsers allow. The token itself may end before.
const COOKIE_SECS: u32 = 400 * 24 * 60 * 60;

/// The part of a request's head that decides. A header that is no text, or stands there more than
/// once, is empty.
#[derive(Clone, Copy, Debug, Default)]
pub struct Head<'a> {
    pub method: &'a str,
    /// Without the query.
    pub path: &'a str,
    pub host: Option<&'a str>,
    pub origin: Option<&'a str>,
    pub sec_fetch_site: Option<&'a str>,
    pub sec_fetch_mode: Option<&'a str>,
    pub sec_fetch_dest: Option<&'a str>,
    pub authorization: Option<&'a str>,
    pub cookie: Option<&'a str>,
    /// `None` counts as another computer.
    pub peer: Option<IpAddr>,
    /// The person at the machine has let this device in.
    pub is_admitted: bool,
    /// When it came, in seconds since 1970.
    pub now_secs: i64,
}

/// What the server was started with.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    /// Names of this machine beside `localhost` and addresses, in lower case.
    pub hosts: Vec<String>,
    /// Origins of pages elsewhere that may ask, as `https://lite.koboldai.net`.
    pub origins: Vec<String>,
    pub tokens: Tokens,
    /// Programs of this computer need a token too.
    pub requires_token: bool,
}

/// What becomes of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is answered, for this owner; a page of this other origin may read the answer.
    Pass {
        owner: Owner,
        entry: Entry,
        origin: Option<String>,
    },
    /// A browser asks whether a page of this origin may ask.
    Preflight(String),
    /// A program asks whether somebody is there.
    Options,
    Refuse(Refusal),
}

/// By what somebody is let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Nothing is needed, by a program of this computer or for what tells nothing.
    Free,
    /// The token of this name.
    Token(String),
    /// The person at the machine has let this address in.
    Device(IpAddr),
}

/// Why a request is not answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// It names no host, or several.
    NoHost,
    /// It names a host that this machine is not called.
    Host,
    /// It comes from a page of another site.
    Origin,
    /// It brings no token, or a wrong one.
    Token,
}

impl Refusal {
    /// The status of the answer.
    #[must_use]
    pub const fn status(self) -> u16 {
        match self {
            Self::NoHost => 400,
            Self::Host | Self::Origin => 403,
            Self::Token => 401,
        }
    }

    /// The answer, as a sentence and what helps.
    #[must_use]
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::NoHost => "The request needs one Host header.",
            Self::Host => "This host name is not one of this server. Use its IP address, or start the server with --allow-host NAME.",
            Self::Origin => "Pages of other sites may not use this server. To allow one, start the server with --allow-origin ORIGIN.",
            Self::Token => "A token is needed: send it as \"Authorization: Bearer TOKEN\", or as the password of a login.",
        }
    }
}

/// Decides on a request.
#[must_use]
pub fn judge(head: &Head<'_>, policy: &Policy) -> Verdict {
    let Some(host) = head.host.map(str::trim).filter(|host| !host.is_empty()) else { return Verdict::Refuse(Refusal::NoHost) };
    if !is_ours(host, policy) {
        return Verdict::Refuse(Refusal::Host);
    }
    // What is neither is one of another site, or nothing that a browser says.
    let is_across = !matches!(head.sec_fetch_site, None | Some("same-origin" | "none"));
    // A link on another page, or the way back from a login, shows our own page in a tab.
    let is_visit =
        head.method == "GET" && head.sec_fetch_mode == Some("navigate") && matches!(head.sec_fetch_dest, None | Some("document"));
    let mut allowed = None;
    match head.origin {
        Some(origin) if policy.origins.iter().any(|it| it.eq_ignore_ascii_case(origin)) => allowed = Some(origin.to_owned()),
        Some(origin) if !is_own_origin(origin, host) => return Verdict::Refuse(Refusal::Origin),
        Some(_) | None if is_across && !is_visit => return Verdict::Refuse(Refusal::Origin),
        Some(_) | None => {}
    }
    if head.method == "OPTIONS" {
        return allowed.map_or(Verdict::Options, Verdict::Preflight);
    }
    match owner_of(head, host, policy) {
        Some((owner, entry)) => Verdict::Pass { owner, entry, origin: allowed },
        None => Verdict::Refuse(Refusal::Token),
    }
}

fn owner_of(head: &Head<'_>, host: &str, policy: &Policy) -> Option<(Owner, Entry)> {
    let is_local = head.peer.is_some_and(is_loopback);
    let name_of = |given: String| policy.tokens.name_of(&given, head.now_secs);
    let by_cookie = || kept_secret(head, host).filter(|_| takes_cookie(head, host)).and_then(name_of);
    if let Some(named) = secret(head).and_then(name_of).or_else(by_cookie) {
        let owner = match head.peer {
            Some(address) if named.is_shared => Owner::sharing(&named.name, address),
            _ => Owner::named(&named.name),
        };
        return Some((owner, Entry::Token(named.name.clone())));
    }
    if let Some(address) = head.peer.filter(|_| head.is_admitted) {
        return Some((Owner::sharing(DEVICE, address), Entry::Device(address.to_canonical())));
    }
    let is_free = is_local && !policy.requires_token;
    let is_open = OPEN_PATHS.contains(&head.path) || [LINKS, IDENTITY].iter().any(|it| head.path.starts_with(it));
    (is_free || is_open).then(|| (Owner::this_computer(), Entry::Free))
}

/// The secret that a request brings: a bearer token, or the password of a login. SillyTavern always
/// sends a login, also an empty one.
fn secret(head: &Head<'_>) -> Option<String> {
    let (scheme, value) = head.authorization.filter(|it| it.len() <= MAX_CREDENTIALS)?.trim().split_once(' ')?;
    let value = value.trim();
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(value.to_owned());
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let login = String::from_utf8(STANDARD.decode(value).ok()?).ok()?;
    login.split_once(':').map(|(_, password)| password.to_owned())
}

/// The secret that a browser keeps for this host.
fn kept_secret(head: &Head<'_>, host: &str) -> Option<String> {
    let name = cookie_name(host)?;
    let value = head.cookie?.split(';').find_map(|it| it.trim().strip_prefix(name.as_str())?.strip_prefix('='));
    let bytes = URL_SAFE_NO_PAD.decode(value.filter(|it| it.len() <= MAX_CREDENTIALS)?).ok()?;
    String::from_utf8(bytes).ok()
}

/// True where a browser's cookie counts: our own page asks, or something is only looked at. Pages of
/// other servers on the same host have the cookie sent too, for browsers take them for the same site:
/// what changes something must say that it comes from our page.
fn takes_cookie(head: &Head<'_>, host: &str) -> bool {
    match (head.origin, head.sec_fetch_site) {
        (_, Some("same-origin")) => true,
        (Some(origin), None | Some("none")) => is_own_origin(origin, host),
        (None, None | Some("none")) => matches!(head.method, "GET" | "HEAD"),
        (_, Some(_)) => false,
    }
}

/// What makes a browser keep this token for the host that it asked; no script reads it, and no page of
/// another site has it sent.
pub(super) fn cookie(host: &str, token: &str) -> Option<String> {
    // A token may have signs that end a cookie.
    let value = URL_SAFE_NO_PAD.encode(token);
    Some(format!("{}={value}; Path=/; Max-Age={COOKIE_SECS}; HttpOnly; SameSite=Strict", cookie_name(host)?))
}

/// The name of the cookie, which has the port: browsers tell hosts apart by their names alone.
fn cookie_name(host: &str) -> Option<String> {
    Some(format!("atelier-{}", name_and_port(host)?.1))
}

/// True for an address of this computer, in either form.
fn is_loopback(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(it) => it.is_loopback(),
        IpAddr::V6(it) => it.is_loopback() || it.to_ipv4_mapped().is_some_and(|it| it.is_loopback()),
    }
}

/// True where this machine is called so. Rebinding needs a name, so an address is one of ours
/// whatever it is.
fn is_ours(host: &str, policy: &Policy) -> bool {
    let Some((name, _)) = name_and_port(host) else { return false };
    if let Some(address) = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return address.parse::<Ipv6Addr>().is_ok();
    }
    if name.parse::<Ipv4Addr>().is_ok() {
        return true;
    }
    let name = name.to_ascii_lowercase();
    let name = name.strip_suffix('.').unwrap_or(&name);
    !name.is_empty() && (name == "localhost" || policy.hosts.iter().any(|it| it == name))
}

/// The name and the port of a `Host` header; `None` where something else stands behind the colon.
fn name_and_port(host: &str) -> Option<(&str, &str)> {
    match host.rsplit_once(':') {
        // The colon is one of an address.
        Some((_, rest)) if rest.ends_with(']') => Some((host, USUAL_PORT)),
        Some((name, port)) => {
            // As a number it would be read with a sign too.
            let is_port = port.bytes().all(|it| it.is_ascii_digit()) && port.parse::<u16>().is_ok_and(|it| it > 0);
            is_port.then_some((name, port))
        }
        None => Some((host, USUAL_PORT)),
    }
}

/// True where a page of this server asks. There is no TLS here, so its origin is plain HTTP.
fn is_own_origin(origin: &str, host: &str) -> bool {
    origin.strip_prefix("http://").is_some_and(|it| it.eq_ignore_ascii_case(host))
}

#[cfg(test)]
mod tests;
