use std::collections::BTreeMap;

use testkit::tiny::{self, Options};

use super::*;
use crate::cards::{Availability, ModelCard, card_named, model_cards};
use crate::disk::{Scanner, ScannerOptions};

/// A models folder with a whole model `mine`, and a folder of loose files that make another.
struct World {
    dir: tempfile::TempDir,
}

const MINE: &str = r#"{"id":"mine","name":"Mine","family":"Z-Image","defaults":{"steps":5},"files":[
    {"role":"diffusion","filename":"tiny-zimage.safetensors"},{"role":"llm","filename":"tiny-qwen3.safetensors"},
    {"role":"tae","filename":"tiny-taesd.safetensors"},{"role":"lora","filename":"tiny-lora.safetensors"}]}"#;

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let options = Options { vocabulary: 151_936, ..Options::default() };
        for folder in ["models/mine", "loose"] {
            fs::create_dir_all(dir.path().join(folder)).unwrap();
            tiny::zimage(&dir.path().join(folder), &options).unwrap();
        }
        fs::write(dir.path().join("models/mine/tiny-lora.safetensors"), "x").unwrap();
        fs::write(dir.path().join("models/mine").join(MANIFEST), MINE).unwrap();
        Self { dir }
    }

    fn models(&self) -> Models {
        let models_root = self.dir.path().join("models");
        let cache_file = self.dir.path().join("facts.json");
        let (added, marks) = (vec![self.dir.path().join("loose")], self.dir.path().join("reading"));
        let options = ScannerOptions { models_root: models_root.clone(), added, cache_file, marks, watch: false };
        let scan = Scanner::start(options, || ()).complete(&|| true);
        Models::new(&models_root, Catalogue::shipped(), &scan)
    }
}

fn cards(models: &Models) -> Vec<ModelCard> {
    model_cards(models, &ScanResult::default(), None, &BTreeMap::new())
}

#[test]
fn what_is_here_comes_first_and_what_can_be_had_after() {
    let world = World::new();
    let models = world.models();
    let cards = cards(&models);
    let first: Vec<(&str, Availability)> = cards.iter().take(3).map(|it| (it.id.as_str(), it.availability)).collect();
    assert_eq!(first, [("mine", Availability::OnDisk), ("tiny-zimage", Availability::InPlace), ("z-image-turbo", Availability::Catalogue)]);
    assert!(cards[0].files.iter().all(|it| it.path.is_some()) && cards[0].bytes > Some(10_000_000));
    assert_eq!((cards[1].files.len(), cards[1].family.as_deref()), (3, Some("Z-Image")));
    assert!(cards[2].files.iter().all(|it| it.path.is_none()) && cards[2].variants.len() == 4);
    assert!(models.problems.is_empty());
}

#[test]
fn a_model_is_run_by_its_name_with_what_suits_it() {
    let world = World::new();
    let models = world.models();
    let mine = models.runnable("mine").unwrap();
    let mut recipe = Recipe::default();
    mine.apply(&mut recipe);
    assert_eq!((recipe.steps, recipe.loras.len(), recipe.files.iter().count()), (5, 1, 3));
    let loose = models.runnable("tiny-zimage").unwrap();
    assert_eq!((loose.files.iter().count(), loose.defaults.steps, loose.defaults.cfg), (3, Some(8), Some(1.0)));
    assert_eq!(models.runnable(world.dir.path().join("loose/tiny-zimage.safetensors").to_str().unwrap()).unwrap(), loose);

    let refused = |name: &str| models.runnable(name).unwrap_err().to_string();
    assert_eq!(
        refused("z-image-turbo:q4_k"),
        "Z-Image-Turbo (Q4_K) is not on this disk. Download it with: atelier models pull z-image-turbo:q4_k (about 6.7 GB)."
    );
    assert_eq!(refused("mime"), "There is no model or file named mime. Did you mean mine?");
    assert!(refused("qqqqqq").contains("atelier models list"));
}

#[test]
fn what_is_missing_or_damaged_is_said() {
    let world = World::new();
    fs::remove_file(world.dir.path().join("models/mine/tiny-qwen3.safetensors")).unwrap();
    fs::remove_file(world.dir.path().join("loose/tiny-taesd.safetensors")).unwrap();
    fs::remove_file(world.dir.path().join("models/mine/tiny-taesd.safetensors")).unwrap();
    fs::create_dir(world.dir.path().join("models/wrong")).unwrap();
    fs::write(world.dir.path().join("models/wrong").join(MANIFEST), "{").unwrap();
    let models = world.models();
    assert!(models.problems.len() == 1 && models.problems[0].contains("line 1"), "{:?}", models.problems);
    let (mine, loose) = (card_named(&models, "mine").unwrap(), card_named(&models, "tiny-zimage").unwrap());
    assert_eq!((mine.availability, loose.availability), (Availability::Damaged, Availability::Incomplete));
    assert!(
        mine.problems[0].contains("tiny-qwen3") && loose.problem_sentences()[0].contains("a VAE: ae.safetensors"),
        "{:?}",
        loose.missing
    );
    assert!(models.runnable("mine").unwrap_err().advice.hint.contains("models pull mine"));
    assert!(models.runnable("tiny-zimage").unwrap_err().advice.hint.contains("models pull z-image-turbo"));
}

#[test]
fn words_are_searched_for_in_any_order() {
    let dir = tempfile::tempdir().unwrap();
    let cards = cards(&Models::new(dir.path(), Catalogue::shipped(), &ScanResult::default()));
    let found = |text: &str| cards.iter().filter(|it| it.matches(text)).map(|it| it.id.as_str()).collect::<Vec<_>>();
    assert_eq!(found("TURBO z-image"), ["z-image-turbo"]);
    assert!(found("apache flux").contains(&"flux.1-schnell") && !found("apache flux").contains(&"flux.1-dev"));
    assert!(found("no such words").is_empty());
}
