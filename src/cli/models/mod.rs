//! `atelier models`: the library on the command line.
//!
//! Everything here queries `library` and prints (`report`); no folder is read and no file fetched
//! here. Exit codes: 0 all done, 1 something failed, 2 no such model, 130 ended by Ctrl-C.

mod convert;
mod library;
mod pull;
mod report;

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::json;

use library::open_library;
pub(super) use library::{allows_pickles, find, find_embeddings, find_loras, find_upscaler, missing_model, open_picture};
use report::LibraryReport;
pub(super) use report::licence_text;

use super::exit::Exit;
use super::flags::{LibraryFlags, ModelsCommand, ModelsFlags};
use super::interrupt::Interrupt;
use super::printer::Printer;
use super::reporter::{quiet_reporter, reporter};
use atelier_core::format::file_size;
use atelier_core::paths::Paths;
use atelier_core::plain_text::quoted_path;
use atelier_library::disk::{ScanResult, inspect_file};
use atelier_library::{
    DownloadRecord, InstalledItem, LibraryConfig, ModelCard, Models, Problem, Verdict, card_named, downloaded, link_id, model_cards, usage,
};
use atelier_studio::model_copy::ModelCopy;
use atelier_studio::model_names::Library;

/// System that a command runs on; tests give their own.
pub(super) struct ModelsEnv<'a> {
    pub(super) out: &'a mut dyn Write,
    pub(super) err: &'a mut dyn Write,
    /// Standard error is a terminal, which can show a bar.
    pub(super) terminal: bool,
    pub(super) paths: Paths,
    pub(super) interrupt: Arc<Interrupt>,
    pub(super) trash: fn(&Path) -> Result<(), String>,
}

/// Reason for which a command ends early.
enum CommandError {
    /// There is no such model.
    UnknownModel(Problem),
    Failed(anyhow::Error),
    /// Nobody reads standard output any more.
    OutputClosed,
    Cancelled,
}

impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe { Self::OutputClosed } else { Self::Failed(error.into()) }
    }
}

fn failed(error: impl Into<anyhow::Error>) -> CommandError {
    CommandError::Failed(error.into())
}

/// Runs a command of `atelier models`.
pub(super) fn run(flags: ModelsFlags, env: ModelsEnv<'_>) -> Exit {
    let ModelsEnv { out, err, terminal, paths, interrupt, trash } = env;
    let reporter = if flags.json { quiet_reporter(Box::new(err)) } else { reporter(Box::new(err), terminal) };
    let mut runner = CommandRunner { paths, interrupt, trash, report: LibraryReport { printer: Printer::new(out, flags.json), reporter } };
    let (exit, problem) = match runner.run(flags) {
        Ok(exit) => return exit,
        Err(CommandError::OutputClosed) => return Exit::Done,
        Err(CommandError::Cancelled) => return Exit::Cancelled,
        Err(CommandError::UnknownModel(problem)) => (Exit::Usage, problem.to_string()),
        Err(CommandError::Failed(error)) => (Exit::Failed, format!("{error:#}")),
    };
    runner.report.reporter.message(&format!("error: {problem}"));
    exit
}

/// Runs the commands of `atelier models`.
struct CommandRunner<'a> {
    paths: Paths,
    interrupt: Arc<Interrupt>,
    trash: fn(&Path) -> Result<(), String>,
    report: LibraryReport<'a>,
}

impl CommandRunner<'_> {
    fn run(&mut self, flags: ModelsFlags) -> Result<Exit, CommandError> {
        if let ModelsCommand::Add { folder, forget } = &flags.command {
            return self.add(&flags.library, folder, *forget);
        }
        if let ModelsCommand::Convert { file, weight_type, tensor_type_rules, output, dry_run } = flags.command {
            let rules = tensor_type_rules.unwrap_or_default();
            let copy = ModelCopy::plan(&file, weight_type, rules, output.as_deref(), None).map_err(failed)?;
            return self.convert(&copy, dry_run);
        }
        let library = open_library(&flags.library, &self.paths).map_err(failed)?;
        for problem in &library.problems {
            self.report.warning(problem)?;
        }
        match flags.command {
            ModelsCommand::List { here } => self.list(&library, |card| !here || card.availability.is_here()),
            ModelsCommand::Search { text } => self.list(&library, |card| card.matches(&text.join(" "))),
            ModelsCommand::Info { name } => self.info(&library, &name),
            ModelsCommand::Pull { names, accept_licence } => self.pull(&library, &names, accept_licence),
            ModelsCommand::Verify { names } => self.verify(&library, &names),
            ModelsCommand::Rm { names, dry_run } => self.remove(&library, &names, dry_run),
            ModelsCommand::Du => {
                let interrupt = Arc::clone(&self.interrupt);
                let (models, scan) = library.all(&move || !interrupt.pressed());
                self.check_interrupt()?;
                self.report.usage(&usage(&models, &scan))?;
                Ok(Exit::Done)
            }
            ModelsCommand::Add { .. } | ModelsCommand::Convert { .. } => Ok(Exit::Done),
        }
    }

    fn check_interrupt(&self) -> Result<(), CommandError> {
        if self.interrupt.pressed() { Err(CommandError::Cancelled) } else { Ok(()) }
    }

    /// All models; folders and manifests that could not be read are reported.
    fn all_models(&mut self, library: &Library) -> Result<(Models, Arc<ScanResult>), CommandError> {
        let interrupt = Arc::clone(&self.interrupt);
        let (models, scan) = library.all(&move || !interrupt.pressed());
        self.check_interrupt()?;
        for problem in scan.problems.iter().chain(&models.problems) {
            self.report.warning(problem)?;
        }
        Ok((models, scan))
    }

    fn list(&mut self, library: &Library, wanted: impl Fn(&ModelCard) -> bool) -> Result<Exit, CommandError> {
        let (models, scan) = self.all_models(library)?;
        // `in place` also of files that were downloaded by a link: their state has always been
        // that.
        let mut cards = model_cards(&models, &scan, None, &BTreeMap::new());
        cards.retain(wanted);
        if cards.is_empty() {
            self.report.printer.text("No models match. List all models with: atelier models list")?;
        }
        self.report.cards(&cards)?;
        Ok(Exit::Done)
    }

    fn info(&mut self, library: &Library, name: &str) -> Result<Exit, CommandError> {
        let path = Path::new(name);
        let known = downloaded(&self.paths.downloads());
        let file = if path.is_file() { Some(path) } else { brought_by(name, library.models_root(), &known) };
        if let Some(path) = file {
            let bytes = fs::metadata(path)?.len();
            self.report.file(path, bytes, &inspect_file(path))?;
            return Ok(Exit::Done);
        }
        let (models, _) = self.all_models(library)?;
        match card_named(&models, name) {
            Some(card) => self.report.card(&card)?,
            None => return Err(CommandError::UnknownModel(models.unknown(name))),
        }
        Ok(Exit::Done)
    }

    /// The downloaded models and files of these names; all without names.
    fn select<'m>(
        models: &'m Models,
        root: &Path,
        known: &[DownloadRecord],
        names: &[String],
    ) -> Result<Vec<InstalledItem<'m>>, CommandError> {
        let by_link = |path: &Path| path.starts_with(root) && !models.installed.iter().any(|it| path.starts_with(&it.folder));
        if names.is_empty() {
            let loose = known.iter().filter(|it| by_link(&it.path) && it.path.is_file());
            let loose = loose.map(|it| InstalledItem::File(it.path.display().to_string(), it.path.clone()));
            return Ok(models.installed.iter().map(InstalledItem::Model).chain(loose).collect());
        }
        let find = |name: &String| {
            if let Some(model) = models.installed_as(name) {
                return Ok(InstalledItem::Model(model));
            }
            let file = models.loose_file(name).filter(|file| known.iter().any(|it| it.path == *file));
            let file = file.or_else(|| brought_by(name, root, known).map(Path::to_owned));
            file.map(|file| InstalledItem::File(name.clone(), file)).ok_or_else(|| match card_named(models, name) {
                Some(card) => CommandError::UnknownModel(Problem::new(
                    format!("{} was not downloaded by Atelier.", card.name),
                    "Atelier verifies and removes only models that it downloaded.",
                )),
                None => CommandError::UnknownModel(models.unknown(name)),
            })
        };
        names.iter().map(find).collect()
    }

    fn verify(&mut self, library: &Library, names: &[String]) -> Result<Exit, CommandError> {
        let models = if names.is_empty() { library.downloaded() } else { self.all_models(library)?.0 };
        let known = downloaded(&self.paths.downloads());
        let sum_of = |path: &Path| known.iter().find(|it| it.path == path).and_then(|it| it.sha256);
        let mut exit = Exit::Done;
        for chosen in Self::select(&models, library.models_root(), &known, names)? {
            let id = chosen.id();
            let bytes = match &chosen {
                InstalledItem::Model(_) => card_named(&models, id).and_then(|it| it.bytes),
                InstalledItem::File(_, path) => fs::metadata(path).ok().map(|it| it.len()),
            };
            let (interrupt, reporter, mut done) = (Arc::clone(&self.interrupt), &mut self.report.reporter, 0);
            let mut watch = |read| {
                done += read;
                reporter.bytes(id, done, bytes);
                !interrupt.pressed()
            };
            let verified = chosen.verify(&sum_of, &mut watch);
            reporter.finish();
            for file in verified.ok_or(CommandError::Cancelled)? {
                let (path, shown) = (file.path.display().to_string(), quoted_path(&file.path));
                let (verdict, sum, problem) = match &file.verdict {
                    Verdict::Right => ("ok", None, None),
                    Verdict::Unknown(sum) => ("unknown", Some(sum.to_string()), None),
                    Verdict::Wrong(error) => ("mismatch", None, Some(error.to_string())),
                    Verdict::Damaged(sentence) => ("mismatch", None, Some(sentence.clone())),
                };
                let line = json!({"event": "verified", "id": id, "path": path, "verdict": verdict, "sha256": sum, "problem": problem});
                self.report.printer.json(&line)?;
                if let Some(problem) = problem {
                    exit = Exit::Failed;
                    self.report.printer.text(&format!("wrong    {shown}: {problem}"))?;
                } else if let Some(sum) = sum {
                    self.report.printer.text(&format!("unknown  {shown}: no checksum is published; SHA-256 is {sum}"))?;
                } else {
                    self.report.printer.text(&format!("right    {shown}"))?;
                }
            }
        }
        Ok(exit)
    }

    fn remove(&mut self, library: &Library, names: &[String], dry_run: bool) -> Result<Exit, CommandError> {
        let (models, _) = self.all_models(library)?;
        let downloaded = downloaded(&self.paths.downloads());
        let mut plans = Vec::new();
        let root = library.models_root();
        for chosen in Self::select(&models, root, &downloaded, names)? {
            plans.push(chosen.plan_removal(root, &models, &downloaded).map_err(failed)?);
        }
        for plan in plans {
            let going: Vec<String> = plan.going.iter().map(|it| it.display().to_string()).collect();
            if !dry_run {
                plan.carry_out(&mut self.trash).map_err(failed)?;
            }
            let stays: Vec<_> =
                plan.staying.iter().map(|(path, why)| json!({"path": path.display().to_string(), "reason": why.sentence()})).collect();
            self.report.printer.json(&json!({
                "event": "removed", "id": plan.model, "dry_run": dry_run, "removed": going, "kept": stays, "bytes": plan.bytes,
            }))?;
            for path in &plan.going {
                let place = if dry_run { "would go" } else { "in the trash" };
                self.report.printer.text(&format!("{place}  {}", quoted_path(path)))?;
            }
            for (path, why) in &plan.staying {
                self.report.printer.text(&format!("{} {}", quoted_path(path), why.sentence()))?;
            }
            let what = if dry_run { "would be moved to the trash" } else { "moved to the trash; empty the trash to free the space" };
            self.report.printer.text(&format!("{}: {} {what}", plan.model, file_size(plan.bytes)))?;
        }
        Ok(Exit::Done)
    }

    fn add(&mut self, flags: &LibraryFlags, folder: &Path, forget: bool) -> Result<Exit, CommandError> {
        let mut forgotten = false;
        let mut named = PathBuf::new();
        LibraryConfig::change(&self.paths.library_file(), |places| {
            if forget {
                forgotten = places.forget_folder(folder);
                folder.clone_into(&mut named);
            } else {
                places.add_folder(folder)?;
                named = places.folders.last().cloned().unwrap_or_default();
            }
            Ok(())
        })
        .map_err(failed)?;
        if forget && !forgotten {
            let sentence = format!("{} is not a folder of the library.", folder.display());
            return Err(CommandError::UnknownModel(Problem::new(sentence, "List the folders with: atelier models du.")));
        }
        let mut scan = ScanResult::default();
        if !forget {
            let library = open_library(flags, &self.paths).map_err(failed)?;
            let interrupt = Arc::clone(&self.interrupt);
            scan = library.only(&named, &move || !interrupt.pressed());
            for problem in &scan.problems {
                self.report.warning(problem)?;
            }
        }
        self.report.folder(&named, &scan, forgotten)?;
        Ok(Exit::Done)
    }
}

/// The file that the download of this id brought by a link.
fn brought_by<'k>(id: &str, root: &Path, known: &'k [DownloadRecord]) -> Option<&'k Path> {
    known.iter().map(|it| it.path.as_path()).find(|path| link_id(root, path).as_deref() == Some(id) && path.is_file())
}

#[cfg(test)]
mod tests;
