//! How long pictures of others are kept.

use std::path::{Path, PathBuf};

use atelier::http::Retention;
use atelier_core::paths::Paths;
use atelier_core::recipe::{ImageSource, InitImage, Recipe};
use atelier_gallery::queue::{Lane, NewJob, PauseMode};
use atelier_gallery::{Database, FileHash, Order, PictureId, Query, Trash};
use serde_json::{Value, json};

use crate::owners::{ANNA, BEN, add, ask, end, shared};
use crate::process::atelier;
use crate::studio::Studio;
use crate::support::recipe;

const DAY_MS: i64 = 24 * 60 * 60 * 1000;

/// A trash that is a folder.
struct Bin(PathBuf);

impl Trash for Bin {
    fn put(&mut self, path: &Path) -> Result<(), String> {
        std::fs::create_dir_all(&self.0).unwrap();
        std::fs::rename(path, self.0.join(path.file_name().unwrap())).map_err(|error| error.to_string())
    }

    fn restore(&mut self, _: &Path, _: FileHash) -> Result<(), String> {
        Err("nothing comes back in this test".into())
    }
}

/// Looks for old pictures, as if so many days had passed; how many were moved.
fn after_days(studio: &Studio, days: i64) -> usize {
    let now = atelier_gallery::now_ms() + days * DAY_MS;
    studio.server().remove_old_pictures(now, &mut Bin(studio.home.path().join("bin")))
}

fn make(studio: &Studio, token: &str, prompt: &str) {
    let path = add(studio, token, prompt, 2, 1);
    assert_eq!(end(studio, token, &path)["status"], "completed");
}

fn prompts(studio: &Studio, token: &str) -> Vec<String> {
    let told = ask(studio, token, "GET", "/atelier/v1/pictures", &Value::Null).ok();
    let mut prompts: Vec<String> =
        told["pictures"].as_array().unwrap().iter().map(|it| it["prompt"].as_str().unwrap().to_owned()).collect();
    prompts.sort();
    prompts
}

#[test]
fn pictures_of_others_that_nobody_wanted_to_keep_go_to_the_trash_after_their_days() {
    let studio = shared();
    for prompt in ["a lake", "a starred lake"] {
        make(&studio, ANNA, prompt);
    }
    make(&studio, BEN, "a harbour");
    let saved = json!({"prompt": "a saved lake", "width": 64, "height": 64, "steps": 2, "seed": 9, "save_images": true});
    assert_eq!(ask(&studio, ANNA, "POST", "/sdapi/v1/txt2img", &saved).status, 200);
    let listed = ask(&studio, ANNA, "GET", "/atelier/v1/pictures", &Value::Null).ok();
    let starred = listed["pictures"].as_array().unwrap().iter().find(|it| it["prompt"] == "a starred lake").unwrap();
    let rating = format!("/atelier/v1/pictures/{}/rating", starred["id"].as_str().unwrap());
    assert_eq!(ask(&studio, ANNA, "POST", &rating, &json!({"rating": 5})).status, 200);
    let all = ["a lake", "a saved lake", "a starred lake"];
    assert_eq!(prompts(&studio, ANNA), all, "one that is saved is hers too");
    let limits = ask(&studio, ANNA, "GET", "/sdcpp/v1/capabilities", &Value::Null).ok()["limits"].clone();
    assert_eq!(limits["keep_days"], 7);

    assert_eq!(after_days(&studio, 6), 0);
    studio.server().set_retention(Retention::of_days(0));
    assert_eq!(after_days(&studio, 1000), 0, "for ever");
    studio.server().set_retention(Retention::of_days(7));
    assert_eq!(after_days(&studio, 8), 2);
    assert_eq!((prompts(&studio, ANNA), prompts(&studio, BEN)), (all[1..].iter().map(|it| (*it).to_owned()).collect(), Vec::new()));
    assert_eq!(std::fs::read_dir(studio.home.path().join("bin")).unwrap().count(), 2, "they are in the trash");
    assert_eq!(after_days(&studio, 1000), 0, "what is wanted stays");
}

#[test]
fn what_the_person_at_the_machine_and_their_programs_made_is_never_touched() {
    let studio = Studio::open();
    let wish = json!({"prompt": "a lake of my program", "width": 64, "height": 64, "steps": 2, "seed": 9});
    assert_eq!(crate::client::post(studio.address(), "/sdapi/v1/txt2img", &wish).status, 200);
    let paths = Paths::beneath(studio.home.path());
    // One of the person's own, also where it was put among those of another one.
    let anna = paths.shared_pictures().join("Anna");
    std::fs::create_dir_all(&anna).unwrap();
    let own = anna.join("own.png");
    std::fs::copy(&studio.kept()[0], &own).unwrap();
    let output = atelier(studio.home.path(), &["gallery", "scan"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let found: Vec<PictureId> = Database::open(&paths.gallery_file()).unwrap().0.search(&Query::parse(""), Order::Newest).unwrap();
    assert_eq!(found.len(), 2, "both are in the index");
    assert_eq!(after_days(&studio, 1000), 0);
    assert!(own.exists() && studio.kept().len() == 2);
}

#[test]
fn what_a_job_begins_with_stays_until_the_job_has_ended() {
    let studio = shared();
    for prompt in ["a lake", "a pond", "a river"] {
        make(&studio, ANNA, prompt);
    }
    studio.pause(PauseMode::AfterPicture);
    let listed = ask(&studio, ANNA, "GET", "/atelier/v1/pictures", &Value::Null).ok();
    let lake = listed["pictures"].as_array().unwrap().iter().find(|it| it["prompt"] == "a lake").unwrap();
    let path = format!("/atelier/v1/pictures/{}/upscale", lake["id"].as_str().unwrap());
    let added = ask(&studio, ANNA, "POST", &path, &Value::Null);
    assert_eq!(added.status, 202, "{}", added.text());
    // A job of the person at the machine that another process adds, by another spelling of the path.
    let (mut gallery, _) = Database::open(&Paths::beneath(studio.home.path()).gallery_file()).unwrap();
    let pond = gallery.search(&Query::parse("pond"), Order::Newest).unwrap();
    let file = gallery.pictures(&pond).unwrap().remove(0).path;
    let (folder, name) = (file.parent().unwrap(), file.file_name().unwrap());
    let file = folder.join("..").join(folder.file_name().unwrap()).join(name);
    let recipe = Recipe { further_starts: vec![ImageSource::File(file)], init: Some(own_start(studio.home.path())), ..recipe() };
    let job = NewJob::of_person(recipe, Lane::Interactive, studio.home.path().join("own"), "tiny".into());
    let of_person = gallery.add_job(&job).unwrap();

    assert_eq!(after_days(&studio, 8), 1, "no job begins with the river");
    assert_eq!(prompts(&studio, ANNA), ["a lake", "a pond"]);
    gallery.cancel_job(of_person).unwrap();
    assert_eq!(after_days(&studio, 8), 1, "nor with the pond any more");
    studio.pause(PauseMode::No);
    assert_eq!(end(&studio, ANNA, added.json()["poll_url"].as_str().unwrap())["status"], "completed");
}

/// A start picture that is in no gallery.
fn own_start(home: &Path) -> InitImage {
    let path = home.join("start.png");
    image::RgbImage::new(64, 64).save(&path).unwrap();
    InitImage { image: ImageSource::File(path), strength: 0.5 }
}

#[test]
fn a_picture_that_was_written_over_stays() {
    let studio = shared();
    make(&studio, ANNA, "a lake");
    let file = studio.kept().remove(0);
    image::RgbImage::from_pixel(64, 64, image::Rgb([9, 8, 7])).save(&file).unwrap();
    assert_eq!(after_days(&studio, 8), 0);
    assert!(file.exists(), "it is somebody's painting now");
}
