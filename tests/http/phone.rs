//! What the page at `/` needs, as a phone asks for it.

use serde_json::{Value, json};

use crate::client::get;
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
    assert!(small.body.starts_with(&[0xff, 0xd8]) && small.header("cache-control").unwrap().starts_with("private"));

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
