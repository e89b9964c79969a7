//! Requests as real clients sent them (SillyTavern 1.19.0, webuiapi 0.9.17, openai 3.57.0), with
//! small pictures in the place of theirs.

use serde_json::{Value, json};

use crate::client::{Answer, Sent, get};
use crate::pictures::png_text;
use crate::studio::Studio;

/// Puts a real picture where the recording has a mark, and a small size where it has a large one.
fn filled(value: &mut Value, model: &str) {
    match value {
        Value::String(text) if text.contains("chars, begins 'data:") => *text = format!("data:image/png;base64,{}", png_text(64, 64)),
        Value::String(text) if text.contains("chars, begins") => *text = png_text(64, 64),
        Value::Array(values) => values.iter_mut().for_each(|value| filled(value, model)),
        Value::Object(map) => {
            for (key, value) in map {
                match key.as_str() {
                    "model" | "sd_model_checkpoint" if value.as_str().is_some_and(|it| it.starts_with("tiny")) => *value = json!(model),
                    "size" => *value = json!("64x64"),
                    "width" | "height" if value.is_number() => *value = json!(64),
                    "steps" => *value = json!(2),
                    _ => filled(value, model),
                }
            }
        }
        _ => {}
    }
}

fn replay(studio: &Studio, recording: &str, wanted: impl Fn(&str, &Value) -> u16) -> Vec<(String, Answer)> {
    let title = get(studio.address(), "/sdapi/v1/sd-models").ok()[0]["title"].as_str().unwrap().to_owned();
    let mut answers = Vec::new();
    for line in recording.lines() {
        let mut record: Value = serde_json::from_str(line).unwrap();
        let (method, path) = (record["method"].as_str().unwrap().to_owned(), record["path"].as_str().unwrap().to_owned());
        let mut body = record["body"].take();
        filled(&mut body, &title);
        if path == "/v1/images/generations" && method == "POST" && body["size"].is_null() {
            body["size"] = json!("64x64");
            body["steps"] = json!(2);
        }
        let headers = record["headers"].as_object().unwrap().clone();
        let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (name.as_str(), value.as_str().unwrap())).collect();
        let bytes = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let answer = Sent::new(studio.address(), &method, &path, &headers, &bytes).answer();
        assert_eq!(answer.status, wanted(&path, &body), "{method} {path} {body}: {}", String::from_utf8_lossy(&answer.body));
        answers.push((path, answer));
    }
    answers
}

#[test]
fn what_sillytavern_sends_is_answered() {
    let studio = Studio::open();
    let answers = replay(&studio, include_str!("recordings/sillytavern.jsonl"), |path, _| {
        let is_comfy = ["/system_stats", "/object_info", "/prompt", "/history", "/view"].iter().any(|it| path.starts_with(it));
        match path {
            // It asks so whether the server is there.
            "/v1/images/generations" => 204,
            _ if is_comfy => 404,
            _ => 200,
        }
    });
    let pictures: Vec<&Answer> = answers.iter().filter(|(path, _)| path == "/sdapi/v1/txt2img").map(|(_, answer)| answer).collect();
    assert_eq!(pictures.len(), 2);
    for answer in pictures {
        assert_eq!(answer.json()["images"].as_array().unwrap().len(), 1);
        // It sends its own password in the body.
        assert!(!answer.text().contains("user:pass") && !answer.text().contains("\"auth\""));
    }
}

#[test]
fn what_webuiapi_sends_is_answered() {
    let studio = Studio::open();
    replay(&studio, include_str!("recordings/webuiapi.jsonl"), |path, body| match path {
        "/sdapi/v1/interrogate" => 404,
        // Its ControlNet is not here.
        "/sdapi/v1/txt2img" if !body["alwayson_scripts"]["ControlNet"].is_null() => 404,
        _ => 200,
    });
}

#[test]
fn what_the_openai_client_sends_is_answered() {
    let studio = Studio::open();
    let name = get(studio.address(), "/v1/models").ok()["data"][0]["id"].as_str().unwrap().to_owned();
    let recording = include_str!("recordings/openai.jsonl").replace("/v1/models/tiny", &format!("/v1/models/{name}"));
    let answers = replay(&studio, &recording, |path, _| if path == "/v1/nothing" { 404 } else { 200 });
    let (_, nothing) = answers.last().unwrap();
    assert_eq!(nothing.header("x-should-retry"), Some("false"));
    assert!(nothing.json()["error"]["message"].is_string(), "{}", nothing.text());
}
