//! `atelier queue` against a scripted engine.

use super::super::tests::run_once_at;
use crate::cli::exit::Exit;
use atelier_core::recipe::{PictureInfo, Rgb8, Seed};
use atelier_engine::{Begin, End, EngineEnd, Event, Picture, Request, Timings};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::sync::Arc;

fn lines(out: &str) -> Vec<Value> {
    out.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

/// A file of this name in the folder; the scripted engine does not open it.
fn there(home: &Path, name: &str) -> String {
    let path = home.join(name);
    fs::write(&path, "").unwrap();
    path.to_str().unwrap().to_owned()
}

fn no_engine(_: &EngineEnd) {
    panic!("the engine was started");
}

/// Makes one picture of each job that comes, and ends when the handle is gone.
fn painter(engine: &EngineEnd) {
    while let Some(request) = engine.next() {
        let Request::Job { job, .. } = request else { continue };
        if engine.start(job).is_none() {
            continue;
        }
        let begin = Begin { width: 64, height: 64, steps: 1, seeds: vec![Seed(7)], notes: Vec::new() };
        engine.send(Event::Begin { job, begin });
        let image = Arc::new(Rgb8::new(64, 64, vec![9; 64 * 64 * 3]).unwrap());
        let info = PictureInfo { index: 0, seed: Some(Seed(7)), cpu_math: None, merged_loras: false };
        engine.send(Event::Picture { job, picture: Picture { info, notes: Vec::new(), image } });
        engine.send(Event::End { job, end: End::Done { pictures: vec![info], timings: Timings::default(), notes: Vec::new() } });
    }
}

#[test]
fn jobs_are_added_listed_paused_cancelled_made_and_forgotten() {
    let home = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| run_once_at(home.path(), &[&["queue"], args].concat(), no_engine);
    let model = there(home.path(), "m.gguf");
    assert!(run(&["list"]).out.contains("The queue is empty."));
    let added = run(&["add", "-m", &model, "-p", "a lake", "--json"]);
    assert_eq!((added.exit, lines(&added.out)[0]["id"].as_i64()), (Exit::Done, Some(1)), "{}", added.err);
    run(&["add", "-m", &model, "-p", "a castle", "--first", "--pin", "CUDA1"]);
    run(&["add", "-m", &model, "-p", "a forest"]);
    let listed = lines(&run(&["list", "--json"]).out);
    let prompts: Vec<_> = listed.iter().filter_map(|line| line["prompt"].as_str()).collect();
    assert_eq!(prompts, ["a castle", "a lake", "a forest"]);
    assert_eq!((listed[0]["device"].as_str(), listed[1]["reason"].as_str()), (Some("CUDA1"), Some("Waits for 1 job of higher priority")));
    assert_eq!(listed[3]["running"].as_bool(), Some(false));

    assert_eq!(run(&["pause"]).exit, Exit::Done);
    let paused = run_once_at(home.path(), &["queue", "run"], painter);
    assert_eq!(paused.exit, Exit::Done);
    assert!(paused.err.contains("The queue is paused.") && paused.out.is_empty(), "{}", paused.err);
    run(&["resume"]);
    assert!(run(&["clear", "3"]).out.contains("Job 3 is cancelled."));
    assert_eq!(run(&["clear", "99"]).exit, Exit::Usage);

    let made = run_once_at(home.path(), &["queue", "run", "--json"], painter);
    assert_eq!(made.exit, Exit::Done, "{}", made.err);
    let made = lines(&made.out);
    let paths: Vec<_> = made.iter().filter(|line| line["event"] == "picture").map(|line| line["path"].as_str().unwrap()).collect();
    assert!(paths.len() == 2 && paths.iter().all(|path| Path::new(path).is_file()), "{made:?}");
    assert_eq!(made.iter().filter(|line| line["event"] == "ended" && line["state"] == "done").count(), 2);

    let listed = lines(&run(&["list", "--json"]).out);
    let castle = listed.iter().find(|line| line["prompt"] == "a castle").unwrap();
    let like = run(&["add", "--like", castle["pictures"][0].as_str().unwrap(), "-m", &model, "--steps", "3", "--json"]);
    assert_eq!(like.exit, Exit::Done, "{}", like.err);
    let waiting: Vec<_> = lines(&run(&["list", "--json"]).out).into_iter().filter(|line| line["state"] == "waiting").collect();
    assert_eq!((waiting.len(), &waiting[0]["prompt"]), (1, &Value::from("a castle")));
    assert_eq!(run(&["clear"]).exit, Exit::Done);
    assert_eq!(run(&["add", "--like", "/nowhere/a.png", "-m", &model]).exit, Exit::Failed);

    assert!(run(&["resume", "3"]).out.contains("Job 3 waits"));
    let last = run_once_at(home.path(), &["queue", "run"], painter);
    assert_eq!((last.exit, last.out.lines().count()), (Exit::Done, 1), "{}", last.err);
    assert!(run(&["clear", "--ended"]).out.contains("4 jobs removed from the list"));
    assert_eq!(run(&["resume", "3"]).exit, Exit::Usage);
}

#[test]
fn each_start_picture_is_a_job_that_says_which_it_is() {
    let home = tempfile::tempdir().unwrap();
    let [model, one, other] = ["m.gguf", "a.png", "b.png"].map(|name| there(home.path(), name));
    let add = ["queue", "add", "-m", &model, "-p", "a lake", "-W", "64", "-H", "64", "-i", &one, "-i", &other, "--json"];
    let added = run_once_at(home.path(), &add, no_engine);
    let told: Vec<_> = lines(&added.out).iter().map(|line| (line["id"].as_i64(), line["made_from"].as_str().map(str::to_owned))).collect();
    assert_eq!(told, [(Some(1), Some(one)), (Some(2), Some(other))], "{}", added.err);
    let listed = lines(&run_once_at(home.path(), &["queue", "list", "--json"], no_engine).out);
    assert_eq!(listed.iter().filter(|line| line["state"] == "waiting").count(), 2, "{listed:?}");
}

#[test]
fn a_job_whose_files_are_not_there_is_refused_before_its_turn() {
    let home = tempfile::tempdir().unwrap();
    let (model, picture) = (there(home.path(), "m.gguf"), there(home.path(), "a.png"));
    let gone = home.path().join("gone.safetensors").to_str().unwrap().to_owned();
    for flags in [
        &["-m", &gone][..],
        &["-m", &model, "-i", &gone],
        &["-m", &model, "-i", &picture, "--mask", &gone],
        &["-m", &model, "--lora", &gone],
        &["-m", &model, "-r", &gone],
        &["-m", &model, "-i", &picture, "-i", &gone],
    ] {
        let refused = run_once_at(home.path(), &[&["queue", "add", "-p", "a lake", "-W", "64", "-H", "64"], flags].concat(), no_engine);
        assert_eq!(refused.exit, Exit::Failed, "{flags:?}: {}", refused.err);
        assert!(refused.err.contains("gone.safetensors does not exist"), "{flags:?}: {}", refused.err);
    }
    assert!(run_once_at(home.path(), &["queue", "list"], no_engine).out.contains("The queue is empty."));
}

#[test]
fn a_job_that_fails_says_why_and_the_command_too() {
    let home = tempfile::tempdir().unwrap();
    let model = there(home.path(), "m.gguf");
    run_once_at(home.path(), &["queue", "add", "-m", &model, "-p", "a lake"], no_engine);
    let failing = |engine: &EngineEnd| {
        while let Some(request) = engine.next() {
            if let Request::Job { job, .. } = request
                && engine.start(job).is_some()
            {
                engine.send(Event::End { job, end: End::Failed(atelier_engine::Failure::new("The model is broken.", "")) });
            }
        }
    };
    let ran = run_once_at(home.path(), &["queue", "run"], failing);
    assert_eq!(ran.exit, Exit::Failed);
    assert!(ran.err.contains("error: job 1: The model is broken."), "{}", ran.err);
    assert!(run_once_at(home.path(), &["queue", "list"], no_engine).out.contains("The model is broken."));
}

#[test]
fn a_job_whose_model_is_not_here_waits_for_it_and_says_how_it_comes() {
    let home = tempfile::tempdir().unwrap();
    let added = run_once_at(home.path(), &["queue", "add", "-m", "z-image-turbo", "-p", "a lake", "--json"], no_engine);
    assert_eq!((added.exit, lines(&added.out)[0]["waits_for_model"].as_str()), (Exit::Done, Some("z-image-turbo")), "{}", added.err);
    let ran = run_once_at(home.path(), &["queue", "run"], painter);
    assert_eq!(ran.exit, Exit::Failed);
    assert!(ran.err.contains("Job 1 waits for z-image-turbo"), "{}", ran.err);
    let listed = run_once_at(home.path(), &["queue", "list"], no_engine);
    assert!(listed.out.contains("Waits for the download of z-image-turbo"), "{}", listed.out);
    let refused = run_once_at(home.path(), &["queue", "add", "-p", "x", "-m", "no-such-model"], no_engine);
    assert_eq!(refused.exit, Exit::Failed);
}
