//! Cards of loose files that belong to no model: LoRAs, upscalers, parts of models; and files that
//! can only be listed.

use std::path::Path;

use super::card::{Availability, CardFile, ModelCard, ModelKind};
use super::model::{file_facts, trainer_notes};
use crate::disk::{DiskFile, FileStatus};
use crate::family::Family;
use crate::header::file_name;
use crate::kind::kind_words;
use crate::manifest::Role;
use crate::naming::name_of;
use crate::shards;
use atelier_core::recipe::FileRole;
use atelier_core::sentences::sentence;
use atelier_language::tr;

/// Why Atelier does not open pickles, in a sentence.
#[must_use]
pub fn why_no_pickles() -> &'static str {
    tr!("library-pickle-files-can-execute-code-when")
}

/// The card of a file that belongs to no model of the library. `downloaded`: by Atelier.
pub(super) fn card_of_file(file: &DiskFile, downloaded: bool) -> ModelCard {
    let facts = file.facts();
    let training = facts.map(|it| &it.training);
    let role = file.role();
    let problem = match &file.status {
        FileStatus::Unread => None,
        FileStatus::Pickle => Some(why_no_pickles().to_owned()),
        FileStatus::Faulty { advice, .. } => Some(advice.to_string()),
        FileStatus::Known(facts) => match role {
            Some(Role::Part(FileRole::Model | FileRole::Diffusion)) if facts.family.is_some_and(Family::is_video) => {
                Some(tr!("library-this-model-makes-videos").to_owned())
            }
            Some(Role::Part(FileRole::Model | FileRole::Diffusion)) => Some(tr!("library-atelier-does-not-know-models-of").to_owned()),
            Some(_) => None,
            None => Some(tr!("library-atelier-does-not-know-what-this").to_owned()),
        },
    };
    let kind = match role {
        Some(Role::Lora) => ModelKind::Lora,
        Some(Role::Part(FileRole::Upscaler)) => ModelKind::Upscaler,
        Some(Role::Cutout) => ModelKind::Cutout,
        Some(Role::Detector) => ModelKind::Detector,
        Some(Role::Part(FileRole::Model | FileRole::Diffusion)) => ModelKind::Model,
        Some(Role::Part(_) | Role::Embedding) | None => ModelKind::Part,
    };
    // What has a problem is listed only, so that nothing offers to use it.
    let availability = match (&file.status, &problem) {
        (FileStatus::Known(_), None) if downloaded => Availability::OnDisk,
        (FileStatus::Known(_), None) => Availability::InPlace,
        _ => Availability::Listed,
    };
    let description = match (&file.status, training.and_then(|it| it.usage.clone())) {
        (FileStatus::Unread, _) => tr!("library-not-scanned-yet").to_owned(),
        (_, Some(usage)) => usage,
        (FileStatus::Known(facts), None) if matches!(kind, ModelKind::Part | ModelKind::Cutout | ModelKind::Detector) => {
            sentence(&tr!("library-in", name = kind_words(&facts.name), quantisation = facts.quantisation))
        }
        _ => String::new(),
    };
    let bytes = shards::whole_bytes(&file.path, Some(file.bytes));
    let part = role.map(|role| CardFile {
        role,
        name: file_name(&file.path),
        path: Some(file.path.clone()),
        bytes,
        facts: facts.map(|it| file_facts(it)),
        sha256: None,
    });
    ModelCard {
        id: file.path.to_string_lossy().into_owned(),
        is_loose_file: true,
        name: training.and_then(|it| it.title.clone()).unwrap_or_else(|| name_of(&file.path)),
        kind,
        family: facts.and_then(|it| it.family).map(|it| it.label().to_owned()),
        description,
        availability,
        downloaded,
        files: part.into_iter().collect(),
        bytes,
        problems: problem.into_iter().collect(),
        added_nanos: file.modified,
        trigger_words: training.map(|it| it.trigger_words.clone()).unwrap_or_default(),
        trainer_notes: training.map(trainer_notes).unwrap_or_default(),
        folder: file.path.parent().map(Path::to_owned),
        ..ModelCard::default()
    }
    .with_search_text()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::disk::{Facts, Hint};
    use crate::header::Fault;
    use atelier_core::advice::Advice;

    fn file(hint: Option<Role>, status: FileStatus) -> DiskFile {
        DiskFile { path: "/m/some file.bin".into(), bytes: 7, modified: Some(1), hint: hint.map(Hint::Role), status }
    }

    fn known(role: Option<Role>, family: Option<Family>) -> FileStatus {
        let facts =
            Facts { role, family, name: "VAE with 16 channels".into(), parameters: 1, quantisation: "F16".into(), ..Facts::default() };
        FileStatus::Known(Arc::new(facts))
    }

    #[test]
    fn every_file_has_a_card_that_says_what_it_is_or_why_it_is_only_listed() {
        let of = |hint, status| {
            let card = card_of_file(&file(hint, status), false);
            (card.kind, card.availability, card.problems.first().cloned().unwrap_or(card.description))
        };
        let main = Some(Role::Part(FileRole::Model));
        let listed = |kind, words: &str| (kind, Availability::Listed, words.to_owned());
        assert_eq!(of(main, FileStatus::Unread), listed(ModelKind::Model, "Not scanned yet."));
        assert_eq!(of(main, FileStatus::Pickle), listed(ModelKind::Model, why_no_pickles()));
        let fault = FileStatus::Faulty { fault: Fault::CutShort, advice: Advice::new("It ends too early.", "Download the file again.") };
        assert_eq!(of(None, fault), listed(ModelKind::Part, "It ends too early. Download the file again."));
        assert_eq!(of(None, known(main, Some(Family::Wan))), listed(ModelKind::Model, "This model makes videos; Atelier makes pictures."));
        assert_eq!(of(None, known(None, None)), listed(ModelKind::Part, "Atelier does not know what this file is for."));
        let vae = of(None, known(Some(Role::Part(FileRole::Vae)), None));
        assert_eq!(vae, (ModelKind::Part, Availability::InPlace, "VAE with 16 channels in F16.".into()));
        assert_eq!(of(None, known(Some(Role::Lora), None)).0, ModelKind::Lora);
        let ours = card_of_file(&file(None, known(Some(Role::Lora), None)), true);
        assert!(ours.downloaded && ours.availability == Availability::OnDisk && ours.name == "some file");
    }
}
