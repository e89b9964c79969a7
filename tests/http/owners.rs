//! Several people with tokens of their own at one engine.

use atelier::http::Tokens;
use atelier::http::guard::Policy;
use atelier_core::paths::Paths;
use atelier_gallery::queue::PauseMode;
use atelier_media::read_settings;
use serde_json::{Value, json};

use crate::client::{Answer, Sent};
use crate::process::atelier;
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

/// Cancels the jobs of an owner that have not ended.
fn cancel_all(studio: &Studio, token: &str) {
    for job in ask(studio, token, "GET", "/sdcpp/v1/jobs", &Value::Null).json().as_array().unwrap() {
        ask(studio, token, "POST", &format!("/sdcpp/v1/jobs/{}/cancel", job["id"].as_str().unwrap()), &Value::Null);
    }
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
    cancel_all(&studio, ANNA);
}

#[test]
fn too_many_pictures_are_refused_in_the_words_of_each_client_and_it_may_ask_again() {
    let studio = shared();
    studio.pause(PauseMode::AfterPicture);
    for n in 0..4 {
        add(&studio, ANNA, &format!("batch {n}"), 2, 8);
    }
    let image = crate::pictures::png_text(64, 64);
    let call =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "generate_image", "arguments": {"prompt": "a lake"}}});
    let told = ask(&studio, ANNA, "POST", "/mcp", &call).ok();
    assert!(told["result"]["isError"] == true && told["result"]["content"][0]["text"].as_str().unwrap().contains("32 may"), "{told}");
    for (path, body) in [
        ("/sdapi/v1/txt2img", json!({"prompt": "a lake"})),
        ("/sdapi/v1/img2img", json!({"prompt": "a lake", "init_images": [image]})),
        ("/sdapi/v1/extra-single-image", json!({"image": image})),
        ("/v1/images/generations", json!({"prompt": "a lake"})),
        ("/v1/images/generations", json!({"prompt": "a lake", "stream": true})),
        ("/sdcpp/v1/img_gen", json!({"prompt": "a lake"})),
    ] {
        let refused = ask(&studio, ANNA, "POST", path, &body);
        assert_eq!(refused.status, 429, "{path}: {}", refused.text());
        assert!(refused.header("retry-after").unwrap().parse::<u64>().unwrap() > 0, "{path}");
        assert_eq!(refused.header("x-should-retry"), None, "{path}: waiting helps");
        let told = refused.json();
        let (word, sentence) = match path.split('/').nth(1) {
            Some("sdapi") => (&told["error"], &told["detail"]),
            Some("v1") => (&told["error"]["code"], &told["error"]["message"]),
            _ => (&told["code"], &told["error"]),
        };
        let words = [Some("Too many requests"), Some("rate_limit_exceeded"), None];
        assert!(words.contains(&word.as_str()) && sentence.as_str().unwrap().contains("32 may"), "{path}: {told}");
    }
    cancel_all(&studio, ANNA);
}

#[test]
fn eight_requests_of_an_owner_may_last_at_a_time_and_the_ninth_is_told_when_to_come_again() {
    let studio = shared();
    studio.pause(PauseMode::AfterPicture);
    let path = add(&studio, ANNA, "a long way", 2, 1);
    let authorization = format!("Bearer {ANNA}");
    let headers = [("Authorization", authorization.as_str())];
    let follow = || Sent::new(studio.address(), "GET", &format!("{path}/events"), &headers, b"");
    let small = json!({"prompt": "a lake", "width": 64, "height": 64, "steps": 2});
    let generate = || Sent::new(studio.address(), "POST", "/sdapi/v1/txt2img", &headers, small.to_string().as_bytes());
    let jobs = || ask(&studio, ANNA, "GET", "/sdcpp/v1/jobs", &Value::Null).json().as_array().unwrap().len();
    // Three wait for pictures of their own, five follow the first job.
    let waiting: Vec<Sent> = (0..3).map(|_| generate()).collect();
    while jobs() < 4 {
        std::thread::yield_now();
    }
    let mut following: Vec<Sent> = (0..5).map(|_| follow()).collect();
    assert!(following.iter_mut().all(|it| it.status() == 200));

    for (method, path, body) in [
        ("GET", format!("{path}/events"), Value::Null),
        ("POST", "/sdapi/v1/txt2img".to_owned(), small.clone()),
        ("POST", "/sdapi/v1/extra-single-image".to_owned(), json!({"image": crate::pictures::png_text(64, 64)})),
        ("POST", "/v1/images/generations".to_owned(), json!({"prompt": "a lake"})),
        ("POST", "/v1/images/edits".to_owned(), json!({})),
    ] {
        let refused = ask(&studio, ANNA, method, &path, &body);
        assert_eq!(refused.status, 429, "{path}: {}", refused.text());
        assert!(refused.header("retry-after").unwrap().parse::<u64>().unwrap() > 0, "{path}");
        assert!(refused.text().contains("8 of your requests"), "{path}: {}", refused.text());
    }
    let call =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "generate_image", "arguments": {"prompt": "a lake"}}});
    let told = ask(&studio, ANNA, "POST", "/mcp", &call).ok();
    assert!(told["result"]["isError"] == true && told.to_string().contains("8 of your requests"), "{told}");
    assert_eq!(jobs(), 4, "none of them was added");
    assert_eq!(ask(&studio, ANNA, "GET", "/sdapi/v1/progress", &Value::Null).status, 200, "what is answered at once has room");
    let of_ben = add(&studio, BEN, "one of Ben's", 2, 1);

    // Who hangs up makes room.
    drop(following.pop());
    loop {
        let mut next = follow();
        match next.status() {
            200 => break following.push(next),
            status => assert_eq!(status, 429),
        }
    }
    studio.pause(PauseMode::No);
    assert_eq!(end(&studio, BEN, &of_ben)["status"], "completed", "others have eight of their own");
    assert!(waiting.into_iter().all(|it| it.answer().status == 200));
    assert_eq!(end(&studio, ANNA, &path)["status"], "completed", "what has ended makes room too");
}

#[test]
fn uploads_of_an_owner_have_so_many_bytes_at_a_time_and_more_are_refused_in_the_words_of_each_client() {
    let studio = shared();
    let authorization = format!("Bearer {ANNA}");
    let headers = [("Authorization", authorization.as_str()), ("Content-Length", "67108864")];
    // Each says that it brings 64 MiB, and brings a byte.
    let mut uploads: Vec<Sent> = (0..4).map(|_| Sent::new(studio.address(), "POST", "/sdcpp/v1/img_gen", &headers, b"{")).collect();
    let small = |token: &str| ask(&studio, token, "POST", "/sdapi/v1/options", &json!({}));
    while small(ANNA).status == 200 {
        std::thread::yield_now();
    }
    for path in [
        "/sdapi/v1/txt2img",
        "/sdapi/v1/png-info",
        "/v1/images/generations",
        "/v1/images/edits",
        "/sdcpp/v1/img_gen",
        "/atelier/v1/pictures/1/rating",
        "/mcp",
    ] {
        let refused = ask(&studio, ANNA, "POST", path, &json!({"prompt": "a lake"}));
        assert_eq!(refused.status, 429, "{path}: {}", refused.text());
        assert!(refused.header("retry-after").unwrap().parse::<u64>().unwrap() > 0, "{path}");
        assert_eq!(refused.header("x-should-retry"), None, "{path}: waiting helps");
        let told = refused.json();
        let (word, sentence) = match path.split('/').nth(1) {
            Some("v1") => (&told["error"]["code"], &told["error"]["message"]),
            Some("sdcpp") => (&told["code"], &told["error"]),
            _ => (&told["error"], &told["detail"]),
        };
        let words = [Some("Too many requests"), Some("rate_limit_exceeded"), None];
        assert!(words.contains(&word.as_str()) && sentence.as_str().unwrap().contains("256 MiB"), "{path}: {told}");
    }
    let stopped = ask(&studio, ANNA, "POST", "/sdapi/v1/interrupt", &json!({}));
    assert!(stopped.status == 200 && stopped.text().contains("256 MiB"), "it is done whatever its body says: {}", stopped.text());
    assert_eq!(small(BEN).status, 200, "others have as many of their own");

    // Who hangs up makes room.
    drop(uploads.pop());
    while small(ANNA).status != 200 {
        std::thread::yield_now();
    }
}

#[test]
fn a_script_on_this_computer_may_ask_for_more_at_a_time() {
    let studio = Studio::guarded(Policy::default());
    studio.pause(PauseMode::AfterPicture);
    let small = json!({"prompt": "a lake", "width": 64, "height": 64, "steps": 1}).to_string();
    let waiting: Vec<Sent> = (0..9).map(|_| Sent::new(studio.address(), "POST", "/sdapi/v1/txt2img", &[], small.as_bytes())).collect();
    let jobs = || Sent::new(studio.address(), "GET", "/sdcpp/v1/jobs", &[], b"").answer().json().as_array().unwrap().len();
    while jobs() < 9 {
        std::thread::yield_now();
    }
    studio.pause(PauseMode::No);
    assert!(waiting.into_iter().all(|it| it.answer().status == 200));
}

#[test]
fn a_queue_that_is_full_for_everybody_says_so_in_sd_servers_words() {
    let studio = shared();
    studio.pause(PauseMode::AfterPicture);
    for n in 0..64 {
        add(&studio, if n % 2 == 0 { ANNA } else { BEN }, &format!("picture {n}"), 2, 1);
    }
    // Until the queue has told of the last one, it is Anna who has too many.
    let refused = || ask(&studio, ANNA, "POST", "/sdcpp/v1/img_gen", &json!({"prompt": "one more"}));
    let mut told = refused();
    while told.json() != json!({"error": "job queue is full"}) {
        assert_eq!(told.status, 429, "{}", told.text());
        std::thread::yield_now();
        told = refused();
    }
    assert_eq!((told.status, told.header("retry-after")), (429, Some("30")));
    cancel_all(&studio, ANNA);
    cancel_all(&studio, BEN);
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

#[test]
fn pictures_are_their_owners_alone_also_after_a_restart_and_the_gallery_knows_whose_they_are() {
    let mut studio = shared();
    for (token, prompt) in [(ANNA, "a lake"), (BEN, "a harbour")] {
        let path = add(&studio, token, prompt, 2, 1);
        assert_eq!(end(&studio, token, &path)["status"], "completed");
    }
    studio.serve();
    let of = |token| ask(&studio, token, "GET", "/atelier/v1/pictures", &Value::Null).ok()["pictures"].as_array().unwrap().clone();
    let (of_anna, of_ben) = (of(ANNA), of(BEN));
    for (pictures, prompt) in [(&of_anna, "a lake"), (&of_ben, "a harbour")] {
        assert!(pictures.len() == 1 && pictures[0]["prompt"] == prompt, "{pictures:?}");
    }
    let path = format!("/atelier/v1/pictures/{}", of_anna[0]["id"].as_str().unwrap());
    let found = [ANNA, BEN].map(|token| ask(&studio, token, "GET", &path, &Value::Null).status);
    assert_eq!(found, [200, 404]);

    let search = |query: &str| {
        let output = atelier(studio.home.path(), &["gallery", "search", query]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let (anna, both) = (search("owner:anna"), search("has:owner"));
    assert!(anna.lines().count() == 1 && anna.contains("Anna"), "{anna}");
    assert_eq!(both.lines().count(), 2, "{both}");
    for file in studio.kept() {
        let settings = format!("{:?}", read_settings(&file).unwrap());
        assert!(!["Anna", "Ben"].iter().any(|name| settings.contains(name)), "a file does not tell whose it is: {settings}");
    }
}

#[test]
fn a_full_disk_space_refuses_new_jobs_of_its_owner_in_the_words_of_each_client() {
    let studio = shared();
    studio.set_quota(1);
    let anna = Paths::beneath(studio.home.path()).shared_pictures().join("Anna");
    std::fs::create_dir_all(&anna).unwrap();
    // As large as it says, and without a byte on the disk.
    std::fs::File::create(anna.join("full.png")).unwrap().set_len(1_000_000_000).unwrap();
    let limits = |token| ask(&studio, token, "GET", "/sdcpp/v1/capabilities", &Value::Null).ok()["limits"].clone();
    let told = limits(ANNA);
    assert_eq!((told["disk_quota_bytes"].as_u64(), told["disk_used_bytes"].as_u64()), (Some(1_000_000_000), Some(1_000_000_000)));

    let wish = json!({"prompt": "a lake", "width": 64, "height": 64, "steps": 2});
    let sentence = "1.0 GB is the limit";
    let refused = ask(&studio, ANNA, "POST", "/sdapi/v1/txt2img", &wish);
    assert_eq!((refused.status, refused.json()["error"].as_str()), (507, Some("Insufficient storage")));
    assert!(refused.json()["detail"].as_str().unwrap().contains(sentence), "{}", refused.text());
    let refused = ask(&studio, ANNA, "POST", "/v1/images/generations", &json!({"prompt": "a lake", "size": "64x64"}));
    assert_eq!((refused.status, refused.json()["error"]["code"].as_str()), (429, Some("insufficient_quota")));
    assert_eq!(refused.header("x-should-retry"), Some("false"), "waiting does not help");
    assert!(refused.text().contains(sentence), "{}", refused.text());
    let refused = ask(&studio, ANNA, "POST", "/sdcpp/v1/img_gen", &json!({"prompt": "a lake"}));
    assert!(refused.status == 507 && refused.json()["error"].as_str().unwrap().contains(sentence), "{}", refused.text());
    let call =
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "generate_image", "arguments": {"prompt": "a lake"}}});
    let refused = ask(&studio, ANNA, "POST", "/mcp", &call).ok();
    assert_eq!(refused["result"]["isError"], true);
    assert!(refused["result"]["content"][0]["text"].as_str().unwrap().contains(sentence), "{refused}");
    assert_eq!(ask(&studio, ANNA, "GET", "/sdcpp/v1/jobs", &Value::Null).json(), json!([]), "nothing was asked of the engine");
    assert!(anna.join("full.png").exists(), "nothing was removed");

    let of_ben = add(&studio, BEN, "a lake", 2, 1);
    assert_eq!(end(&studio, BEN, &of_ben)["status"], "completed", "others have room");
    let bytes: u64 = studio.kept().iter().filter(|it| !it.starts_with(&anna)).map(|it| it.metadata().unwrap().len()).sum();
    assert_eq!(limits(BEN)["disk_used_bytes"].as_u64(), Some(bytes), "what a client asked for counts for its owner");

    studio.set_quota(2);
    let more = add(&studio, ANNA, "a lake", 2, 1);
    assert_eq!(end(&studio, ANNA, &more)["status"], "completed");
    studio.set_quota(0);
    assert_eq!(limits(ANNA)["disk_quota_bytes"], Value::Null);
}
