//! How weights come into memory: converted as they are loaded, or from smaller copies of files.
//!
//! The devices belong to the process: `GPU0` of 4 GiB, `SMALL` with room for no whole model.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::path::{Path, PathBuf};

use atelier_core::placement::{Change, Module, ModuleSet};
use atelier_core::recipe::{FileRole, ModelFiles, PlacementText, Recipe, TensorType, TensorTypeRules};
use atelier_library::read_header;
use atelier_studio::model_copy::{CopyError, ModelCopy, copy_sizes};
use support::alone::{Alone, deep, deep_options};
use support::{family, folder, of_zeros, placed, recipe, written};
use testkit::layouts::{Form, Scales, fp8};
use testkit::{families, tiny};

fn alone() -> Alone {
    support::alone::alone("GPU0:4,SMALL:0.01")
}

#[test]
fn each_type_makes_a_picture_and_the_same_again() {
    let alone = alone();
    let recipe = Recipe { files: family("zimage"), ..recipe() };
    let plain = alone.run(&recipe).pixels().to_vec();
    let mut pictures = std::collections::HashSet::new();
    for to in TensorType::ALL {
        let converted = Recipe { weight_type: Some(*to), ..recipe.clone() };
        let picture = alone.run(&converted).pixels().to_vec();
        assert_eq!(alone.run(&converted).pixels(), picture, "{to}");
        assert!(*to == TensorType::F16 || picture != plain, "{to}");
        pictures.insert(picture);
    }
    // The two types of three values say the same in other bytes.
    assert_eq!(pictures.len(), TensorType::ALL.len() - 1);
    assert_eq!(alone.run(&recipe).pixels(), plain, "another context, whose weights are those of the file");
}

#[test]
fn rules_decide_before_the_type_and_the_first_that_occurs_in_a_name() {
    let alone = alone();
    let run = |weight_type, rules: &str| {
        alone.run(&Recipe { weight_type, tensor_type_rules: rules.parse().unwrap(), ..recipe() }).pixels().to_vec()
    };
    let (plain, q8) = (run(None, ""), run(Some(TensorType::Q8_0), ""));
    assert_eq!(run(Some(TensorType::Q8_0), ".=f16,.=q4_0"), run(Some(TensorType::F16), ""));
    assert_eq!(run(None, "no such name=q8_0"), plain);
    let attention = run(None, "^model\\.diffusion_model\\.layers\\.[0-9]+\\.attention\\.=q4_0");
    assert!(attention != plain && attention != q8);
    let diffusion = TensorTypeRules::pattern_of(Module::Diffusion).unwrap();
    let of_module = run(None, &format!("{diffusion}=q4_0"));
    assert!(of_module != attention && of_module != plain);
}

#[test]
fn where_converted_weights_wait_changes_no_byte() {
    let alone = alone();
    let of = |placement: PlacementText| Recipe { files: deep().clone(), placement, weight_type: Some(TensorType::Q8_0), ..recipe() };
    let whole = alone.run(&of(placed("all=GPU0", ""))).pixels().to_vec();
    let streamed = PlacementText { max_vram: "0.006".into(), stream_layers: ModuleSet::DIFFUSION, ..placed("all=GPU0", "all=cpu") };
    for placement in [placed("all=GPU0", "all=cpu"), placed("all=GPU0", "all=disk"), streamed] {
        for _ in 0..2 {
            assert_eq!(alone.run(&of(placement.clone())).pixels(), whole, "{placement:?}");
        }
    }
}

#[test]
fn mapped_files_make_the_same_bytes_wherever_weights_wait() {
    let alone = alone();
    for placement in [placed("cpu", ""), placed("all=GPU0", ""), placed("all=GPU0", "all=cpu"), placed("all=GPU0", "all=disk")] {
        let plain = Recipe { files: deep().clone(), placement: placement.clone(), ..recipe() };
        let expected = alone.run(&plain).pixels().to_vec();
        for weight_type in [None, Some(TensorType::Q8_0)] {
            let read = alone.run(&Recipe { weight_type, ..plain.clone() }).pixels().to_vec();
            assert_eq!(read == expected, weight_type.is_none());
            assert_eq!(alone.run(&Recipe { weight_type, memory_map: true, ..plain.clone() }).pixels(), read, "{placement:?}");
        }
    }
}

/// Of what is not in the system's cache the system is told ahead (`file_reader.h`).
#[cfg(target_os = "linux")]
#[test]
fn files_that_are_not_cached_make_the_same_bytes_wherever_weights_wait() {
    let alone = alone();
    for format in [tiny::Format::Safetensors, tiny::Format::Gguf] {
        let files = tiny::zimage(&folder(&format!("not-cached-{format:?}")), &tiny::Options { format, ..deep_options() }).unwrap();
        let paths = [(FileRole::Diffusion, files.diffusion), (FileRole::Llm, files.llm), (FileRole::Taesd, files.taesd)];
        let files: ModelFiles = paths.iter().cloned().collect();
        for (placement, weight_type) in [
            (placed("cpu", ""), None),
            (placed("cpu", ""), Some(TensorType::Q8_0)),
            (placed("all=GPU0", ""), None),
            (placed("all=GPU0", "all=disk"), None),
        ] {
            let recipe = Recipe { files: files.clone(), placement, weight_type, ..recipe() };
            let cached = alone.run(&recipe).pixels().to_vec();
            alone.engine.handle().unload().unwrap();
            for (_, path) in &paths {
                let file = std::fs::File::open(path).unwrap();
                // What was read of it before does not count any more.
                file.set_modified(std::time::SystemTime::now()).unwrap();
                file.sync_all().unwrap();
                rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::DontNeed).unwrap();
            }
            assert!(alone.run(&recipe).pixels() == cached, "{format:?}, {:?}, {weight_type:?}", recipe.placement);
            alone.engine.handle().unload().unwrap();
        }
    }
}

#[test]
fn where_a_model_does_not_fit_smaller_weights_are_offered_with_their_bytes() {
    let alone = alone();
    let of = |device: &str| Recipe { files: deep().clone(), placement: placed(&format!("all={device}"), ""), ..recipe() };
    let conversions = |recipe: &Recipe| {
        let alternatives = alone.engine.estimate(recipe).unwrap().alternatives;
        let is_conversion = |change: &Change| matches!(change, Change::WeightType { .. });
        alternatives.into_iter().filter(|it| it.changes.iter().any(is_conversion)).collect::<Vec<_>>()
    };
    assert_eq!(conversions(&of("GPU0")), [], "it fits");
    let small = of("SMALL");
    let plain = alone.engine.estimate(&small).unwrap().needs;
    let offered = conversions(&small);
    assert!(offered.len() > 1, "{offered:?}");
    for alternative in offered {
        let mut recipe = small.clone();
        for change in &alternative.changes {
            let Change::WeightType { module, bytes, .. } = change else { panic!("{change}") };
            assert!(*bytes < plain.modules[module].weight_bytes, "{change}");
            assert_eq!(*bytes, alternative.needs.modules[module].weight_bytes, "{change}");
            change.apply(&mut recipe);
        }
        let applied = alone.engine.estimate(&recipe).unwrap().needs;
        let weights =
            |needs: &atelier_core::placement::Needs| needs.modules.iter().map(|(at, it)| (*at, it.weight_bytes)).collect::<Vec<_>>();
        assert_eq!(weights(&applied), weights(&alternative.needs), "{:?}", alternative.changes);
        assert_eq!(conversions(&recipe).iter().filter(|it| it.changes == alternative.changes).count(), 0, "it is not offered again");
    }
}

/// A picture of these files, and the same with the copy of one of them in its place.
fn with_copy(alone: &Alone, files: &ModelFiles, role: FileRole, copy: &ModelCopy) -> [Vec<u8>; 2] {
    copy.make(&|_, _| true).unwrap();
    assert_eq!(std::fs::metadata(&copy.output).unwrap().len(), copy.bytes, "the size that was said before");
    let mut copied = files.clone();
    copied.set(role, &copy.output);
    let run = |files: &ModelFiles, recipe: Recipe| alone.run(&Recipe { files: files.clone(), ..recipe }).pixels().to_vec();
    let pattern = TensorTypeRules::pattern_of(role.module()).unwrap();
    let rules = |to| Recipe { tensor_type_rules: format!("{pattern}={to}").parse().unwrap(), ..of_zeros() };
    let whole = |to| Recipe { weight_type: Some(to), ..of_zeros() };
    let to = copy.weight_type().unwrap();
    [run(files, if role == FileRole::Model { whole(to) } else { rules(to) }), run(&copied, of_zeros())]
}

fn fresh(name: &str) -> PathBuf {
    let dir = folder(name);
    std::fs::remove_dir_all(&dir).unwrap();
    folder(name)
}

#[test]
fn a_copy_makes_the_bytes_that_the_same_types_make_at_load() {
    let alone = alone();
    let dir = fresh("copies");
    let gguf = tiny::zimage(&folder("copies/gguf"), &tiny::Options { format: tiny::Format::Gguf, ..deep_options() }).unwrap();
    let gguf: ModelFiles =
        [(FileRole::Diffusion, gguf.diffusion), (FileRole::Llm, gguf.llm), (FileRole::Taesd, gguf.taesd)].into_iter().collect();
    let mut scaled = deep().clone();
    scaled.set(
        FileRole::Diffusion,
        fp8(scaled.get(FileRole::Diffusion).unwrap(), &dir.join("fp8.safetensors"), Scales::Whole, Form::Stored).unwrap(),
    );
    let whole = |family: &str| written(families::reading(family), &folder(&format!("copies/{family}")));
    let cases = [
        ("safetensors", deep().clone(), FileRole::Diffusion),
        ("encoder", deep().clone(), FileRole::Llm),
        ("gguf", gguf.clone(), FileRole::Diffusion),
        ("gguf encoder", gguf, FileRole::Llm),
        ("fp8", scaled, FileRole::Diffusion),
        ("sd15", whole("sd15"), FileRole::Model),
        ("sdxl", whole("sdxl"), FileRole::Model),
    ];
    for (name, files, role) in cases {
        // The larger encoder of SDXL has its real size: a minute in four bits, whose bytes the others show.
        let types = if name == "sdxl" { &[TensorType::Q8_0][..] } else { &[TensorType::Q8_0, TensorType::Q4K] };
        for to in types {
            let output = dir.join(format!("{name}-{to}.gguf"));
            let copy = ModelCopy::plan(files.get(role).unwrap(), Some(*to), TensorTypeRules::default(), Some(&output), None).unwrap();
            let [at_load, copied] = with_copy(&alone, &files, role, &copy);
            assert!(at_load == copied, "{name}, {to}");
        }
    }
}

#[test]
fn a_copy_never_replaces_a_file_and_nothing_is_left_of_one_that_is_stopped() {
    let dir = fresh("one-copy");
    let original = dir.join("model.safetensors");
    std::fs::copy(support::files().get(FileRole::Diffusion).unwrap(), &original).unwrap();
    let plan = |licence| ModelCopy::plan(&original, Some(TensorType::Q8_0), TensorTypeRules::default(), None, licence).unwrap();
    let names = || {
        let entries = std::fs::read_dir(&dir).unwrap();
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect::<std::collections::BTreeSet<_>>()
    };
    let copy = plan(Some("Apache-2.0"));
    assert!(matches!(copy.make(&|_, _| false), Err(CopyError::Stopped)));
    assert_eq!(names(), ["model.safetensors".to_owned()].into());
    copy.make(&|done, all| done <= all).unwrap();
    assert_eq!(names(), ["model-Q8_0.gguf".to_owned(), "model.safetensors".to_owned()].into());
    assert!(copy.bytes < copy.original_bytes * 6 / 10, "{} of {}", copy.bytes, copy.original_bytes);
    let header = read_header(&copy.output).unwrap();
    let says = |key: &str| header.metadata.get(key).map(String::as_str);
    assert_eq!((says("general.name"), says("general.license")), (Some("model"), Some("Apache-2.0")));
    assert_eq!((says("general.source.file"), says("general.quantized_by")), (Some("model.safetensors"), Some("Atelier")));
    let before = std::fs::read(&copy.output).unwrap();
    assert!(matches!(plan(None).make(&|_, _| true), Err(CopyError::Exists(_))));
    assert!(before == std::fs::read(&copy.output).unwrap());
    // What a GGUF says of itself stays.
    let smaller = ModelCopy::plan(&copy.output, Some(TensorType::Q4_0), TensorTypeRules::default(), None, Some("other")).unwrap();
    assert_eq!(smaller.output, dir.join("model-Q4_0.gguf"));
    smaller.make(&|_, _| true).unwrap();
    assert_eq!(read_header(&smaller.output).unwrap().metadata.get("general.license").map(String::as_str), Some("Apache-2.0"));
    assert_eq!(copy_sizes(&smaller.output).unwrap().copies, [], "no smaller type is offered");
}

#[test]
fn what_is_no_model_is_refused_with_a_sentence() {
    let dir = fresh("no-copy");
    let lora = tiny::lora(&dir, &tiny::Options::default()).unwrap();
    let refused = |path: &Path, output: &str| {
        let output = dir.join(output);
        ModelCopy::plan(path, Some(TensorType::Q8_0), TensorTypeRules::default(), Some(&output), None).unwrap_err().to_string()
    };
    assert!(refused(&lora, "a.gguf").contains("only models"), "{}", refused(&lora, "a.gguf"));
    let tiny_vae = support::files().get(FileRole::Taesd).unwrap().to_owned();
    assert!(refused(&tiny_vae, "a.gguf").contains("little memory"));
    let model = support::files().get(FileRole::Diffusion).unwrap().to_owned();
    assert!(refused(&model, "a.safetensors").contains(".gguf"));
    let broken = dir.join("broken.safetensors");
    std::fs::write(&broken, &std::fs::read(&model).unwrap()[..100_000]).unwrap();
    assert!(!refused(&broken, "a.gguf").is_empty());
}
