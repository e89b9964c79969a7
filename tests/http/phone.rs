//! What the page at `/` needs, as a phone asks for it.

use std::net::SocketAddr;

use atelier::http::Tokens;
use serde_json::{Value, json};

use crate::client::{Answer, Sent, get};
use crate::owners::{ANNA, BEN, add, ask, end, shared};

const PICTURES: &str = "/atelier/v1/pictures";

#[test]
fn the_page_comes_without_a_token_and_runs_no_script_but_its_own() {
    let studio = shared();
    let page = get(studio.address(), "/");
    let policy = page.header("content-security-policy").unwrap();
    let nonce = policy.split("'nonce-").nth(1).and_then(|rest| rest.split('\'').next()).unwrap();
    assert!(page.text().contains(&format!("<script nonce=\"{nonce}\">")) && !policy.contains("script-src 'self'"), "{policy}");
    assert_ne!(get(studio.address(), "/").header("content-security-policy").unwrap(), policy, "drawn for each answer");
    let manifest = get(studio.address(), "/manifest.webmanifest");
    assert_eq!(manifest.header("content-type"), Some("application/manifest+json"));
    let icon = get(studio.address(), manifest.json()["icons"][0]["src"].as_str().unwrap());
    assert!(icon.status == 200 && icon.body.starts_with(b"\x89PNG"));
    assert_eq!(get(studio.address(), PICTURES).status, 401, "pictures need a token");
}

#[test]
fn a_phone_lists_stars_and_upscales_its_own_pictures_and_sees_no_others() {
    let studio = shared();
    let path = add(&studio, ANNA, "a lake <at dawn>", 2, 1);
    assert_eq!(end(&studio, ANNA, &path)["status"], "completed");
    let of = |token: &str| ask(&studio, token, "GET", PICTURES, &Value::Null).ok()["pictures"].as_array().unwrap().clone();
    assert_eq!(of(BEN), Vec::<Value>::new());
    let listed = of(ANNA);
    let [first] = &listed[..] else { panic!("{listed:?}") };
    assert_eq!(
        (first["prompt"].as_str(), first["width"].as_u64(), first["rating"].as_u64()),
        (Some("a lake <at dawn>"), Some(64), Some(0))
    );
    let one = format!("{PICTURES}/{}", first["id"].as_str().unwrap());
    let whole = ask(&studio, ANNA, "GET", &one, &Value::Null);
    assert_eq!((whole.header("content-type"), &whole.body), (Some("image/png"), &std::fs::read(&studio.kept()[0]).unwrap()));
    let small = ask(&studio, ANNA, "GET", &format!("{one}/thumbnail"), &Value::Null);
    assert!(small.body.starts_with(&[0xff, 0xd8]));
    let is_kept = [&whole, &small].map(|it| it.header("cache-control"));
    assert_eq!(is_kept, [Some("no-store"); 2], "no browser has it once its owner is gone");

    for (method, path, body) in [("GET", one.clone(), Value::Null), ("GET", format!("{one}/thumbnail"), Value::Null)] {
        assert_eq!(ask(&studio, BEN, method, &path, &body).status, 404, "{path}");
    }
    assert_eq!(ask(&studio, BEN, "POST", &format!("{one}/rating"), &json!({"rating": 1})).status, 404);
    assert_eq!(ask(&studio, BEN, "POST", &format!("{one}/upscale"), &json!({})).status, 404);
    for wrong in ["0", "-1", "x", "99999999999999999999"] {
        assert_eq!(ask(&studio, ANNA, "GET", &format!("{PICTURES}/{wrong}"), &Value::Null).status, 404, "{wrong}");
    }

    assert_eq!(ask(&studio, ANNA, "POST", &format!("{one}/rating"), &json!({"rating": 6})).status, 422);
    let rated = ask(&studio, ANNA, "POST", &format!("{one}/rating"), &json!({"rating": 5, "flag": "pick"})).ok();
    assert_eq!((rated["rating"].as_u64(), rated["notes"].as_array().map(Vec::len)), (Some(5), Some(1)), "{rated}");
    assert_eq!(of(ANNA)[0]["rating"], 5);

    let job = ask(&studio, ANNA, "POST", &format!("{one}/upscale"), &json!({"scale": 3}));
    assert!(job.status == 202 && job.json()["notes"].to_string().contains("not read: scale."), "{}", job.text());
    assert_eq!(end(&studio, ANNA, job.json()["poll_url"].as_str().unwrap())["status"], "completed");
    let listed = of(ANNA);
    assert_eq!((listed.len(), listed[0]["width"].as_u64(), listed[0]["prompt"].as_str()), (2, Some(128), Some("a lake <at dawn>")));
}

/// Asks as our own page does where the browser keeps this cookie.
fn from_page(address: SocketAddr, cookie: &str, method: &str, path: &str, body: &Value) -> Answer {
    let origin = format!("http://{address}");
    let mut headers = vec![("Cookie", cookie)];
    if method == "POST" {
        headers.push(("Origin", origin.as_str()));
    }
    Sent::new(address, method, path, &headers, body.to_string().as_bytes()).answer()
}

#[test]
fn a_phone_brings_its_token_once_and_is_known_by_a_cookie_for_as_long_as_the_token_is() {
    const PAIRING: &str = "/atelier/v1/pairing";
    let studio = shared();
    let address = studio.address();
    for (body, status) in [
        (json!({"token": "anna-anna-anna-annx"}), 401),
        (json!({"token": ANNA.to_uppercase()}), 401),
        (json!({"token": "x".repeat(5000)}), 401),
        (json!({"token": [ANNA]}), 422),
        (json!({}), 422),
    ] {
        let refused = from_page(address, "", "POST", PAIRING, &body);
        assert_eq!((refused.status, refused.header("set-cookie")), (status, None), "{}", refused.text());
        assert!(!refused.text().contains("nna-anna"), "{}", refused.text());
        assert_ne!(refused.header("www-authenticate"), Some("Basic realm=\"Atelier\""), "no browser asks for a login");
    }
    // Nobody knows yet who sends it, so it is not begun.
    let large = Sent::new(address, "POST", PAIRING, &[("Content-Length", "8193")], b"{").answer();
    assert_eq!(large.status, 413, "{}", large.text());
    let from_elsewhere = [("Origin", "http://evil.example")];
    let body = json!({"token": ANNA}).to_string();
    let refused = Sent::new(address, "POST", PAIRING, &from_elsewhere, body.as_bytes()).answer();
    assert_eq!((refused.status, refused.header("set-cookie")), (403, None));

    let paired = from_page(address, "", "POST", PAIRING, &json!({"token": ANNA, "unheard_of": 1}));
    assert_eq!(paired.status, 200, "{}", paired.text());
    assert!(!paired.text().contains(ANNA) && paired.json()["notes"].to_string().contains("not read: unheard_of."), "{}", paired.text());
    assert_eq!((paired.json()["name"].as_str(), paired.header("cache-control")), (Some("Anna"), Some("no-store")));
    let set = paired.header("set-cookie").unwrap();
    let (cookie, rules) = set.split_once(';').unwrap();
    assert!(rules.contains("HttpOnly") && rules.contains("SameSite=Strict") && !set.contains(ANNA), "{set}");
    let cookie = cookie.to_owned();

    // Everything that the page does, by the cookie alone.
    let job = json!({"prompt": "a lake", "width": 64, "height": 64, "sample_params": {"sample_steps": 2}});
    let added = from_page(address, &cookie, "POST", "/sdcpp/v1/img_gen", &job);
    assert_eq!(added.status, 202, "{}", added.text());
    let path = added.json()["poll_url"].as_str().unwrap().to_owned();
    let told = from_page(address, &cookie, "GET", &format!("{path}/events"), &Value::Null);
    assert!(told.text().contains("\"completed\""), "{}", told.text());
    let pictures = from_page(address, &cookie, "GET", PICTURES, &Value::Null).ok();
    let picture = format!("{PICTURES}/{}", pictures["pictures"][0]["id"].as_str().unwrap());
    for below in ["", "/thumbnail"] {
        assert_eq!(from_page(address, &cookie, "GET", &format!("{picture}{below}"), &Value::Null).status, 200, "{below}");
    }
    assert_eq!(ask(&studio, BEN, "GET", &picture, &Value::Null).status, 404, "it is Anna's");

    // Pages elsewhere whose browser has the cookie reach nothing.
    let rate = json!({"rating": 5}).to_string();
    for from in [("Origin", "http://evil.example"), ("Origin", "null"), ("Sec-Fetch-Site", "cross-site"), ("Sec-Fetch-Site", "same-site")] {
        let headers = [("Cookie", cookie.as_str()), from];
        let asked = |method: &str, path: &str| Sent::new(address, method, path, &headers, rate.as_bytes()).answer().status;
        assert_eq!([asked("POST", &format!("{picture}/rating")), asked("GET", &picture)], [403; 2], "{from:?}");
    }
    let headers = [("Cookie", cookie.as_str())];
    let silent = Sent::new(address, "POST", &format!("{picture}/rating"), &headers, rate.as_bytes()).answer();
    assert_eq!(silent.status, 401, "what changes something says from where it comes");
    assert_eq!(from_page(address, &cookie, "GET", PICTURES, &Value::Null).ok()["pictures"][0]["rating"], 0);

    // Anna's token goes; Ben's stays.
    let mut tokens = Tokens::default();
    tokens.add("Ben", BEN, false).unwrap();
    studio.server().set_tokens(tokens);
    assert_eq!(from_page(address, &cookie, "GET", &picture, &Value::Null).status, 401);
    assert_eq!(from_page(address, "", "POST", PAIRING, &json!({"token": ANNA})).header("set-cookie"), None);
    let of_ben = from_page(address, "", "POST", PAIRING, &json!({"token": BEN}));
    let of_ben = of_ben.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
    assert_eq!(from_page(address, &of_ben, "GET", PICTURES, &Value::Null).status, 200);
}
