//! A1111's interface.

use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use atelier_core::paths::{HOME_VARIABLE, Paths};
use atelier_core::recipe::{FileRole, PartialRecipe};
use atelier_gallery::queue::PauseMode;
use atelier_library::{BUILTIN_VARIABLE, LibraryConfig};
use atelier_studio::styles::{Style, save_style};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::client::{Sent, get, post, send};
use crate::pictures::bytes_of as bytes;
use crate::studio::Studio;
use crate::support::files;

/// Longer than anything here takes on the slowest machine.
const LIMIT: Duration = Duration::from_mins(5);

fn small(prompt: &str) -> Value {
    json!({"prompt": prompt, "steps": 3, "cfg_scale": 1.5, "width": 64, "height": 64, "seed": 42})
}

fn with(mut body: Value, more: &Value) -> Value {
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    body
}

#[test]
fn the_same_settings_give_the_same_file_as_the_command_line() {
    let studio = Studio::open();
    let answer = post(studio.address(), "/sdapi/v1/txt2img", &with(small("a lake, 湖"), &json!({"batch_size": 2}))).ok();
    let home = tempfile::tempdir().unwrap();
    let output = home.path().join("out.png");
    let mut command = Command::new(env!("CARGO_BIN_EXE_atelier"));
    command.env(HOME_VARIABLE, home.path()).env(BUILTIN_VARIABLE, home.path().join("none")).stdin(Stdio::null());
    command.args([
        "generate",
        "-W",
        "64",
        "-H",
        "64",
        "--cfg",
        "1.5",
        "--steps",
        "3",
        "--seed",
        "42",
        "-t",
        "1",
        "-b",
        "2",
        "--sampler",
        "euler",
    ]);
    let files = files();
    for (flag, role) in [("--diffusion-model", FileRole::Diffusion), ("--llm", FileRole::Llm), ("--taesd", FileRole::Taesd)] {
        command.arg(flag).arg(files.get(role).unwrap());
    }
    let done = command.args(["-p", "a lake, 湖", "-o"]).arg(&output).output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", String::from_utf8_lossy(&done.stderr));
    let images = answer["images"].as_array().unwrap();
    assert_eq!(images.len(), 2);
    for (image, name) in images.iter().zip(["out.png", "out_2.png"]) {
        let (served, made) = (bytes(image), std::fs::read(home.path().join(name)).unwrap());
        let text = |bytes: &[u8]| {
            let path = home.path().join("look.png");
            std::fs::write(&path, bytes).unwrap();
            atelier_media::read_metadata(&path).unwrap().parameters.unwrap()
        };
        assert_eq!(text(&served), text(&made));
        assert!(served == made, "{name}: {} and {} bytes", served.len(), made.len());
    }
    assert_eq!(studio.kept().len(), 2);
    let info: Value = serde_json::from_str(answer["info"].as_str().unwrap()).unwrap();
    assert_eq!(info["all_seeds"], json!([42, 43]));
    assert_eq!((info["width"].as_u64(), info["steps"].as_u64()), (Some(64), Some(3)));
    assert_eq!(info["infotexts"].as_array().unwrap().len(), 2);
    assert!(info["infotexts"][1].as_str().unwrap().contains("Seed: 43"), "{info}");
    assert_eq!(answer["parameters"], json!({}), "what was asked is not repeated: it may hold a password");
}

#[test]
fn what_is_told_of_a_picture_has_every_key_that_clients_read_also_where_they_want_no_picture() {
    const KEYS: [&str; 32] = [
        "prompt",
        "all_prompts",
        "negative_prompt",
        "all_negative_prompts",
        "seed",
        "all_seeds",
        "subseed",
        "all_subseeds",
        "subseed_strength",
        "width",
        "height",
        "sampler_name",
        "cfg_scale",
        "steps",
        "batch_size",
        "restore_faces",
        "face_restoration_model",
        "sd_model_name",
        "sd_model_hash",
        "sd_vae_name",
        "sd_vae_hash",
        "seed_resize_from_w",
        "seed_resize_from_h",
        "denoising_strength",
        "extra_generation_params",
        "index_of_first_image",
        "infotexts",
        "styles",
        "job_timestamp",
        "clip_skip",
        "is_using_inpainting_conditioning",
        "version",
    ];
    let studio = Studio::open();
    let body = with(small("a lake"), &json!({"steps": 20, "n_iter": 2, "send_images": false}));
    let answer = post(studio.address(), "/sdapi/v1/txt2img", &body).ok();
    assert_eq!((&answer["images"], studio.kept().len()), (&json!([]), 2));
    let info: Value = serde_json::from_str(answer["info"].as_str().unwrap()).unwrap();
    for key in KEYS {
        assert!(info.get(key).is_some(), "{key}: {info}");
    }
    for key in ["all_prompts", "all_negative_prompts", "all_seeds", "all_subseeds", "infotexts"] {
        assert_eq!(info[key].as_array().map(Vec::len), Some(2), "{key}");
    }
    let time = info["job_timestamp"].as_str().unwrap();
    assert!(time.len() == 14 && time.bytes().all(|it| it.is_ascii_digit()), "{time}");
    // 20 is what A1111 sends by itself.
    let told = info["extra_generation_params"]["Notes"].as_str().unwrap_or_default();
    assert_eq!(told.contains("steps 20 by"), info["steps"] != 20, "{info}");
}

#[test]
fn the_largest_seed_is_a_number_or_text_and_keeps_every_digit() {
    let studio = Studio::open();
    let asked = [json!({"seed": u64::MAX}), json!({"seed": u64::MAX.to_string()})];
    let answers = asked.map(|seed| post(studio.address(), "/sdapi/v1/txt2img", &with(small("a lake"), &seed)).ok());
    for answer in &answers {
        let info: Value = serde_json::from_str(answer["info"].as_str().unwrap()).unwrap();
        assert_eq!((&info["seed"], &info["subseed"]), (&json!(u64::MAX), &json!(-1)));
        assert!(info["infotexts"][0].as_str().unwrap().contains("Seed: 18446744073709551615,"), "{info}");
    }
    assert!(bytes(&answers[0]["images"][0]) == bytes(&answers[1]["images"][0]), "it is no seed that is drawn");
}

#[test]
fn every_list_answers_as_clients_read_it() {
    let studio = Studio::open();
    let ask = |path: &str| get(studio.address(), path).ok();
    let models = ask("/sdapi/v1/sd-models");
    let model = &models[0];
    for key in ["title", "model_name", "filename", "hash", "sha256", "config"] {
        assert!(model.get(key).is_some(), "{key} in {model}");
    }
    assert!(!model["filename"].as_str().unwrap().contains('/'), "{model}");
    assert!(ask("/sdapi/v1/samplers").as_array().unwrap().iter().any(|it| it["name"] == "Euler a" && it["aliases"][1] == "k_euler_a"));
    let schedulers = ask("/sdapi/v1/schedulers");
    let discrete = schedulers.as_array().unwrap().iter().find(|it| it["name"] == "discrete").unwrap();
    assert!(discrete["label"] == "Normal" && discrete["aliases"].as_array().unwrap().contains(&json!("uniform")), "{discrete}");
    assert_eq!(ask("/sdapi/v1/upscalers")[0]["name"], "None");
    for path in ["latent-upscale-modes", "sd-vae", "sd-modules", "loras", "prompt-styles", "hypernetworks", "face-restorers", "script-info"]
    {
        assert!(ask(&format!("/sdapi/v1/{path}")).is_array(), "{path}");
    }
    assert!(ask("/sdapi/v1/embeddings")["loaded"].is_object());
    assert_eq!(ask("/sdapi/v1/scripts")["txt2img"], json!(["controlnet"]));
    assert!(ask("/sdapi/v1/memory")["ram"]["total"].as_u64().unwrap() > 0);
    assert_eq!(ask("/controlnet/version")["version"], 3);
    assert!(ask("/controlnet/module_list")["module_list"].as_array().unwrap().contains(&json!("canny")));
    assert!(ask("/controlnet/model_list")["model_list"].is_array());
    let options = ask("/sdapi/v1/options");
    assert_eq!(options["sd_model_checkpoint"], model["title"]);
    assert_eq!(options["samples_format"], "png");
    assert!(options.get("forge_preset").is_none() && options.get("use_scale_latent_for_hires_fix").is_none());
    // Open WebUI sends the whole object back.
    assert_eq!(post(studio.address(), "/sdapi/v1/options", &options).ok(), json!({}));
    let more = json!({"sd_vae": "kl-f8", "samples_format": "png", "sd_hypernetwork": "secret"});
    let told = post(studio.address(), "/sdapi/v1/options", &more).ok();
    assert_eq!(told["atelier"]["notes"], json!(["These fields mean nothing here and were not read: sd_hypernetwork, sd_vae."]), "{told}");
    assert_eq!(post(studio.address(), "/sdapi/v1/options", &json!({"sd_model_checkpoint": "nobody"})).status, 404);
    let progress = ask("/sdapi/v1/progress");
    assert_eq!((progress["progress"].as_f64(), progress["state"]["job_count"].as_u64()), (Some(0.0), Some(0)));
    for path in ["interrupt", "refresh-checkpoints", "refresh-loras"] {
        assert_eq!(Sent::new(studio.address(), "POST", &format!("/sdapi/v1/{path}"), &[], b"").answer().ok(), json!({}), "{path}");
    }
    assert_eq!(Sent::new(studio.address(), "POST", "/sdapi/v1/skip", &[], b"").answer().ok(), Value::Null);
    for path in ["interrupt", "skip", "refresh-checkpoints", "refresh-loras", "refresh-vae", "unload-checkpoint", "reload-checkpoint"] {
        let ask = |body: &str| Sent::new(studio.address(), "POST", &format!("/sdapi/v1/{path}"), &[], body.as_bytes()).answer().ok();
        let told = ask(r#"{"task": "secret"}"#);
        assert_eq!(told["atelier"]["notes"], json!(["These fields mean nothing here and were not read: task."]), "{path}: {told}");
        let told = ask("stop, please");
        assert_eq!(told["atelier"]["notes"], json!(["The body is not JSON: line 1, column 1."]), "{path}: {told}");
    }
    let routes = ask("/openapi.json");
    for (path, methods) in routes["paths"].as_object().unwrap() {
        if methods.get("get").is_some() && !path.contains('{') {
            assert_eq!(get(studio.address(), path).status, 200, "{path}");
        }
    }
}

#[test]
fn what_is_chosen_in_a_prompt_is_told_and_makes_the_picture_of_its_words() {
    let studio = Studio::open();
    let ask = |prompt: &str| post(studio.address(), "/sdapi/v1/txt2img", &small(prompt));
    let chosen = ask("{red|blue} lake # mine").ok();
    let info: Value = serde_json::from_str(chosen["info"].as_str().unwrap()).unwrap();
    let prompt = info["prompt"].as_str().unwrap();
    assert!(["red lake", "blue lake"].contains(&prompt), "{info}");
    assert!(info["atelier"]["notes"].to_string().contains(&format!("Prompt of seed 42: {prompt}")), "{info}");
    let alone = ask(prompt).ok();
    let pixels = |answer: &Value| image::load_from_memory(&bytes(&answer["images"][0])).unwrap().into_rgb8();
    assert!(pixels(&chosen) == pixels(&alone));
    assert_eq!(ask("a __colour__ lake").status, 422, "nobody has such a list");
    // Lists of a program whose models are used in place.
    let program = tempfile::tempdir().unwrap();
    let lists = program.path().join("Data/Wildcards");
    std::fs::create_dir_all(&lists).unwrap();
    std::fs::write(lists.join("colour.txt"), "grey\n").unwrap();
    let places = Paths::beneath(studio.home.path()).library_file();
    LibraryConfig::change(&places, |places| places.add_folder(program.path())).unwrap();
    let listed = ask("a __colour__ lake").ok();
    assert!(listed["info"].as_str().is_some_and(|info| info.contains("a grey lake")), "{listed}");
}

#[test]
fn a_style_is_listed_as_texts_and_told_with_the_picture_that_it_was_asked_for() {
    let studio = Studio::open();
    let settings = PartialRecipe { prompt: Some("{prompt}, in ink".into()), ..PartialRecipe::default() };
    save_style(&Paths::beneath(studio.home.path()).styles(), &Style { name: "Ink".into(), settings }, None).unwrap();
    let listed = get(studio.address(), "/sdapi/v1/prompt-styles").ok();
    assert_eq!(listed, json!([{"name": "Ink", "prompt": "{prompt}, in ink", "negative_prompt": ""}]));
    let answer = post(studio.address(), "/sdapi/v1/txt2img", &with(small("a lake"), &json!({"styles": ["Ink", "Oil"]}))).ok();
    let info: Value = serde_json::from_str(answer["info"].as_str().unwrap()).unwrap();
    assert_eq!((info["prompt"].as_str(), &info["styles"]), (Some("a lake, in ink"), &json!(["Ink", "Oil"])));
    assert!(info["atelier"]["notes"].to_string().contains("no style named Oil"), "{info}");
}

#[test]
fn a_picture_begins_with_another_one_and_is_inpainted() {
    let studio = Studio::open();
    let address = studio.address();
    let first = post(address, "/sdapi/v1/txt2img", &small("a lake")).ok();
    let image = format!("data:image/png;base64,{}", first["images"][0].as_str().unwrap());
    let mut white = std::io::Cursor::new(Vec::new());
    let mask = image::GrayImage::from_fn(64, 64, |x, _| image::Luma([if x < 32 { 255 } else { 0 }]));
    mask.write_to(&mut white, image::ImageFormat::Png).unwrap();
    let body = json!({"init_images": [image], "denoising_strength": 0.6, "override_settings": {"samples_format": "jpeg"}});
    let jpeg = post(address, "/sdapi/v1/img2img", &with(small("a pond"), &body)).ok();
    assert!(bytes(&jpeg["images"][0]).starts_with(&[0xff, 0xd8]));
    let masked = json!({"init_images": [image], "mask": STANDARD.encode(white.into_inner()), "inpaint_full_res": false, "mask_blur": 0});
    let answer = post(address, "/sdapi/v1/img2img", &with(small("a pond"), &masked)).ok();
    let pixels = |bytes: &[u8]| image::load_from_memory(bytes).unwrap().into_rgb8();
    let (before, after) = (pixels(&bytes(&first["images"][0])), pixels(&bytes(&answer["images"][0])));
    assert_eq!(before.dimensions(), after.dimensions());
    let changed = |columns: std::ops::Range<u32>| {
        columns.flat_map(|x| (0..64).map(move |y| (x, y))).filter(|(x, y)| before.get_pixel(*x, *y) != after.get_pixel(*x, *y)).count()
    };
    assert!(changed(0..16) > 0, "the masked half is another one");
    let info = post(address, "/sdapi/v1/png-info", &json!({"image": image})).ok();
    assert!(info["info"].as_str().unwrap().starts_with("a lake\nSteps: 3") && info.get("atelier").is_none(), "{info}");
    let info = post(address, "/sdapi/v1/png-info", &json!({"image": image, "unheard_of": 1})).ok();
    assert!(info["atelier"]["notes"].to_string().contains("not read: unheard_of."), "{info}");
    let enlarging = json!({"image": image, "upscaling_resize": 2, "upscaler_1": "Lanczos", "<b>": 1});
    let large = post(address, "/sdapi/v1/extra-single-image", &enlarging).ok();
    assert!(large["html_info"].as_str().unwrap().contains("not read: &lt;b&gt;."), "{}", large["html_info"]);
    assert_eq!(pixels(&bytes(&large["image"])).dimensions(), (128, 128));
    assert_eq!(post(address, "/sdapi/v1/interrogate", &json!({"image": image})).status, 404);
    let both = json!({"imageList": [{"data": image, "name": "a.png"}, {"data": image}], "upscaling_resize": 2});
    let sizes = post(address, "/sdapi/v1/extra-batch-images", &both).ok();
    let sizes: Vec<(u32, u32)> = sizes["images"].as_array().unwrap().iter().map(|it| pixels(&bytes(it)).dimensions()).collect();
    assert_eq!(sizes, [(128, 128); 2]);
    assert_eq!(post(address, "/controlnet/detect", &json!({"controlnet_module": "canny"})).status, 422);
    for (path, body) in [("txt2img", json!({})), ("img2img", json!({"init_images": [image]}))] {
        let answer = post(address, &format!("/controlnet/{path}"), &with(small("a pond"), &body)).ok();
        assert_eq!(answer["images"].as_array().unwrap().len(), 1, "{path}");
        let unit = with(body, &json!({"controlnet_units": [{"input_image": image, "model": "nobody", "module": "none"}]}));
        let refused = post(address, &format!("/controlnet/{path}"), &with(small("a pond"), &unit));
        assert_eq!((refused.status, refused.json()), (404, json!({"detail": "ControlNet not found"})), "{path}");
    }
}

/// Asks for the progress until it is so.
pub(crate) fn until(address: SocketAddr, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
    let deadline = Instant::now() + LIMIT;
    loop {
        let progress = get(address, "/sdapi/v1/progress").ok();
        if holds(&progress) {
            return progress;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what}: {progress}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn is_idle(progress: &Value) -> bool {
    progress["state"]["job_count"] == 0 && progress["progress"] == 0.0
}

#[test]
fn progress_is_told_and_an_interrupted_request_ends_well() {
    let studio = Studio::open();
    let long = with(small("a long way"), &json!({"steps": 150, "n_iter": 10}));
    let sent = send(studio.address(), "/sdapi/v1/txt2img", &long);
    let running = until(studio.address(), "a step", |it| it["state"]["sampling_step"].as_u64() > Some(0));
    assert!(running["progress"].as_f64().unwrap() > 0.0 && !running["state"]["job"].as_str().unwrap().is_empty(), "{running}");
    assert_eq!(running["state"]["sampling_steps"], 150);
    // It stops whatever its body says.
    Sent::new(studio.address(), "POST", "/sdapi/v1/interrupt", &[], b"{oops").answer().ok();
    let answer = sent.answer().ok();
    let info: Value = serde_json::from_str(answer["info"].as_str().unwrap()).unwrap();
    assert_eq!(info["interrupted"], true);
    until(studio.address(), "the end", is_idle);
}

#[test]
fn progress_of_a_job_that_waits_says_why_and_one_that_runs_shows_its_picture_unless_that_is_not_wanted() {
    let studio = Studio::open();
    let address = studio.address();
    studio.pause(PauseMode::AfterPicture);
    // Who asked for progress lately is shown previews.
    assert!(is_idle(&get(address, "/sdapi/v1/progress").ok()));
    let sent = send(address, "/sdapi/v1/txt2img", &with(small("a long way"), &json!({"steps": 150, "n_iter": 10})));
    let waiting = until(address, "the job", |it| it["state"]["job"] == "waiting" && it["textinfo"] == "The queue is paused");
    assert_eq!((waiting["progress"].as_f64(), &waiting["state"]["job_count"]), (Some(0.0), &json!(1)), "{waiting}");
    studio.pause(PauseMode::No);
    let running = until(address, "a preview", |it| it["current_image"].is_string());
    assert!(image::load_from_memory(&bytes(&running["current_image"])).is_ok() && running["textinfo"].is_null(), "{running}");
    assert!(running["progress"].as_f64().unwrap() >= 0.01 && running["eta_relative"].is_number());
    let without = get(address, "/sdapi/v1/progress?skip_current_image=true").ok();
    assert!(without["current_image"].is_null() && without["state"]["job"] != "", "{without}");
    Sent::new(address, "POST", "/sdapi/v1/skip", &[], b"").answer().ok();
    assert_eq!(sent.answer().status, 200);
}

#[test]
fn who_interrupts_while_nothing_runs_means_the_oldest_that_waits() {
    let studio = Studio::open();
    let address = studio.address();
    studio.pause(PauseMode::AfterPicture);
    let waiting = |count: usize| {
        while get(address, "/sdcpp/v1/jobs").ok().as_array().unwrap().len() < count {
            std::thread::yield_now();
        }
    };
    let first = send(address, "/sdapi/v1/txt2img", &small("the first"));
    waiting(1);
    let second = send(address, "/sdapi/v1/txt2img", &small("the second"));
    waiting(2);
    Sent::new(address, "POST", "/sdapi/v1/interrupt", &[], b"").answer().ok();
    assert_eq!(first.answer().ok()["images"], json!([]), "it ends well, without a picture");
    studio.pause(PauseMode::No);
    assert_eq!(second.answer().ok()["images"].as_array().unwrap().len(), 1);
}

#[test]
fn a_client_that_hangs_up_cancels_its_job_and_no_other() {
    let studio = Studio::open();
    let long = with(small("a long way"), &json!({"steps": 150, "n_iter": 10}));
    let sent = send(studio.address(), "/sdapi/v1/txt2img", &long);
    until(studio.address(), "a step", |it| it["state"]["sampling_step"].as_u64() > Some(0));
    let next = send(studio.address(), "/sdapi/v1/txt2img", &small("the next one"));
    drop(sent);
    let deadline = Instant::now() + LIMIT;
    while get(studio.address(), "/sdapi/v1/progress").ok()["state"]["sampling_steps"] == 150 {
        assert!(Instant::now() < deadline, "it is still made");
        std::thread::sleep(Duration::from_millis(5));
    }
    let answer = next.answer().ok();
    assert_eq!(answer["images"].as_array().unwrap().len(), 1, "{answer}");
    until(studio.address(), "the end", is_idle);
}

#[test]
fn a_client_that_hangs_up_and_interrupts_stops_one_job_whichever_comes_first() {
    // So long an interruption is the same stop.
    const SAME_STOP: Duration = Duration::from_secs(2);
    let studio = Studio::open();
    let address = studio.address();
    let interrupt = || drop(Sent::new(address, "POST", "/sdapi/v1/interrupt", &[], b"").answer().ok());
    for hangs_up_first in [true, false] {
        let answer = loop {
            studio.pause(PauseMode::AfterPicture);
            let first = send(address, "/sdapi/v1/txt2img", &with(small("a long way"), &json!({"steps": 150})));
            until(address, "the first job", |it| it["state"]["sampling_steps"] == 150);
            let next = send(address, "/sdapi/v1/txt2img", &small("the next one"));
            let waiting = || {
                let jobs = get(address, "/sdcpp/v1/jobs").json();
                jobs.as_array().unwrap().iter().filter(|it| it["status"] == "queued").count()
            };
            while waiting() < 2 {
                std::thread::yield_now();
            }
            let stopped = Instant::now();
            if hangs_up_first {
                drop(first);
                until(address, "the next job", |it| it["state"]["sampling_steps"] == 3);
                interrupt();
            } else {
                interrupt();
                drop(first);
                until(address, "the next job", |it| it["state"]["sampling_steps"] == 3);
            }
            let was_in_time = stopped.elapsed() < SAME_STOP;
            studio.pause(PauseMode::No);
            let answer = next.answer().ok();
            // On a machine that is too slow to do both at once, who interrupts may mean the next job.
            if was_in_time {
                break answer;
            }
        };
        assert_eq!(answer["images"].as_array().unwrap().len(), 1, "hangs up first: {hangs_up_first}, {answer}");
        until(address, "the end", is_idle);
    }
}
