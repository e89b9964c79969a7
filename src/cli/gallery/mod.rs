//! `atelier gallery`: the index of pictures on the command line.
//!
//! Everything here asks `atelier_gallery` and prints (`report`). Exit codes: 0 all done, 1
//! something failed, 2 no such picture or field, 130 ended by Ctrl-C.

mod report;

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use report::GalleryReport;

use super::exit::Exit;
use super::flags::{Format, GalleryCommand, GalleryFlags, Verdict};
use super::interrupt::Interrupt;
use super::printer::Printer;
use super::reporter::{ProgressLine, quiet_reporter, reporter};
use atelier_core::paths::Paths;
use atelier_core::reading::ReadingMarks;
use atelier_gallery::{Database, Folder, FolderKind, GalleryError, Order, PictureId, Query, Trash, TrashReport};
use atelier_media::{CopyForm, ExportFormat, export_picture};
use atelier_studio::picture_index::open_gallery;

/// Quality of JPEG where nobody says otherwise.
const QUALITY: u8 = 90;
/// Pictures that are printed from one question to the index.
const PAGE: usize = 500;

/// System that a command runs on; tests give their own.
pub(super) struct GalleryEnv<'a> {
    pub(super) out: &'a mut dyn Write,
    pub(super) err: &'a mut dyn Write,
    /// Standard error is a terminal, which can show a bar.
    pub(super) terminal: bool,
    pub(super) paths: Paths,
    pub(super) interrupt: Arc<Interrupt>,
    pub(super) trash: &'a mut dyn Trash,
}

/// Reason for which a command ends early.
enum CommandError {
    /// The search or the file means nothing.
    Usage(String),
    Failed(String),
    /// Nobody reads standard output any more.
    OutputClosed,
    Cancelled,
}

impl From<io::Error> for CommandError {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe { Self::OutputClosed } else { Self::Failed(error.to_string()) }
    }
}

impl From<GalleryError> for CommandError {
    fn from(error: GalleryError) -> Self {
        match error {
            GalleryError::Query(sentence) | GalleryError::Refused(sentence) => Self::Usage(sentence),
            other => Self::Failed(other.to_string()),
        }
    }
}

/// Runs a command of `atelier gallery`.
pub(super) fn run(flags: GalleryFlags, env: GalleryEnv<'_>) -> Exit {
    let GalleryEnv { out, err, terminal, paths, interrupt, trash } = env;
    let reporter = if flags.json { quiet_reporter(Box::new(err)) } else { reporter(Box::new(err), terminal) };
    let printer = Printer::new(out, flags.json).with_null(flags.command.paths().null);
    let mut report = GalleryReport { printer, reporter };
    let result = CommandRunner::open(&paths, interrupt, &mut report).and_then(|mut runner| runner.run(flags.command, &mut report, trash));
    report.reporter.finish();
    let (exit, problem) = match result {
        Ok(exit) => return exit,
        Err(CommandError::OutputClosed) => return Exit::Done,
        Err(CommandError::Cancelled) => return Exit::Cancelled,
        Err(CommandError::Usage(problem)) => (Exit::Usage, problem),
        Err(CommandError::Failed(problem)) => (Exit::Failed, problem),
    };
    report.reporter.message(&format!("error: {problem}"));
    exit
}

/// Runs the commands of `atelier gallery`.
struct CommandRunner {
    database: Database,
    marks: ReadingMarks,
    interrupt: Arc<Interrupt>,
}

impl CommandRunner {
    /// Opens the index; folders that were never looked through to their end are, so that a lost
    /// index is whole again.
    fn open(paths: &Paths, interrupt: Arc<Interrupt>, report: &mut GalleryReport<'_>) -> Result<Self, CommandError> {
        let (database, state) = open_gallery(paths)?;
        if let Some(warning) = state.warning() {
            report.warning(&warning)?;
        }
        let marks = ReadingMarks::open(&paths.reading_marks());
        let mut runner = Self { database, marks, interrupt };
        for folder in runner.database.folders()? {
            if !folder.is_scanned && folder.path.is_dir() {
                runner.scan_folder(&folder, report)?;
            }
        }
        Ok(runner)
    }

    fn run(&mut self, command: GalleryCommand, report: &mut GalleryReport<'_>, trash: &mut dyn Trash) -> Result<Exit, CommandError> {
        match command {
            GalleryCommand::Scan { folder, forget } => self.scan(folder, forget, report),
            GalleryCommand::Search { query, order, limit, .. } => self.search(&query.join(" "), order, limit, report),
            GalleryCommand::Info { files } => {
                for id in self.pictures(&files)? {
                    if let Some(details) = self.database.picture(id)? {
                        let family = |ids: &[PictureId]| self.database.pictures(ids);
                        let parent: Vec<PictureId> = details.parent.into_iter().collect();
                        report.details(&details, &family(&parent)?, &family(&details.children)?, &family(&details.batch)?)?;
                    }
                }
                Ok(Exit::Done)
            }
            GalleryCommand::Rate { verdict, files, .. } => {
                let ids = self.pictures(&files)?;
                match verdict {
                    Verdict::Rating(rating) => self.database.set_rating(&ids, rating)?,
                    Verdict::Flag(flag) => self.database.set_flag(&ids, flag)?,
                }
                self.print(&ids, report)
            }
            GalleryCommand::Tag { tag, files, remove, .. } => {
                let ids = self.pictures(&files)?;
                if remove {
                    self.database.remove_tag(&ids, &tag)?;
                } else {
                    self.database.add_tag(&ids, &tag)?;
                }
                self.print(&ids, report)
            }
            GalleryCommand::Rm { files, restore, .. } => {
                let ids = self.pictures(&files)?;
                let TrashReport { moved, failed } =
                    if restore { self.database.restore_from_trash(&ids, trash)? } else { self.database.move_to_trash(&ids, trash)? };
                self.print(&moved, report)?;
                for (path, why) in &failed {
                    report.warning(&format!("{}: {why}", path.display()))?;
                }
                Ok(if failed.is_empty() { Exit::Done } else { Exit::Failed })
            }
            GalleryCommand::Export { files, output, format, quality, strip, max_side, name, .. } => {
                let format = export_format(format, quality)?;
                let form = CopyForm { format, keeps_metadata: !strip, longest_side: max_side };
                Self::export(&files, &output, name.as_deref().unwrap_or_default(), form, report)
            }
        }
    }

    fn scan(&mut self, folder: Option<PathBuf>, forget: bool, report: &mut GalleryReport<'_>) -> Result<Exit, CommandError> {
        let Some(path) = folder else {
            for folder in self.database.folders()? {
                self.scan_folder(&folder, report)?;
            }
            return Ok(Exit::Done);
        };
        if forget {
            let path = std::path::absolute(&path)?;
            let folder = self.database.folders()?.into_iter().find(|folder| folder.path == path);
            let folder = folder.ok_or_else(|| CommandError::Usage(format!("{} is not a folder of the gallery.", path.display())))?;
            self.database.remove_folder(folder.id)?;
            self.database.write_journals()?;
            report.forgotten(&path)?;
            return Ok(Exit::Done);
        }
        if !path.is_dir() {
            return Err(CommandError::Usage(format!("{} is not a folder; choose an existing folder.", path.display())));
        }
        let folder = self.database.add_folder(&path, FolderKind::Added)?;
        self.scan_folder(&folder, report)?;
        Ok(Exit::Done)
    }

    fn scan_folder(&mut self, folder: &Folder, report: &mut GalleryReport<'_>) -> Result<(), CommandError> {
        let message = format!("Scanning {}", folder.path.display());
        report.reporter.begin_stage(&ProgressLine::new(&message));
        let interrupt = Arc::clone(&self.interrupt);
        let mut progress = |scan: &atelier_gallery::ScanReport| {
            let fraction = (scan.files > 0).then(|| scan.looked_at as f64 / scan.files as f64);
            let detail = format!("{} of {}", scan.looked_at, scan.files);
            report.reporter.update(&ProgressLine { message: message.clone(), detail, fraction });
        };
        let scan = self.database.scan(folder.id, &self.marks, &mut progress, &|| interrupt.pressed())?;
        report.scan(&folder.path, &scan)?;
        if scan.is_stopped { Err(CommandError::Cancelled) } else { Ok(()) }
    }

    fn search(&self, query: &str, order: Order, limit: Option<usize>, report: &mut GalleryReport<'_>) -> Result<Exit, CommandError> {
        let mut ids = self.database.search(&Query::parse(query), order)?;
        ids.truncate(limit.unwrap_or(usize::MAX));
        self.print(&ids, report)
    }

    fn print(&self, ids: &[PictureId], report: &mut GalleryReport<'_>) -> Result<Exit, CommandError> {
        for page in ids.chunks(PAGE) {
            for picture in self.database.pictures(page)? {
                report.picture(&picture)?;
            }
        }
        Ok(Exit::Done)
    }

    /// The pictures of files, in order.
    fn pictures(&self, files: &[PathBuf]) -> Result<Vec<PictureId>, CommandError> {
        let find = |file: &PathBuf| {
            let unknown = || {
                let folder = file.parent().filter(|it| !it.as_os_str().is_empty()).unwrap_or(Path::new("."));
                let (file, folder) = (file.display(), folder.display());
                CommandError::Usage(format!("{file} is not in the gallery; add its folder with: atelier gallery scan \"{folder}\""))
            };
            self.database.find_path(file)?.ok_or_else(unknown)
        };
        files.iter().map(find).collect()
    }

    fn export(files: &[PathBuf], output: &Path, name: &str, form: CopyForm, report: &mut GalleryReport<'_>) -> Result<Exit, CommandError> {
        let mut exit = Exit::Done;
        for file in files {
            match export_picture(file, output, name, form) {
                Ok(copy) => {
                    report.exported(file, &copy.path)?;
                    for loss in copy.losses {
                        report.warning(&format!("{}: {}.", copy.path.display(), loss.clause()))?;
                    }
                }
                Err(error) => {
                    exit = Exit::Failed;
                    report.warning(&error.to_string())?;
                }
            }
        }
        Ok(exit)
    }
}

fn export_format(format: Format, quality: Option<u8>) -> Result<ExportFormat, CommandError> {
    match (format, quality) {
        (Format::Jpeg, quality) => Ok(ExportFormat::Jpeg { quality: quality.unwrap_or(QUALITY) }),
        (Format::Png, None) => Ok(ExportFormat::Png),
        (Format::Webp, None) => Ok(ExportFormat::WebP),
        (Format::Png | Format::Webp, Some(_)) => Err(CommandError::Usage(
            "PNG and WebP are lossless, so --quality has no effect; remove --quality, or add --format jpeg.".to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests;
