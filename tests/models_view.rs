//! The Models view of the real program in a real window, with a server of this test that is slow on
//! purpose.
//!
//! With the environment variable `ATELIER_SHOTS` naming a folder, what the screen showed is kept
//! there as PNG.

#![cfg(target_os = "linux")]

#[path = "support/desktop.rs"]
mod desktop;
#[path = "support/screen.rs"]
mod screen;

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, Result};
use desktop::Desktop;
use serde_json::{Value, json};
use testkit::{headers, real, tiny};

/// Longest wait for the program, on a busy machine.
const LONG: Duration = Duration::from_mins(2);
/// Bytes that the server sends before it stops for a while.
const HELD_AT: usize = 5 << 20;

/// Serves zeros: as many as the path says, of which all but the first few million wait until they
/// are let go.
struct Server {
    address: String,
    released: Arc<AtomicBool>,
}

impl Server {
    fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = format!("http://{}", listener.local_addr()?);
        let released = Arc::new(AtomicBool::new(false));
        let shared = Arc::clone(&released);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let released = Arc::clone(&shared);
                // A client that goes away needs no answer.
                thread::spawn(move || answer(&stream, &released).ok());
            }
        });
        Ok(Self { address, released })
    }

    /// URL of a file of this many bytes.
    fn file(&self, name: &str, bytes: usize) -> String {
        format!("{}/{bytes}/{name}", self.address)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.released.store(true, Ordering::SeqCst);
    }
}

fn answer(mut stream: &TcpStream, released: &AtomicBool) -> Result<()> {
    let mut lines = BufReader::new(stream).lines();
    let request = lines.next().context("no request")??;
    let mut from = 0usize;
    for line in lines {
        let line = line?.to_lowercase();
        if line.is_empty() {
            break;
        }
        from = line.strip_prefix("range: bytes=").and_then(|it| it.split('-').next()?.parse().ok()).unwrap_or(from);
    }
    let path = request.split(' ').nth(1).context("no path")?;
    let Some(whole) = path.split('/').nth(1).and_then(|it| it.parse::<usize>().ok()) else {
        return Ok(stream.write_all(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")?);
    };
    let status = if from > 0 { "206 Partial Content" } else { "200 OK" };
    let head = format!(
        "HTTP/1.1 {status}\r\nETag: \"{path}\"\r\nContent-Range: bytes {from}-{}/{whole}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        whole - 1,
        whole - from
    );
    stream.write_all(head.as_bytes())?;
    let block = vec![0u8; 256 << 10];
    let mut sent = from;
    while sent < whole {
        // No more until the test releases it, as on a slow line.
        while sent >= HELD_AT && !released.load(Ordering::SeqCst) {
            thread::park_timeout(Duration::from_millis(20));
            if shots().is_some() {
                break;
            }
        }
        let size = block.len().min(whole - sent);
        stream.write_all(block.get(..size).unwrap_or_default())?;
        sent += size;
    }
    Ok(())
}

fn text(path: &Path) -> Result<String> {
    path.to_str().map(str::to_owned).context("the folder for temporary files has a name in Unicode")
}

/// Opens the Models view on a screen of this size.
fn open(home: &Path, size: (u32, u32), theme: &str, builtin: Option<&Path>) -> Result<Desktop> {
    let window = json!({ "x": 0, "y": 0, "width": size.0, "height": size.1, "maximized": false });
    let settings = json!({ "version": 1, "theme": theme, "window": window, "recipe": { "prompt": "a lighthouse at dusk" } });
    fs::create_dir_all(home)?;
    fs::write(home.join("settings.json"), settings.to_string())?;
    let (none, home) = (home.join("none"), text(home)?);
    let builtin = text(builtin.unwrap_or(&none))?;
    let env = [("ATELIER_HOME", home.as_str()), ("ATELIER_BUILTIN", builtin.as_str()), ("HF_ENDPOINT", "http://127.0.0.1:9")];
    let mut desktop = Desktop::start(Path::new(env!("CARGO_BIN_EXE_atelier")), &["--simulate-devices", "GPU0:12"], &env, size)?;
    desktop.press("ctrl+3")?;
    desktop.wait_for("Search models", LONG)?;
    Ok(desktop)
}

/// A LoRA that says how it is called up.
fn lora(path: &Path) -> Result<()> {
    let name = "lora_unet_down_blocks_0_attentions_0_transformer_blocks_0_attn1_to_q";
    let header = json!({
        "__metadata__": {
            "modelspec.title": "Ink wash", "modelspec.author": "M. Sato", "modelspec.trigger_phrase": "inkwash, sumi-e",
            "ss_base_model_version": "sdxl_base_v1-0", "ss_network_dim": "4",
        },
        format!("{name}.lora_down.weight"): { "dtype": "F16", "shape": [4, 320], "data_offsets": [0, 2560] },
        format!("{name}.lora_up.weight"): { "dtype": "F16", "shape": [320, 4], "data_offsets": [2560, 5120] },
    })
    .to_string();
    let mut file = fs::File::create(path)?;
    file.write_all(&(header.len() as u64).to_le_bytes())?;
    file.write_all(header.as_bytes())?;
    Ok(file.write_all(&[0; 5120])?)
}

/// Fills a home with models of real size, of which only the headers exist: two that Atelier
/// downloaded, and a ComfyUI folder.
fn furnish(home: &Path) -> Result<()> {
    let models = home.join("models");
    let install = |id: &str, mut manifest: Value, files: &[(&str, &Path)]| -> Result<()> {
        let listed: Vec<Value> =
            files.iter().map(|(role, path)| json!({ "role": role, "filename": path.file_name().map(|it| it.to_string_lossy()) })).collect();
        manifest["id"] = json!(id);
        manifest["files"] = json!(listed);
        Ok(fs::write(models.join(id).join("manifest.json"), manifest.to_string())?)
    };
    fs::create_dir_all(models.join("z-image-turbo"))?;
    let parts = headers::zimage(&models.join("z-image-turbo"))?;
    let zimage = json!({ "name": "Z-Image-Turbo", "family": "Z-Image", "licence": "Apache-2.0",
        "description": "Fast and photographic, reads long prompts; 8 steps are enough.",
        "defaults": { "steps": 8, "cfg": 1.0, "width": 1024, "height": 1024, "sampler": "euler" } });
    install("z-image-turbo", zimage, &[("diffusion", &parts.diffusion), ("llm", &parts.text), ("vae", &parts.vae)])?;
    fs::create_dir_all(models.join("sd1.5"))?;
    let sd15 = models.join("sd1.5/v1-5.safetensors");
    real::sd15(&sd15, 1, real::Contents::HeaderOnly)?;
    let manifest = json!({ "name": "Stable Diffusion 1.5", "family": "SD1.5", "licence": { "name": "CreativeML OpenRAIL-M" },
        "description": "Small and quick, with more styles and LoRAs than any other.", "defaults": { "steps": 20, "cfg": 7.0 } });
    install("sd1.5", manifest, &[("model", &sd15)])?;
    let comfy = home.join("ComfyUI");
    for folder in ["models/checkpoints", "models/diffusion_models", "models/loras"] {
        fs::create_dir_all(comfy.join(folder))?;
    }
    headers::sdxl(&comfy.join("models/checkpoints/dreamscape-xl-v3.safetensors"))?;
    let flux = headers::flux_dev(&comfy.join("models/diffusion_models"))?;
    for other in [Some(&flux.text), flux.clip_l.as_ref(), Some(&flux.vae)].into_iter().flatten() {
        fs::remove_file(other)?;
    }
    lora(&comfy.join("models/loras/ink-wash-xl.safetensors"))?;
    Ok(fs::write(home.join("library.json"), json!({ "folders": [comfy] }).to_string())?)
}

/// Catalogue of the person with models on this test's server.
fn offer(home: &Path, server: &Server) -> Result<()> {
    // In pictures for people, sizes are as people know them.
    let scale = if shots().is_some() { 60 } else { 1 };
    let entry = |id: &str, name: &str, family: &str, about: &str, megabytes: usize| {
        let megabytes = megabytes * scale;
        json!({ "id": id, "name": name, "family": family, "licence": "Apache-2.0", "description": about, "checked": true,
            "files": [
                { "role": "diffusion", "filename": format!("{id}-Q4_K.gguf"), "url": server.file(id, megabytes << 20), "size": megabytes << 20 },
                { "role": "vae", "filename": "ae.safetensors", "url": server.file("ae", 2 << 20), "size": 2 << 20 },
            ] })
    };
    let all = json!([
        entry("aurora", "Aurora", "Flux", "Wide landscapes and weather, in four steps.", 9),
        entry("tessera", "Tessera", "Z-Image", "Patterns, tiles and textures that repeat without a seam.", 12),
        json!({ "id": "umbra", "name": "Umbra", "family": "SDXL", "licence": "MIT", "description": "Portraits in low light.",
            "files": [{ "role": "model", "filename": "umbra.safetensors", "url": format!("{}/gone", server.address), "about": 6_900_000_000u64 }] }),
    ]);
    fs::create_dir_all(home.join("catalogues"))?;
    Ok(fs::write(home.join("catalogues/mine.json"), all.to_string())?)
}

fn shots() -> Option<PathBuf> {
    std::env::var_os("ATELIER_SHOTS").map(PathBuf::from)
}

/// Moves the pointer away from all controls and waits for the frames that follow.
fn put_away(desktop: &mut Desktop, size: (u32, u32)) -> Result<()> {
    desktop.move_to(6, size.1 / 2)?;
    for _ in 0..10 {
        // Each answer is a frame later.
        desktop.controls()?;
    }
    Ok(())
}

/// Screenshot of the screen at rest, kept under this name where `ATELIER_SHOTS` is set.
fn keep(desktop: &mut Desktop, size: (u32, u32), name: &str) -> Result<()> {
    put_away(desktop, size)?;
    let shot = match shots() {
        Some(folder) => desktop.screenshot(&folder.join(name))?,
        None => desktop.shot()?,
    };
    let colours = screen::colours(&shot, desktop.window_area()?);
    assert!(colours > 20, "{name} shows {colours} colours");
    Ok(())
}

#[test]
fn the_library_is_seen_in_both_themes_and_on_a_small_screen() -> Result<()> {
    for (name, size, theme, open_card) in [
        ("models-dark.png", (1440, 900), "dark", Some("Z-Image-Turbo, on disk")),
        ("models-light.png", (1440, 900), "light", None),
        ("models-small.png", (1024, 700), "dark", None),
    ] {
        let home = tempfile::tempdir()?;
        furnish(home.path())?;
        let mut desktop = open(home.path(), size, theme, None)?;
        for card in ["Z-Image-Turbo, on disk", "dreamscape-xl-v3, in place", "flux1-dev, incomplete", "Ink wash, in place"] {
            desktop.wait(card, LONG, |it| it.find_by(|it| it.name.starts_with(card)))?;
        }
        desktop.wait("the bytes on disk", LONG, |it| it.find_by(|it| it.name.ends_with(" on disk") && it.name.contains("to download")))?;
        if let Some(card) = open_card {
            let card = desktop.wait(card, LONG, |it| it.find_by(|it| it.name.starts_with(card)))?;
            desktop.click(&card.name)?;
            desktop.wait_for("Use Z-Image-Turbo now", LONG)?;
            // The engine estimates it.
            let is_estimate = |it: &desktop::Control| it.name.starts_with("At 1024 × 1024 it needs ") && it.name.contains(" of RAM");
            desktop.wait("the estimate", LONG, |it| it.find_by(is_estimate))?;
        }
        keep(&mut desktop, size, name)?;
    }
    Ok(())
}

#[test]
fn downloads_are_seen_to_come_to_fail_and_to_end() -> Result<()> {
    let size = (1440, 900);
    let (home, server) = (tempfile::tempdir()?, Server::start()?);
    offer(home.path(), &server)?;
    let mut desktop = open(home.path(), size, "dark", None)?;
    // Models of the person's catalogue are found by a key and a word.
    desktop.press("slash")?;
    for (word, button) in [("tessera", "Download Tessera"), ("aurora", "Download Aurora"), ("umbra", "Download Umbra")] {
        desktop.fill("Search models", word)?;
        desktop.click(button)?;
        if word == "umbra" {
            // Of gigabytes, which is asked about.
            desktop.click("Start the download")?;
        }
        desktop.wait("its place in the queue", LONG, |it| {
            it.find_by(|it| it.name.starts_with("Place of ") && it.name.to_lowercase().contains(word))
        })?;
    }
    desktop.click("Show all")?;
    desktop.wait("a failure", LONG, |it| it.find_by(|it| it.name == "Try again Umbra"))?;
    let card = desktop.wait("the card", LONG, |it| it.find_by(|it| it.name.starts_with("Aurora, downloading, ")))?;
    desktop.click(&card.name)?;
    desktop.wait("the progress", LONG, |it| {
        let far = |it: &desktop::Control| it.value.parse::<f64>().is_ok_and(|it| it > 20.0);
        it.find_by(|it| it.name == "Progress of Aurora in its details" && far(it))
    })?;
    desktop.wait_for("Pause Aurora now", LONG)?;
    put_away(&mut desktop, size)?;
    if let Some(folder) = shots() {
        // It never comes to rest.
        desktop.shot()?.save(folder.join("models-downloading.png"))?;
    }
    server.released.store(true, Ordering::SeqCst);
    for id in ["aurora", "tessera"] {
        desktop.wait(id, LONG, |_| Ok(home.path().join("models").join(id).join("manifest.json").is_file().then_some(())))?;
    }
    let file = home.path().join("models/aurora/aurora-Q4_K.gguf");
    assert_eq!(fs::metadata(file)?.len() % (9 << 20), 0);
    desktop.wait("the card", LONG, |it| it.find_by(|it| it.name.starts_with("Tessera, on disk")))?;
    desktop.close()?;
    assert!(desktop.wait_for_end(LONG)?.success(), "{}", desktop.output());
    Ok(())
}

#[test]
fn who_has_no_models_sees_good_first_ones_and_may_begin_at_once() -> Result<()> {
    let size = (1440, 900);
    let (home, model) = (tempfile::tempdir()?, tempfile::tempdir()?);
    tiny::builtin(model.path(), &tiny::Options::default())?;
    // The picture for people shows the model that people get.
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/builtin-model");
    let shown = if shots().is_some() { shipped.as_path() } else { model.path() };
    let mut desktop = open(home.path(), size, "dark", Some(shown))?;
    desktop.wait_for("Good first models for this machine", LONG)?;
    let first = desktop.wait("the built-in model", LONG, |it| it.find_by(|it| it.name.contains(", built-in, ")))?;
    keep(&mut desktop, size, "models-empty.png")?;
    let name = first.name.split(", built-in").next().unwrap_or_default().to_owned();
    desktop.click(&format!("Use {name}"))?;
    assert!(desktop.wait_for("Generate", LONG)?.enabled, "nothing is missing");
    Ok(())
}

#[test]
fn a_right_click_on_the_search_pastes_what_was_copied_from_it() -> Result<()> {
    let home = tempfile::tempdir()?;
    let mut desktop = open(home.path(), (1440, 900), "dark", None)?;
    desktop.fill("Search models", "flux")?;
    desktop.press("ctrl+a")?;
    let field = desktop.wait_for("Search models", LONG)?.area.context("the field has no place on the screen")?;
    let (x, y) = field.centre();
    desktop.right_click_at(x, y)?;
    desktop.click("Copy")?;
    desktop.wait("the end of the menu", LONG, |desktop| Ok(desktop.find("Paste")?.is_none().then_some(())))?;
    desktop.press("ctrl+a")?;
    desktop.press("Delete")?;
    let holds = |text: &'static str| {
        move |desktop: &mut Desktop| Ok(desktop.find_by(|it| it.name == "Search models" && it.value == text)?.map(drop))
    };
    desktop.wait("an empty field", LONG, holds(""))?;
    desktop.right_click_at(x, y)?;
    desktop.click("Paste")?;
    desktop.wait("what was copied", LONG, holds("flux"))?;
    desktop.close()?;
    assert!(desktop.wait_for_end(LONG)?.success(), "{}", desktop.output());
    Ok(())
}
