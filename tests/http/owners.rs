//! Several people with tokens of their own at one engine.

use atelier::http::Tokens;
use atelier::http::guard::Policy;
use serde_json::{Value, json};

use crate::client::{Answer, Sent};
use crate::studio::Studio;

pub(crate) const ANNA: &str = "anna-anna-anna-anna";
pub(crate) const BEN: &str = "ben-ben-ben-ben-ben";

/// A server where Anna and Ben have tokens.
pub(crate) fn shared() -> Studio {
    let mut tokens = Tokens::default();
    tokens.add("Anna", ANNA, false).unwrap();
    tokens.add("Ben", BEN, false).unwrap();
    Studio::guarded(Policy { tokens, requires_token: true, ..Policy::default() })
}

pub(crate) fn ask(studio: &Studio, token: &str, method: &str, path: &str, body: &Value) -> Answer {
    Sent::new(studio.address(), method, path, &[("Authorization", &format!("Bearer {token}"))], body.to_string().as_bytes()).answer()
}

/// Adds a job and returns its path.
pub(crate) fn add(studio: &Studio, token: &str, prompt: &str, steps: u32, count: u32) -> String {
    let body =
        json!({"prompt": prompt, "width": 64, "height": 64, "seed": 7, "batch_count": count, "sample_params": {"sample_steps": steps}});
    let answer = ask(studio, token, "POST", "/sdcpp/v1/img_gen", &body);
    assert_eq!(answer.status, 202, "{}", answer.text());
    answer.json()["poll_url"].as_str().unwrap().to_owned()
}

/// Waits for the end of a job, and returns what is told of it then.
pub(crate) fn end(studio: &Studio, token: &str, path: &str) -> Value {
    let told = ask(studio, token, "GET", &format!("{path}/events"), &Value::Null);
    let last = told.text().split("event: end\ndata: ").nth(1).unwrap_or_else(|| panic!("{}", told.text()));
    serde_json::from_str(last.trim()).unwrap()
}

#[test]
fn a_single_picture_does_not_wait_for_the_batch_of_somebody_else() {
    let studio = shared();
    let batch = add(&studio, ANNA, "eight of Anna's", 150, 8);
    let single = add(&studio, BEN, "one of Ben's", 4, 1);
    assert_eq!(end(&studio, BEN, &single)["status"], "completed");
    let rest = ask(&studio, ANNA, "GET", &batch, &Value::Null).json();
    assert!(rest["images"].as_u64().unwrap() < 8 && rest["completed"].is_null(), "{rest}");
    assert_eq!(ask(&studio, ANNA, "POST", &format!("{batch}/cancel"), &Value::Null).json()["status"], "cancelled");
}

#[test]
fn an_owner_may_let_so_many_pictures_wait_and_others_are_not_held_up_by_that() {
    let studio = shared();
    for n in 0..4 {
        add(&studio, ANNA, &format!("batch {n}"), 150, 8);
    }
    let more = ask(&studio, ANNA, "POST", "/sdcpp/v1/img_gen", &json!({"prompt": "one more", "batch_count": 8}));
    assert_eq!(more.status, 429, "{}", more.text());
    assert!(more.header("retry-after").unwrap().parse::<u64>().unwrap() > 0 && more.text().contains("32 may"), "{}", more.text());
    let single = add(&studio, BEN, "one of Ben's", 2, 1);
    assert_eq!(end(&studio, BEN, &single)["status"], "completed");
    for job in ask(&studio, ANNA, "GET", "/sdcpp/v1/jobs", &Value::Null).json().as_array().unwrap() {
        ask(&studio, ANNA, "POST", &format!("/sdcpp/v1/jobs/{}/cancel", job["id"].as_str().unwrap()), &Value::Null);
    }
}

#[test]
fn a_job_is_its_owners_also_after_the_server_was_started_again() {
    let mut studio = shared();
    let path = add(&studio, ANNA, "a long way", 150, 8);
    // What a server that is started hears first is what the queue told last.
    while ask(&studio, ANNA, "GET", &path, &Value::Null).json()["status"] != "generating" {
        std::thread::yield_now();
    }
    studio.serve();
    assert_eq!(ask(&studio, BEN, "GET", &path, &Value::Null).status, 404);
    let found = ask(&studio, ANNA, "GET", &path, &Value::Null);
    assert_eq!(found.status, 200, "{}", found.text());
    assert_eq!(ask(&studio, ANNA, "POST", &format!("{path}/cancel"), &Value::Null).json()["status"], "cancelled");
}
