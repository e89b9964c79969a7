//! Estimates of recipes: bytes that the engine would allocate against those that it does allocate.
//!
//! Counted on simulated devices: what is counted there is what the engine asked of a device, to the
//! byte.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::collections::BTreeMap;
use std::sync::OnceLock;

use atelier_core::device::Device;
use atelier_core::placement::{Change, DeviceCapacity, DevicePrediction, Module, Phase, PhaseKind, Placement, Prediction};
use atelier_core::recipe::{
    CacheMode, ControlImage, FileRole, GuidanceRange, Hires, ImageSource, InitImage, Lora, LoraMode, ModelFiles, Person, PlacementText,
    Recipe, RedrawTiles, Rgb8, SkipLayers, StepCache, TensorType, TileSize,
};
use atelier_engine::{Cause, End, Estimate, Event, JobPhase, PreviewOptions, Task};
use support::alone::{Alone, deep, deep_options};
use support::engine::Said;
use support::{folder, recipe, resident_bytes, written};
use testkit::{families, tiny};

fn alone() -> Alone {
    support::alone::alone("GPU0:4,GPU1:4,MINI:0.03,DECODER:0.09")
}

fn on(backend: &str, params_backend: &str, max_vram: &str) -> Recipe {
    let placement = PlacementText {
        backend: backend.into(),
        params_backend: params_backend.into(),
        max_vram: max_vram.into(),
        ..PlacementText::default()
    };
    Recipe { files: deep().clone(), placement, ..recipe() }
}

/// Predicted bytes of each device and phase, on devices without overhead.
fn predicted(recipe: &Recipe, estimate: &Estimate, devices: &[Device]) -> BTreeMap<(String, Phase), u64> {
    let capacities: Vec<DeviceCapacity> = devices.iter().map(|device| DeviceCapacity::new(device.clone(), 0)).collect();
    let placement = Placement::parse(&recipe.placement, devices).unwrap();
    let prediction = Prediction::of(&placement, &estimate.needs, &capacities).unwrap();
    let of = |device: &DevicePrediction| Phase::ALL.map(|phase| ((device.name.clone(), phase), device.in_phase(phase).total_bytes()));
    prediction.devices.iter().flat_map(of).collect()
}

trait Check {
    fn check(&self, recipe: &Recipe);
    /// What it took is no more than what was predicted.
    fn check_bound(&self, recipe: &Recipe);
    /// The same of the first picture alone.
    fn check_bound_of_first(&self, recipe: &Recipe);
    fn compare(&self, recipe: &Recipe, is_exact: bool, pictures: usize);
}

impl Check for Alone {
    /// The second picture of a model finds all weights where they live, as predictions count them;
    /// its prompts are others, as long, and it begins with another picture, so that the encoders
    /// run again. What it took is what was predicted, to the byte.
    fn check(&self, recipe: &Recipe) {
        self.compare(recipe, true, 2);
    }

    fn check_bound(&self, recipe: &Recipe) {
        self.compare(recipe, false, 2);
    }

    fn check_bound_of_first(&self, recipe: &Recipe) {
        self.compare(recipe, false, 1);
    }

    fn compare(&self, recipe: &Recipe, is_exact: bool, pictures: usize) {
        let what = format!("{:?} {}x{}", recipe.placement, recipe.width, recipe.height);
        let estimate = self.engine.estimate(recipe).unwrap();
        self.engine.handle().unload().unwrap();
        self.engine.handle().list_devices().unwrap();
        let predicted = predicted(recipe, &estimate, &self.engine.devices());
        for (prompt, negative) in [("a hill", "snow"), ("a lake", "rain")].into_iter().take(pictures) {
            let negative_prompt = recipe.negative_prompt.replace("rain", negative);
            let mut recipe = Recipe { prompt: recipe.prompt.replace("a lake", prompt), negative_prompt, ..recipe.clone() };
            if let Some(init) = recipe.init.as_mut().filter(|_| prompt == "a hill") {
                init.image = ImageSource::Pixels(Rgb8::new(64, 64, vec![9; 64 * 64 * 3]).unwrap());
            }
            // The engine encodes it too.
            if let Some(control) = recipe.control.as_mut().filter(|_| prompt == "a hill") {
                control.image = ImageSource::Pixels(Rgb8::new(64, 64, vec![9; 64 * 64 * 3]).unwrap());
            }
            let said = self.engine.run(&recipe);
            assert!(matches!(said.end(), End::Done { .. }), "{what}: {:?}", said.end());
            for peak in said.peaks() {
                let predicted = predicted[&(peak.device.clone(), peak.phase)];
                assert!(peak.bytes <= predicted, "{what}: {peak:?} and not {predicted}");
                let note = (peak.bytes, peak.predicted_bytes);
                assert!(!is_exact || prompt == "a hill" || note == (predicted, Some(predicted)), "{what}: {peak:?} and not {predicted}");
            }
        }
    }
}

/// The first value where convolutions unfold images, as on graphics cards; the second where
/// simulated devices compute them directly.
fn of_unfolded<T>(unfolded: T, direct: T) -> T {
    if atelier_engine::cpu_math() == atelier_core::cpu_math::CpuMath::Exact { unfolded } else { direct }
}

#[test]
fn what_is_predicted_is_what_the_engine_allocates() {
    let alone = alone();
    for (backend, params) in [
        ("cpu", ""),
        ("GPU0", ""),
        ("te=cpu,diffusion=GPU0,vae=GPU1", ""),
        ("GPU0", "cpu"),
        ("GPU0", "disk"),
        ("all=GPU0,te=GPU1", "diffusion=cpu,te=disk,vae=GPU1"),
    ] {
        alone.check(&on(backend, params, ""));
    }
}

#[test]
fn each_encoder_of_a_model_is_predicted_where_it_is() {
    let alone = alone();
    // With CLIP-G on a device of its own, it is checked with a PhotoMaker.
    alone.check(&Recipe { files: sdxl().clone(), steps: 1, ..on("all=GPU0", "te.clip_l=cpu,te.clip_g=disk", "") });
    let files = written(families::reading("flux"), &folder("estimated-flux"));
    for (backend, params) in
        [("all=GPU0,te.t5=GPU1", "te.t5=cpu"), ("all=GPU0,te.t5=cpu,te.clip_l=GPU1", "te.clip_l=disk"), ("all=GPU0", "te=cpu")]
    {
        alone.check(&Recipe { files: files.clone(), steps: 1, ..on(backend, params, "") });
    }
}

/// A small SDXL, whose encoders have their real sizes.
fn sdxl() -> &'static ModelFiles {
    static FILES: OnceLock<ModelFiles> = OnceLock::new();
    FILES.get_or_init(|| written(families::reading("sdxl"), &folder("estimated-sdxl")))
}

#[test]
fn flags_and_pictures_to_start_from_are_part_of_it() {
    let alone = alone();
    let plain = on("GPU0", "cpu", "");
    let picture = ImageSource::Pixels(Rgb8::new(64, 64, vec![99; 64 * 64 * 3]).unwrap());
    alone.check(&Recipe { flash_attention: !plain.flash_attention, ..plain.clone() });
    alone.check(&Recipe { weight_type: Some(TensorType::Q8_0), ..plain.clone() });
    // Mapped weights that wait in RAM are counted, though they take none of their own.
    for placement in [("cpu", ""), ("GPU0", "")] {
        alone.check(&Recipe { memory_map: true, ..on(placement.0, placement.1, "") });
    }
    alone.check(&Recipe { tensor_type_rules: "attention=q4_0,^model=q5_1".parse().unwrap(), ..on("GPU0", "", "") });
    alone.check(&Recipe { guidance: 3.0, negative_prompt: "rain, and much of it".into(), ..plain.clone() });
    // What step caches keep is no memory of a device.
    for mode in [CacheMode::EasyCache, CacheMode::DbCache, CacheMode::Spectrum] {
        alone.check(&Recipe { step_cache: Some(StepCache::of(mode)), steps: 6, ..plain.clone() });
    }
    alone.check(&Recipe { width: 96, height: 64, ..plain.clone() });
    // Both halves of the VAE count, of which one at a time would be staged: here they live where
    // they run.
    alone.check(&Recipe { init: Some(InitImage { image: picture, strength: 0.5 }), ..on("GPU0", "", "") });
    alone.check(&Recipe { hires: Some(Hires { scale: 1.5, ..Hires::default() }), ..on("GPU0", "", "") });
    let tiles = Some(RedrawTiles { side: Some(64), ..RedrawTiles::default() });
    alone.check(&Recipe { hires: Some(Hires { scale: 2.0, tiles, ..Hires::default() }), ..on("GPU0", "", "") });
    let in_tiles = Recipe { width: 272, height: 272, steps: 1, vae_tiling: true, ..plain };
    // The engine keeps the half of the VAE alone that decodes; the prediction counts both.
    for size in [TileSize::square(12), TileSize { width: 12, height: 24 }, TileSize { width: 40, height: 8 }] {
        let tiles = Recipe { vae_tile_size: Some(size), vae_tile_overlap: Some(0.25), ..in_tiles.clone() };
        alone.check_bound_of_first(&Recipe { width: 224, height: 208, ..tiles });
    }
    alone.check_bound(&in_tiles);
}

#[test]
fn a_lora_is_part_of_it_beside_the_weights_and_in_them() {
    let alone = alone();
    let loras = vec![Lora::new(tiny::lora(&folder("estimated-lora"), &deep_options()).unwrap(), 1.0)];
    for (backend, params) in [("GPU0", ""), ("GPU0", "cpu")] {
        let at_runtime = Recipe { loras: loras.clone(), lora_mode: LoraMode::AtRuntime, ..on(backend, params, "") };
        let merged = Recipe { lora_mode: LoraMode::Immediately, ..at_runtime.clone() };
        let beside = |recipe: &Recipe| alone.engine.estimate(recipe).unwrap().needs.modules[&Module::Diffusion].lora_bytes;
        assert!(beside(&at_runtime) > 0);
        assert_eq!(beside(&merged), 0);
        // The part for the text encoder is let go before the steps, and the prediction counts it.
        alone.check_bound(&merged);
    }
}

/// Files of a `ControlNet` and its model.
fn controlled() -> ModelFiles {
    static FILES: OnceLock<ModelFiles> = OnceLock::new();
    FILES.get_or_init(|| support::controlled(families::controlled_sd15(&folder("estimated-controlled")).unwrap())).clone()
}

#[test]
fn a_controlnet_is_part_of_it() {
    let alone = alone();
    let control = Some(ControlImage::new(ImageSource::Pixels(Rgb8::new(64, 64, vec![99; 64 * 64 * 3]).unwrap())));
    let plain = Recipe { files: controlled(), steps: 2, guidance: 3.0, negative_prompt: "rain".into(), control, ..recipe() };
    for (backend, params) in [("GPU0", ""), ("all=cpu,diffusion=GPU0,controlnet=GPU1", "controlnet=cpu")] {
        alone.check(&Recipe { placement: on(backend, params, "").placement, steps: 1, ..plain.clone() });
    }
    // Without the picture, and in no step of it, its weights stay in the file.
    let mut elsewhere = Recipe { placement: on("all=cpu,controlnet=GPU1", "", "").placement, ..plain };
    let needs = |recipe: &Recipe| alone.engine.estimate(recipe).unwrap().needs.modules.remove(&Module::Controlnet);
    let whole = needs(&elsewhere).unwrap();
    assert!(whole.weight_bytes > 600_000_000, "{whole:?}");
    elsewhere.control.as_mut().unwrap().start = 0.6;
    assert_eq!(needs(&elsewhere), None);
    // Mapped: nobody writes the model's zeros into memory once more.
    let said = alone.run(&Recipe { memory_map: true, ..elsewhere.clone() });
    assert!(said.peaks().iter().all(|peak| peak.device != "GPU1" || peak.bytes == peak.others_bytes));
    elsewhere.control.as_mut().unwrap().start = 0.5;
    assert_eq!(needs(&elsewhere), Some(whole), "in one of two steps");
}

#[test]
fn what_acts_in_a_part_of_the_steps_is_work_of_these_alone() {
    let alone = alone();
    let work = |recipe: &Recipe, module| alone.engine.estimate(recipe).unwrap().work.total(module, PhaseKind::Denoising);
    let control = ControlImage::new(ImageSource::Pixels(Rgb8::new(64, 64, vec![99; 64 * 64 * 3]).unwrap()));
    let within = |start, end| {
        let control = Some(ControlImage { start, end, ..control.clone() });
        Recipe { files: controlled(), steps: 10, control, ..recipe() }
    };
    let all = work(&within(0.0, 1.0), Module::Controlnet);
    assert!(all.operations() > 0);
    assert_eq!(work(&within(0.0, 0.4), Module::Controlnet).operations() * 10, all.operations() * 4);
    let estimate = alone.engine.estimate(&within(0.0, 1.0)).unwrap();
    assert_eq!(estimate.work.with_steps_of(&within(0.0, 0.4)), alone.engine.estimate(&within(0.0, 0.4)).unwrap().work);

    // Guidance evaluates a ControlNet once more where both act: of its steps 1 to 6, in 5 and 6.
    let guided = |recipe: Recipe| Recipe { guidance: 3.0, negative_prompt: "rain".into(), ..recipe };
    let operations = |recipe: Recipe| work(&recipe, Module::Controlnet).operations();
    let (one, both) = (operations(within(0.0, 1.0)) / 10, operations(guided(within(0.0, 1.0))) / 10);
    assert!(one < both && both <= 2 * one, "{both} after {one}");
    let guidance_ranges = vec![GuidanceRange { guidance: 1.0, start: 0.0, end: 0.4 }];
    assert_eq!(operations(Recipe { guidance_ranges, ..guided(within(0.0, 0.6)) }), 4 * one + 2 * both);

    let files = support::family("sd3");
    let skipping = |layers: Vec<u32>, start, end| {
        let skip_layers = Some(SkipLayers { layers, start, end, ..SkipLayers::default() });
        work(&Recipe { files: files.clone(), steps: 10, guidance: 3.0, skip_layers, ..recipe() }, Module::Diffusion)
    };
    let plain = work(&Recipe { files: files.clone(), steps: 10, guidance: 3.0, ..recipe() }, Module::Diffusion);
    // A step has two evaluations, and the third one leaves a layer out.
    let whole = skipping(vec![0], 0.0, 1.0);
    let added = whole.operations() - plain.operations();
    assert!(added > 0 && added < plain.operations() / 2, "{added} of {}", plain.operations());
    assert_eq!((plain.graphs(), whole.graphs()), (20, 30));
    let half = skipping(vec![0], 0.0, 0.5);
    assert_eq!((half.operations() - plain.operations(), half.graphs()), (added / 10 * 4, 24), "steps 1 to 4 of 10");
}

#[test]
fn an_upscaler_between_two_passes_is_part_of_it() {
    let alone = alone();
    let upscaler = tiny::upscaler(&folder("estimated-upscaler"), 2, 1).unwrap();
    // Sizes of which both passes pad the picture's tokens, so that they read the same weights.
    let hires = Hires { scale: 1.5, upscaler: Some(upscaler), ..Hires::default() };
    let upscaled = |plain: Recipe| Recipe { hires: Some(hires.clone()), ..plain };
    for (backend, params) in [("GPU0", ""), ("GPU0", "cpu"), ("all=GPU0,upscaler=GPU1", ""), ("all=GPU0,upscaler=cpu", "")] {
        alone.check(&upscaled(on(backend, params, "")));
    }
    let needs = alone.engine.estimate(&upscaled(on("GPU0", "", ""))).unwrap().needs.modules.remove(&Module::Upscaler).unwrap();
    assert!(needs.weight_bytes > 0 && needs.compute_bytes[&Phase::Decode] > 0, "{needs:?}");
}

#[test]
fn a_photomaker_and_the_pictures_of_its_person_are_part_of_it() {
    let alone = alone();
    let of = Recipe { files: sdxl().clone(), steps: 1, ..on("all=GPU0,te.clip_g=GPU1", "", "") };
    let mut plain = Recipe { prompt: "a lake img".into(), ..of };
    let photomaker = folder("photomaker").join("photomaker.safetensors");
    // Its LoRA would be counted as any other: only while the diffusion module runs.
    families::photomaker_without_lora().write(&photomaker).unwrap();
    plain.files.set(FileRole::Photomaker, photomaker);
    let picture = |side| ImageSource::Pixels(Rgb8::new(side, 40, vec![99; side as usize * 40 * 3]).unwrap());
    let with = |images| Recipe { person: Person { images, ..Person::default() }, ..plain.clone() };
    let (one, two) = (with(vec![picture(40)]), with(vec![picture(300), picture(40)]));
    alone.check(&one);
    let encoding =
        |recipe: &Recipe| alone.engine.estimate(recipe).unwrap().needs.modules[&Module::Photomaker].compute_bytes[&Phase::Encode];
    assert!(encoding(&two) > encoding(&one));
}

#[test]
fn where_only_decoding_lacks_memory_the_picture_is_decoded_in_tiles_and_says_so() {
    let alone = alone();
    // Where the processor keeps packed weights, a job whose steps it computes is estimated before.
    let recipe = Recipe { width: 384, height: 384, steps: 1, ..on("cpu,diffusion=GPU0,vae=DECODER", "", "") };
    let decoding = |recipe: &Recipe| alone.engine.estimate(recipe).unwrap().needs.modules[&Module::Vae].compute_bytes[&Phase::Decode];
    // Nothing is predicted yet: the device runs out after sampling, and the picture is made again.
    let unforeseen = alone.engine.run(&recipe);
    let [note] = &unforeseen.pictures()[0].notes[..] else { panic!("{:?}", unforeseen.end()) };
    assert_eq!(note.sentence, "Decoded in tiles (VAE tiling): DECODER has too little memory to decode the whole picture at once.");
    assert_eq!(unforeseen.begin().notes, Vec::<String>::new());

    let (whole, tiled) = (decoding(&recipe), decoding(&Recipe { vae_tiling: true, ..recipe.clone() }));
    assert!(tiled < 96_000_000 && whole > 97_000_000, "the device is between the two: {tiled}, {whole}");
    // Now it is known before anything is sampled.
    let foreseen = alone.engine.run(&recipe);
    assert_eq!(foreseen.begin().notes, std::slice::from_ref(&note.sentence));
    assert_eq!(foreseen.pictures()[0].notes, std::slice::from_ref(note));
    assert_eq!(foreseen.pixels(), unforeseen.pixels());
    let denoised = |said: &Said| said.phases().iter().filter(|phase| matches!(phase, JobPhase::Denoising { .. })).count();
    assert!(denoised(&unforeseen) > 1 && denoised(&foreseen) == 1, "it is sampled once");
}

#[test]
fn the_least_is_what_a_graph_takes_that_is_cut_as_small_as_it_can_be() {
    let alone = alone();
    let recipe = on("GPU0", "cpu", "GPU0=0.000001");
    let estimate = alone.engine.estimate(&recipe).unwrap();
    let whole = alone.engine.estimate(&on("GPU0", "cpu", "")).unwrap();
    assert_eq!(estimate.needs, whole.needs, "what a module needs does not depend on budgets");
    let said = alone.engine.run(&recipe);
    assert!(matches!(said.end(), End::Done { .. }), "{:?}", said.end());
    for (module, phase) in [(Module::Llm, Phase::Encode), (Module::Diffusion, Phase::Denoise)] {
        let needs = &estimate.needs.modules[&module];
        let peak = said.peaks().iter().find(|peak| peak.device == "GPU0" && peak.phase == phase).unwrap();
        assert_eq!(needs.least_bytes, Some(peak.bytes), "{module:?}");
        assert!(peak.bytes < needs.weight_bytes + needs.compute_bytes[&phase], "{module:?}");
    }
    assert_eq!(estimate.needs.modules[&Module::Vae].least_bytes, None, "the engine cannot cut it");
}

#[test]
fn a_model_of_gigabytes_is_looked_at_and_not_loaded() {
    let alone = alone();
    let path = folder("sd15").join("model.safetensors");
    testkit::sd15(&path, 1, testkit::Contents::HeaderOnly).unwrap();
    let mut recipe = on("GPU0", "", "");
    recipe.files = [(FileRole::Model, path)].into_iter().collect();
    (recipe.width, recipe.height, recipe.guidance, recipe.flash_attention) = (512, 512, 7.0, false);
    alone.engine.handle().list_devices().unwrap();
    let (free, held) = (alone.engine.devices(), resident_bytes());
    let plain = alone.engine.estimate(&recipe).unwrap();
    let flash = alone.engine.estimate(&Recipe { flash_attention: true, ..recipe.clone() }).unwrap();
    let grown = resident_bytes().saturating_sub(held);
    let needs = &plain.needs.modules;
    assert!(needs.values().map(|it| it.weight_bytes).sum::<u64>() > 1_900_000_000, "{needs:?}");
    assert!(grown < 400_000_000, "{grown} bytes");
    alone.engine.handle().list_devices().unwrap();
    let memory = |devices: &[Device]| devices.iter().filter(|it| it.name == "GPU0").map(|it| it.memory_free_bytes).collect::<Vec<_>>();
    assert_eq!(memory(&alone.engine.devices()), memory(&free));
    // The sizes that people's logs show.
    let mib = |bytes: u64| (bytes as f64 / f64::from(1 << 20) * 100.0).round() / 100.0;
    assert_eq!(mib(needs[&Module::Diffusion].compute_bytes[&Phase::Denoise]), of_unfolded(559.90, 559.62));
    assert_eq!(mib(flash.needs.modules[&Module::Diffusion].compute_bytes[&Phase::Denoise]).round(), of_unfolded(123.0, 105.0));
    assert_eq!(needs[&Module::Vae].compute_bytes[&Phase::Decode] / (512 * 512), of_unfolded(6656, 2816));
    let changes: Vec<&Change> = plain.alternatives.iter().flat_map(|it| &it.changes).collect();
    assert!(changes.contains(&&Change::VaeTiling) && changes.contains(&&Change::Size { width: 384, height: 384 }), "{changes:?}");
}

#[test]
fn a_shortage_that_is_foreseen_is_told_and_the_picture_is_tried_all_the_same() {
    let alone = alone();
    let recipe = on("MINI", "", "");
    alone.engine.estimate(&recipe).unwrap();
    let said = alone.engine.run(&recipe);
    let note = said.begin().notes.iter().find(|note| note.starts_with("This may not fit")).unwrap();
    let held = of_unfolded(52, 48);
    assert!(note.contains(&format!("MINI needs {held} MiB")) && note.contains("decode"), "{note}");
    assert!(matches!(said.failure().cause, Some(Cause::OutOfMemory(_))), "{:?}", said.failure());
}

#[test]
fn what_cannot_be_a_model_is_told() {
    let alone = alone();
    let mut recipe = on("GPU0", "", "");
    recipe.files.remove(FileRole::Llm);
    let failure = alone.engine.estimate(&recipe).unwrap_err();
    assert!(failure.advice.sentence.ends_with('.') && !failure.advice.hint.is_empty(), "{failure:?}");
    assert!(alone.engine.estimate(&on("GPU7", "", "")).unwrap_err().advice.sentence.contains("GPU7"));
}

#[test]
fn estimates_and_devices_are_answered_while_a_picture_is_made() {
    let alone = alone();
    let recipe = Recipe { steps: 200, ..on("cpu", "", "") };
    let handle = alone.engine.handle();
    let job =
        handle.submit(Task::Generate { recipe: Box::new(recipe.clone()), preview: PreviewOptions::Off, shares_steps: false }).unwrap();
    let mut seen = Vec::new();
    let mut answers = 0;
    while answers < 3 {
        let answered = alone.engine.estimate(&Recipe { width: 64 + 16 * answers, ..recipe.clone() }).unwrap();
        assert!(!answered.needs.modules.is_empty());
        handle.list_devices().unwrap();
        assert!(alone.engine.devices().iter().any(|device| device.name == "GPU0"));
        answers += 1;
    }
    handle.cancel(job);
    seen.extend(alone.engine.until_ends(1));
    assert!(matches!(seen.last(), Some(Event::End { end: End::Cancelled, .. })), "it was still being made: {seen:?}");
}

/// Compute buffers in MiB: of the diffusion module while denoising, and of the VAE a pixel of the
/// picture, in bytes.
fn compute(estimate: &Estimate, recipe: &Recipe) -> (f64, u64) {
    let of = |module: Module, phase| estimate.needs.modules[&module].compute_bytes[&phase];
    let pixels = u64::from(recipe.width) * u64::from(recipe.height);
    (of(Module::Diffusion, Phase::Denoise) as f64 / f64::from(1 << 20), of(Module::Vae, Phase::Decode) / pixels)
}

/// A recipe of 1024 x 1024 for files of which there are only headers.
fn large(files: ModelFiles) -> Recipe {
    Recipe { files, width: 1024, height: 1024, flash_attention: true, ..on("GPU0", "", "") }
}

#[test]
fn headers_of_large_models_give_the_sizes_that_are_known_of_them() {
    let alone = alone();
    let parts = |parts: testkit::headers::Parts| {
        let mut files: ModelFiles = [(FileRole::Diffusion, parts.diffusion), (FileRole::Vae, parts.vae)].into_iter().collect();
        match parts.clip_l {
            Some(clip_l) => {
                files.set(FileRole::ClipL, clip_l);
                files.set(FileRole::T5xxl, parts.text);
            }
            None => files.set(FileRole::Llm, parts.text),
        }
        files
    };
    let xl = folder("sdxl").join("model.safetensors");
    testkit::headers::sdxl(&xl).unwrap();
    let sdxl = Recipe { guidance: 7.0, flash_attention: false, ..large([(FileRole::Model, xl)].into_iter().collect()) };
    let flux = large(parts(testkit::headers::flux_dev(&folder("flux")).unwrap()));
    let zimage = large(parts(testkit::headers::zimage(&folder("zimage")).unwrap()));
    // The engine scales what goes through SDXL's own VAE, which takes more than the others' bytes a
    // pixel. What Z-Image takes depends on how long the prompt is, which is not known of its
    // figure.
    for (name, recipe, weights_gb, denoise_mib, within, vae) in [
        ("SDXL", sdxl, 6.86, of_unfolded(830.86, 829.74), 0.01, of_unfolded(7680, 3840)),
        ("Flux.1-dev", flux, 33.7, 780.0, 1.0, of_unfolded(6656, 2816)),
        ("Z-Image", zimage, 20.7, 694.0, 60.0, of_unfolded(6656, 2816)),
    ] {
        let estimate = alone.engine.estimate(&recipe).unwrap();
        let (denoise, a_pixel) = compute(&estimate, &recipe);
        let weights = estimate.needs.modules.values().map(|it| it.weight_bytes).sum::<u64>() as f64 / 1e9;
        println!("{name}: {weights} GB, {denoise} MiB, {a_pixel} bytes a pixel");
        assert!((weights / weights_gb - 1.0).abs() < 0.05, "{name}: {weights} GB");
        assert!((denoise - denoise_mib).abs() < within, "{name}: {denoise} MiB");
        assert!((vae..vae + 8).contains(&a_pixel), "{name}: {a_pixel}");
        let diffusion = &estimate.needs.modules[&Module::Diffusion];
        assert!(diffusion.least_bytes.unwrap() < diffusion.weight_bytes / 4, "{name}: {diffusion:?}");
    }
}
