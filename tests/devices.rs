//! Placement carried out: modules on devices that the processor plays, budgets, and what happens
//! where there is no room.
//!
//! The devices belong to the process: `GPU0` and `GPU1` of 1 GiB, `MINI` and `NANO` of a few MiB,
//! `CUDA7` and `Vulkan7` that are one card.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::path::Path;
use std::process::{Command, Output};

use atelier::cli::SIMULATE_VARIABLE;
use atelier::cli::json::Line;
use atelier_core::device::DeviceKind;
use atelier_core::paths::HOME_VARIABLE;
use atelier_core::placement::ModuleSet;
use atelier_core::recipe::{FileRole, ImageSource, Lora, PlacementText, Recipe, Rgb8};
use atelier_engine::{Cause, End, Event, JobPhase, OutOfMemory, PhaseKind, Task};
use support::alone::{Alone, deep, deep_options};
use support::engine::Said;
use support::{folder, recipe, written};
use testkit::{families, tiny};

/// The event at which something is done to a job.
type Moment = fn(&Event) -> bool;

fn alone() -> Alone {
    support::alone::alone("GPU0:1,GPU1:1,MINI:0.014,NANO:0.002,CUDA7:1@0000:07:00.0,Vulkan7:1@0000:07:00.0")
}

fn placed(backend: &str, params_backend: &str, max_vram: &str) -> PlacementText {
    PlacementText { backend: backend.into(), params_backend: params_backend.into(), max_vram: max_vram.into(), ..PlacementText::default() }
}

fn on(placement: PlacementText) -> Recipe {
    Recipe { placement, ..recipe() }
}

fn deep_on(placement: PlacementText) -> Recipe {
    Recipe { files: deep().clone(), placement, ..recipe() }
}

/// Log lines of graphs that were cut: the number of segments, or the budget with which they are
/// streamed.
fn cuts(said: &Said) -> Vec<&str> {
    let lines = said.events.iter().filter_map(|event| if let Event::Log { text, .. } = event { Some(text.as_str()) } else { None });
    lines.filter(|line| line.contains("graph cut max_vram") || line.contains("streaming budget")).collect()
}

#[test]
fn a_budget_reaches_the_upscaler_whose_graph_is_cut_and_whose_picture_stays_the_same() {
    let alone = alone();
    let model = tiny::upscaler(&folder("budget-upscaler"), 2, 1).unwrap();
    let pixels = (0..64 * 64 * 3).map(|n| (n % 251) as u8).collect();
    let image = Rgb8::new(64, 64, pixels).unwrap();
    let upscale = |max_vram: &str| {
        let placement = placed("GPU0", "cpu", max_vram);
        let image = ImageSource::Pixels(image.clone());
        let said = alone.engine.run_task(Task::Upscale { image, model: model.clone(), allow_pickle: false, placement, threads: Some(1) });
        assert!(matches!(said.end(), End::Done { .. }), "{:?}", said.end());
        assert!(said.peaks().iter().any(|peak| peak.device == "GPU0" && peak.bytes > 0));
        said
    };
    let (whole, cut) = (upscale(""), upscale("GPU0=0.000001"));
    assert_eq!(whole.pictures()[0].image.pixels(), cut.pictures()[0].image.pixels());
    let is_cut = |said: &Said| said.events.iter().any(|event| matches!(event, Event::Log { text, .. } if text.contains("graph cut plan")));
    assert!(!is_cut(&whole) && is_cut(&cut));
}

#[test]
fn every_placement_makes_the_same_picture_as_the_processor_alone() {
    let alone = alone();
    let cpu = alone.run(&on(placed("cpu", "", ""))).pixels().to_vec();
    for (backend, params) in [
        ("te=cpu,diffusion=GPU0,vae=GPU1", ""),
        ("all=GPU0", ""),
        ("gpu", ""),
        ("", ""),
        ("*=cpu,LLM=gpu1", ""),
        ("default=cpu,dit=GPU1", ""),
        ("all=cpu,auto-encoder=GPU0", ""),
        ("all=GPU0,cond=cpu,TAE=GPU1", "all=cpu"),
        ("all=GPU0", "diffusion=GPU1,te=disk"),
        ("all=GPU0,vae=GPU1", "disk"),
    ] {
        assert_eq!(alone.run(&on(placed(backend, params, ""))).pixels(), cpu, "{backend} {params}");
    }
}

#[test]
fn every_alias_of_a_module_is_accepted() {
    let alone = alone();
    let cpu = alone.run(&on(placed("cpu", "", ""))).pixels().to_vec();
    let of = |module: &str| alone.run(&on(placed(&format!("all=cpu,{module}=GPU0"), "", "")));
    for module in
        ["model", "unet", "clip", "text", "textencoders", "conditioner", "t5xxl", "vision", "firststage", "control", "pmid", "hires"]
    {
        assert_eq!(of(module).pixels(), cpu, "{module}");
    }
    assert!(of("sampler").failure().advice.sentence.contains("sampler"));
}

#[test]
fn what_a_model_holds_of_a_device_is_counted_and_given_back() {
    let alone = alone();
    let whole = alone.device("GPU0");
    assert_eq!((whole.kind, whole.memory_total_bytes, whole.memory_free_bytes), (DeviceKind::Gpu, 1 << 30, 1 << 30));
    let said = alone.run(&on(placed("te=cpu,diffusion=GPU0,vae=cpu", "", "")));
    assert!(matches!(said.end(), End::Done { .. }));
    let file = support::files().get(FileRole::Diffusion).unwrap().metadata().unwrap().len();
    let held = whole.memory_total_bytes - alone.device("GPU0").memory_free_bytes;
    assert!((file * 9 / 10..file * 3).contains(&held), "{held} bytes held for a file of {file}");
    assert_eq!(alone.device("GPU1").memory_free_bytes, 1 << 30);
    alone.engine.handle().unload().unwrap();
    assert_eq!(alone.device("GPU0"), whole);
}

#[test]
fn free_memory_is_measured_again_before_each_run() {
    let alone = alone();
    let free = |said: &Said| {
        let devices = said.events.iter().find_map(|event| if let Event::Devices(devices) = event { Some(devices) } else { None }).unwrap();
        devices.iter().find(|device| device.name == "GPU0").unwrap().memory_free_bytes
    };
    let recipe = on(placed("te=cpu,diffusion=GPU0,vae=cpu", "", ""));
    let (first, second) = (alone.run(&recipe), alone.run(&recipe));
    assert_eq!(free(&first), 1 << 30);
    assert!(free(&second) < 1 << 30, "the resident model is seen");
}

#[test]
fn a_graph_cut_to_a_budget_makes_the_same_picture() {
    let alone = alone();
    let whole = alone.run(&deep_on(placed("cpu", "", "")));
    let whole = whole.pixels();
    let on_gpu = alone.run(&deep_on(placed("all=GPU0", "all=cpu", "")));
    assert_eq!((on_gpu.pixels(), cuts(&on_gpu)), (whole, Vec::new()), "nothing is cut without a budget");
    for max_vram in ["0.004", "0.006", "0.01", "GPU0=0.005", "gpu0=0.02", "-0.99"] {
        for stream_layers in [ModuleSet::NONE, ModuleSet::DIFFUSION] {
            let placement = PlacementText { stream_layers, ..placed("all=GPU0", "all=cpu", max_vram) };
            let said = alone.run(&deep_on(placement));
            assert_eq!(said.pixels(), whole, "{max_vram} {stream_layers}");
            assert!(!cuts(&said).is_empty(), "{max_vram} {stream_layers}: {:?}", said.events);
        }
    }
    // Too little for two layers together, and enough for all.
    for max_vram in ["0.001", "8"] {
        assert_eq!(alone.run(&deep_on(placed("all=GPU0", "all=cpu", max_vram))).pixels(), whole, "{max_vram}");
    }
}

#[test]
fn a_budget_holds_for_its_own_device_and_can_change_without_loading_again() {
    let alone = alone();
    let run = |max_vram: &str| alone.run(&deep_on(placed("te=GPU1,diffusion=GPU0,vae=cpu", "all=cpu", max_vram)));
    let plain = run("");
    let cut = |max_vram: &str, module: &str| {
        let said = run(max_vram);
        assert_eq!(said.pixels(), plain.pixels(), "{max_vram}");
        let headers_read = said.phases().iter().any(|phase| matches!(phase, JobPhase::Loading { module: None, .. }));
        assert!(!headers_read, "{max_vram}: the model was opened again");
        cuts(&said).iter().filter(|line| line.to_lowercase().contains(module)).count()
    };
    assert!(cut("GPU0=0.004", "z_image") > 0);
    assert_eq!(cut("GPU1=0.004", "z_image"), 0);
    assert_eq!(cut("GPU0=0", "z_image"), 0);
}

#[test]
fn a_model_that_does_not_fit_whole_fits_in_segments() {
    let alone = alone();
    let whole = alone.run(&deep_on(placed("cpu", "", ""))).pixels().to_vec();
    let backend = "te=cpu,diffusion=MINI,vae=cpu";
    let failure = alone.run(&deep_on(placed(backend, "all=cpu", "")));
    assert!(matches!(failure.failure().cause, Some(Cause::OutOfMemory(_))), "{failure:?}", failure = failure.failure());
    assert_eq!(alone.run(&deep_on(placed(backend, "all=cpu", "0.008"))).pixels(), whole);
    assert_eq!(alone.device("MINI").memory_free_bytes, alone.device("MINI").memory_total_bytes, "what was staged is given back");
}

#[test]
fn a_device_without_room_is_named_with_the_phase_and_the_bytes_and_the_engine_goes_on() {
    let alone = alone();
    let cpu = alone.run(&on(placed("cpu", "", ""))).pixels().to_vec();
    for (module, expected) in [("diffusion", PhaseKind::Denoising), ("te", PhaseKind::Encoding), ("vae", PhaseKind::Decoding)] {
        let said = alone.run(&on(placed(&format!("all=cpu,{module}=NANO"), "", "")));
        let failure = said.failure();
        let Some(Cause::OutOfMemory(OutOfMemory { device, phase, bytes_wanted, bytes_free })) = &failure.cause else {
            panic!("{failure:?}")
        };
        assert_eq!((device.as_str(), *phase), ("NANO", expected), "{failure:?}");
        assert!(bytes_wanted > bytes_free && *bytes_free <= alone.device("NANO").memory_total_bytes, "{failure:?}");
        assert!(failure.advice.sentence.starts_with("NANO has too little memory: ") && !failure.advice.hint.is_empty(), "{failure:?}");
        assert_eq!(alone.run(&on(placed("cpu", "", ""))).pixels(), cpu, "after no room for {module}");
    }
}

#[test]
fn after_a_cancel_in_segments_the_next_picture_is_right() {
    let alone = alone();
    let recipe = deep_on(placed("all=GPU0", "all=cpu", "0.004"));
    let whole = alone.run(&deep_on(placed("cpu", "", ""))).pixels().to_vec();
    let loras = vec![Lora::new(tiny::lora(&folder("lora"), &deep_options()).unwrap(), 1.0)];
    let with_lora = alone.run(&Recipe { loras: loras.clone(), ..deep_on(placed("cpu", "", "")) }).pixels().to_vec();
    assert_ne!(with_lora, whole);
    let moments: [(&str, Moment); 4] = [
        ("while encoding", |event| matches!(event, Event::Phase { phase: JobPhase::Encoding, .. })),
        ("while the text encoder loads", |event| {
            matches!(event, Event::Phase { phase: JobPhase::Loading { module: Some(atelier_core::placement::Module::Llm), .. }, .. })
        }),
        ("inside a step", |event| matches!(event, Event::Step { step, .. } if step.done == 1)),
        ("while decoding", |event| matches!(event, Event::Phase { phase: JobPhase::Decoding { .. }, .. })),
    ];
    for (when, moment) in moments {
        // Another prompt, so that the text encoder runs.
        alone.engine.handle().unload().unwrap();
        let cancelled = alone.engine.run_until(&Recipe { prompt: when.into(), ..recipe.clone() }, moment);
        assert!(matches!(cancelled.end(), End::Cancelled), "{when}: {:?}", cancelled.end());
        // A LoRA makes another graph, in which what was left behind would lie elsewhere.
        assert_eq!(alone.run(&Recipe { loras: loras.clone(), ..recipe.clone() }).pixels(), with_lora, "with a LoRA after a cancel {when}");
        assert_eq!(alone.run(&recipe).pixels(), whole, "after a cancel {when}");
    }
}

#[test]
fn after_running_out_of_memory_in_segments_the_next_picture_is_right() {
    let alone = alone();
    let whole = alone.run(&deep_on(placed("cpu", "", ""))).pixels().to_vec();
    let backend = "te=cpu,diffusion=MINI,vae=cpu";
    // The segments of a generous budget are too large for the device.
    let failed = alone.run(&deep_on(placed(backend, "all=cpu", "0.018")));
    assert!(matches!(failed.failure().cause, Some(Cause::OutOfMemory(_))), "{:?}", failed.failure());
    assert!(!cuts(&failed).is_empty());
    assert_eq!(alone.run(&deep_on(placed(backend, "all=cpu", "0.008"))).pixels(), whole);
}

#[test]
fn what_has_no_effect_is_said_before_the_run() {
    let alone = alone();
    let note = |placement: PlacementText| {
        alone.run(&on(PlacementText { stream_layers: ModuleSet::DIFFUSION, ..placement })).begin().notes.join(" ")
    };
    assert!(note(placed("GPU0", "cpu", "")).contains("without a memory budget"));
    assert!(note(placed("GPU0", "", "1")).contains("Keep them in RAM"));
    assert_eq!(note(placed("GPU0", "cpu", "1")), "");
}

#[test]
fn what_one_backend_of_a_card_takes_is_gone_for_the_other() {
    let alone = alone();
    let (cuda, vulkan) = (alone.device("CUDA7"), alone.device("Vulkan7"));
    assert!(cuda.shares_gpu(&vulkan) && !cuda.shares_gpu(&alone.device("GPU0")));
    let whole = vulkan.memory_free_bytes;
    let expected = alone.run(&on(placed("cpu", "", ""))).pixels().to_vec();
    assert_eq!(alone.run(&on(placed("all=CUDA7", "", ""))).pixels(), expected);
    let held = whole - alone.device("CUDA7").memory_free_bytes;
    assert!(held > 1 << 20, "{held} bytes of weights");
    assert_eq!(alone.device("Vulkan7").memory_free_bytes, whole - held);
}

fn listed(command: &mut Command) -> Output {
    command.env(HOME_VARIABLE, folder("home")).output().unwrap()
}

/// Runs `atelier generate` on the simulated device CARD; with what it said at the beginning.
fn generate_on(home: &Path, devices: &str, more: &[&str]) -> (Output, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_atelier"));
    command.env(HOME_VARIABLE, home).args(["generate", "--simulate-devices", devices, "--backend", "CARD", "--json", "-p", "a lake"]);
    command.args(["-W", "64", "-H", "64", "--steps", "1", "--cfg-scale", "1", "-t", "1"]).arg("-o").arg(home.join("picture.png"));
    let files = support::files();
    for (flag, role) in [("--diffusion-model", FileRole::Diffusion), ("--llm", FileRole::Llm), ("--taesd", FileRole::Taesd)] {
        command.arg(flag).arg(files.get(role).unwrap());
    }
    let output = command.args(more).output().unwrap();
    let notes = |line: &str| match serde_json::from_str(line).unwrap() {
        Line::Begin { notes, .. } => Some(notes.join(" ")),
        _ => None,
    };
    let notes = String::from_utf8_lossy(&output.stdout).lines().find_map(notes).unwrap();
    (output, notes)
}

#[test]
fn generate_adds_what_streaming_lacks_and_says_so() {
    let home = tempfile::tempdir().unwrap();
    let (output, notes) = generate_on(home.path(), "CARD:4", &["--stream-layers"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && notes.is_empty(), "{notes} {said}");
    assert!(said.contains("--params-backend diffusion=CPU --max-vram CARD=-1"), "{said}");
    let (output, _) = generate_on(home.path(), "CARD:4", &["--stream-layers", "--params-backend", "cpu", "--max-vram", "1"]);
    assert!(output.status.success() && output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn what_was_copied_is_printed_where_it_is_asked_for_and_a_tiny_autoencoder_is_not_streamed() {
    let home = tempfile::tempdir().unwrap();
    let of = |more: &[&str]| generate_on(home.path(), "CARD:4", &[&["--params-backend", "cpu", "--max-vram", "1"][..], more].concat());
    let (output, _) = of(&["--stream-layers", "diffusion,te", "--stream-profile"]);
    let said = String::from_utf8_lossy(&output.stderr);
    for module in ["diffusion module", "text encoder", "VAE"] {
        assert!(said.lines().any(|line| line.starts_with(&format!("Weights of the {module}: ")) && line.contains(" waited")), "{said}");
    }
    let (output, notes) = of(&["--stream-layers", "vae"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_eq!([said.trim_end(), &notes], ["Streaming layers has no effect: the VAE runs as a whole."; 2]);
}

#[test]
fn generate_streams_no_vae_whose_picture_is_too_large_and_says_so() {
    let home = tempfile::tempdir().unwrap();
    let files = written(families::zimage_with_whole_vae(), &folder("large-vae"));
    let vae = files.get(FileRole::Vae).unwrap().to_str().unwrap();
    let of = |card: &str, side: &str| {
        let (output, notes) = generate_on(home.path(), card, &["--vae", vae, "-W", side, "-H", side, "--stream-layers", "vae"]);
        (String::from_utf8(output.stderr).unwrap(), notes)
    };
    // There is no room for the picture: what is said comes before it.
    let (said, notes) = of("CARD:0.004", "1024");
    assert!(notes.contains("Streaming layers has no effect: the VAE runs as a whole."), "{notes} {said}");
    assert!(!said.contains("vae=CPU"), "{said}");
    let (said, notes) = of("CARD:4", "64");
    assert!(!notes.contains("Streaming layers") && said.contains("--params-backend vae=CPU --max-vram CARD=-1"), "{notes} {said}");
}

#[test]
fn the_program_says_beforehand_that_a_picture_took_more_than_there_is() {
    let home = tempfile::tempdir().unwrap();
    let generate = |devices: &str| {
        let (output, notes) = generate_on(home.path(), devices, &[]);
        (output.status.code(), notes)
    };
    assert_eq!(generate("CARD:1"), (Some(0), String::new()));
    assert_eq!(generate("CARD:1"), (Some(0), String::new()));
    let (code, notes) = generate("CARD:0.0135");
    assert_eq!(code, Some(1));
    assert!(notes.starts_with("This may not fit: a similar picture took ") && notes.contains(" of CARD, and "), "{notes}");
}

#[test]
fn the_program_lists_simulated_devices_by_flag_and_by_variable() {
    let atelier = || Command::new(env!("CARGO_BIN_EXE_atelier"));
    let names = |output: Output| {
        let text = String::from_utf8(output.stdout).unwrap();
        let Line::Devices { devices, .. } = serde_json::from_str(&text).unwrap() else { panic!("{text}") };
        devices.into_iter().filter(|it| it.kind == "gpu").map(|it| (it.name, it.memory_total_bytes)).collect::<Vec<_>>()
    };
    let flag = names(listed(atelier().args(["devices", "--json", "--simulate-devices", "GPU0:8,GPU1:6"])));
    assert!(flag.ends_with(&[("GPU0".into(), 8 << 30), ("GPU1".into(), 6 << 30)]), "{flag:?}");
    let variable = names(listed(atelier().args(["devices", "--json"]).env(SIMULATE_VARIABLE, "CARD:2")));
    assert!(variable.ends_with(&[("CARD".into(), 2 << 30)]), "{variable:?}");
    let both = "CUDA0:8@0000:01:00.0,Vulkan0:8@0000:01:00.0";
    let output = listed(atelier().args(["devices", "--simulate-devices", both]));
    let table = String::from_utf8(output.stdout).unwrap();
    let same = table.lines().find(|line| line.starts_with("Vulkan0 ")).unwrap();
    assert!(same.contains("shared") && same.ends_with("The same GPU as CUDA0 (0000:01:00.0): choose one"), "{table}");
    for wrong in
        [listed(atelier().args(["--simulate-devices", "GPU0", "devices"])), listed(atelier().arg("devices").env(SIMULATE_VARIABLE, "x"))]
    {
        assert_eq!(wrong.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&wrong.stderr).starts_with("error: "), "{wrong:?}");
    }
}
