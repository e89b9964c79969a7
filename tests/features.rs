//! What a picture can be made with beside a prompt: several LoRAs, embeddings, files of other kinds
//! and families, on several devices and with weights in pieces.
//!
//! The devices belong to the process: `GPU0` and `GPU1` of 4 GiB.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod support;

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;
use std::slice;

use atelier_core::placement::{ModuleSet, Phase};
use atelier_core::recipe::{FileRole, Lora, PlacementText, Recipe, Scheduler, Seed};
use atelier_engine::{Event, Task};
use serde_json::json;
use support::alone::{Alone, deep, deep_options};
use support::engine::Said;
use support::{family, folder, of_clip, of_zeros, picture, placed, recipe, written};
use testkit::{families, tiny};

fn alone() -> Alone {
    support::alone::alone("GPU0:4,GPU1:4")
}

/// A small recipe for a family.
fn of_family(name: &str) -> Recipe {
    Recipe { files: family(name), ..of_clip() }
}

fn logs(said: &Said) -> Vec<&str> {
    said.events.iter().filter_map(|event| if let Event::Log { text, .. } = event { Some(text.as_str()) } else { None }).collect()
}

#[test]
fn a_lora_of_two_modules_is_told_as_used_whole() {
    let it = alone();
    let dir = folder("lora-of-two-modules");
    let base = Recipe { files: written(families::reading("sd15"), &dir), ..of_zeros() };
    let path = dir.join("both.safetensors");
    families::lora_of_two_modules().write(&path).unwrap();
    let with = Recipe { loras: vec![Lora::new(path, 1.0)], ..base.clone() };
    // The second time its text is known.
    for seed in [7, 8] {
        let said = it.run(&Recipe { seed: Some(Seed(seed)), ..with.clone() });
        let notes = &said.pictures()[0].notes;
        assert!(notes.iter().all(|note| !note.is_of_lora()), "{notes:?}");
        assert_ne!(said.pixels(), it.run(&Recipe { seed: Some(Seed(seed)), ..base.clone() }).pixels());
    }
}

#[test]
fn ideogram_is_guided_by_its_second_diffusion_module() {
    let it = alone();
    let dir = folder("ideogram");
    let plain = Recipe { files: written(families::ideogram4(), &dir), ..of_zeros() };
    let second = |bias: f32| {
        let path = dir.join(format!("unconditional-{bias}.safetensors"));
        families::ideogram4_module(bias).write(&path).unwrap();
        let mut recipe = Recipe { guidance: 3.0, ..plain.clone() };
        recipe.files.set(FileRole::UncondDiffusion, path);
        recipe
    };
    let (other, further) = (second(0.25), second(0.5));
    let guided = it.run(&other);
    let unguided = |recipe: &Recipe| it.run(&Recipe { guidance: 1.0, ..recipe.clone() }).pixels().to_vec();
    let without = unguided(&other);
    assert_ne!(guided.pixels(), without);
    // Without guidance nothing is asked of it.
    assert_eq!(unguided(&plain), without);
    assert_ne!(guided.pixels(), it.run(&further).pixels(), "the second module is not the one that was chosen");
    drop(it);
    fs::remove_dir_all(dir).unwrap();
}

#[test]
fn files_without_effect_are_said_and_change_nothing() {
    let it = alone();
    let plain = it.run(&recipe());
    let path = folder("without-effect").join("clip-vision.safetensors");
    families::clip_vision().write(&path).unwrap();
    let mut recipe = recipe();
    recipe.files.set(FileRole::ClipVision, path);
    recipe.placement = placed("all=cpu,clip_vision=GPU0", "");
    let said = it.run(&recipe);
    assert_eq!(said.pixels(), plain.pixels());
    let sentence = FileRole::ClipVision.without_effect().unwrap();
    assert!(said.begin().notes.iter().any(|note| note == sentence), "{:?}", said.begin().notes);
    assert!(!said.used("GPU0"), "{:?}", said.peaks());
}

#[test]
fn an_embedding_in_a_role_that_is_not_its_own_is_refused() {
    let it = alone();
    let path = folder("embedding").join("style.safetensors");
    families::embedding().write(&path).unwrap();
    let lora = it.run(&Recipe { loras: vec![Lora::new(path.clone(), 1.0)], ..recipe() });
    assert!(lora.failure().advice.sentence.contains("style.safetensors"), "{:?}", lora.failure());
    let mut as_encoder = recipe();
    as_encoder.files.set(FileRole::Llm, path);
    assert!(it.run(&as_encoder).failure().advice.sentence.contains("style.safetensors"));
}

/// The tensors of SDXL's and SD1.5's vocabularies.
const VOCABULARIES: [(&str, &str); 2] = [("token_embedding.weight", "clip_g"), ("embeddings.token_embedding.weight", "clip_l")];
/// The number of "a", as a word, in CLIP's vocabulary. Those of the letters that follow come behind
/// it.
const TOKEN_A: u64 = 320;

/// A number of 16 bits in 32.
fn widened(bits: u16) -> f32 {
    let magnitude = f32::from_bits(u32::from(bits & 0x7fff) << 13) * 2f32.powi(112);
    if bits & 0x8000 == 0 { magnitude } else { -magnitude }
}

/// Writes an embedding of the vectors that a model's vocabularies have for these tokens, in their
/// type or in the wider one.
fn embedding_of_tokens(path: &Path, model: &Path, tokens: &[u64], is_wide: bool) {
    let header = atelier_library::read_header(model).unwrap();
    let (mut entries, mut data) = (serde_json::Map::new(), Vec::new());
    let is_xl = header.tensors.iter().any(|it| it.name.starts_with("conditioner."));
    for (end, name) in VOCABULARIES {
        let is_it = |name: &str| name.ends_with(end) && name.contains("embeddings.") == end.starts_with("embeddings.");
        let Some(vocabulary) = header.tensors.iter().find(|it| is_it(&it.name)) else { continue };
        let width = *vocabulary.shape.last().unwrap();
        let start = data.len();
        for token in tokens {
            let mut file = File::open(model).unwrap();
            file.seek(SeekFrom::Start(vocabulary.offset + token * width * 2)).unwrap();
            let mut row = vec![0; width as usize * 2];
            file.read_exact(&mut row).unwrap();
            if is_wide {
                row = row.as_chunks().0.iter().flat_map(|it| widened(u16::from_le_bytes(*it)).to_le_bytes()).collect();
            }
            data.extend(row);
        }
        let name = if is_xl { name } else { "emb_params" };
        let dtype = if is_wide { "F32" } else { "F16" };
        entries.insert(name.into(), json!({ "dtype": dtype, "shape": [tokens.len(), width], "data_offsets": [start, data.len()] }));
    }
    let header = serde_json::Value::Object(entries).to_string();
    let length = (header.len() as u64).to_le_bytes();
    fs::write(path, [&length[..], header.as_bytes(), &data].concat()).unwrap();
}

#[test]
fn an_embedding_of_a_words_own_vectors_gives_the_bytes_of_the_word() {
    let it = alone();
    for name in ["sd15", "sdxl"] {
        let dir = folder(&format!("{name}-reading"));
        let files = written(families::reading(name), &dir);
        let path = dir.join("zebrane.safetensors");
        let model = files.get(FileRole::Model).unwrap();
        // CLIP-G has its real size: SDXL shows in fewer pictures what SD1.5 shows one by one.
        let is_small = name == "sd15";
        let embed = |tokens: &[u64], is_wide| embedding_of_tokens(&path, model, tokens, is_wide);
        let plain = |prompt: &str| Recipe { files: files.clone(), prompt: prompt.into(), ..of_zeros() };
        let with = |prompt: &str| Recipe { embeddings: vec![path.clone()], ..plain(prompt) };
        let pixels = |recipe: &Recipe| it.run(recipe).pixels().to_vec();
        embed(&[TOKEN_A], false);
        let a = pixels(&plain("photo of a"));
        assert_eq!(pixels(&with("photo of Zebrane")), a, "{name}");
        if is_small {
            assert_ne!(pixels(&plain("photo of zebrane")), a, "a word like any other without the embedding");
            embed(&[TOKEN_A], true);
            assert_eq!(pixels(&with("photo of zebrane")), a, "in numbers of 32 bits");
            assert_eq!(pixels(&with("photo of (embedding:zebrane:1.3)")), pixels(&plain("photo of (a:1.3)")));
        }
        // Another file of the same name is another embedding, also for what was encoded before.
        embed(&[TOKEN_A, TOKEN_A + 1], !is_small);
        let two = pixels(&plain("photo of a b"));
        assert_ne!(two, a, "{name}");
        assert_eq!(pixels(&with("photo of Zebrane")), two, "{name}");
        let guided = |recipe: Recipe, negative: &str| Recipe { negative_prompt: negative.into(), guidance: 4.0, ..recipe };
        let (embedding, words) = if is_small { ("zebrane", "a b") } else { ("(embedding:zebrane:1.3)", "(a b:1.3)") };
        assert_eq!(pixels(&guided(with("fog"), embedding)), pixels(&guided(plain("fog"), words)), "{name}");
    }
}

#[test]
fn an_embedding_of_another_family_is_refused_where_a_prompt_names_it() {
    let it = alone();
    let path = folder("embedding-of-sd15").join("style.safetensors");
    families::embedding().write(&path).unwrap();
    let named = Recipe { prompt: "a lake, style".into(), embeddings: vec![path.clone()], ..recipe() };
    let sentence = it.run(&named).failure().advice.sentence.clone();
    assert_eq!(sentence, "style.safetensors was made for SD1.5, and the model is Z-Image.");
    let unnamed = Recipe { prompt: "a lake".into(), ..named };
    assert_eq!(it.run(&unnamed).pixels(), it.run(&Recipe { embeddings: Vec::new(), ..unnamed.clone() }).pixels());
}

fn lora(seed: u64, options: &tiny::Options) -> Lora {
    let path = tiny::lora(&folder(&format!("lora-{seed}-{}", options.layers)), &tiny::Options { seed, ..options.clone() }).unwrap();
    Lora::new(path, 1.0)
}

fn with_loras(recipe: Recipe, loras: &[Lora]) -> Recipe {
    Recipe { loras: loras.to_vec(), ..recipe }
}

#[test]
fn several_loras_are_all_used_and_their_order_does_not_matter() {
    let it = alone();
    let options = tiny::Options::default();
    let (a, b) = (lora(5, &options), lora(6, &options));
    let run = |loras: &[Lora]| it.run(&with_loras(recipe(), loras)).pixels().to_vec();
    let (plain, only_a, only_b, both) = (run(&[]), run(slice::from_ref(&a)), run(slice::from_ref(&b)), run(&[a.clone(), b.clone()]));
    assert_eq!([&plain, &only_a, &only_b, &both].into_iter().collect::<HashSet<_>>().len(), 4);
    let swapped = run(&[b.clone(), a.clone()]);
    // Sums of floats in another order differ, by 3 of 255 where the processor multiplies in
    // bfloat16: much less than a LoRA changes.
    let difference = |other: &[u8]| both.iter().zip(other).map(|(a, b)| a.abs_diff(*b)).max().unwrap();
    let least = difference(&only_a).min(difference(&only_b));
    assert!(difference(&swapped) <= least / 10, "{} of {least}", difference(&swapped));
    let without = Lora { strength: 0.0, ..b.clone() };
    assert_eq!(run(&[a.clone(), without]), only_a);
    assert_eq!(run(&[]), plain, "and nothing of them stays");
    // Notes are about each of them by name.
    let partial = tiny::partial_lora(&folder("lora-partial"), &options).unwrap();
    let said = it.run(&with_loras(recipe(), &[a, Lora::new(partial, 1.0)]));
    let notes = &said.pictures()[0].notes;
    assert!(notes.len() == 1 && notes[0].sentence.contains("partial-lora.safetensors"), "{notes:?}");
}

/// The deep model with its layers streamed into a budget.
fn streamed(max_vram: &str) -> Recipe {
    let placement = PlacementText { max_vram: max_vram.into(), stream_layers: ModuleSet::DIFFUSION, ..placed("all=GPU0", "all=cpu") };
    Recipe { files: deep().clone(), placement, ..recipe() }
}

/// True where the diffusion module's graph was cut, so that its weights were on the device a piece
/// at a time.
fn is_streamed(said: &Said) -> bool {
    let weights = deep().get(FileRole::Diffusion).unwrap().metadata().unwrap().len();
    let mut peaks = said.peaks().iter().filter(|peak| peak.device == "GPU0" && peak.phase == Phase::Denoise);
    logs(said).iter().any(|line| line.contains("graph cut plan")) && peaks.all(|peak| peak.bytes - peak.others_bytes < weights)
}

#[test]
fn loras_reach_layers_that_are_streamed() {
    let it = alone();
    let loras = [lora(5, &deep_options()), lora(6, &deep_options())];
    for count in 0..=2 {
        let whole = it.run(&with_loras(Recipe { placement: placed("all=cpu", ""), ..streamed("") }, &loras[..count]));
        let pieces = it.run(&with_loras(streamed("0.006"), &loras[..count]));
        assert!(!is_streamed(&whole));
        assert!(is_streamed(&pieces), "{count} LoRAs: {:?}", logs(&pieces));
        assert_eq!(pieces.pixels(), whole.pixels(), "{count} LoRAs");
    }
}

#[test]
fn a_batch_of_streamed_pictures_is_the_same_as_one_of_whole_ones() {
    let it = alone();
    let batch = |recipe: Recipe| it.run(&Recipe { batch_count: 3, ..recipe });
    let whole = batch(Recipe { placement: placed("all=cpu", ""), ..streamed("") });
    let pieces = batch(streamed("0.006"));
    assert!(is_streamed(&pieces) && whole.all_pixels().len() == 3);
    assert_eq!(pieces.all_pixels(), whole.all_pixels());
}

#[test]
fn a_batch_with_a_lora_is_shared_by_two_devices() {
    let it = alone();
    let deep = Recipe { batch_count: 3, files: deep().clone(), ..with_loras(recipe(), &[lora(5, &deep_options())]) };
    let alone = it.run(&Recipe { placement: placed("all=cpu", ""), ..deep.clone() });
    let placement = PlacementText { split_batch: "GPU0,GPU1".into(), ..placed("all=GPU0", "") };
    let shared = it.run(&Recipe { placement, ..deep });
    assert_eq!(shared.all_pixels(), alone.all_pixels());
}

#[test]
fn an_upscaler_runs_where_it_is_placed_and_nowhere_else() {
    let it = alone();
    let model = tiny::upscaler(&folder("upscaler"), 2, 1).unwrap();
    let upscale = |placement: PlacementText| {
        let (image, model) = (picture(64, 64, 3), model.clone());
        it.engine.run_task(Task::Upscale { image, model, allow_pickle: false, placement, threads: Some(1) })
    };
    let on_cpu = upscale(placed("cpu", ""));
    for (backend, params, device, other) in [
        ("upscaler=GPU1", "", "GPU1", "GPU0"),
        ("all=cpu,upscaler=GPU0", "upscaler=cpu", "GPU0", "GPU1"),
        ("all=GPU1,upscaler=GPU0", "disk", "GPU0", "GPU1"),
    ] {
        let said = upscale(placed(backend, params));
        assert_eq!(said.pixels(), on_cpu.pixels(), "{backend}");
        assert!(said.used(device) && !said.used(other), "{backend}: {:?}", said.peaks());
    }
    assert!(upscale(placed("upscaler=GPU7", "")).failure().advice.sentence.contains("GPU7"));
}

#[test]
fn models_of_other_families_make_the_same_picture_wherever_their_modules_run() {
    let it = alone();
    for name in ["sd15", "sd3", "zimage-vae", "zimage-gguf"] {
        // CLIP-G has its real size, and a second text is more of the same.
        let guidance = if name == "sd3" { 1.0 } else { 2.0 };
        let recipe = Recipe { prompt: "a lake".into(), guidance, negative_prompt: "fog".into(), ..of_family(name) };
        let first = it.run(&Recipe { placement: placed("cpu", ""), memory_map: name.starts_with("sd"), ..recipe.clone() });
        assert!(first.pixels().iter().collect::<HashSet<_>>().len() > 8, "{name}");
        let again = it.run(&Recipe { placement: placed("all=GPU0,vae=GPU1,te=cpu", "te=disk"), ..recipe });
        assert_eq!(again.pixels(), first.pixels(), "{name}");
        assert!(again.used("GPU0") && again.used("GPU1"), "{name}");
        it.engine.handle().unload().unwrap();
    }
}

/// Schedules that divide by the steps less one, or look into a table, have one step too. One step
/// goes from the highest noise level to none.
#[test]
fn every_noise_schedule_makes_a_picture_in_one_step() {
    let engine = alone();
    let schedules = |recipe: &Recipe| {
        let made = |scheduler| engine.run(&Recipe { scheduler: Some(scheduler), ..recipe.clone() });
        Scheduler::ALL.iter().map(|scheduler| (*scheduler, made(*scheduler))).collect::<Vec<_>>()
    };
    for name in ["sd15", "zimage"] {
        let recipe = if name == "sd15" { of_family(name) } else { Recipe { steps: 1, ..recipe() } };
        let made = schedules(&recipe);
        let usual = made[0].1.pixels().to_vec();
        for (scheduler, said) in &made {
            let is_foreign = *scheduler == Scheduler::Ays && name == "zimage";
            assert_eq!(said.begin().notes.iter().any(|note| note.contains("Align Your Steps")), is_foreign, "{name} {scheduler:?}");
            if matches!(scheduler, Scheduler::Karras | Scheduler::Exponential | Scheduler::Gits) {
                // Its one noise level is the model's largest, which each computes in a way of its own:
                // where processors round otherwise, a sample differs by a level.
                let is_near = said.pixels().iter().zip(&usual).all(|(one, other)| one.abs_diff(*other) <= 1);
                assert!(is_near && said.pixels().len() == usual.len(), "{name} {scheduler:?}");
            }
        }
    }
}
