//! Adapters change a model as much as the same change merged into its weights by hand, whatever
//! kind they are of, whoever wrote their names, and wherever the model runs.
//!
//! The devices belong to the process: `GPU0` and `GPU1` of 4 GiB.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod support;

use std::path::Path;

use atelier_core::placement::ModuleSet;
use atelier_core::recipe::{FileRole, Lora, LoraMode, ModelFiles, PlacementText, Recipe};
use atelier_engine::Event;
use support::alone::alone;
use support::{distance, folder, of_clip, recipe, written};
use testkit::adapters::{AdapterFiles, AdapterKind, ConvolutionKind, RANK, SdxlNames, sd15, sdxl, xlabs, zimage};
use testkit::families;
use testkit::layouts::{Form, Scales, fp8, renamed, with_last_bytes, with_metadata};
use testkit::tiny;

/// A layer's name, from its name with dots.
type Naming = fn(&str) -> String;

/// Ways in which trainers write a layer's name.
const NAMES: [(&str, Naming); 3] = [
    ("ComfyUI", |layer| format!("diffusion_model.{layer}")),
    ("kohya", |layer| format!("lora_unet_{}", layer.replace('.', "_"))),
    ("LyCORIS", |layer| format!("lycoris_{}", layer.replace('.', "_"))),
];

/// Places where a model runs, by their names, and how far rounding alone may take pictures from
/// each other there.
fn places() -> Vec<(&'static str, PlacementText, u32)> {
    let placed = |backend: &str, params_backend: &str| PlacementText {
        backend: backend.into(),
        params_backend: params_backend.into(),
        ..PlacementText::default()
    };
    let streamed = PlacementText { max_vram: "0.006".into(), stream_layers: ModuleSet::DIFFUSION, ..placed("all=GPU0", "all=cpu") };
    let shared = PlacementText { split_batch: "GPU0,GPU1".into(), ..placed("all=GPU0", "") };
    vec![
        ("CPU", placed("all=cpu", ""), 1),
        ("offload", placed("all=GPU0", "all=cpu"), 1),
        ("disk", placed("all=cpu", "all=disk"), 1),
        ("streamed", streamed, 1),
        ("split batch", shared, 2),
    ]
}

fn files(options: &tiny::Options, name: &str) -> ModelFiles {
    let written = tiny::zimage(&folder(name), options).unwrap();
    [(FileRole::Diffusion, written.diffusion), (FileRole::Llm, written.llm), (FileRole::Taesd, written.taesd)].into_iter().collect()
}

fn with_module(files: &ModelFiles, module: &Path) -> ModelFiles {
    let mut files = files.clone();
    files.set(FileRole::Diffusion, module);
    files
}

/// The distance of a picture with an adapter from that with the merged module, as a part of the
/// plain one's distance from it.
fn ratio(adapted: &[u8], merged: &[u8], plain: &[u8]) -> f64 {
    let change = distance(plain, merged);
    assert!(change > 1.0, "a change of {change} levels shows nothing");
    distance(adapted, merged) / change
}

/// The adapter that was written, in full strength.
fn whole(written: &AdapterFiles) -> Lora {
    Lora::new(written.adapter.clone(), 1.0)
}

#[test]
fn every_kind_in_every_name_is_the_change_merged_by_hand() {
    let it = alone("GPU0:4,GPU1:4");
    let base = files(&tiny::Options::default(), "adapters");
    let module = base.get(FileRole::Diffusion).unwrap().to_owned();
    let run =
        |files: &ModelFiles, loras: &[Lora]| it.run(&Recipe { files: files.clone(), loras: loras.to_vec(), ..recipe() }).pixels().to_vec();
    let plain = run(&base, &[]);
    for kind in AdapterKind::ALL {
        let all = NAMES.map(|(name, layer)| (name, zimage(&folder(&format!("adapters-{kind:?}-{name}")), &module, kind, layer).unwrap()));
        // Merged by hand it has no names: it is the same module.
        let merged = run(&with_module(&base, &all[0].1.merged), &[]);
        for (name, written) in &all {
            let ratio = ratio(&run(&base, &[whole(written)]), &merged, &plain);
            assert!(ratio < 0.15, "{kind:?} in the names of {name}: {ratio}");
        }
    }
}

/// A small recipe for a model with CLIP: mapped where nothing is merged into its weights.
fn with_clip(files: &ModelFiles, loras: &[Lora], lora_mode: LoraMode) -> Recipe {
    let memory_map = lora_mode == LoraMode::AtRuntime;
    Recipe { files: files.clone(), loras: loras.to_vec(), lora_mode, memory_map, ..of_clip() }
}

/// Convolutions, cores, norms and biases, which a UNet has.
#[test]
fn every_kind_of_change_of_a_unet_is_the_change_merged_by_hand() {
    let it = alone("GPU0:4,GPU1:4");
    let dir = folder("adapters-unet");
    let base = written(families::reading("sd15"), &dir);
    let model = base.get(FileRole::Model).unwrap().to_owned();
    let run = |files: &ModelFiles, loras: &[Lora], lora_mode| {
        let said = it.run(&with_clip(files, loras, lora_mode));
        assert!(said.pictures().iter().all(|it| it.notes.iter().all(|note| !note.is_of_lora())), "{loras:?}, {lora_mode}");
        said.pixels().to_vec()
    };
    let plain = run(&base, &[], LoraMode::AtRuntime);
    let all = ConvolutionKind::ALL.map(|kind| {
        let written = sd15(&dir, &model, kind).unwrap();
        let mut by_hand = base.clone();
        by_hand.set(FileRole::Model, &written.merged);
        (kind, run(&by_hand, &[], LoraMode::AtRuntime), written)
    });
    // One mode after the other: each keeps the model in memory in a way of its own.
    for lora_mode in [LoraMode::AtRuntime, LoraMode::Immediately] {
        for (kind, right, written) in &all {
            let ratio = ratio(&run(&base, &[whole(written)], lora_mode), right, &plain);
            assert!(ratio < 0.15, "{kind:?}, {lora_mode}: {ratio}");
        }
    }
    for (.., written) in all {
        std::fs::remove_file(written.merged).unwrap();
    }
}

/// Its layers of a single block stand for a part of a fused weight, and for a whole one.
#[test]
fn a_lora_of_xlabs_trainer_is_the_change_merged_by_hand() {
    let it = alone("GPU0:4,GPU1:4");
    let dir = folder("adapters-xlabs");
    let base = written(families::reading("flux"), &dir);
    let written = xlabs(&dir, base.get(FileRole::Diffusion).unwrap()).unwrap();
    let run = |files: &ModelFiles, loras: &[Lora], lora_mode| {
        let said = it.run(&with_clip(files, loras, lora_mode));
        assert!(said.pictures().iter().all(|it| it.notes.iter().all(|note| !note.is_of_lora())), "{lora_mode}: all of it is used");
        said.pixels().to_vec()
    };
    let merged = run(&with_module(&base, &written.merged), &[], LoraMode::AtRuntime);
    let plain = run(&base, &[], LoraMode::AtRuntime);
    for lora_mode in [LoraMode::AtRuntime, LoraMode::Immediately] {
        let ratio = ratio(&run(&base, &[whole(&written)], lora_mode), &merged, &plain);
        assert!(ratio < 0.15, "{lora_mode}: {ratio}");
    }
}

#[test]
fn an_adapter_of_sdxl_is_the_same_in_the_names_of_every_trainer() {
    let it = alone("GPU0:4,GPU1:4");
    let dir = folder("adapters-sdxl");
    let base = written(families::reading("sdxl"), &dir);
    let run = |adapter: Option<SdxlNames>, lora_mode| {
        let lora = adapter.map(|names| Lora::new(sdxl(&dir, names).unwrap(), 1.0));
        let said = it.run(&with_clip(&base, lora.as_slice(), lora_mode));
        assert!(said.pictures()[0].notes.iter().all(|note| !note.is_of_lora()), "{adapter:?}, {lora_mode}: all of it is used");
        said.pixels().to_vec()
    };
    let plain = run(None, LoraMode::AtRuntime);
    for lora_mode in [LoraMode::AtRuntime, LoraMode::Immediately] {
        let pictures = SdxlNames::ALL.map(|names| run(Some(names), lora_mode));
        assert!(distance(&plain, &pictures[0]) > 1.0, "{lora_mode}");
        for (names, picture) in SdxlNames::ALL.iter().zip(&pictures) {
            assert_eq!(*picture, pictures[0], "{names:?}, {lora_mode}");
        }
    }
}

/// Merged by the engine the change is exactly in the weights, wherever they live; and gone for
/// pictures without the adapter, or with another strength.
#[test]
fn every_kind_can_be_merged_into_the_weights_and_taken_out_again() {
    let it = alone("GPU0:4,GPU1:4");
    let base = files(&tiny::Options::default(), "adapters-merging");
    let module = base.get(FileRole::Diffusion).unwrap().to_owned();
    for kind in AdapterKind::ALL {
        let written = zimage(&folder(&format!("adapters-merging-{kind:?}")), &module, kind, NAMES[1].1).unwrap();
        // Where a model runs is nothing to the sum.
        let places = places().into_iter().filter(|(place, ..)| kind == AdapterKind::Lora || *place == "CPU");
        for (place, placement, batch_count) in places {
            let run_at = |strength: f32, files: &ModelFiles| {
                let loras = if strength == 0.0 { Vec::new() } else { vec![Lora::new(written.adapter.clone(), strength)] };
                let lora_mode = LoraMode::Immediately;
                let it = it.run(&Recipe { files: files.clone(), loras, placement: placement.clone(), batch_count, lora_mode, ..recipe() });
                let mut pictures: Vec<_> = it.pictures().iter().map(|it| (it.info.index, it.image.pixels().to_vec())).collect();
                pictures.sort_unstable();
                assert!(it.pictures().iter().all(|it| it.notes.iter().all(|note| !note.is_of_lora())), "{kind:?}, {place}");
                pictures.into_iter().flat_map(|(_, pixels)| pixels).collect::<Vec<_>>()
            };
            // The base last: what follows finds it in memory.
            let by_hand = run_at(0.0, &with_module(&base, &written.merged));
            let plain = run_at(0.0, &base);
            let merged = run_at(1.0, &base);
            let ratio = distance(&merged, &by_hand) / distance(&plain, &by_hand);
            assert!(ratio < 0.15, "{kind:?}, {place}: {ratio}");
            assert_eq!(run_at(1.0, &base), merged, "{kind:?}, {place}: it is not merged twice");
            assert_ne!(run_at(0.5, &base), merged, "{kind:?}, {place}");
            assert_eq!(run_at(0.0, &base), plain, "{kind:?}, {place}: it is taken out");
            assert_eq!(run_at(1.0, &base), merged, "{kind:?}, {place}");
        }
    }
}

#[test]
fn a_lora_has_a_strength_of_its_own_in_text_encoders() {
    let it = alone("GPU0:4,GPU1:4");
    let options = tiny::Options { encoder_layers: 1, encoder_width: 32, ..tiny::Options::default() };
    let base = files(&options, "adapters-encoder");
    let dir = folder("adapters-encoder-lora");
    let whole = tiny::lora_with_encoder(&dir, &options).unwrap();
    let is_of_encoder = |name: &str| name.starts_with("text_encoders.");
    let encoder = renamed(&whole, &dir.join("words.safetensors"), |name| is_of_encoder(name).then(|| name.to_owned())).unwrap();
    let module = renamed(&whole, &dir.join("module.safetensors"), |name| (!is_of_encoder(name)).then(|| name.to_owned())).unwrap();
    let run = |loras: &[Lora], lora_mode| {
        let said = it.run(&Recipe { files: base.clone(), loras: loras.to_vec(), lora_mode, ..recipe() });
        assert_eq!(said.pictures()[0].notes, [], "{loras:?}");
        said.pixels().to_vec()
    };
    for mode in [LoraMode::AtRuntime, LoraMode::Immediately] {
        let both = |strength, encoder_strength| run(&[Lora { encoder_strength, ..Lora::new(whole.clone(), strength) }], mode);
        let parts = |strength, in_words| run(&[Lora::new(module.clone(), strength), Lora::new(encoder.clone(), in_words)], mode);
        let plain = run(&[], mode);
        assert_ne!(both(0.0, Some(1.0)), plain, "the words change the picture");
        assert_eq!(both(0.75, Some(0.25)), parts(0.75, 0.25), "{mode}");
        assert_eq!(both(0.75, None), parts(0.75, 0.75), "{mode}");
        assert_ne!(both(0.75, Some(0.25)), both(0.75, None), "{mode}");
        assert_eq!(both(0.0, Some(0.0)), plain, "{mode}");
    }
}

/// PEFT keeps a LoRA's alpha beside the file, diffusers in its metadata, and neither in a tensor.
#[test]
fn an_alpha_that_no_tensor_says_counts() {
    let it = alone("GPU0:4,GPU1:4");
    let base = files(&tiny::Options::default(), "adapters-alpha");
    let module = base.get(FileRole::Diffusion).unwrap().to_owned();
    let dir = folder("adapters-alpha-lora");
    let written = zimage(&dir, &module, AdapterKind::Lora, |layer| format!("transformer.{layer}")).unwrap();
    let plain = renamed(&written.adapter, &dir.join("plain.safetensors"), |name| (!name.ends_with("alpha")).then(|| name.to_owned()));
    let plain = plain.unwrap();
    let run = |path: &Path, strength: f32| {
        let loras = vec![Lora::new(path.to_owned(), strength)];
        it.run(&Recipe { files: base.clone(), loras, ..recipe() }).pixels().to_vec()
    };
    let (once, twice) = (run(&plain, 1.0), run(&plain, 2.0));
    assert!(distance(&once, &twice) > 1.0);
    let settings = format!(r#"{{"transformer.r":{RANK},"transformer.lora_alpha":{}}}"#, 2 * RANK);
    let diffusers = with_metadata(&plain, &dir.join("diffusers.safetensors"), "lora_adapter_metadata", &settings).unwrap();
    assert_eq!(run(&diffusers, 1.0), twice, "diffusers");
    let peft = dir.join("adapter_model.safetensors");
    std::fs::copy(&plain, &peft).unwrap();
    std::fs::write(dir.join("adapter_config.json"), format!(r#"{{"r":{RANK},"lora_alpha":{},"peft_type":"LORA"}}"#, 2 * RANK)).unwrap();
    assert_eq!(run(&peft, 1.0), twice, "PEFT");
}

#[test]
fn every_kind_works_wherever_the_model_runs_and_on_quantised_weights() {
    let it = alone("GPU0:4,GPU1:4");
    let base = files(&tiny::Options::default(), "adapters-places");
    let module = base.get(FileRole::Diffusion).unwrap().to_owned();
    let quantised = files(&tiny::Options { format: tiny::Format::GgufQ8, ..tiny::Options::default() }, "adapters-quantised");
    let all = AdapterKind::ALL.map(|kind| {
        let written = zimage(&folder(&format!("adapters-places-{kind:?}")), &module, kind, NAMES[0].1).unwrap();
        (kind, written)
    });
    for (place, placement, batch_count) in places() {
        let run = |files: &ModelFiles, loras: &[Lora]| {
            let recipe = Recipe { files: files.clone(), loras: loras.to_vec(), placement: placement.clone(), batch_count, ..recipe() };
            let said = it.run(&recipe);
            let mut pictures: Vec<_> = said.pictures().iter().map(|it| (it.info.index, it.image.pixels().to_vec())).collect();
            pictures.sort_unstable();
            assert_eq!(pictures.len(), batch_count as usize, "{loras:?}, {place}");
            assert!(said.pictures().iter().all(|it| it.notes.iter().all(|note| !note.is_of_lora())), "{loras:?}, {place}");
            pictures.into_iter().flat_map(|(_, pixels)| pixels).collect::<Vec<_>>()
        };
        // Those of the base in a row: it stays in memory.
        let plain = run(&base, &[]);
        let adapted = all.each_ref().map(|(_, written)| run(&base, &[whole(written)]));
        for ((kind, written), adapted) in all.iter().zip(&adapted) {
            let ratio = ratio(adapted, &run(&with_module(&base, &written.merged), &[]), &plain);
            assert!(ratio < 0.15, "{kind:?}, {place}: {ratio}");
        }
    }
    let on = |loras: &[Lora]| it.run(&Recipe { files: quantised.clone(), loras: loras.to_vec(), ..recipe() }).pixels().to_vec();
    let plain = on(&[]);
    for (kind, written) in &all {
        assert!(distance(&plain, &on(&[whole(written)])) > 1.0, "{kind:?} on quantised weights");
    }
}

#[test]
fn an_adapter_that_breaks_a_picture_leaves_the_model_as_it_was() {
    let it = alone("GPU0:4,GPU1:4");
    let base = files(&tiny::Options::default(), "adapters-after");
    let module = base.get(FileRole::Diffusion).unwrap().to_owned();
    let written = zimage(&folder("adapters-after-lora"), &module, AdapterKind::Lora, NAMES[0].1).unwrap();
    let run = |strength: Option<f32>| {
        let loras = strength.map(|strength| Lora::new(written.adapter.clone(), strength)).into_iter().collect();
        it.run(&Recipe { files: base.clone(), loras, ..recipe() })
    };
    let before = run(None);
    for strength in [1e9, -1e9] {
        run(Some(strength));
        let after = run(None);
        assert_eq!(after.pixels(), before.pixels(), "{strength}");
        assert_eq!(after.pictures()[0].notes, before.pictures()[0].notes);
    }
}

#[test]
fn a_value_that_is_no_number_is_found_before_anything_is_computed() {
    let it = alone("GPU0:4,GPU1:4");
    let base = files(&tiny::Options::default(), "adapters-numbers");
    let module = base.get(FileRole::Diffusion).unwrap().to_owned();
    let run = |path: Option<&Path>| {
        let loras = path.map(|path| Lora::new(path.to_owned(), 1.0)).into_iter().collect();
        it.run(&Recipe { files: base.clone(), loras, ..recipe() })
    };
    let before = run(None);
    let layer = "lora_unet_layers_0_attention_to_v";
    let dir = folder("adapters-numbers-lora");
    for (kind, part) in [
        (AdapterKind::Lora, "lora_down.weight"),
        (AdapterKind::Lora, "alpha"),
        (AdapterKind::Loha, "hada_w2_b"),
        (AdapterKind::Lokr, "lokr_w1"),
        (AdapterKind::Lokr, "lokr_w2_a"),
        (AdapterKind::Dora, "dora_scale"),
        (AdapterKind::Diff, "diff"),
    ] {
        let whole = zimage(&dir, &module, kind, NAMES[1].1).unwrap().adapter;
        // Not a number, and infinite, in F16.
        for value in [0x7e00_u16, 0xfc00] {
            let name = format!("{layer}.{part}");
            let damaged = with_last_bytes(&whole, &dir.join("damaged.safetensors"), &name, &value.to_le_bytes()).unwrap();
            let said = run(Some(&damaged));
            let sentence = &said.failure().advice.sentence;
            assert_eq!(*sentence, format!("damaged.safetensors is damaged: some of its values are not numbers ({name})."));
            let is_work = |event: &Event| matches!(event, Event::Begin { .. } | Event::Phase { .. } | Event::Picture { .. });
            assert!(!said.events.iter().any(is_work), "{:?}", said.events);
        }
        // The same file, mended, is another one.
        std::fs::copy(&whole, dir.join("damaged.safetensors")).unwrap();
        run(Some(&dir.join("damaged.safetensors"))).pixels();
    }
    let after = run(None);
    assert_eq!(after.pixels(), before.pixels());
    assert_eq!(after.pictures()[0].notes, before.pictures()[0].notes);
}

#[test]
fn eight_bits_of_an_adapter_are_the_values_that_they_mean() {
    let it = alone("GPU0:4,GPU1:4");
    let base = files(&tiny::Options::default(), "adapters-fp8");
    let module = base.get(FileRole::Diffusion).unwrap().to_owned();
    let dir = folder("adapters-fp8-lora");
    for kind in AdapterKind::ALL {
        let adapter = zimage(&dir, &module, kind, NAMES[0].1).unwrap().adapter;
        // Scales lie beside what is called a weight.
        let has_weights = matches!(kind, AdapterKind::Lora | AdapterKind::Dora);
        let scales = [Scales::None, Scales::Whole, Scales::Rows];
        for scales in scales.into_iter().filter(|scales| has_weights || *scales == Scales::None) {
            let run = |form: Form| {
                let path = fp8(&adapter, &dir.join(format!("{kind:?}-{scales:?}-{form:?}.safetensors")), scales, form).unwrap();
                let said = it.run(&Recipe { files: base.clone(), loras: vec![Lora::new(path, 1.0)], ..recipe() });
                assert!(said.pictures().iter().all(|it| it.notes.iter().all(|note| !note.is_of_lora())), "{kind:?}, {scales:?}, {form:?}");
                said.pixels().to_vec()
            };
            assert_eq!(run(Form::Stored), run(Form::Computed), "{kind:?}, {scales:?}");
        }
    }
}
