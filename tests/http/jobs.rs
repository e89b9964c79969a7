//! Jobs that are asked for now and fetched later.

use atelier::http::Tokens;
use atelier::http::guard::Policy;
use atelier_core::recipe::{CacheMode, StepCache, TileSize};
use serde_json::{Value, json};

use crate::client::{Answer, Sent, get, post};
use crate::pictures::bytes_of;
use crate::studio::Studio;

fn small(prompt: &str, steps: u32, count: u32) -> Value {
    json!({"prompt": prompt, "width": 64, "height": 64, "seed": 42, "batch_count": count,
        "sample_params": {"sample_steps": steps, "guidance": {"txt_cfg": 1.5}}})
}

/// Adds a job and returns its path.
fn add(studio: &Studio, body: &Value) -> String {
    let answer = post(studio.address(), "/sdcpp/v1/img_gen", body);
    assert_eq!(answer.status, 202, "{}", answer.text());
    let answer = answer.json();
    assert_eq!((answer["status"].as_str(), answer["kind"].as_str()), (Some("queued"), Some("img_gen")));
    answer["poll_url"].as_str().unwrap().to_owned()
}

/// What happened to a job until its end.
fn events(studio: &Studio, path: &str) -> Vec<(String, Value)> {
    let answer = get(studio.address(), &format!("{path}/events"));
    let parts = answer.text().split("\n\n").filter(|part| part.starts_with("event: "));
    parts
        .map(|part| {
            let (name, data) = part.split_once('\n').unwrap();
            (name.replace("event: ", ""), serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap())
        })
        .collect()
}

#[test]
fn a_job_tells_its_events_and_has_its_pictures_afterwards() {
    let studio = Studio::open();
    let capabilities = get(studio.address(), "/sdcpp/v1/capabilities").ok();
    assert_eq!(capabilities["features"]["cancel_generating"], true);
    assert!(capabilities["samplers"].as_array().unwrap().contains(&json!("euler_a")));
    let model = capabilities["model"]["name"].as_str().unwrap();
    assert_eq!(capabilities["model_defaults"][model], capabilities["defaults"]);
    assert!(capabilities["defaults"]["sample_params"]["sample_steps"].is_u64(), "{capabilities}");
    let path = add(&studio, &small("a lake", 4, 2));
    let told = events(&studio, &path);
    let names: Vec<&str> = told.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!((names.first(), names.last()), (Some(&"state"), Some(&"end")), "{names:?}");
    assert_eq!(names.iter().filter(|name| **name == "picture").count(), 2, "{names:?}");
    assert_eq!(told.last().unwrap().1["status"], "completed");
    let begin = told.iter().find_map(|(_, data)| data.get("begin").filter(|begin| !begin.is_null())).unwrap();
    assert_eq!(begin, &json!({"width": 64, "height": 64, "steps": 4, "seeds": [42, 43]}));
    let job = get(studio.address(), &path).ok();
    assert_eq!((job["status"].as_str(), job["queue_position"].as_u64()), (Some("completed"), Some(0)));
    let images = job["result"]["images"].as_array().unwrap();
    assert_eq!(images.len(), 2);
    let second = get(studio.address(), &format!("{path}/images/1"));
    assert_eq!((second.header("content-type"), &second.body), (Some("image/png"), &bytes_of(&images[1]["b64_json"])));
    let sync = json!({"prompt": "a lake", "steps": 4, "cfg_scale": 1.5, "width": 64, "height": 64, "seed": 42});
    let sync = post(studio.address(), "/sdapi/v1/txt2img", &sync).ok();
    assert_eq!(bytes_of(&sync["images"][0]), bytes_of(&images[0]["b64_json"]), "each interface makes the same picture");
    assert_eq!(get(studio.address(), "/sdcpp/v1/jobs").ok().as_array().unwrap().len(), 2);
}

#[test]
fn a_job_that_takes_a_while_shows_its_picture_as_it_forms_and_its_place_while_it_waits() {
    let studio = Studio::open();
    let first = add(&studio, &small("a long way", 150, 2));
    let second = add(&studio, &small("the next one", 2, 1));
    let waiting = get(studio.address(), &second).ok();
    assert!(waiting["status"] != "queued" || waiting["queue_position"].as_u64() > Some(0), "{waiting}");
    let told = events(&studio, &first);
    let previews: Vec<&Value> = told.iter().filter(|(name, _)| name == "preview").map(|(_, data)| data).collect();
    assert!(!previews.is_empty() && previews.iter().all(|it| bytes_of(&it["b64_json"]).starts_with(&[0xff, 0xd8])), "{previews:?}");
    let step = told.iter().find(|(name, _)| name == "step").map(|(_, data)| data).unwrap();
    assert!(step["steps"] == 150 && step["progress"].as_f64().is_some_and(|it| (0.0..=1.0).contains(&it)), "{step}");
    assert_eq!(events(&studio, &second).last().unwrap().1["status"], "completed");
}

#[test]
fn cache_tiles_and_noise_levels_of_a_job_are_what_its_picture_was_made_with() {
    let studio = Studio::open();
    assert_eq!(get(studio.address(), "/sdcpp/v1/capabilities").ok()["features"]["cache"], true);
    let mut body = small("a lake", 4, 1);
    body["sample_params"]["extra_sample_args"] = json!("apg_eta=0.5");
    for (key, value) in [
        ("cache_mode", json!("spectrum")),
        ("cache_option", json!("warmup=2,stop=0.5")),
        ("hires", json!({"enabled": true, "target_width": 128, "custom_sigmas": [0.75, 0], "upscale_tile_size": 128})),
        ("vae_tiling_params", json!({"enabled": true, "target_overlap": 0.25, "rel_size_x": 0.5, "rel_size_y": 0.5})),
    ] {
        body[key] = value;
    }
    let told = events(&studio, &add(&studio, &body));
    let end = &told.last().unwrap().1;
    assert!(end["status"] == "completed" && !end["notes"].to_string().contains("not read"), "{end}");
    let made = atelier_media::read_metadata(&studio.kept()[0]).unwrap().recipe.unwrap().with_names().recipe;
    let options = StepCache::read_options("warmup=2,stop=0.5").unwrap();
    assert_eq!(made.sampler_arguments, "apg_eta=0.5");
    assert_eq!(made.step_cache, Some(StepCache { options, ..StepCache::of(CacheMode::Spectrum) }));
    let hires = made.hires.unwrap();
    assert_eq!((hires.target, hires.sigmas, hires.tile_size), (Some((128, 128)), vec![0.75, 0.0], None));
    // Half of 128 pixels, which are 16 values of the latent.
    assert_eq!((made.vae_tiling, made.vae_tile_size, made.vae_tile_overlap), (true, Some(TileSize::square(8)), Some(0.25)));
    let wrong = post(studio.address(), "/sdcpp/v1/img_gen", &json!({"cache_mode": "ucache", "cache_option": "speed=1"}));
    assert!(wrong.status == 400 && wrong.text().contains("cache_option"), "{}", wrong.text());
}

#[test]
fn an_answer_names_what_its_format_cannot_keep() {
    let studio = Studio::open();
    let mut body = small("a lake", 2, 1);
    body["output_format"] = json!("jpeg");
    let path = add(&studio, &body);
    assert_eq!(events(&studio, &path).last().unwrap().1["status"], "completed");
    let fetch = || get(studio.address(), &format!("{path}/images/0"));
    let whole = fetch();
    assert_eq!((whole.status, whole.header("content-type"), whole.header("x-atelier-losses")), (200, Some("image/jpeg"), None));
    // As another program saves it.
    let kept = studio.kept();
    image::ImageBuffer::from_pixel(8, 8, image::Rgba([9_u16, 9, 9, 0])).save(&kept[0]).unwrap();
    let copy = fetch();
    assert_eq!((copy.status, copy.header("x-atelier-losses")), (200, Some("transparency, sixteen_bits")));
    let job = get(studio.address(), &path).ok();
    assert_eq!(job["result"]["images"][0]["losses"], json!(["transparency", "sixteen_bits"]));
}

#[test]
fn a_job_is_cancelled_while_it_waits_and_while_it_runs() {
    let studio = Studio::open();
    let running = add(&studio, &small("a long way", 150, 8));
    let waiting = add(&studio, &small("the next one", 150, 8));
    let cancelled = post(studio.address(), &format!("{waiting}/cancel"), &json!({})).ok();
    assert_eq!((cancelled["status"].as_str(), cancelled["error"]["code"].as_str()), (Some("cancelled"), Some("cancelled")));
    let cancelled = post(studio.address(), &format!("{running}/cancel"), &json!({"reason": "secret"})).ok();
    assert_eq!(cancelled["status"], "cancelled");
    let notes = cancelled["notes"].to_string();
    assert!(notes.contains("not read: reason.") && !notes.contains("secret"), "{notes}");
    assert_eq!(post(studio.address(), &format!("{running}/cancel"), &json!({})).status, 409);
    let unknown = get(studio.address(), "/sdcpp/v1/jobs/999999");
    assert_eq!((unknown.status, unknown.json()), (404, json!({"error": "job not found"})));
    assert_eq!(get(studio.address(), "/sdcpp/v1/jobs/x").status, 404);
    let noted = post(studio.address(), "/sdcpp/v1/img_gen", &json!({"prompt": "a", "width": 64, "height": 64, "unheard_of": 1})).json();
    assert!(noted["notes"].to_string().contains("not read: unheard_of."), "{noted}");
    post(studio.address(), &format!("{}/cancel", noted["poll_url"].as_str().unwrap()), &json!({}));
    let wrong = post(studio.address(), "/sdcpp/v1/img_gen", &json!({"batch_count": 9}));
    assert_eq!(wrong.status, 400, "{}", wrong.text());
}

#[test]
fn a_job_that_ended_long_ago_is_gone_and_one_that_never_was_is_not_there() {
    let mut studio = Studio::open();
    let path = add(&studio, &small("a lake", 2, 1));
    assert_eq!(events(&studio, &path).last().unwrap().1["status"], "completed");
    // A server that is started remembers no job that ended before.
    studio.serve();
    for (method, below) in [("GET", ""), ("POST", "/cancel"), ("GET", "/events"), ("GET", "/images/0")] {
        let ask = |path: &str| {
            let answer = Sent::new(studio.address(), method, &format!("{path}{below}"), &[], b"").answer();
            (answer.status, answer.json())
        };
        assert_eq!(ask(&path), (410, json!({"error": "job expired"})), "{below}");
        assert_eq!(ask("/sdcpp/v1/jobs/999999"), (404, json!({"error": "job not found"})), "{below}");
    }
}

#[test]
fn nobody_sees_or_stops_the_job_of_another_owner() {
    let mut tokens = Tokens::default();
    let (anna, ben) = ("anna-anna-anna-anna", "ben-ben-ben-ben-ben");
    tokens.add("Anna", anna, false).unwrap();
    tokens.add("Ben", ben, false).unwrap();
    let studio = Studio::guarded(Policy { tokens, ..Policy::default() });
    let ask = |token: &str, method: &str, path: &str, body: &Value| -> Answer {
        Sent::new(studio.address(), method, path, &[("Authorization", &format!("Bearer {token}"))], body.to_string().as_bytes()).answer()
    };
    let added = ask(anna, "POST", "/sdcpp/v1/img_gen", &small("Anna's secret", 150, 8)).json();
    let path = added["poll_url"].as_str().unwrap();
    assert_eq!(ask(ben, "GET", path, &Value::Null).status, 404);
    assert_eq!(ask(ben, "POST", &format!("{path}/cancel"), &Value::Null).status, 404);
    assert_eq!(ask(ben, "GET", "/sdcpp/v1/jobs", &Value::Null).json(), json!([]));
    assert_eq!(ask(ben, "POST", "/sdapi/v1/interrupt", &Value::Null).status, 200);
    for path in ["unload-checkpoint", "reload-checkpoint"] {
        assert_eq!(ask(ben, "POST", &format!("/sdapi/v1/{path}"), &Value::Null).status, 403, "the memory is everybody's: {path}");
    }
    let progress = ask(ben, "GET", "/sdapi/v1/progress", &Value::Null).json();
    assert_eq!(progress["state"]["job_count"], 0, "{progress}");
    assert_ne!(ask(anna, "GET", path, &Value::Null).json()["status"], "cancelled");
    assert_eq!(ask(anna, "POST", &format!("{path}/cancel"), &Value::Null).json()["status"], "cancelled");
    let done = ask(ben, "POST", "/sdcpp/v1/img_gen", &small("Ben's", 2, 1)).json();
    let of_ben = format!("{}/events", done["poll_url"].as_str().unwrap());
    assert!(ask(ben, "GET", &of_ben, &Value::Null).text().contains("\"completed\""));
    let folders: Vec<String> =
        studio.kept().iter().map(|path| path.parent().unwrap().file_name().unwrap().to_string_lossy().into_owned()).collect();
    assert_eq!(folders, ["Ben"]);
}
