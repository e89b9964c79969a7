//! The guard as a table of requests.

use super::*;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

fn policy() -> Policy {
    let mut tokens = Tokens::default();
    tokens.add("Anna", TOKEN, false).unwrap();
    tokens.add("guest", "a-token-that-many-share", true).unwrap();
    Policy {
        hosts: vec!["studio".into(), "studio.local".into()],
        origins: vec!["https://lite.koboldai.net".into()],
        tokens,
        requires_token: false,
    }
}

fn local<'a>() -> Head<'a> {
    Head { method: "POST", path: "/sdapi/v1/interrupt", host: Some("127.0.0.1:7860"), peer: Some([127, 0, 0, 1].into()), ..Head::default() }
}

fn remote<'a>() -> Head<'a> {
    Head { host: Some("192.168.1.5:7860"), peer: Some([192, 168, 1, 23].into()), ..local() }
}

/// The status of the answer, 200 where it passes, 204 where only the options are told.
fn status(head: &Head<'_>) -> u16 {
    match judge(head, &policy()) {
        Verdict::Pass { .. } => 200,
        Verdict::Preflight(_) | Verdict::Options => 204,
        Verdict::Refuse(refusal) => refusal.status(),
    }
}

fn basic(login: &str) -> String {
    format!("Basic {}", STANDARD.encode(login))
}

#[test]
fn the_table_of_requests() {
    let (bearer, login) = (format!("Bearer {TOKEN}"), basic(&format!("whoever:{TOKEN}")));
    let (wrong, half) = (format!("Bearer {TOKEN}0"), format!("Bearer {}", &TOKEN[..31]));
    let empty = basic("");
    let long = format!("Bearer {}", "x".repeat(MAX_CREDENTIALS));
    let get = Head { method: "GET", ..local() };
    let options = Head { method: "OPTIONS", ..local() };
    let table: Vec<(&str, Head<'_>, u16)> = vec![
        ("a program of this computer", local(), 200),
        ("by name", Head { host: Some("localhost:7860"), ..local() }, 200),
        ("by name, with the root's dot", Head { host: Some("LOCALHOST.:7860"), ..local() }, 200),
        ("without a port", Head { host: Some("localhost"), ..local() }, 200),
        ("by IPv6", Head { host: Some("[::1]:7860"), peer: Some("::1".parse().unwrap()), ..local() }, 200),
        ("IPv4 in IPv6", Head { peer: Some("::ffff:127.0.0.1".parse().unwrap()), ..local() }, 200),
        ("by this machine's name", Head { host: Some("studio.local:7860"), ..local() }, 200),
        ("the page's icon, from another computer", Head { method: "GET", path: "/icon.png", ..remote() }, 200),
        ("its manifest", Head { method: "GET", path: "/manifest.webmanifest", ..remote() }, 200),
        ("a picture", Head { method: "GET", path: "/atelier/v1/pictures/1", ..remote() }, 401),
        ("a device that was let in", Head { is_admitted: true, ..remote() }, 200),
        ("and asks by a name that was made to lead here", Head { is_admitted: true, host: Some("evil.example"), ..remote() }, 403),
        ("no host", Head { host: None, ..local() }, 400),
        ("an empty host", Head { host: Some(" "), ..local() }, 400),
        ("a name that was made to lead here", Head { host: Some("evil.example:7860"), ..local() }, 403),
        ("a name that begins as ours", Head { host: Some("localhost.evil.example"), ..local() }, 403),
        ("a name that ends as ours", Head { host: Some("evil-localhost"), ..local() }, 403),
        ("a name with a user", Head { host: Some("127.0.0.1@evil.example"), ..local() }, 403),
        ("brackets round a name", Head { host: Some("[evil.example]:7860"), ..local() }, 403),
        ("no port behind the colon", Head { host: Some("localhost:"), ..local() }, 403),
        ("nor behind IPv6", Head { host: Some("[::1]:"), ..local() }, 403),
        ("a port that is a name", Head { host: Some("localhost:http"), ..local() }, 403),
        ("a port with a sign", Head { host: Some("localhost:+7860"), ..local() }, 403),
        ("port 0", Head { host: Some("localhost:0"), ..local() }, 403),
        ("more than the last port", Head { host: Some("localhost:65536"), ..local() }, 403),
        ("two ports", Head { host: Some("localhost:7860:7860"), ..local() }, 403),
        ("a port alone", Head { host: Some(":7860"), ..local() }, 403),
        ("a dot alone", Head { host: Some("."), ..local() }, 403),
        ("two dots", Head { host: Some("localhost..:7860"), ..local() }, 403),
        ("IPv6 without a port", Head { host: Some("[::1]"), ..local() }, 200),
        ("IPv6 without brackets", Head { host: Some("::1"), ..local() }, 403),
        ("IPv6 in half of them", Head { host: Some("[::1"), ..local() }, 403),
        ("IPv6 with more behind it", Head { host: Some("[::1]evil.example:7860"), ..local() }, 403),
        ("IPv4 in brackets", Head { host: Some("[127.0.0.1]:7860"), ..local() }, 403),
        ("IPv4 with the root's dot", Head { host: Some("127.0.0.1.:7860"), ..local() }, 403),
        ("IPv4 as one number", Head { host: Some("2130706433:7860"), ..local() }, 403),
        ("two hosts in one", Head { host: Some("localhost, evil.example"), ..local() }, 403),
        ("rebound, with an origin that fits", Head { host: Some("evil.example"), origin: Some("http://evil.example"), ..local() }, 403),
        ("our own page", Head { origin: Some("http://127.0.0.1:7860"), ..local() }, 200),
        ("another site", Head { origin: Some("http://x"), ..local() }, 403),
        ("another port of this computer", Head { origin: Some("http://127.0.0.1:8188"), ..local() }, 403),
        ("our host by TLS that is not ours", Head { origin: Some("https://127.0.0.1:7860"), ..local() }, 403),
        ("no port in both", Head { host: Some("127.0.0.1:"), origin: Some("http://127.0.0.1:"), ..local() }, 403),
        ("our page with a path", Head { origin: Some("http://127.0.0.1:7860/"), ..local() }, 403),
        ("our page with a user", Head { origin: Some("http://x@127.0.0.1:7860"), ..local() }, 403),
        ("our page and another one", Head { origin: Some("http://127.0.0.1:7860 http://x"), ..local() }, 403),
        ("our host without a scheme", Head { origin: Some("127.0.0.1:7860"), ..local() }, 403),
        ("our page, across sites", Head { origin: Some("http://127.0.0.1:7860"), sec_fetch_site: Some("cross-site"), ..local() }, 403),
        ("an empty origin", Head { origin: Some(""), ..local() }, 403),
        ("a page without an origin", Head { origin: Some("null"), ..local() }, 403),
        ("a site that was allowed", Head { origin: Some("https://lite.koboldai.net"), ..local() }, 200),
        ("one that begins so", Head { origin: Some("https://lite.koboldai.net.evil.example"), ..local() }, 403),
        ("across sites without an origin", Head { sec_fetch_site: Some("cross-site"), ..local() }, 403),
        ("a picture on another site", Head { sec_fetch_site: Some("cross-site"), sec_fetch_mode: Some("no-cors"), ..get }, 403),
        ("a sister site", Head { sec_fetch_site: Some("same-site"), ..get }, 403),
        ("a link on another site", Head { sec_fetch_site: Some("cross-site"), sec_fetch_mode: Some("navigate"), ..get }, 200),
        (
            "in a tab",
            Head { sec_fetch_site: Some("cross-site"), sec_fetch_mode: Some("navigate"), sec_fetch_dest: Some("document"), ..get },
            200,
        ),
        (
            "in a frame of another site",
            Head { sec_fetch_site: Some("cross-site"), sec_fetch_mode: Some("navigate"), sec_fetch_dest: Some("iframe"), ..get },
            403,
        ),
        ("from where no browser says", Head { sec_fetch_site: Some("elsewhere"), ..get }, 403),
        ("from an empty word", Head { sec_fetch_site: Some(""), ..get }, 403),
        ("a form on another site", Head { sec_fetch_site: Some("cross-site"), sec_fetch_mode: Some("navigate"), ..local() }, 403),
        ("our own page fetches", Head { sec_fetch_site: Some("same-origin"), ..local() }, 200),
        ("typed into the address line", Head { sec_fetch_site: Some("none"), sec_fetch_mode: Some("navigate"), ..get }, 200),
        ("a ping", options, 204),
        ("a ping with another host", Head { host: Some("evil.example"), ..options }, 403),
        ("a preflight of an allowed site", Head { origin: Some("https://lite.koboldai.net"), ..options }, 204),
        ("a preflight of another one", Head { origin: Some("https://evil.example"), ..options }, 403),
        ("an empty login, as SillyTavern sends it", Head { authorization: Some(&empty), ..local() }, 200),
        ("nothing at all behind Basic", Head { authorization: Some("Basic "), ..local() }, 200),
        ("from the network, without a token", remote(), 401),
        ("from the network, with one", Head { authorization: Some(&bearer), ..remote() }, 200),
        ("as the password of a login", Head { authorization: Some(&login), ..remote() }, 200),
        ("a wrong one", Head { authorization: Some(&wrong), ..remote() }, 401),
        ("the beginning of one", Head { authorization: Some(&half), ..remote() }, 401),
        ("an empty one", Head { authorization: Some("Bearer "), ..remote() }, 401),
        ("a very long one", Head { authorization: Some(&long), ..remote() }, 401),
        ("a peer that nobody knows", Head { peer: None, ..local() }, 401),
        ("the page itself, from the network", Head { method: "GET", path: "/", ..remote() }, 200),
        ("whether somebody is there", Head { method: "GET", path: "/healthz", ..remote() }, 200),
        ("who it is", Head { method: "GET", path: "/atelier/v1/identity/0", ..remote() }, 200),
        ("who it is, for a page of another site", Head { path: "/atelier/v1/identity/0", origin: Some("http://x"), ..remote() }, 403),
        ("what can be asked, from the network", Head { method: "GET", path: "/openapi.json", ..remote() }, 401),
        ("a wrong host with the right token", Head { host: Some("evil.example"), authorization: Some(&bearer), ..remote() }, 403),
        ("another site with the right token", Head { authorization: Some(&login), origin: Some("http://x"), ..remote() }, 403),
    ];
    for (what, head, wanted) in &table {
        assert_eq!(status(head), *wanted, "{what}: {head:?}");
    }
}

#[test]
fn an_owner_is_the_name_of_the_token_else_the_computer() {
    let owner = |head: &Head<'_>| match judge(head, &policy()) {
        Verdict::Pass { owner, .. } => owner.name().to_owned(),
        other => panic!("{other:?}"),
    };
    let (anna, guest) = (format!("Bearer {TOKEN}"), "Bearer a-token-that-many-share");
    assert_eq!(owner(&local()), "Programs on this computer");
    assert_eq!(owner(&Head { authorization: Some(&anna), ..local() }), "Anna", "also on this computer");
    assert_eq!(owner(&Head { authorization: Some(&anna), ..remote() }), "Anna");
    assert_eq!(owner(&Head { authorization: Some(guest), ..remote() }), "guest 192.168.1.23");
    assert_eq!(owner(&Head { authorization: Some("Bearer wrong"), ..local() }), "Programs on this computer");
}

#[test]
fn who_is_let_in_is_known_by_what_let_them_in() {
    let entry = |head: &Head<'_>| match judge(head, &policy()) {
        Verdict::Pass { entry, .. } => entry,
        other => panic!("{other:?}"),
    };
    let anna = format!("Bearer {TOKEN}");
    let admitted = Head { is_admitted: true, ..remote() };
    assert_eq!(entry(&local()), Entry::Free);
    assert_eq!(entry(&Head { method: "GET", path: "/", ..remote() }), Entry::Free);
    assert_eq!(entry(&Head { authorization: Some("Bearer a-token-that-many-share"), ..remote() }), Entry::Token("guest".into()));
    for address in ["192.168.1.23", "::ffff:192.168.1.23"] {
        let device = Head { peer: address.parse().ok(), ..admitted };
        assert_eq!(entry(&device), Entry::Device([192, 168, 1, 23].into()), "{address}");
    }
    assert_eq!(entry(&Head { authorization: Some(&anna), ..admitted }), Entry::Token("Anna".into()), "a token counts first");
}

#[test]
fn a_token_is_needed_here_too_where_it_was_asked_for() {
    let policy = Policy { requires_token: true, ..policy() };
    assert_eq!(judge(&local(), &policy), Verdict::Refuse(Refusal::Token));
    let bearer = format!("Bearer {TOKEN}");
    assert!(matches!(judge(&Head { authorization: Some(&bearer), ..local() }, &policy), Verdict::Pass { .. }));
}

/// What a browser that was paired with this host sends.
fn cookie_of(host: &str, token: &str) -> String {
    cookie(host, token).unwrap().split(';').next().unwrap().to_owned()
}

#[test]
fn a_cookie_counts_for_our_own_page_and_for_nothing_that_another_page_sends() {
    const HOST: &str = "192.168.1.5:7860";
    const OWN: Option<&str> = Some("http://192.168.1.5:7860");
    let (own, wrong) = (cookie_of(HOST, TOKEN), cookie_of(HOST, "0123456789abcdef0123456789abcdeX"));
    let among = format!("theme=dark; {own}; atelier-8188=x");
    let (elsewhere, plain, torn) = (cookie_of("192.168.1.5:7861", TOKEN), format!("atelier-7860={TOKEN}"), format!("{own}="));
    let post = Head { cookie: Some(&own), ..remote() };
    let get = Head { method: "GET", path: "/sdcpp/v1/jobs", ..post };
    let table: Vec<(&str, Head<'_>, u16)> = vec![
        ("a picture on our page, by HTTP", get, 200),
        ("its size alone", Head { method: "HEAD", ..get }, 200),
        ("a stream of events, where a browser says from where", Head { sec_fetch_site: Some("same-origin"), ..get }, 200),
        ("typed into the address line", Head { sec_fetch_site: Some("none"), sec_fetch_mode: Some("navigate"), ..get }, 200),
        ("our page asks for a picture to be made", Head { origin: OWN, ..post }, 200),
        ("and a browser says from where", Head { origin: OWN, sec_fetch_site: Some("same-origin"), ..post }, 200),
        (
            "behind a proxy with TLS, whose origin is allowed",
            Head { origin: Some("https://lite.koboldai.net"), sec_fetch_site: Some("same-origin"), ..post },
            200,
        ),
        ("among cookies of others", Head { origin: OWN, cookie: Some(&among), ..post }, 200),
        ("with an empty login", Head { origin: OWN, authorization: Some("Basic "), ..post }, 200),
        ("something is changed, and nobody says from where", post, 401),
        ("nor does a browser's word about nobody help", Head { sec_fetch_site: Some("none"), ..post }, 401),
        ("something is removed", Head { method: "DELETE", ..get }, 401),
        ("another site", Head { origin: Some("http://evil.example"), ..post }, 403),
        ("a page without an origin", Head { origin: Some("null"), ..post }, 403),
        ("another server on the same host", Head { origin: Some("http://192.168.1.5:8188"), ..post }, 403),
        ("a picture of ours on another site", Head { sec_fetch_site: Some("cross-site"), ..get }, 403),
        ("on another server of the same host", Head { sec_fetch_site: Some("same-site"), ..get }, 403),
        ("a link on another site", Head { sec_fetch_site: Some("cross-site"), sec_fetch_mode: Some("navigate"), ..get }, 401),
        ("a site that was allowed brings no cookie", Head { origin: Some("https://lite.koboldai.net"), ..post }, 401),
        ("nor for looking", Head { origin: Some("https://lite.koboldai.net"), ..get }, 401),
        (
            "a name that was made to lead here",
            Head { host: Some("evil.example:7860"), origin: Some("http://evil.example:7860"), ..post },
            403,
        ),
        ("a wrong token", Head { cookie: Some(&wrong), ..get }, 401),
        ("of another port", Head { cookie: Some(&elsewhere), ..get }, 401),
        ("the token itself", Head { cookie: Some(&plain), ..get }, 401),
        ("with something behind it", Head { cookie: Some(&torn), ..get }, 401),
        ("two cookie headers", Head { cookie: Some(""), ..get }, 401),
        ("pairing, without a token yet", Head { path: PAIRING, cookie: None, ..post }, 200),
        ("pairing, by another site", Head { path: PAIRING, cookie: None, origin: Some("http://evil.example"), ..post }, 403),
    ];
    for (what, head, wanted) in &table {
        assert_eq!(status(head), *wanted, "{what}: {head:?}");
    }
    let owner = |cookie: &str, policy: &Policy| match judge(&Head { cookie: Some(cookie), ..get }, policy) {
        Verdict::Pass { owner, .. } => Some(owner.name().to_owned()),
        _ => None,
    };
    let shared = cookie_of(HOST, "a-token-that-many-share");
    assert_eq!([&own, &shared].map(|it| owner(it, &policy())), [Some("Anna".to_owned()), Some("guest 192.168.1.23".to_owned())]);
    assert_eq!(owner(&own, &Policy { tokens: Tokens::default(), ..policy() }), None, "it ends with its token");
}

#[test]
fn a_cookie_is_for_no_script_and_for_no_other_site_and_holds_any_token() {
    let set = cookie("studio.local", "a;b,c=\"d\"\\-0123456789").unwrap();
    let (pair, rules) = set.split_once("; ").unwrap();
    assert_eq!(rules, "Path=/; Max-Age=34560000; HttpOnly; SameSite=Strict");
    let value = pair.strip_prefix("atelier-80=").unwrap();
    assert!(value.bytes().all(|it| it.is_ascii_alphanumeric() || b"-_".contains(&it)), "{value}");
    assert_eq!(cookie_of("[::1]:7861", TOKEN).split('=').next(), Some("atelier-7861"));
    assert_eq!(cookie("localhost:x", TOKEN), None);
}
