//! Model files: the built-in one whole, all headers sound, and on demand the sums of what was
//! downloaded.

use std::path::Path;

use super::finding::Finding;
use super::subject::Subject;
use atelier_core::paths::Paths;
use atelier_language::tr;
use atelier_library::disk::{FileStatus, ScanResult, Scanner};
use atelier_library::{Builtin, BuiltinError, Catalogue, InstalledItem, LibraryConfig, Models, Verdict, downloaded};

const TOPIC: &str = "Model files";
/// Most faults that are named one by one.
const MAX_FAULTS: usize = 20;

pub(super) fn builtin(builtin: &Result<Builtin, BuiltinError>, report: &mut dyn FnMut(Finding)) {
    const TOPIC: &str = "Built-in model";
    let verified = builtin.as_ref().map_err(ToString::to_string).and_then(|it| it.verify().map_err(|error| error.to_string()));
    report(match verified {
        Ok(()) => Finding::ok(TOPIC, "Complete."),
        Err(sentence) => Finding::broken(TOPIC, sentence, tr!("studio-reinstall-atelier-to-restore")),
    });
}

pub(super) fn check(paths: &Paths, subject: &Subject<'_>, report: &mut dyn FnMut(Finding)) {
    // What is wrong with these settings is told where they are checked.
    let Ok(config) = LibraryConfig::read(&paths.library_file()) else { return };
    let options = config.scanner(paths, false);
    let root = options.models_root.clone();
    let scan = Scanner::start(options, || ()).complete(subject.go_on);
    let (catalogue, problems) = Catalogue::open(&paths.catalogues(), &[]);
    let models = Models::new(&root, catalogue, &scan);
    headers(&root, &scan, report);
    let sentences = problems
        .iter()
        .map(ToString::to_string)
        .chain(scan.problems.iter().cloned())
        .chain(models.problems.iter().map(ToString::to_string));
    for sentence in sentences.take(MAX_FAULTS) {
        report(Finding::attention(TOPIC, sentence, ""));
    }
    if subject.sums {
        sums(paths, &models, subject, report);
    } else if !models.installed.is_empty() {
        report(Finding::ok(TOPIC, tr!("studio-checksums-were-not-verified")));
    }
}

/// A damaged file in the person's other folders may be somebody else's concern.
fn headers(root: &Path, scan: &ScanResult, report: &mut dyn FnMut(Finding)) {
    let mut faults = 0;
    for file in &scan.files {
        let FileStatus::Faulty { advice, .. } = &file.status else { continue };
        faults += 1;
        if faults > MAX_FAULTS {
            continue;
        }
        let sentence = format!("{} ({})", advice.sentence, file.path.display());
        let found = if file.path.starts_with(root) { Finding::broken } else { Finding::attention };
        report(found(TOPIC, sentence, advice.hint.clone()));
    }
    if faults > MAX_FAULTS {
        report(Finding::attention(
            TOPIC,
            tr!("studio-more-files-are-damaged", value = faults - MAX_FAULTS),
            tr!("studio-list-them-with-atelier"),
        ));
    }
    let whole = scan.files.len() - faults;
    report(Finding::ok(TOPIC, tr!("studio-a-valid-header", whole, whole_2 = if whole == 1 { "file has" } else { "files have" })));
}

fn sums(paths: &Paths, models: &Models, subject: &Subject<'_>, report: &mut dyn FnMut(Finding)) {
    let known = downloaded(&paths.downloads());
    let sum_of = |path: &Path| known.iter().find(|it| it.path == path).and_then(|it| it.sha256);
    for model in &models.installed {
        let item = InstalledItem::Model(model);
        let Some(files) = item.verify(&sum_of, &mut |_| (subject.go_on)()) else { return };
        let mut right = 0;
        for file in files {
            let sentence = match &file.verdict {
                Verdict::Right => {
                    right += 1;
                    continue;
                }
                Verdict::Unknown(_) => continue,
                Verdict::Wrong(error) => error.to_string(),
                Verdict::Damaged(sentence) => sentence.clone(),
            };
            let hint = format!("Download it again: atelier models pull {}", item.id());
            report(Finding::broken(TOPIC, format!("{}: {sentence}", file.path.display()), hint));
        }
        report(Finding::ok(TOPIC, tr!("studio-the-checksums-of-files", id = item.id(), right)));
    }
}
