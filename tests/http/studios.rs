//! Another Atelier that has its pictures made here: `atelier studios` and `generate --studio`.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Output};

use atelier::http::Tokens;
use atelier::http::guard::Policy;
use atelier_core::paths::Paths;
use atelier_library::LibraryConfig;
use atelier_media::read_metadata;
use serde_json::{Value, json};

use crate::client::get;
use crate::process::atelier;
use crate::studio::Studio;
use crate::support::tiny;

const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// Runs a command and returns its exit code, its lines and what it said.
fn run(home: &Path, args: &[&str]) -> (Option<i32>, Vec<String>, String) {
    told(&atelier(home, args).output().unwrap())
}

fn told(output: &Output) -> (Option<i32>, Vec<String>, String) {
    let lines = String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
    (output.status.code(), lines, String::from_utf8_lossy(&output.stderr).into_owned())
}

fn values(lines: &[String]) -> Vec<Value> {
    lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn url(studio: &Studio) -> String {
    format!("http://{}", studio.address())
}

fn pixels(path: &Path) -> image::RgbImage {
    image::open(path).unwrap().into_rgb8()
}

/// A small picture of the studio at this address.
fn small<'a>(studio: &'a str, steps: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let flags = ["generate", "--studio", studio, "-p", "a lake", "-W", "64", "-H", "64", "--cfg-scale", "1", "-s", "42", "--steps", steps];
    [&flags[..], more].concat()
}

#[test]
fn a_picture_of_another_studio_is_kept_here_and_its_recipe_makes_it_again() {
    let studio = Studio::open();
    let home = tempfile::tempdir().unwrap();
    let folder = tiny().diffusion.parent().unwrap().to_owned();
    LibraryConfig::change(&Paths::beneath(home.path()).library_file(), |config| config.add_folder(&folder)).unwrap();
    let address = url(&studio);
    let (code, models, said) = run(home.path(), &["studios", "models", &address]);
    assert_eq!((code, models.is_empty()), (Some(0), false), "{said}");
    let (_, lines, said) = run(home.path(), &["studios", "models", &address, "--json"]);
    let told = values(&lines).remove(0);
    let there = get(studio.address(), "/sdcpp/v1/capabilities").ok()["model_defaults"][&models[0]].clone();
    let sample = &there["sample_params"];
    assert_eq!((&told["event"], &told["name"]), (&json!("model"), &json!(models[0])), "{said}");
    for (key, value) in [
        ("steps", &sample["sample_steps"]),
        ("width", &there["width"]),
        ("height", &there["height"]),
        ("cfg", &sample["guidance"]["txt_cfg"]),
        ("distilled_guidance", &sample["guidance"]["distilled_guidance"]),
        ("sampler", &sample["sample_method"]),
        ("scheduler", &sample["scheduler"]),
        ("flow_shift", &sample["flow_shift"]),
    ] {
        assert_eq!(&told["defaults"][key], value, "{key}: {told}");
    }
    assert!(told["defaults"]["steps"].is_u64(), "{told}");
    let there = home.path().join("there.png");
    let flags = ["-m", models[0].as_str(), "--json", "-o", there.to_str().unwrap()];
    let (code, lines, said) = run(home.path(), &small(&address, "3", &flags));
    assert_eq!(code, Some(0), "{said}");
    let lines = values(&lines);
    let of = |event: &str| lines.iter().filter(|line| line["event"] == event).collect::<Vec<_>>();
    let begin = of("begin");
    assert_eq!(begin.len(), 1);
    assert_eq!(json!([begin[0]["width"], begin[0]["steps"], begin[0]["seeds"]]), json!([64, 3, [42]]));
    assert_eq!((of("picture").len(), of("picture")[0]["seed"].as_i64()), (1, Some(42)));
    assert_eq!((lines.last().unwrap()["event"].as_str(), lines.last().unwrap()["outcome"].as_str()), (Some("end"), Some("done")));
    let kept = studio.kept();
    assert_eq!((kept.len(), pixels(&there)), (1, pixels(&kept[0])));

    let metadata = read_metadata(&there).unwrap();
    assert!(metadata.parameters.unwrap().contains("Studio: Studio at 127.0.0.1"));
    assert_eq!(metadata.recipe.unwrap().studio(), Some("Studio at 127.0.0.1"));
    let (_, inspected, _) = run(home.path(), &["inspect", there.to_str().unwrap()]);
    assert!(inspected.iter().any(|line| line == "  made on: Studio at 127.0.0.1"), "{inspected:?}");
    let here = home.path().join("here.png");
    let again = ["generate", "--like", there.to_str().unwrap(), "-t", "1", "-o", here.to_str().unwrap()];
    let (code, _, said) = run(home.path(), &again);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(pixels(&here), pixels(&there), "the same model makes the same picture on both");
}

#[test]
fn a_studio_is_kept_with_its_token_and_used_by_its_name() {
    let mut tokens = Tokens::default();
    tokens.add("Anna", TOKEN, false).unwrap();
    let studio = Studio::guarded(Policy { tokens, requires_token: true, ..Policy::default() });
    let home = tempfile::tempdir().unwrap();
    let address = url(&studio);
    let (code, _, said) = run(home.path(), &["studios", "add", &address]);
    assert!(code == Some(1) && said.contains("needs a token") && said.contains("Share models"), "{code:?} {said}");
    let (code, _, said) = run(home.path(), &["studios", "add", &format!("{address}/#t=wrong-wrong-wrong-wrong")]);
    assert!(code == Some(1) && said.contains("does not accept the token") && !said.contains("wrong-wrong"), "{code:?} {said}");
    let (code, lines, said) = run(home.path(), &["studios", "add", &format!("{address}/#t={TOKEN}"), "--name", "Studio of Anna"]);
    assert_eq!(code, Some(0), "{said}");
    assert!(lines[0].starts_with("Studio of Anna is kept") && !lines[0].contains(TOKEN), "{lines:?}");
    let (_, lines, said) = run(home.path(), &["studios", "--seconds", "0", "--json"]);
    let listed = values(&lines);
    assert_eq!(listed.len(), 1, "{said}");
    assert_eq!(json!([listed[0]["name"], listed[0]["url"], listed[0]["has_token"]]), json!(["Studio of Anna", address, true]));
    let (code, lines, said) = run(home.path(), &small("studio of anna", "1", &[]));
    assert_eq!(code, Some(0), "{said}");
    assert!(Path::new(&lines[0]).starts_with(home.path().join("Pictures/Atelier")), "{lines:?}");
    let made_on = read_metadata(Path::new(&lines[0])).unwrap().recipe.unwrap().studio().map(str::to_owned);
    assert_eq!(made_on.as_deref(), Some("Studio of Anna"));
    let (code, lines, _) = run(home.path(), &["gallery", "search", "lake"]);
    assert_eq!((code, lines.len()), (Some(0), 1), "it is in the gallery");
    assert_eq!(run(home.path(), &["studios", "rm", "Studio of Anna"]).0, Some(0));
    assert_eq!(run(home.path(), &["studios", "rm", "Studio of Anna"]).0, Some(1));
}

#[test]
fn what_a_studio_does_not_take_is_named() {
    let studio = Studio::open();
    let home = tempfile::tempdir().unwrap();
    let address = url(&studio);
    for (flags, code, words) in [
        (&["-m", "nobody"][..], 1, "There is no model named nobody here."),
        (&["--lora", "ink.safetensors"], 2, "--lora"),
        (&["--backend", "cpu"], 2, "--backend"),
        (&["-b", "9"], 1, "batch_count"),
        (&["-i", "/nowhere.png"], 1, "/nowhere.png"),
    ] {
        let (got, _, said) = run(home.path(), &small(&address, "1", flags));
        assert!(got == Some(code) && said.contains(words), "{flags:?}: {got:?} {said}");
    }
    let (code, _, said) = run(home.path(), &small("http://127.0.0.1:1", "1", &[]));
    assert!(code == Some(1) && said.contains("cannot be reached"), "{code:?} {said}");
    assert!(studio.kept().is_empty());
}

/// Begins a long job there and waits for its first step.
fn begin_long(home: &Path, address: &str) -> Child {
    let mut child = atelier(home, &small(address, "150", &["-b", "8", "--json"])).spawn().unwrap();
    // The rest is read by whoever waits for its end.
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let step = lines.find(|line| line.as_ref().is_ok_and(|line| line.contains("\"event\":\"step\"")));
    assert!(step.is_some(), "{}", told(&child.wait_with_output().unwrap()).2);
    std::thread::spawn(move || lines.for_each(drop));
    child
}

#[cfg(unix)]
#[test]
fn ctrl_c_cancels_the_job_there() {
    let studio = Studio::open();
    let home = tempfile::tempdir().unwrap();
    let child = begin_long(home.path(), &url(&studio));
    let (code, _, said) = told(&crate::process::stop(child));
    assert_eq!(code, Some(130), "{said}");
    assert_eq!(get(studio.address(), "/sdcpp/v1/jobs").ok()[0]["status"], "cancelled");
}

#[test]
fn a_connection_that_is_lost_is_an_error_and_can_be_tried_again() {
    let mut studio = Studio::open();
    let home = tempfile::tempdir().unwrap();
    let child = begin_long(home.path(), &url(&studio));
    studio.serve();
    let (code, _, said) = told(&child.wait_with_output().unwrap());
    assert!(code == Some(1) && said.contains("was lost") && said.contains("Try again."), "{code:?} {said}");
    // What it left there does not keep the next one.
    let jobs = get(studio.address(), "/sdcpp/v1/jobs").ok();
    let path = format!("/sdcpp/v1/jobs/{}/cancel", jobs[0]["id"].as_str().unwrap());
    crate::client::post(studio.address(), &path, &Value::Null);
    let (code, _, said) = run(home.path(), &small(&url(&studio), "1", &[]));
    assert_eq!(code, Some(0), "{said}");
}
