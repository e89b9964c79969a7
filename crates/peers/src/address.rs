//! The address of a studio, as a person types it, pastes it or keeps it. Pure.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use reqwest::Url;

use crate::StudioError;

/// The port that clients of such servers expect: A1111's.
pub const DEFAULT_PORT: u16 = 7860;
/// Longest address or link that is read, in bytes.
const MAX_LINK: usize = 2048;
/// Longest token, in bytes.
const MAX_TOKEN: usize = 512;
/// What stands before the token in a person's link; behind `#` it reaches no server.
const TOKEN_MARK: &str = "t=";

/// Scheme, host and port of a studio.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudioAddress(Url);

impl StudioAddress {
    /// The address of one that was found.
    #[must_use]
    pub fn of(address: SocketAddr) -> Option<Self> {
        Url::parse(&format!("http://{address}")).ok().map(Self)
    }

    /// Its host, as it is shown.
    #[must_use]
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// Its address and port, where its host is an address.
    pub(crate) fn socket(&self) -> Option<SocketAddr> {
        let ip = self.host().trim_start_matches('[').trim_end_matches(']').parse().ok()?;
        Some(SocketAddr::new(ip, self.0.port_or_known_default()?))
    }

    /// True without TLS.
    pub(crate) fn is_plain(&self) -> bool {
        self.0.scheme() == "http"
    }

    /// The address of one of its routes; each word becomes one part of the path.
    pub(crate) fn route(&self, parts: &[&str]) -> Url {
        let mut url = self.0.clone();
        // An address with a host always has a path.
        if let Ok(mut path) = url.path_segments_mut() {
            path.clear().extend(parts);
        }
        url
    }
}

impl fmt::Display for StudioAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str().trim_end_matches('/'))
    }
}

impl FromStr for StudioAddress {
    type Err = StudioError;

    fn from_str(text: &str) -> Result<Self, StudioError> {
        Ok(text.parse::<StudioLink>()?.address)
    }
}

/// The secret by which a studio knows a person. It is never shown: not by `Debug`, not in errors.
#[derive(Clone, PartialEq, Eq)]
pub struct AccessToken(String);

impl AccessToken {
    /// A token as a person pasted it; `None` where it cannot be one.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_token = !text.is_empty() && text.len() <= MAX_TOKEN && text.bytes().all(|byte| byte.is_ascii_graphic());
        is_token.then(|| Self(text.to_owned()))
    }

    pub(crate) fn secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for AccessToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AccessToken(...)")
    }
}

/// An address, and the token that a person's link has behind `#t=`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StudioLink {
    pub address: StudioAddress,
    pub token: Option<AccessToken>,
}

impl StudioLink {
    /// True where a text is rather an address than the name of a studio.
    #[must_use]
    pub fn is_address(text: &str) -> bool {
        let text = text.trim();
        let has_port =
            text.rsplit_once(':').is_some_and(|(host, port)| !host.is_empty() && !host.contains(' ') && port.parse::<u16>().is_ok());
        text.contains("://") || has_port || text.parse::<IpAddr>().is_ok()
    }
}

impl FromStr for StudioLink {
    type Err = StudioError;

    /// `http://HOST:PORT/#t=TOKEN`; scheme, port and token may be missing.
    fn from_str(text: &str) -> Result<Self, StudioError> {
        let text = text.trim();
        // The token is a secret, also in an error.
        let shown = || StudioError::NotAnAddress(text.split('#').next().unwrap_or_default().chars().take(100).collect());
        if text.len() > MAX_LINK {
            return Err(shown());
        }
        let with_scheme = match text.parse::<IpAddr>() {
            Ok(IpAddr::V6(address)) => format!("http://[{address}]"),
            _ if text.contains("://") => text.to_owned(),
            _ => format!("http://{text}"),
        };
        let mut url = Url::parse(&with_scheme).map_err(|_| shown())?;
        let is_plain = matches!(url.scheme(), "http" | "https")
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && matches!(url.path(), "" | "/");
        if !is_plain || url.port() == Some(0) {
            return Err(shown());
        }
        let token = match url.fragment() {
            None | Some("") => None,
            Some(fragment) => Some(fragment.strip_prefix(TOKEN_MARK).and_then(AccessToken::new).ok_or_else(shown)?),
        };
        url.set_fragment(None);
        // A port that is usual for the scheme is none to `Url`.
        let authority = text.split(['/', '#']).next().unwrap_or_default();
        let names_port =
            authority.parse::<IpAddr>().is_err() && authority.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        if !text.contains("://") && !names_port && url.set_port(Some(DEFAULT_PORT)).is_err() {
            return Err(shown());
        }
        Ok(Self { address: StudioAddress(url), token })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_lack_scheme_and_port_and_a_link_has_a_token() {
        let read = |text: &str| text.parse::<StudioLink>().map(|it| (it.address.to_string(), it.token));
        let token = AccessToken::new("0123456789abcdef");
        assert_eq!(read("http://192.168.1.5:7861/#t=0123456789abcdef").unwrap(), ("http://192.168.1.5:7861".into(), token));
        for (text, address) in [
            ("192.168.1.5", "http://192.168.1.5:7860"),
            (" 192.168.1.5:80 ", "http://192.168.1.5"),
            ("anna.local", "http://anna.local:7860"),
            ("fd00::1", "http://[fd00::1]:7860"),
            ("https://studio.example/", "https://studio.example"),
        ] {
            assert_eq!(read(text).unwrap(), (address.to_owned(), None), "{text}");
        }
        for bad in [
            "",
            "ftp://x",
            "http://",
            "http://a:b@c",
            "http://x/api",
            "http://x/?a=1",
            "http://x/#token",
            "http://x/#t=",
            "x:0",
            "file:///etc",
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_token_is_in_no_error_and_not_shown() {
        let error = "http://x/api#t=0123456789abcdef".parse::<StudioLink>().unwrap_err();
        assert!(!error.to_string().contains("0123456789"), "{error}");
        assert!(!format!("{:?}", AccessToken::new("0123456789abcdef")).contains("0123"));
        assert!(AccessToken::new("two words").is_none() && AccessToken::new("").is_none() && AccessToken::new(&"x".repeat(513)).is_none());
    }

    #[test]
    fn a_name_is_told_from_an_address() {
        for address in ["http://x", "192.168.1.5", "anna.local:7860", "[::1]:80", "::1"] {
            assert!(StudioLink::is_address(address), "{address}");
        }
        for name in ["Studio of Anna", "anna", "Studio: 12", "anna.local"] {
            assert!(!StudioLink::is_address(name), "{name}");
        }
    }

    #[test]
    fn an_address_that_is_no_name_is_one_of_a_socket() {
        for (text, socket) in
            [("192.168.1.5", Some("192.168.1.5:7860")), ("http://[fd00::1]", Some("[fd00::1]:80")), ("anna.local:7861", None)]
        {
            assert_eq!(text.parse::<StudioAddress>().unwrap().socket(), socket.map(|it| it.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn a_route_is_made_of_words_that_stay_in_their_parts() {
        let address: StudioAddress = "192.168.1.5".parse().unwrap();
        let route = address.route(&["sdcpp", "v1", "jobs", "a/b?c", "events"]);
        assert_eq!(route.as_str(), "http://192.168.1.5:7860/sdcpp/v1/jobs/a%2Fb%3Fc/events");
    }
}
