//! Text encoders of one model on devices of their own, and modules whose layers are streamed: the
//! same picture as on one device, with the memory that was predicted.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::collections::HashSet;
use std::fs;

use atelier_core::placement::{DeviceCapacity, Module, ModuleSet, Phase, Placement, Prediction};
use atelier_core::recipe::{FileRole, InitImage, Lora, ModelFiles, PlacementText, Recipe, TileSize};
use atelier_core::time::{TimeCorrections, phase_works, predict_time};
use atelier_engine::{Copies, End, Event, JobPhase, MeasureDevices};
use support::alone::{Alone, deep};
use support::engine::Said;
use support::{folder, of_clip, of_zeros, picture, placed, recipe, written};
use testkit::{families, tiny};

fn alone() -> Alone {
    support::alone::alone("GPU0:4,GPU1:4")
}

/// A tiny model of this family whose encoders tell words apart.
fn model(family: &str) -> ModelFiles {
    written(families::reading(family), &folder(&format!("encoders-{family}")))
}

fn of(files: &ModelFiles) -> Recipe {
    Recipe { files: files.clone(), prompt: "a lake under fog".into(), ..of_clip() }
}

/// The modules whose weights were loaded.
fn loaded(said: &Said) -> Vec<Module> {
    let of = |phase| if let JobPhase::Loading { module, .. } = phase { module } else { None };
    let mut modules: Vec<Module> = said.phases().into_iter().filter_map(of).collect();
    modules.dedup();
    modules
}

#[test]
fn encoders_apart_make_the_same_picture_as_on_one_device() {
    let alone = alone();
    for (family, encoders, placements) in [
        ("sd15", &[Module::ClipL][..], &[("all=GPU0,te.clip_l=GPU1", "")][..]),
        ("sdxl", &[Module::ClipL, Module::ClipG], &[("all=GPU0,te.clip_g=GPU1", ""), ("all=GPU0,te=cpu,te.clip_l=GPU1", "te.clip_g=disk")]),
        (
            "flux",
            &[Module::ClipL, Module::T5],
            &[
                ("all=GPU0,te.t5=cpu", ""),
                ("all=GPU0,te.t5=GPU1", "te.t5=cpu"),
                ("all=GPU0,clip.t5xxl=GPU1,te.clip-l=cpu", "te.t5=disk,te.clip_l=disk"),
            ],
        ),
        (
            "sd3",
            &[Module::ClipL, Module::ClipG, Module::T5],
            &[("all=GPU0,te.clip_l=cpu,te.clip_g=GPU1", ""), ("all=cpu,te.t5=GPU1,diffusion=GPU0", "te.t5=cpu,te.clip_g=disk")],
        ),
    ] {
        let files = model(family);
        let on_one = alone.run(&Recipe { placement: placed("all=GPU0", ""), ..of(&files) });
        let whole = on_one.pixels().to_vec();
        let found: Vec<Module> = loaded(&on_one).into_iter().filter(|module| module.is_encoder()).collect();
        assert_eq!(found, encoders, "{family}");
        let other = alone.run(&Recipe { prompt: "a house".into(), placement: placed("all=GPU0", ""), ..of(&files) });
        assert_ne!(other.pixels(), whole, "{family}: the encoders tell words apart");
        for (backend, params) in placements {
            alone.engine.handle().unload().unwrap();
            let said = alone.run(&Recipe { placement: placed(backend, params), ..of(&files) });
            assert!(matches!(said.end(), End::Done { .. }), "{family} {backend} {params}: {:?}", said.end());
            assert!(said.pixels() == whole, "{family} {backend} {params}");
        }
    }
}

#[test]
fn an_encoder_that_is_there_takes_memory_of_its_own_device_alone() {
    let alone = alone();
    let files = model("flux");
    let held = |backend: &str| {
        alone.engine.handle().unload().unwrap();
        let said = alone.run(&Recipe { placement: placed(backend, ""), ..of(&files) });
        assert!(matches!(said.end(), End::Done { .. }), "{backend}: {:?}", said.end());
        ["GPU0", "GPU1"].map(|name| alone.device(name).memory_allocated_bytes)
    };
    let ([together, none], [without, t5]) = (held("all=GPU0"), held("all=GPU0,te.t5=GPU1"));
    assert_eq!((none, without + t5), (0, together));
    let bytes = files.get(FileRole::T5xxl).unwrap().metadata().unwrap().len();
    assert!((bytes / 2..bytes * 2).contains(&t5), "{t5} of {bytes}");
}

fn copies(said: &Said) -> Vec<Copies> {
    said.events.iter().find_map(|event| if let Event::Measured { copies, .. } = event { Some(copies.clone()) } else { None }).unwrap()
}

/// The deep model, whose layers do not fit in the budgets of these tests.
fn streamed(modules: &str, max_vram: &str) -> Recipe {
    let placement = PlacementText { max_vram: max_vram.into(), stream_layers: modules.parse().unwrap(), ..placed("all=GPU0", "all=cpu") };
    Recipe { files: deep().clone(), placement, steps: 3, ..recipe() }
}

#[test]
fn streamed_layers_make_the_same_picture_and_are_copied_while_others_compute() {
    let alone = alone();
    let budgets =
        [("", ""), ("", "0.006"), ("diffusion", "0.006"), ("te", "0.006"), ("diffusion,te,vae", "0.006"), ("diffusion,te,vae", "0.01")];
    for (n, (modules, max_vram)) in budgets.into_iter().enumerate() {
        let what = format!("{modules} {max_vram}");
        // A text of its own, that the encoder reads the first time.
        let with = |placement| Recipe { prompt: format!("a lake {n}"), ..Recipe { placement, ..streamed("", "") } };
        let run = |recipe: &Recipe| {
            let said = alone.run(recipe);
            assert!(matches!(said.end(), End::Done { .. }), "{what}: {:?}", said.end());
            (said.pixels().to_vec(), copies(&said))
        };
        let recipe = with(streamed(modules, max_vram).placement);
        let (first, second) = (run(&recipe), run(&recipe));
        let (whole, none) = run(&with(placed("all=GPU0", "")));
        assert!(first.0 == whole && second.0 == whole, "{what}");
        assert_eq!(none, [], "nothing is copied of what lives there");
        let of = |copies: &[Copies], module| copies.iter().find(|it| it.module == module).copied();
        assert_eq!(of(&first.1, Module::Llm).map(|it| it.count > 1), Some(!max_vram.is_empty()), "{what}: {:?}", first.1);
        assert_eq!(of(&second.1, Module::Llm), None, "{what}: the text is known");
        let diffusion = of(&second.1, Module::Diffusion).unwrap();
        assert_eq!(diffusion.count > 1, !max_vram.is_empty(), "{what}: {diffusion:?}");
        assert_eq!(diffusion.hidden_secs > 0.0, modules.starts_with("diffusion"), "{what}: {diffusion:?}");
    }
}

#[test]
fn each_module_is_streamed_within_its_own_budget_to_the_same_picture() {
    let alone = alone();
    // A text of its own, that the encoder reads the first time.
    let counts = |n: usize, max_vram: &str| {
        let with = |recipe| Recipe { prompt: format!("a hill {n}"), ..recipe };
        let said = alone.run(&with(streamed("diffusion,te", max_vram)));
        assert!(matches!(said.end(), End::Done { .. }), "{max_vram}: {:?}", said.end());
        let whole = alone.run(&with(Recipe { placement: placed("all=GPU0", ""), ..streamed("", "") }));
        assert!(said.pixels() == whole.pixels(), "{max_vram}");
        let copies = copies(&said);
        let of = |module| copies.iter().find(|it| it.module == module).map_or(0, |it| it.count);
        alone.engine.handle().unload().unwrap();
        (of(Module::Llm), of(Module::Diffusion))
    };
    let (narrow, wide) = ("te=0.004,diffusion=8", "te.llm=8,unet=0.004");
    let ((encoder, whole), (whole_encoder, diffusion)) = (counts(0, narrow), counts(1, wide));
    assert!(encoder > whole_encoder && diffusion > whole, "{encoder} {whole} {whole_encoder} {diffusion}");
    // Of a module's budget and its device's, the smaller counts.
    assert_eq!(counts(2, "te=0.004,GPU0=6"), (encoder, whole));
    assert_eq!(counts(3, "te=8,diffusion=8,GPU0=0.004"), (encoder, diffusion));
    let estimate = alone.engine.estimate(&streamed("diffusion,te", narrow)).unwrap();
    alone.engine.handle().list_devices().unwrap();
    let devices = alone.engine.devices();
    let capacities: Vec<DeviceCapacity> = devices.iter().map(|device| DeviceCapacity::new(device.clone(), 0)).collect();
    for (max_vram, in_pieces) in [(narrow, (true, false)), (wide, (false, true))] {
        let placement = Placement::parse(&streamed("diffusion,te", max_vram).placement, &devices).unwrap();
        let prediction = Prediction::of(&placement, &estimate.needs, &capacities).unwrap();
        let is_in_pieces = |module: Module| prediction.modules[&module].in_pieces;
        assert_eq!((is_in_pieces(Module::Llm), is_in_pieces(Module::Diffusion)), in_pieces, "{max_vram}");
    }
}

#[test]
fn with_a_lora_or_another_device_of_a_batch_nothing_is_copied_ahead() {
    let alone = alone();
    let lora = Lora::new(tiny::lora(&folder("streamed-lora"), &support::alone::deep_options()).unwrap(), 1.0);
    let with_lora = |recipe: Recipe| Recipe { loras: vec![lora.clone()], ..recipe };
    let streams = streamed("diffusion,te", "0.006");
    let split = |recipe: Recipe| Recipe {
        placement: PlacementText { split_batch: "GPU0,GPU1".into(), ..recipe.placement },
        batch_count: 2,
        ..recipe
    };
    let resident = || Recipe { placement: placed("all=GPU0", ""), ..streams.clone() };
    for (streamed, plain) in [(with_lora(streams.clone()), with_lora(resident())), (split(streams.clone()), split(resident()))] {
        let (streamed, plain) = (alone.run(&streamed), alone.run(&plain));
        assert!(!plain.all_pixels().is_empty());
        assert!(streamed.all_pixels() == plain.all_pixels());
        let hidden: f64 = copies(&streamed).iter().map(|it| it.hidden_secs).sum();
        assert_eq!(hidden, 0.0, "{:?}", copies(&streamed));
    }
}

#[test]
fn what_is_copied_ahead_stays_within_the_budget() {
    let alone = alone();
    for max_vram in ["0.004", "0.006", "0.01", "0.02", "te=0.004,diffusion=0.01", "0.02,te=0.006"] {
        let recipe = streamed("diffusion,te", max_vram);
        let estimate = alone.engine.estimate(&recipe).unwrap();
        for _ in 0..2 {
            let said = alone.run(&recipe);
            for peak in said.peaks().iter().filter(|peak| peak.device == "GPU0") {
                let predicted = peak.predicted_bytes.unwrap();
                assert!(peak.bytes <= predicted, "{max_vram}: {peak:?} of {:?}", estimate.needs.modules);
            }
        }
    }
}

/// Placement with the VAE's weights in RAM, its layers streamed into a budget of its own.
fn vae_streamed(gib: &str) -> PlacementText {
    PlacementText { max_vram: format!("vae={gib}"), stream_layers: ModuleSet::VAE, ..placed("all=GPU0", "vae=cpu") }
}

#[test]
fn a_streamed_vae_makes_the_same_picture_of_latents_of_a_start_picture_and_of_tiles() {
    let alone = alone();
    let plain = Recipe { files: written(families::zimage_with_whole_vae(), &folder("streamed-vae")), ..recipe() };
    let start = |seed| Some(InitImage { image: picture(64, 64, seed), strength: 0.5 });
    let tiles = Recipe { width: 128, height: 128, vae_tiling: true, vae_tile_size: Some(TileSize::square(8)), ..plain.clone() };
    let recipes = [plain.clone(), Recipe { init: start(1), ..plain.clone() }, Recipe { init: start(2), ..plain }, tiles];
    let (mut counts, mut pictures) = (Vec::new(), Vec::new());
    for recipe in &recipes {
        let run = |placement| {
            alone.engine.handle().unload().unwrap();
            let recipe = Recipe { placement, ..recipe.clone() };
            alone.engine.estimate(&recipe).unwrap();
            let said = alone.run(&recipe);
            assert!(matches!(said.end(), End::Done { .. }), "{:?}", said.end());
            for peak in said.peaks().iter().filter(|peak| peak.device == "GPU0") {
                assert!(peak.bytes <= peak.predicted_bytes.unwrap(), "{peak:?}");
            }
            let copied = copies(&said).into_iter().find(|it| it.module == Module::Vae);
            (said.pixels().to_vec(), copied)
        };
        let whole = run(placed("all=GPU0", ""));
        let staged = run(PlacementText { stream_layers: ModuleSet::NONE, ..vae_streamed("0.005") });
        let streamed = run(vae_streamed("0.005"));
        assert!(staged.0 == whole.0 && streamed.0 == whole.0);
        assert_eq!(whole.1, None, "nothing is copied of what lives there");
        let streamed = streamed.1.unwrap();
        // A piece is copied ahead once its weights were read from the file, so from the second tile on.
        assert!(streamed.hidden_secs > 0.0 || !recipe.vae_tiling, "{streamed:?}");
        counts.push((staged.1.unwrap().count, streamed.count));
        let roomy = run(vae_streamed("1"));
        assert!(roomy.0 == whole.0 && roomy.1.unwrap().count <= 2, "{:?}", roomy.1);
        pictures.push(whole.0);
    }
    assert!(pictures[1] != pictures[2], "the VAE encodes all pictures as the same one");
    let [latents, start, other, tiles] = counts[..] else { panic!("{counts:?}") };
    assert!(latents.0 == 1 && latents.1 > 10, "a budget alone cuts nothing: {latents:?}");
    assert!(start == other && start.1 > latents.1 + 5, "{start:?}");
    assert!(tiles.0 == 1 && tiles.1 > 3 * latents.1, "each tile copies them again: {tiles:?}");
}

#[test]
fn a_streamed_vae_of_qwen_image_makes_the_same_picture() {
    let alone = alone();
    let folder = folder("streamed-qwen");
    // The model takes gigabytes, most of them zeros: mapped, they stay on the disk.
    let plain = Recipe { files: written(families::qwen_image(), &folder), ..of_zeros() };
    let run = |placement| {
        let said = alone.run(&Recipe { placement, ..plain.clone() });
        assert!(matches!(said.end(), End::Done { .. }), "{:?}", said.end());
        let copied = copies(&said).into_iter().find(|it| it.module == Module::Vae);
        (said.pixels().to_vec(), copied)
    };
    let on = |placement: PlacementText| PlacementText { backend: "all=cpu,vae=GPU0".into(), ..placement };
    let (whole, none) = run(on(placed("", "")));
    let (streamed, copied) = run(on(vae_streamed("0.02")));
    assert!(streamed == whole && whole.iter().collect::<HashSet<_>>().len() > 8);
    assert!(none.is_none() && copied.is_some_and(|it| it.count > 10), "{copied:?}");
    alone.engine.handle().unload().unwrap();
    fs::remove_dir_all(folder).unwrap();
}

#[test]
fn a_vae_is_computed_as_a_whole_where_pieces_take_more_memory() {
    let alone = alone();
    let files = written(families::zimage_with_whole_vae(), &folder("whole-vae"));
    let needs = |side, vae_tiling| {
        let recipe = Recipe { files: files.clone(), width: side, height: side, vae_tiling, placement: vae_streamed("0.005"), ..recipe() };
        alone.engine.estimate(&recipe).unwrap().needs
    };
    assert_eq!(needs(64, false).whole(), ModuleSet::NONE);
    assert_eq!(needs(1024, false).whole(), ModuleSet::VAE, "what passes between pieces is more than the weights");
    let small = &needs(64, false).modules[&Module::Vae];
    assert!(small.least_bytes.unwrap() < small.weight_bytes + small.compute_bytes[&Phase::Decode], "{small:?}");
    let tiny = alone.engine.estimate(&Recipe { placement: vae_streamed("0.005"), ..recipe() }).unwrap();
    assert_eq!(tiny.needs.whole(), ModuleSet::VAE, "a tiny autoencoder has no cuts");
}

/// Seconds of reading a prompt that are predicted by the devices' rates alone.
fn predicted_encoding(alone: &Alone, recipe: &Recipe) -> f64 {
    let estimate = alone.engine.estimate(recipe).unwrap();
    alone.engine.handle().list_devices().unwrap();
    let devices = alone.engine.devices();
    let capacities: Vec<DeviceCapacity> = devices.iter().map(|device| DeviceCapacity::new(device.clone(), 0)).collect();
    let placement = Placement::parse(&recipe.placement, &devices).unwrap();
    let prediction = Prediction::of(&placement, &estimate.needs, &capacities).unwrap();
    let phases = phase_works(&estimate.work, &estimate.needs, &placement, &prediction);
    predict_time(&phases, &estimate.rates, &TimeCorrections::default()).unwrap().encode_secs
}

#[test]
#[ignore = "prints the table of docs/measured-settings.md, on a quiet machine"]
fn seconds_of_single_encoders_beside_those_that_are_predicted() {
    let alone = alone();
    // Rates are a device's own: those of one simulated device are not the other's.
    let names = ["CPU", "GPU0", "GPU1"].map(str::to_owned).to_vec();
    alone.engine.handle().measure(Some(MeasureDevices { names: names.clone(), again: true, threads: Some(1) })).unwrap();
    let measured = alone.engine.rates();
    for name in names {
        let of = |device: &str| measured.iter().find(|it| it.device == device).and_then(|it| it.measured.as_ref().ok());
        assert!(of(&name).is_some_and(|it| it.rates.is_complete()), "{name}: {measured:?}");
    }
    let streamed = PlacementText { max_vram: "0.3".into(), stream_layers: "te".parse().unwrap(), ..placed("all=GPU0", "all=cpu") };
    println!("| | placement | GPU0, GPU1 MiB | encoding, s | of the predicted seconds |");
    println!("|---|---|---|---|---|");
    for (family, placements) in [
        ("sdxl", vec![placed("all=GPU0", ""), placed("all=GPU0,te.clip_g=GPU1", ""), placed("all=GPU0,te=cpu", ""), streamed]),
        ("flux", vec![placed("all=GPU0", ""), placed("all=GPU0,te.t5=cpu", ""), placed("all=GPU0", "te.t5=disk")]),
        ("sd3", vec![placed("all=GPU0", ""), placed("all=GPU0,te.clip_g=GPU1", "")]),
    ] {
        let files = model(family);
        for placement in placements {
            alone.engine.handle().unload().unwrap();
            // All layers of CLIP count here.
            let recipe = Recipe { placement: placement.clone(), clip_skip: None, ..of(&files) };
            let predicted = predicted_encoding(&alone, &recipe);
            // The weights of the second picture are there, and its text is as long.
            alone.run(&Recipe { prompt: "a hill under fog".into(), ..recipe.clone() });
            let said = alone.run(&recipe);
            let End::Done { timings, .. } = said.end() else { panic!("{:?}", said.end()) };
            let bytes = |name: &str| said.peaks().iter().filter(|it| it.device == name).map(|it| it.bytes).max().unwrap_or_default();
            let [first, second] = ["GPU0", "GPU1"].map(|name| bytes(name) as f64 / f64::from(1 << 20));
            let PlacementText { backend, params_backend, max_vram, .. } = placement;
            let secs = timings.encode_secs;
            println!(
                "| {family} | `{backend}` {params_backend} {max_vram} | {first:.1}, {second:.1} | {secs:.2} | {:.2} |",
                secs / predicted
            );
        }
    }
}
