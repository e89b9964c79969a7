//! OpenAI's image interface.

use serde_json::{Value, json};

use crate::client::{Answer, Sent, get, post, send};
use crate::pictures::{bytes_of, png};
use crate::sdapi::until;
use crate::studio::Studio;

const BOUNDARY: &str = "90409079b5ce0eaa3a71d90ee8776fa7";

/// A form as the client of OpenAI builds it.
fn form(studio: &Studio, path: &str, texts: &[(&str, &str)], files: &[(&str, &[u8])]) -> Answer {
    let mut body = Vec::new();
    for (name, text) in texts {
        body.extend(format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n{text}\r\n").into_bytes());
    }
    for (name, bytes) in files {
        let head = format!(
            "--{BOUNDARY}\r\nContent-Disposition: form-data; name=\"{name}\"; filename=\"a.png\"\r\nContent-Type: image/png\r\n\r\n"
        );
        body.extend(head.into_bytes());
        body.extend(*bytes);
        body.extend(b"\r\n");
    }
    body.extend(format!("--{BOUNDARY}--\r\n").into_bytes());
    let kind = format!("multipart/form-data; boundary={BOUNDARY}");
    Sent::new(studio.address(), "POST", path, &[("Content-Type", &kind)], &body).answer()
}

/// The events of a stream, by name.
fn events(answer: &Answer) -> Vec<(String, Value)> {
    let parts = answer.text().split("\n\n").filter(|part| !part.is_empty() && !part.starts_with(':'));
    parts
        .map(|part| {
            let (name, data) = part.split_once('\n').unwrap();
            (name.strip_prefix("event: ").unwrap().to_owned(), serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap())
        })
        .collect()
}

#[test]
fn generations_are_pictures_in_the_answer_or_links_for_an_hour() {
    let studio = Studio::open();
    let body = json!({"model": "gpt-image-1", "prompt": "a lake", "n": 2, "size": "64x64", "steps": 2, "seed": 7, "quality": "low"});
    let answer = post(studio.address(), "/v1/images/generations", &body).ok();
    let data = answer["data"].as_array().unwrap();
    assert_eq!(data.len(), 2);
    assert!(data.iter().all(|it| it.get("url").is_none()), "clients refuse links to private addresses");
    assert_eq!((answer["size"].as_str(), answer["output_format"].as_str()), (Some("64x64"), Some("png")));
    let again = json!({"prompt": "a lake", "n": 1, "size": "64x64", "steps": 2, "seed": 7, "response_format": "url"});
    let answer = post(studio.address(), "/v1/images/generations", &again).ok();
    let url = answer["data"][0]["url"].as_str().unwrap();
    let path = url.strip_prefix(&format!("http://{}", studio.address())).unwrap();
    let file = get(studio.address(), path);
    assert_eq!((file.status, file.header("content-type")), (200, Some("image/png")));
    assert_eq!(file.body, bytes_of(&data[0]["b64_json"]), "the same settings give the same picture");
    assert_eq!(get(studio.address(), "/v1/files/0123456789abcdef.png").status, 404);
}

#[test]
fn edits_and_variations_take_forms() {
    let studio = Studio::open();
    let image = png(64, 64);
    let texts = [("prompt", "red"), ("model", "dall-e-2"), ("size", "64x64"), ("steps", "2"), ("n", "1"), ("output_format", "webp")];
    let answer = form(&studio, "/v1/images/edits", &texts, &[("image", &image)]).ok();
    assert!(bytes_of(&answer["data"][0]["b64_json"]).starts_with(b"RIFF"));
    let answer = form(&studio, "/v1/images/edits", &texts, &[("image[]", &image), ("mask", &image)]).ok();
    assert_eq!(answer["data"].as_array().unwrap().len(), 1);
    let answer = form(&studio, "/v1/images/variations", &[("n", "1"), ("size", "64x64"), ("steps", "2")], &[("image", &image)]).ok();
    assert_eq!(answer["data"].as_array().unwrap().len(), 1);
    let missing = form(&studio, "/v1/images/edits", &texts, &[]);
    assert_eq!((missing.status, missing.json()["error"]["param"].as_str()), (400, Some("image")));
    assert_eq!(missing.header("x-should-retry"), Some("false"));
    let broken = form(&studio, "/v1/images/edits", &texts, &[("image", b"no picture")]);
    assert_eq!(broken.status, 400, "{}", broken.text());
    // Larger than the limit of 2 MB that axum has by itself.
    let mut large = png(64, 64);
    large.resize(3 << 20, 0);
    let answer = form(&studio, "/v1/images/edits", &texts, &[("image", &large)]);
    assert!(large.len() > 2 << 20 && answer.status != 413, "{}", answer.text());
}

#[test]
fn a_stream_has_previews_and_then_the_picture() {
    let studio = Studio::open();
    let body = json!({"prompt": "a lake", "size": "64x64", "steps": 12, "seed": 3, "stream": true, "partial_images": 2, "style": "vivid"});
    let answer = post(studio.address(), "/v1/images/generations", &body);
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("text/event-stream")));
    let events = events(&answer);
    let (name, completed) = events.last().unwrap();
    assert_eq!(name, "image_generation.completed");
    assert_eq!(completed["type"], "image_generation.completed");
    assert!(completed["atelier"]["notes"].to_string().contains("not read: style."), "{}", completed["atelier"]);
    assert!(image::load_from_memory(&bytes_of(&completed["b64_json"])).is_ok());
    let partial: Vec<&Value> = events.iter().filter(|(name, _)| name == "image_generation.partial_image").map(|(_, data)| data).collect();
    assert_eq!(partial.len() + 1, events.len(), "nothing else comes");
    for (index, data) in partial.iter().enumerate() {
        assert_eq!(data["partial_image_index"], index);
        assert!(image::load_from_memory(&bytes_of(&data["b64_json"])).is_ok());
    }
    assert!(partial.len() <= 2);
}

#[test]
fn a_stream_has_an_event_for_each_picture() {
    let studio = Studio::open();
    let body = json!({"prompt": "a lake", "size": "64x64", "steps": 2, "seed": 3, "n": 2, "stream": true});
    let events = events(&post(studio.address(), "/v1/images/generations", &body));
    let names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["image_generation.completed"; 2], "no preview was asked for");
    assert_ne!(events[0].1["b64_json"], events[1].1["b64_json"]);
    for key in ["created_at", "size", "quality", "background", "output_format", "usage"] {
        assert!(events[1].1.get(key).is_some(), "{key}");
    }
}

#[test]
fn a_stream_tells_its_failure_and_one_whose_client_hangs_up_is_cancelled() {
    let studio = Studio::open();
    let address = studio.address();
    let body = json!({"prompt": "a long way", "size": "64x64", "steps": 150, "n": 10, "stream": true, "partial_images": 1});
    let stopped = send(address, "/v1/images/generations", &body);
    until(address, "a step", |it| it["state"]["sampling_step"].as_u64() > Some(0));
    Sent::new(address, "POST", "/sdapi/v1/interrupt", &[], b"").answer().ok();
    let told = events(&stopped.answer());
    let (name, failure) = told.last().unwrap();
    assert_eq!((name.as_str(), failure["error"]["code"].as_str()), ("error", Some("cancelled")), "{failure}");
    assert!(failure["error"]["message"].is_string() && told.iter().all(|(name, _)| !name.ends_with(".completed")), "{told:?}");

    let mut left = send(address, "/v1/images/generations", &body);
    assert_eq!(left.status(), 200);
    until(address, "a step", |it| it["state"]["sampling_step"].as_u64() > Some(0));
    drop(left);
    until(address, "the end", |it| it["state"]["job_count"] == 0);
    let jobs = get(address, "/sdcpp/v1/jobs").ok();
    assert!(jobs.as_array().unwrap().iter().all(|job| job["status"] == "cancelled"), "{jobs}");
}

#[test]
fn users_of_one_program_take_turns_and_what_they_ask_for_is_still_that_programs() {
    let studio = Studio::open();
    let address = studio.address();
    let body = |user: &str, steps: u32, n: u32| json!({"prompt": "a lake", "size": "64x64", "steps": steps, "n": n, "user": user});
    let batch = send(address, "/v1/images/generations", &body("anna@example.org", 150, 10));
    until(address, "a step", |it| it["state"]["sampling_step"].as_u64() > Some(0));
    let single = post(address, "/v1/images/generations", &body("ben@example.org", 2, 1)).ok();
    assert!(!single["atelier"]["notes"].to_string().contains("user"), "{}", single["atelier"]);
    let jobs = get(address, "/sdcpp/v1/jobs").ok();
    let left: Vec<&Value> = jobs.as_array().unwrap().iter().filter(|job| job["completed"].is_null()).collect();
    assert!(left.len() == 1 && left[0]["images"].as_u64() < Some(10), "{jobs}");
    let cancelled = post(address, &format!("/sdcpp/v1/jobs/{}/cancel", left[0]["id"].as_str().unwrap()), &json!({})).ok();
    assert_eq!(cancelled["status"], "cancelled");
    assert_eq!(batch.answer().status, 500);
    for file in studio.home.path().join("Pictures/Atelier/Shared").read_dir().unwrap() {
        assert!(!file.unwrap().file_name().to_string_lossy().contains("example"), "no folder of theirs");
    }
}

#[test]
fn failures_are_told_in_openais_words_and_not_tried_again() {
    let studio = Studio::open();
    for (body, status, code, param) in [
        (json!({"prompt": "a", "model": "nobody"}), 404, Some("model_not_found"), Some("model")),
        (json!({"prompt": "a", "size": "9x9"}), 400, None, Some("size")),
        (json!({"prompt": "a", "output_format": "svg"}), 400, None, Some("output_format")),
        (json!({"prompt": ""}), 400, None, Some("prompt")),
    ] {
        let answer = post(studio.address(), "/v1/images/generations", &body);
        let error = answer.json()["error"].clone();
        assert_eq!((answer.status, error["code"].as_str(), error["param"].as_str()), (status, code, param), "{error}");
        assert_eq!((answer.header("x-should-retry"), error["type"].as_str()), (Some("false"), Some("invalid_request_error")));
    }
    let models = get(studio.address(), "/v1/models").ok();
    assert_eq!((models["object"].as_str(), models["data"][0]["object"].as_str()), (Some("list"), Some("model")));
    assert_eq!(get(studio.address(), "/v1/models/nobody").status, 404);
}
