//! The guard and the limits, asked over the wire.

use atelier::http::Tokens;
use atelier::http::guard::Policy;
use serde_json::json;

use crate::client::{Sent, get, post};
use crate::studio::Studio;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

#[test]
fn strangers_are_refused_before_anything_is_read() {
    let studio = Studio::open();
    let address = studio.address();
    let status = |method: &str, path: &str, headers: &[(&str, &str)]| Sent::new(address, method, path, headers, b"").answer().status;
    assert_eq!(status("GET", "/healthz", &[]), 200);
    assert_eq!(status("GET", "/healthz", &[("Host", "evil.example")]), 403);
    for path in ["/sdapi/v1/interrupt", "/sdapi/v1/txt2img", "/sdapi/v1/options"] {
        assert_eq!(status("POST", path, &[("Origin", "http://evil.example")]), 403, "{path}");
        assert_eq!(status("POST", path, &[("Origin", "null")]), 403, "{path}");
        assert_eq!(status("POST", path, &[("Sec-Fetch-Site", "cross-site")]), 403, "{path}");
    }
    let own = address.to_string();
    assert_eq!(status("GET", "/healthz", &[("Host", "localhost:")]), 403);
    assert_eq!(status("GET", "/healthz", &[("Host", &own), ("Host", "evil.example")]), 400, "two hosts");
    assert_eq!(status("POST", "/sdapi/v1/interrupt", &[("Origin", &format!("http://{own}")), ("Origin", "http://x")]), 403, "two origins");
    assert_eq!(status("GET", &format!("http://{own}/healthz"), &[]), 200, "as a proxy is asked");
    assert_eq!(status("GET", "http://evil.example/healthz", &[]), 400, "whose target is another host");
    assert_eq!(status("OPTIONS", "/v1/images/generations", &[]), 204, "SillyTavern asks so whether somebody is there");
    for path in ["/", "/healthz", "/sdapi/v1/sd-models", "/sdapi/v1/options", "/controlnet/version", "/v1/models", "/sdcpp/v1/capabilities"]
    {
        assert_eq!(status("HEAD", path, &[]), 200, "{path}");
    }
    assert_eq!(status("GET", "/sdapi/v1/samplers/", &[]), 200, "with a slash");
    assert_eq!(get(address, "/sdapi/v1/nothing").text(), r#"{"detail":"Not Found"}"#);
    let page = get(address, "/");
    assert!(page.header("content-security-policy").is_some() && page.text().contains("Atelier"));
    assert_eq!((page.header("x-content-type-options"), page.header("referrer-policy")), (Some("nosniff"), Some("no-referrer")));
    assert_eq!(page.header("access-control-allow-origin"), None);
}

#[test]
fn a_token_is_asked_for_and_an_allowed_page_may_read() {
    let mut tokens = Tokens::default();
    tokens.add("Anna", TOKEN, false).unwrap();
    let origins = vec!["https://lite.koboldai.net".to_owned()];
    let studio = Studio::guarded(Policy { tokens, origins, requires_token: true, ..Policy::default() });
    let ask = |headers: &[(&str, &str)]| Sent::new(studio.address(), "GET", "/sdapi/v1/cmd-flags", headers, b"").answer();
    let refused = ask(&[]);
    assert_eq!(refused.status, 401);
    assert!(refused.header("www-authenticate").unwrap().starts_with("Basic"));
    assert_eq!(ask(&[("Authorization", &format!("Bearer {TOKEN}"))]).status, 200);
    // u:TOKEN
    assert_eq!(ask(&[("Authorization", "Basic dTowMTIzNDU2Nzg5YWJjZGVmMDEyMzQ1Njc4OWFiY2RlZg==")]).status, 200);
    let allowed = ask(&[("Origin", "https://lite.koboldai.net"), ("Authorization", &format!("Bearer {TOKEN}"))]);
    assert_eq!((allowed.status, allowed.header("access-control-allow-origin")), (200, Some("https://lite.koboldai.net")));
    assert_eq!(allowed.header("access-control-allow-credentials"), None);
    let preflight = Sent::new(studio.address(), "OPTIONS", "/sdapi/v1/txt2img", &[("Origin", "https://lite.koboldai.net")], b"").answer();
    assert_eq!((preflight.status, preflight.header("access-control-allow-methods")), (204, Some("GET, POST")));
    assert_eq!(preflight.header("access-control-allow-headers"), Some("authorization, content-type"));
    let elsewhere = Sent::new(studio.address(), "OPTIONS", "/sdapi/v1/txt2img", &[("Origin", "https://lite.example")], b"").answer();
    assert_eq!((elsewhere.status, elsewhere.header("access-control-allow-origin")), (403, None));
}

#[test]
fn a_server_proves_a_token_for_its_own_address() {
    const CHALLENGE: &str = "00112233445566778899aabbccddeeff";
    let mut tokens = Tokens::default();
    tokens.add("Anna", TOKEN, false).unwrap();
    tokens.add("Ben", "the-name-of-my-cat-1", false).unwrap();
    let studio = Studio::guarded(Policy { tokens, requires_token: true, ..Policy::default() });
    let ask = |challenge: &str| get(studio.address(), &format!("/atelier/v1/identity/{challenge}")).ok();
    let answer = ask(CHALLENGE);
    let proof = atelier_peers::prove(TOKEN, CHALLENGE, studio.address()).unwrap();
    assert_eq!(answer["proofs"], json!([proof]), "a token that a person made up could be guessed by a proof");
    assert_eq!((answer["studio_id"].as_str().map(str::len), ask("0")["proofs"].clone()), (Some(32), json!([])));
    assert!(!answer.to_string().contains(TOKEN));
}

#[test]
fn bodies_and_values_have_limits_and_are_never_repeated() {
    let studio = Studio::open();
    let address = studio.address();
    let large = Sent::new(address, "POST", "/sdapi/v1/txt2img", &[("Content-Length", "67108865")], b"{").answer();
    assert_eq!(large.status, 413, "{}", large.text());
    let secret = br#"{"prompt": "a", "auth": "user:hunter2", "url": oops"#;
    let broken = Sent::new(address, "POST", "/sdapi/v1/txt2img", &[], secret).answer();
    assert_eq!(broken.status, 400);
    assert!(!broken.text().contains("hunter2"), "{}", broken.text());
    for (body, status) in [
        (json!({"steps": 151}), 422),
        (json!({"width": 5000}), 422),
        (json!({"n_iter": 11}), 422),
        (json!({"prompt": "x".repeat(32_001)}), 422),
        (json!({"sampler_name": "Nobody"}), 404),
        (json!({"override_settings": {"sd_model_checkpoint": "/etc/passwd"}}), 404),
        (json!({"override_settings": {"sd_vae": "../../x"}}), 404),
        (json!({"lora": [{"path": "/etc/passwd", "multiplier": 1}]}), 404),
        (json!({"enable_hr": true, "hr_upscaler": "/etc/passwd"}), 404),
        // A1111 opens the file.
        (json!({"controlnet_units": [{"image": "/etc/passwd"}]}), 422),
        (json!({"controlnet_units": [{"image": "AAAA", "model": "/etc/passwd"}]}), 422),
        (json!({"extra_images": vec!["AAAA"; 17]}), 422),
    ] {
        let answer = post(address, "/sdapi/v1/txt2img", &body);
        assert_eq!(answer.status, status, "{}", answer.text());
    }
    for image in ["http://127.0.0.1:1/x.png", "file:///etc/passwd", "/etc/passwd", "AAAA"] {
        let answer = post(address, "/sdapi/v1/img2img", &json!({"init_images": [image], "prompt": "a"}));
        assert!(matches!(answer.status, 400 | 422), "{image}: {}", answer.text());
    }
    assert!(studio.kept().is_empty());
}
