use std::sync::Arc;

use super::*;
use crate::catalogue::Catalogue;
use crate::disk::{DiskFile, FileStatus, inspect_file};
use crate::manifest::Licence;
use std::collections::BTreeMap;

fn shipped() -> Models {
    Models { catalogue: Catalogue::shipped(), installed: Vec::new(), loose: Vec::new(), problems: Vec::new() }
}

#[test]
fn the_shipped_catalogue_becomes_cards_with_their_variants_and_what_they_are_for() {
    let cards = model_cards(&shipped(), &ScanResult::default(), None, &BTreeMap::new());
    let by = |id: &str| cards.iter().find(|it| it.id == id).unwrap();
    let turbo = by("z-image-turbo");
    let state = (turbo.kind, turbo.availability, turbo.is_estimate, turbo.recommended);
    assert_eq!(state, (ModelKind::Model, Availability::Catalogue, false, true));
    assert_eq!(turbo.variants.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["", "Q8_0", "Q4_K", "Q3_K"]);
    assert_eq!(turbo.job_ids, ["z-image-turbo", "z-image-turbo-q8_0", "z-image-turbo-q4_k", "z-image-turbo-q3_k"]);
    assert!(turbo.default_lines().contains(&("Steps", "8".into())));
    assert_eq!((by("taesd").kind, by("realesrgan-x4plus-anime-6b").kind), (ModelKind::Part, ModelKind::Upscaler));
    let asks = |id: &str| by(id).licence.as_ref().is_some_and(Licence::is_pending);
    assert!(asks("flux.1-dev") && !asks("z-image-turbo"));
    assert!(turbo.has(&["apache".into(), "turbo".into()]) && !turbo.has(&["flux".into()]));
}

#[test]
fn a_loose_file_of_no_model_is_listed_after_the_models_and_before_the_catalogue() {
    let file = DiskFile { path: "/m/old.ckpt".into(), bytes: 7, modified: Some(1), hint: None, status: FileStatus::Pickle };
    let scan = ScanResult { files: vec![Arc::new(file)], ..ScanResult::default() };
    let cards = model_cards(&shipped(), &scan, None, &BTreeMap::new());
    assert_eq!((cards[0].id.as_str(), cards[0].availability), ("/m/old.ckpt", Availability::Listed));
    assert_eq!(cards[1].availability, Availability::Catalogue);
}

#[test]
fn whether_a_photomaker_reads_faces_is_what_its_header_says_whatever_its_name() {
    let dir = tempfile::tempdir().unwrap();
    for (name, is_v2) in [("photomaker-v2-renamed.safetensors", false), ("first.safetensors", true)] {
        let path = dir.path().join(name);
        testkit::families::photomaker_of_zeros(is_v2).write(&path).unwrap();
        let status = inspect_file(&path);
        let file = DiskFile { path, bytes: 7, modified: Some(1), hint: None, status };
        let scan = ScanResult { files: vec![Arc::new(file)], ..ScanResult::default() };
        let card = model_cards(&shipped(), &scan, None, &BTreeMap::new()).swap_remove(0);
        assert_eq!(card.files[0].may_read_faces(), is_v2, "{name}");
        let mut unread = card.files[0].clone();
        unread.facts = None;
        assert!(unread.may_read_faces(), "nothing says that it does not");
    }
}
