//! `atelier mcp` as an agent's program starts it, and `/mcp` of a server.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use atelier_core::paths::{HOME_VARIABLE, Paths};
use atelier_library::{BUILTIN_VARIABLE, LibraryConfig};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::client::{Sent, get, post};
use crate::owners::{ANNA, BEN, ask, shared};
use crate::pictures::png_text;
use crate::studio::Studio;
use crate::support::tiny;

/// A conversation with the real process.
struct Agent {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    home: tempfile::TempDir,
    asked: u64,
}

impl Agent {
    fn start() -> Self {
        let home = tempfile::tempdir().unwrap();
        let folder = tiny().diffusion.parent().unwrap().to_owned();
        LibraryConfig::change(&Paths::beneath(home.path()).library_file(), |config| config.add_folder(&folder)).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_atelier"));
        command.env(HOME_VARIABLE, home.path()).env(BUILTIN_VARIABLE, home.path().join("none")).args(["mcp", "--threads", "1"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output, home, asked: 0 }
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input.as_mut().unwrap(), "{message}").unwrap();
    }

    fn message(&mut self) -> Value {
        let mut line = String::new();
        assert!(self.output.read_line(&mut line).unwrap() > 0, "the process has ended");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// Sends a request and returns its answer, with the messages before it.
    fn ask(&mut self, method: &str, params: &Value) -> (Value, Vec<Value>) {
        self.asked += 1;
        let id = self.asked;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let mut before = Vec::new();
        loop {
            let message = self.message();
            assert_eq!(message["jsonrpc"], "2.0");
            if message["id"] == id {
                return (message, before);
            }
            before.push(message);
        }
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.ask("tools/call", &json!({"name": tool, "arguments": arguments})).0["result"].clone()
    }

    /// Ends the input, as a client does that is done.
    fn end(mut self) {
        drop(self.input.take());
        assert_eq!(self.child.wait().unwrap().code(), Some(0));
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        // It ends with its input, and may have done so.
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

fn text_of(result: &Value) -> String {
    let blocks = result["content"].as_array().unwrap_or_else(|| panic!("{result}"));
    blocks.iter().filter_map(|it| it["text"].as_str()).collect::<Vec<_>>().join("\n")
}

/// The size of the picture in a result.
fn size_of(result: &Value) -> (u32, u32) {
    let block = result["content"].as_array().unwrap().iter().find(|it| it["type"] == "image").unwrap_or_else(|| panic!("{result}"));
    assert_eq!(block["mimeType"], "image/jpeg");
    let image = image::load_from_memory(&STANDARD.decode(block["data"].as_str().unwrap()).unwrap()).unwrap();
    (image.width(), image.height())
}

/// The number of the picture in a result.
fn id_of(result: &Value) -> String {
    text_of(result).split("image_id ").nth(1).unwrap().split([',', ' ']).next().unwrap().to_owned()
}

#[test]
fn an_agent_generates_edits_and_upscales_by_the_real_process() {
    let mut agent = Agent::start();
    let (started, _) =
        agent.ask("initialize", &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test"}}));
    assert_eq!(
        (&started["result"]["protocolVersion"], &started["result"]["serverInfo"]["name"]),
        (&json!("2025-06-18"), &json!("atelier"))
    );
    agent.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    let (listed, _) = agent.ask("tools/list", &Value::Null);
    let names: Vec<&str> = listed["result"]["tools"].as_array().unwrap().iter().map(|it| it["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["generate_image", "edit_image", "upscale_image", "get_image", "list_models", "job_status"]);
    let models = text_of(&agent.call("list_models", &json!({})));
    assert!(!models.is_empty() && !models.contains('/'), "{models}");
    let models = text_of(&agent.call("list_models", &json!({"kind": "sdxl"})));
    assert!(models.ends_with("not read: kind."), "{models}");

    let arguments = json!({"prompt": "a lake", "width": 64, "height": 64, "steps": 3, "seed": 7});
    let (made, before) =
        agent.ask("tools/call", &json!({"name": "generate_image", "arguments": arguments, "_meta": {"progressToken": "p"}}));
    assert!(before.iter().any(|it| it["method"] == "notifications/progress" && it["params"]["progressToken"] == "p"), "{before:?}");
    let made = &made["result"];
    assert_eq!((made["isError"].as_bool(), size_of(made)), (Some(false), (64, 64)));
    assert!(text_of(made).contains("seed 7, 64x64, made with"), "{}", text_of(made));
    let id = id_of(made);

    let both = json!({"prompt": "a pond", "image_id": id, "image": png_text(32, 32), "steps": 2, "strength": 0.5});
    let edited = agent.call("edit_image", &both);
    assert!(size_of(&edited) == (64, 64) && text_of(&edited).contains("not read: image."), "{}", text_of(&edited));
    let of_own = agent.call("edit_image", &json!({"prompt": "a pond", "image": png_text(64, 64), "steps": 2}));
    assert_eq!(size_of(&of_own), (64, 64));
    let large = agent.call("upscale_image", &json!({"image_id": id}));
    assert_eq!(size_of(&large), (128, 128));

    let whole = agent.call("get_image", &json!({"image_id": id}));
    assert!(text_of(&whole) == format!("image_id {id}, 64x64.") && whole["content"][0]["mimeType"] == "image/png", "{whole}");
    let file = agent.home.path().join("look.png");
    std::fs::write(&file, STANDARD.decode(whole["content"][0]["data"].as_str().unwrap()).unwrap()).unwrap();
    assert!(atelier_media::read_metadata(&file).unwrap().parameters.unwrap().contains("Seed: 7"), "it has its settings");
    let small = agent.call("get_image", &json!({"image_id": id_of(&large), "max_side": 64, "kind": "png"}));
    assert_eq!(size_of(&small), (64, 64));
    let told = text_of(&small);
    assert!(told.contains(", 128x128.") && told.ends_with("not read: kind."), "{told}");
    let kept = std::fs::read_dir(agent.home.path().join("Pictures/Atelier/Shared/Programs on this computer")).unwrap();
    assert_eq!(kept.flatten().filter(|it| it.path().extension().is_some_and(|it| it == "png")).count(), 4, "all are kept");
    agent.end();
}

#[test]
fn what_an_agent_gets_wrong_is_told_and_a_cancelled_request_cancels_its_job() {
    let mut agent = Agent::start();
    for (tool, arguments, says) in [
        ("generate_image", json!({}), "prompt"),
        ("generate_image", json!({"prompt": "a", "width": 9999}), "width"),
        ("generate_image", json!({"prompt": "a", "model": "nobody"}), "nobody"),
        ("edit_image", json!({"prompt": "a", "image": "/etc/passwd"}), "image"),
        ("edit_image", json!({"prompt": "a", "image_id": "1"}), "no picture of yours"),
        ("upscale_image", json!({"image_id": "x"}), "no picture of yours"),
        ("get_image", json!({"image_id": "7"}), "no picture of yours"),
        ("get_image", json!({"image_id": "7", "max_side": 63}), "max_side"),
        ("get_image", json!({}), "image_id"),
        ("job_status", json!({"job": "999"}), "no job of yours"),
    ] {
        let result = agent.call(tool, &arguments);
        assert!(result["isError"] == true && text_of(&result).contains(says), "{tool} {arguments}: {result}");
    }
    assert_eq!(agent.ask("tools/call", &json!({"name": "rm"})).0["error"]["code"], -32602);
    assert_eq!(agent.ask("resources/list", &Value::Null).0["error"]["code"], -32601);
    agent.send(&json!("not a request"));
    assert_eq!(agent.message()["error"]["code"], -32600);

    let long = json!({"prompt": "a long way", "width": 64, "height": 64, "steps": 150, "count": 10});
    agent.send(&json!({"jsonrpc": "2.0", "id": "long", "method": "tools/call",
        "params": {"name": "generate_image", "arguments": long, "_meta": {"progressToken": 1}}}));
    assert_eq!(agent.message()["method"], "notifications/progress");
    agent.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "long"}}));
    // It would wait for ten pictures otherwise.
    let short = agent.call("generate_image", &json!({"prompt": "the next one", "width": 64, "height": 64, "steps": 2}));
    assert_eq!(size_of(&short), (64, 64));
    agent.end();
}

#[test]
fn the_same_tools_are_on_the_server_behind_its_guard_and_for_each_owner_alone() {
    let studio = shared();
    let message = |method: &str, params: &Value| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    assert_eq!(post(studio.address(), "/mcp", &message("ping", &Value::Null)).status, 401);
    let call = |token: &str, tool: &str, arguments: &Value| {
        let message = message("tools/call", &json!({"name": tool, "arguments": arguments}));
        ask(&studio, token, "POST", "/mcp", &message).ok()["result"].clone()
    };
    let made = call(ANNA, "generate_image", &json!({"prompt": "a lake", "width": 64, "height": 64, "steps": 2, "count": 2}));
    assert_eq!((size_of(&made), made["content"].as_array().unwrap().iter().filter(|it| it["type"] == "image").count()), ((64, 64), 2));
    assert!(!text_of(&made).contains("In this copy"), "{}", text_of(&made));
    // As another program saves them.
    for kept in studio.kept() {
        image::ImageBuffer::from_pixel(8, 8, image::Rgba([9_u16, 9, 9, 0])).save(kept).unwrap();
    }
    let job = ask(&studio, ANNA, "GET", "/sdcpp/v1/jobs", &Value::Null).ok()[0]["id"].clone();
    let again = text_of(&call(ANNA, "job_status", &json!({"job": job})));
    let lost = "In this copy, what was transparent is white; PNG keeps it, 8 bits a colour are left of 16; PNG keeps them.";
    assert_eq!(again.matches(lost).count(), 2, "{again}");
    let waits = json!({"prompt": "a harbour", "width": 64, "height": 64, "sample_params": {"sample_steps": 2}});
    let job = ask(&studio, ANNA, "POST", "/sdcpp/v1/img_gen", &waits).json();
    let told = text_of(&call(ANNA, "job_status", &json!({"job": job["id"], "wait": true})));
    assert!(told.contains("not read: wait."), "{told}");
    for tool in ["upscale_image", "get_image"] {
        let refused = call(BEN, tool, &json!({"image_id": id_of(&made)}));
        assert!(refused["isError"] == true, "{tool}: {refused}");
    }
    let noticed = ask(&studio, ANNA, "POST", "/mcp", &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    assert_eq!((noticed.status, noticed.body.len()), (202, 0));
    assert_eq!(ask(&studio, ANNA, "GET", "/mcp", &Value::Null).status, 405);

    let authorization = format!("Bearer {ANNA}");
    let wants_progress = |accepted: &str| {
        let arguments = json!({"prompt": "a lake", "width": 64, "height": 64, "steps": 2});
        let params = json!({"name": "generate_image", "arguments": arguments, "_meta": {"progressToken": "p"}});
        let headers = [("Authorization", authorization.as_str()), ("Accept", accepted)];
        Sent::new(studio.address(), "POST", "/mcp", &headers, message("tools/call", &params).to_string().as_bytes()).answer()
    };
    let told = wants_progress("application/json, text/event-stream");
    assert_eq!((told.status, told.header("content-type")), (200, Some("text/event-stream")));
    let messages: Vec<Value> =
        told.text().split("\n\n").filter_map(|it| it.strip_prefix("data: ")).map(|it| serde_json::from_str(it).unwrap()).collect();
    let (last, before) = messages.split_last().unwrap();
    let is_progress = |it: &Value| it["method"] == "notifications/progress" && it["params"]["progressToken"] == "p";
    assert!(!before.is_empty() && before.iter().all(is_progress), "{before:?}");
    assert_eq!((&last["id"], size_of(&last["result"])), (&json!(1), (64, 64)));
    assert_eq!(size_of(&wants_progress("application/json").ok()["result"]), (64, 64), "who takes no events gets none");

    let open = Studio::open();
    let ping = message("ping", &Value::Null).to_string();
    let status = |headers: &[(&str, &str)]| Sent::new(open.address(), "POST", "/mcp", headers, ping.as_bytes()).answer().status;
    assert_eq!(status(&[]), 200);
    assert_eq!(status(&[("Origin", "http://evil.example")]), 403);
    assert_eq!(status(&[("Host", "evil.example")]), 403);
    assert_eq!((status(&[("MCP-Protocol-Version", "2025-06-18")]), status(&[("MCP-Protocol-Version", "1999-01-01")])), (200, 400));
    assert_eq!(get(open.address(), "/openapi.json").ok()["paths"]["/mcp"]["post"]["tags"][0], "MCP");
}
