//! Tasks of the window's threads: files, dialogs, pixels. The threads themselves are in [`crate::gui::workers`].
//!
//! Tasks are answered by reports. Nothing here knows the state or draws.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use eframe::egui::ColorImage;

use crate::gui::canvas::tasks::{CanvasExport, CanvasFileTask, CanvasPixelTask, CanvasReport};
use crate::gui::create::larger::Enlargement;
use crate::gui::create::session::SessionPictureId;
use crate::gui::identify::{FileKind, identify};
use crate::gui::pixels;
use crate::gui::saver::SaveAttempt;
use crate::settings::{self, Settings};
use atelier_core::advice::Advice;
use atelier_core::canvas::PixelRect;
use atelier_core::device::Device;
use atelier_core::paths::{self, Paths};
use atelier_core::picture_note::PictureNote;
use atelier_core::reading::{LeftOut, ReadingMarks};
use atelier_core::recipe::{FileRole, ImageSource, PictureInfo, RecallPart, Recipe, Rgb8};
use atelier_engine::{JobId, Picture, Preview, RemoteError, RemoteReport, ServerAddress};
use atelier_gallery::PictureId;
use atelier_media::canvas_file::CANVAS_ENDING;
use atelier_media::{PICTURE_ENDINGS, PictureError, Tool, picture_files};
use atelier_studio::crash_report::{LastCrash, Watch};
use atelier_studio::library_service::LibrarySnapshot;
use atelier_studio::opened_picture::{KnownModels, OpenedPicture, read_opened_picture};
use atelier_studio::picture_index::PictureIndex;
use atelier_studio::presets::{PresetOutcome, PresetTask, Presets, read_presets};
use atelier_studio::results::Destination;
use atelier_studio::updates::{Release, UpdateError};
use atelier_studio::{installed, preloading, results};

/// Longest side of a preview for the screen, in pixels.
const PREVIEW_SIDE_PX: usize = 2048;
/// A dialog that closes faster than this was never seen: no person is so quick.
const NEVER_SEEN: Duration = Duration::from_millis(150);

/// What is made of a finished picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Remake {
    Enlarge(Enlargement),
    /// The picture of which it is a draft.
    FinishDraft,
}

/// Task of the disk thread.
#[derive(Debug)]
pub enum FileTask {
    Identify(Vec<PathBuf>),
    /// Read files that came from outside.
    Open {
        paths: Vec<PathBuf>,
        /// Model files of this machine, among which a picture's recipe finds its own.
        known: Vec<PathBuf>,
        /// The library, among whose models a picture of another program finds its own.
        library: Arc<LibrarySnapshot>,
        /// The person is asked about every picture.
        dropped: bool,
    },
    /// Read the recipes of pictures of earlier sessions.
    ReadKept {
        /// Their numbers in the gallery, and their files.
        pictures: Vec<(PictureId, PathBuf)>,
        /// Model files of this machine, among which a picture's recipe finds its own.
        known: Vec<PathBuf>,
        library: Arc<LibrarySnapshot>,
    },
    /// Read the settings of a picture of which a part is taken over.
    Recall {
        path: PathBuf,
        /// Model files of this machine, among which its recipe finds its own.
        known: Vec<PathBuf>,
        /// The library, among whose models a picture of another program finds its own.
        library: Arc<LibrarySnapshot>,
        part: RecallPart,
    },
    /// Read the settings of pictures of which others are made.
    ReadRecipes {
        files: Vec<PathBuf>,
        /// Model files of this machine, among which their recipes find their own.
        known: Vec<PathBuf>,
        /// The library, among whose models a picture of another program finds its own.
        library: Arc<LibrarySnapshot>,
        /// What is made of them.
        remake: Remake,
    },
    /// Do this with the presets of this folder.
    Presets(PathBuf, PresetTask),
    /// Find out which of these files are missing.
    Check(Vec<PathBuf>),
    /// List the pictures of a person in this folder.
    ListPerson(PathBuf),
    /// Write a picture where the person wants it.
    SaveAs {
        /// The file to write.
        target: PathBuf,
        /// Its file, which is copied with all its metadata; `None` writes a new one.
        kept: Option<PathBuf>,
        /// Its recipe, for a picture without a file.
        recipe: Box<Recipe>,
        /// What a person should know of it, for a picture without a file.
        notes: Vec<PictureNote>,
        /// Its pixels, for a picture without a file.
        pixels: Option<Arc<Rgb8>>,
    },
    /// Keep a picture of the session that no job of the queue made.
    Keep {
        id: SessionPictureId,
        /// Where it is written.
        destination: Destination,
        picture: Box<Picture>,
        /// The person's folders; without any it is in no index.
        paths: Option<Paths>,
    },
    /// Read a picture of the session back.
    Load(SessionPictureId, PathBuf),
    /// Read a picture for the clipboard.
    Copy(PathBuf),
    /// Read a thumbnail of a picture file.
    Thumbnail(PathBuf),
    /// Show a folder in the system's file manager, with this file marked where there is one.
    OpenFolder(PathBuf, Option<PathBuf>),
    /// Open a file with the system's program for it.
    OpenFile(PathBuf),
    /// Look for the page of licences that comes with the program.
    FindLicences,
    /// Look whether the last window crashed, and watch this one.
    BeginWatch(Watch),
    /// Keep the engine's devices for a crash report.
    NoteDevices(Watch, Vec<Device>),
    SaveSettings(PathBuf, SaveAttempt, Box<Settings>),
    /// Look for the crash marker, and delete it.
    CheckCrashMarker(PathBuf),
    /// Write the crash marker.
    WriteCrashMarker(PathBuf),
    /// Delete the crash marker.
    DeleteCrashMarker(PathBuf),
    /// Work of the canvas with files.
    Canvas(CanvasFileTask),
}

/// Task of the pixel thread.
#[derive(Debug)]
pub enum PixelTask {
    /// Convert a finished picture for the screen.
    Picture {
        id: SessionPictureId,
        pixels: Arc<Rgb8>,
        /// Longest side that the graphics card takes, in pixels.
        max_side_px: usize,
        /// Also convert the thumbnail of the filmstrip.
        thumbnail: bool,
        /// For the clipboard instead of the screen.
        copy: bool,
    },
    /// Convert a preview for the screen.
    Preview(JobId, Preview),
    /// Convert the preview of a step of a finished picture for the screen.
    StepPreview {
        id: SessionPictureId,
        /// The step, from 1.
        step: u32,
        pixels: Arc<Rgb8>,
    },
    /// Convert a picture of the clipboard.
    Pasted(Arc<ColorImage>),
    /// Work of the canvas with pixels.
    Canvas(CanvasPixelTask),
    /// Convert a picture of the gallery for the screen.
    Large {
        id: PictureId,
        pixels: Arc<Rgb8>,
        /// Longest side that the graphics card takes, in pixels.
        max_side_px: usize,
    },
    /// Convert the difference of two pictures for the screen.
    Difference {
        ids: (PictureId, PictureId),
        /// Pixels of the first, whose size the difference has.
        pixels: Arc<Rgb8>,
        /// Pixels of the second.
        other: Arc<Rgb8>,
        /// Longest side that the graphics card takes, in pixels.
        max_side_px: usize,
    },
}

/// A preview for the screen.
#[derive(Debug)]
pub struct ScreenPreview {
    /// Index of the picture in the batch.
    pub picture: u32,
    /// The part of the picture that it shows; `None`: the whole.
    pub place: Option<PixelRect>,
    /// Its pixels.
    pub image: ColorImage,
}

impl ScreenPreview {
    pub(crate) fn of(preview: &Preview) -> Self {
        Self { picture: preview.picture, place: preview.place, image: pixels::to_screen(&preview.image, PREVIEW_SIDE_PX) }
    }
}

/// Reports of the threads.
#[derive(Debug)]
pub enum Report {
    /// Kinds of these files.
    Identified(Vec<(PathBuf, FileKind)>),
    /// Files that came from outside.
    Opened {
        /// The files, in order.
        files: Vec<(PathBuf, Opened)>,
        /// The person is asked about every picture.
        dropped: bool,
    },
    /// Picture of the clipboard.
    Pasted(Rgb8),
    /// Pictures of earlier sessions, in order; those that Atelier did not make are left out.
    KeptRead(Vec<(PictureId, PathBuf, OpenedPicture)>),
    /// Settings of a picture of which this part is taken over; `None` where it has none.
    Recalled(RecallPart, Option<Box<OpenedPicture>>),
    /// Pictures of which others are made, with their recipes as far as their files tell them.
    RecipesRead(Remake, Vec<(PathBuf, Recipe)>),
    /// The presets, and what was done with them.
    Presets(Presets, PresetOutcome),
    /// Of the files asked about, those that are not there.
    Missing(Vec<PathBuf>),
    /// The picture was written where the person wanted it.
    Saved(Result<PathBuf, FileError>),
    /// The picture was kept, or could not be.
    Kept(SessionPictureId, Result<PathBuf, Advice>),
    /// The picture was read back.
    Loaded(SessionPictureId, Result<Arc<Rgb8>, FileError>),
    /// Thumbnail of a picture file.
    Thumbnail(PathBuf, Result<ColorImage, FileError>),
    /// The pictures of a person in this folder, or why it cannot be read.
    PersonListed(PathBuf, Result<Vec<PathBuf>, String>),
    /// The folder could not be shown.
    FolderNotOpened(FileError),
    /// The page of licences that comes with the program.
    Licences(PathBuf),
    /// Result of the look for a new version.
    UpdatesChecked {
        /// The newest version that is published.
        result: Result<Release, UpdateError>,
        /// The person asked for it.
        on_demand: bool,
    },
    /// The last window crashed.
    Crashed(LastCrash),
    /// The settings were written, or not.
    SettingsSaved(SaveAttempt, Result<(), String>),
    /// True if the crash marker existed; it is deleted.
    CrashMarkerChecked(bool),
    /// The crash marker is written, or cannot be.
    CrashMarkerWritten,
    /// Finished picture, converted for the screen.
    Picture {
        id: SessionPictureId,
        /// The picture, at most as large as the graphics card takes.
        full: ColorImage,
        /// Thumbnail of the filmstrip, if requested.
        thumbnail: Option<ColorImage>,
    },
    /// Finished picture, converted for the clipboard.
    ClipboardPicture(ColorImage),
    /// The picture could not be read for the clipboard.
    ClipboardFailed(FileError),
    /// Preview, converted for the screen.
    Preview(JobId, ScreenPreview),
    /// Preview of a step of a finished picture, converted for the screen.
    StepPreview(SessionPictureId, u32, ColorImage),
    /// Picture of the gallery, converted for the screen.
    Large(PictureId, Arc<Rgb8>, ColorImage),
    /// Difference of two pictures of the gallery, converted for the screen.
    Difference((PictureId, PictureId), ColorImage),
    /// Something of the canvas.
    Canvas(CanvasReport),
    /// A file dialog was closed.
    DialogClosed(DialogKind, DialogResult),
    /// Result of the test of a server.
    ServerTested(ServerAddress, Result<RemoteReport, RemoteError>),
}

/// A file that came from outside.
#[derive(Clone, Debug, PartialEq)]
pub enum Opened {
    /// A picture, with its settings where it has some.
    Picture(Option<Box<OpenedPicture>>),
    /// Anything else.
    Other(FileKind),
}

/// A guide that is a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GuideKind {
    /// The picture to start from.
    Start,
    Mask,
    Reference,
    /// The picture for the ControlNet.
    Control,
    /// Pictures of a person.
    Person,
}

/// Purpose of a file dialog.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DialogKind {
    /// Model files of any role.
    Any,
    /// A model file for this role.
    Role(FileRole),
    /// A guide of the next picture.
    Guide(GuideKind),
    /// A LoRA.
    Lora,
    Embedding,
    /// A1111's list of styles.
    Styles,
    /// Target file of this picture.
    SaveAs(SessionPictureId),
    /// A canvas to open.
    OpenCanvas,
    /// Target file of the canvas.
    SaveCanvas,
    /// Target of an export of the canvas.
    ExportCanvas(CanvasExport),
    /// A folder of models that is used in place.
    ModelsFolder,
    /// The folder of downloaded models.
    ModelsRoot,
    /// A folder whose pictures the gallery shows.
    PicturesFolder,
    /// The folder of exported pictures.
    ExportFolder,
}

/// Result of a file dialog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DialogResult {
    /// These files were chosen.
    Paths(Vec<PathBuf>),
    /// It was cancelled.
    Cancelled,
    /// It never opened: the system has no file dialog.
    NoDialog,
}

/// A file could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It could not be written.
    #[error("{path} could not be written: {source}", path = path.display())]
    Write {
        /// The file or folder.
        path: PathBuf,
        source: io::Error,
    },
    /// It is a picture file, and could not be read or written.
    #[error(transparent)]
    Picture(#[from] PictureError),
    /// It ended the program.
    #[error(transparent)]
    LeftOut(#[from] LeftOut),
    /// The system could not show it.
    #[error("{path} could not be opened: {reason}", path = path.display())]
    Open { path: PathBuf, reason: String },
}

pub(crate) fn pixel_task(task: PixelTask) -> Option<Report> {
    Some(match task {
        PixelTask::Picture { pixels, copy: true, .. } => Report::ClipboardPicture(pixels::to_screen(&pixels, usize::MAX)),
        PixelTask::Picture { id, pixels, max_side_px, thumbnail, copy: false } => {
            Report::Picture { id, full: pixels::to_screen(&pixels, max_side_px), thumbnail: thumbnail.then(|| pixels::thumbnail(&pixels)) }
        }
        PixelTask::Canvas(task) => Report::Canvas(task.run()),
        PixelTask::Pasted(image) => Report::Pasted(pixels::from_screen(&image)?),
        PixelTask::Large { id, pixels, max_side_px } => {
            let image = pixels::to_screen(&pixels, max_side_px);
            Report::Large(id, pixels, image)
        }
        PixelTask::Difference { ids, pixels, other, max_side_px } => {
            Report::Difference(ids, pixels::difference(&pixels, &other, max_side_px))
        }
        PixelTask::StepPreview { id, step, pixels } => Report::StepPreview(id, step, pixels::to_screen(&pixels, PREVIEW_SIDE_PX)),
        PixelTask::Preview(job, preview) => Report::Preview(job, ScreenPreview::of(&preview)),
    })
}

/// Does a task of the disk thread. `marks` name what is read unasked.
pub(crate) fn file_task(task: FileTask, marks: Option<&ReadingMarks>) -> Option<Report> {
    match task {
        FileTask::Identify(paths) => {
            let identified = paths.into_iter().map(|path| {
                let what = identify(&path);
                (path, what)
            });
            Some(Report::Identified(identified.collect()))
        }
        FileTask::Open { paths, known, library, dropped } => {
            let known = KnownModels { files: &known, cards: &library.cards };
            let opened = paths.into_iter().map(|path| {
                let what = match identify(&path) {
                    FileKind::Picture => Opened::Picture(read_opened_picture(&path, &known).map(Box::new)),
                    other => Opened::Other(other),
                };
                (path, what)
            });
            Some(Report::Opened { files: opened.collect(), dropped })
        }
        FileTask::ReadKept { pictures, known, library } => {
            let known = KnownModels { files: &known, cards: &library.cards };
            let read = pictures.into_iter().filter_map(|(id, path)| {
                let picture = read_opened_picture(&path, &known).filter(|picture| picture.tool == Tool::Atelier)?;
                Some((id, path, picture))
            });
            Some(Report::KeptRead(read.collect()))
        }
        FileTask::Recall { path, known, library, part } => {
            let known = KnownModels { files: &known, cards: &library.cards };
            Some(Report::Recalled(part, read_opened_picture(&path, &known).map(Box::new)))
        }
        FileTask::ReadRecipes { files, known, library, remake } => {
            let known = KnownModels { files: &known, cards: &library.cards };
            let recipe = |path: &Path| read_opened_picture(path, &known).map(|picture| picture.recipe()).unwrap_or_default();
            Some(Report::RecipesRead(remake, files.into_iter().map(|path| (path.clone(), recipe(&path))).collect()))
        }
        FileTask::Presets(folder, task) => {
            let outcome = task.run(&folder, atelier_library::to_trash);
            Some(Report::Presets(read_presets(&folder), outcome))
        }
        FileTask::Check(paths) => Some(Report::Missing(paths.into_iter().filter(|path| !path.is_file()).collect())),
        FileTask::ListPerson(folder) => {
            let files = picture_files(&folder).map_err(|error| error.to_string());
            Some(Report::PersonListed(folder, files))
        }
        FileTask::SaveAs { target, kept, recipe, notes, pixels } => {
            Some(Report::Saved(save_as(&target, kept.as_deref(), &recipe, &notes, pixels.as_deref())))
        }
        FileTask::Keep { id, destination, picture, paths } => Some(Report::Kept(id, keep(&destination, &picture, paths))),
        FileTask::Load(id, path) => Some(Report::Loaded(id, read_picture(&path).map(Arc::new))),
        FileTask::Copy(path) => Some(match read_picture(&path) {
            Ok(pixels) => Report::ClipboardPicture(pixels::to_screen(&pixels, usize::MAX)),
            Err(error) => Report::ClipboardFailed(error),
        }),
        FileTask::Thumbnail(path) => {
            let read = || read_picture(&path).map(|pixels| pixels::thumbnail(&pixels));
            let look = marks.map_or_else(|| Ok(read()), |marks| marks.read(&path, read)).unwrap_or_else(|left_out| Err(left_out.into()));
            Some(Report::Thumbnail(path, look))
        }
        FileTask::OpenFolder(folder, file) => open_folder(&folder, file.as_deref()).err().map(Report::FolderNotOpened),
        FileTask::OpenFile(path) => open_file(&path).err().map(Report::FolderNotOpened),
        FileTask::FindLicences => installed::find_licences().map(Report::Licences),
        FileTask::BeginWatch(watch) => watch.begin().map(Report::Crashed),
        FileTask::NoteDevices(watch, devices) => {
            watch.set_devices(&devices);
            None
        }
        FileTask::CheckCrashMarker(path) => Some(Report::CrashMarkerChecked(preloading::take_crash_marker(&path))),
        FileTask::WriteCrashMarker(path) => {
            preloading::write_crash_marker(&path);
            Some(Report::CrashMarkerWritten)
        }
        FileTask::Canvas(task) => task.run().map(Report::Canvas),
        FileTask::DeleteCrashMarker(path) => {
            preloading::delete_crash_marker(&path);
            None
        }
        FileTask::SaveSettings(path, attempt, settings) => {
            let saved = settings::save(&path, &settings).map_err(|error| error.to_string());
            Some(Report::SettingsSaved(attempt, saved.inspect_err(|sentence| tracing::warn!("{sentence}"))))
        }
    }
}

pub(crate) fn show_dialog(kind: DialogKind, file_name: &str) -> DialogResult {
    const MODELS: [&str; 6] = ["safetensors", "gguf", "ckpt", "pth", "pt", "bin"];
    let opened = Instant::now();
    let dialog = rfd::FileDialog::new();
    let one = |path: Option<PathBuf>| path.map(|path| vec![path]);
    let paths = match kind {
        DialogKind::Any => {
            dialog.set_title("Add model files").add_filter("Model files", &MODELS).add_filter("All files", &["*"]).pick_files()
        }
        DialogKind::Role(role) => one(dialog
            .set_title(format!("Choose a file: {}", role.label()))
            .add_filter("Model files", &MODELS)
            .add_filter("All files", &["*"])
            .pick_file()),
        DialogKind::Styles => one(dialog.set_title("Choose A1111's styles.csv").add_filter("Lists of styles", &["csv"]).pick_file()),
        DialogKind::Lora => one(dialog.set_title("Choose a LoRA").add_filter("Model files", &MODELS).pick_file()),
        DialogKind::Embedding => one(dialog.set_title("Choose an embedding").add_filter("Model files", &MODELS).pick_file()),
        DialogKind::Guide(GuideKind::Start) => {
            one(dialog.set_title("Choose a start picture").add_filter("Pictures", &PICTURE_ENDINGS).pick_file())
        }
        DialogKind::Guide(GuideKind::Mask) => one(dialog.set_title("Choose a mask").add_filter("Pictures", &PICTURE_ENDINGS).pick_file()),
        DialogKind::Guide(GuideKind::Reference) => {
            dialog.set_title("Add reference pictures").add_filter("Pictures", &PICTURE_ENDINGS).pick_files()
        }
        DialogKind::Guide(GuideKind::Control) => {
            one(dialog.set_title("Choose a control picture").add_filter("Pictures", &PICTURE_ENDINGS).pick_file())
        }
        DialogKind::Guide(GuideKind::Person) => {
            dialog.set_title("Add pictures of the person").add_filter("Pictures", &PICTURE_ENDINGS).pick_files()
        }
        DialogKind::ModelsFolder => one(dialog.set_title("Use the models of a folder").pick_folder()),
        DialogKind::ModelsRoot => one(dialog.set_title("Choose the folder for downloaded models").pick_folder()),
        DialogKind::PicturesFolder => one(dialog.set_title("Show the pictures of a folder").pick_folder()),
        DialogKind::ExportFolder => one(dialog.set_title("Choose the folder for the copies").pick_folder()),
        DialogKind::OpenCanvas => one(dialog.set_title("Open a canvas").add_filter("Canvases", &[CANVAS_ENDING]).pick_file()),
        DialogKind::SaveCanvas => {
            one(dialog.set_title("Save canvas as").add_filter("Canvas", &[CANVAS_ENDING]).set_file_name(file_name).save_file())
        }
        DialogKind::ExportCanvas(CanvasExport::Layers) => one(dialog.set_title("Choose the folder for the layers").pick_folder()),
        DialogKind::ExportCanvas(CanvasExport::Png) => {
            one(dialog.set_title("Export as PNG").add_filter("PNG picture", &["png"]).set_file_name(file_name).save_file())
        }
        DialogKind::ExportCanvas(CanvasExport::OpenRaster) => {
            one(dialog.set_title("Export as OpenRaster").add_filter("OpenRaster", &["ora"]).set_file_name(file_name).save_file())
        }
        DialogKind::SaveAs(_) => {
            one(dialog.set_title("Save picture as").add_filter("PNG picture", &["png"]).set_file_name(file_name).save_file())
        }
    };
    match paths {
        Some(paths) => DialogResult::Paths(paths),
        None if opened.elapsed() < NEVER_SEEN => DialogResult::NoDialog,
        None => DialogResult::Cancelled,
    }
}

fn keep(destination: &Destination, picture: &Picture, paths: Option<Paths>) -> Result<PathBuf, Advice> {
    let hint = "The picture is still in memory: save it elsewhere with \"Save as\" before you close Atelier.";
    let path = destination.write(picture).map_err(|error| Advice::new(error.to_string(), hint))?;
    let folder = path.parent();
    if let Err(sentence) = PictureIndex::new(paths).add(&path, folder, None, None) {
        tracing::warn!("{sentence}");
    }
    Ok(path)
}

fn save_as(
    target: &Path,
    kept: Option<&Path>,
    recipe: &Recipe,
    notes: &[PictureNote],
    pixels: Option<&Rgb8>,
) -> Result<PathBuf, FileError> {
    // The file is a PNG, so its name ends so.
    let target = if target.extension().is_some_and(|it| it.eq_ignore_ascii_case("png")) {
        target.to_owned()
    } else {
        let mut name = target.as_os_str().to_owned();
        name.push(".png");
        PathBuf::from(name)
    };
    let failed = |source: io::Error| FileError::Write { path: target.clone(), source };
    match (kept.map(fs::read), pixels) {
        // The kept file knows most about itself.
        (Some(Ok(png)), _) => paths::write_atomic_bytes(&target, &png).map_err(failed)?,
        (_, Some(pixels)) => {
            let info = PictureInfo { index: 0, seed: recipe.seed, cpu_math: None };
            results::write_picture(&target, recipe, info, notes, pixels)?;
        }
        (Some(Err(error)), None) => return Err(failed(error)),
        (None, None) => return Err(failed(io::Error::other("the picture is no longer in memory"))),
    }
    Ok(target)
}

/// A path as a person pastes it: quoted, with spaces round it, or as a `file:` address.
pub(crate) fn parse_path(path: &Path) -> PathBuf {
    let Some(text) = path.to_str() else { return path.to_owned() };
    let text = text.trim().trim_matches(['"', '\'']);
    match text.strip_prefix("file://") {
        Some(address) => PathBuf::from(percent_encoding::percent_decode_str(address).decode_utf8_lossy().as_ref()),
        None => PathBuf::from(text),
    }
}

/// Reads a picture of any kind that Atelier knows.
///
/// # Errors
/// Fails if there is no such file, or if it is no picture.
pub fn read_picture(path: &Path) -> Result<Rgb8, FileError> {
    Ok(atelier_media::read_image(&ImageSource::File(path.to_owned()))?)
}

fn open_file(path: &Path) -> Result<(), FileError> {
    opener::open(path).map_err(|error| FileError::Open { path: path.to_owned(), reason: error.to_string() })
}

fn open_folder(folder: &Path, file: Option<&Path>) -> Result<(), FileError> {
    let failed = |reason: String| FileError::Open { path: folder.to_owned(), reason };
    fs::create_dir_all(folder).map_err(|error| failed(error.to_string()))?;
    match file.filter(|it| it.is_file()) {
        Some(file) => opener::reveal(file),
        None => opener::open(folder),
    }
    .map_err(|error| failed(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(side: u32) -> Rgb8 {
        let pixels = (0..side * side * 3).map(|n| (n % 251) as u8).collect();
        Rgb8::new(side, side, pixels).unwrap()
    }

    fn info() -> PictureInfo {
        PictureInfo { index: 0, seed: 42, cpu_math: None }
    }

    #[test]
    fn saving_as_keeps_what_the_picture_knows_and_names_it_a_png() {
        let folder = tempfile::tempdir().unwrap();
        let kept = results::store_picture(folder.path(), &Recipe::default(), info(), &[], &picture(8)).unwrap();
        let saved = save_as(&folder.path().join("mine.jpg"), Some(&kept), &Recipe::default(), &[], None).unwrap();
        assert_eq!(saved.file_name().unwrap(), "mine.jpg.png");
        assert_eq!(fs::read(&saved).unwrap(), fs::read(&kept).unwrap());
        let gone = folder.path().join("gone.png");
        let again = save_as(&folder.path().join("again.png"), Some(&gone), &Recipe::default(), &[], Some(&picture(8))).unwrap();
        assert_eq!(read_picture(&again).unwrap(), picture(8));
    }

    #[test]
    fn what_is_no_picture_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("broken.png");
        fs::write(&path, b"\x89PNG\r\n\x1a\nnot really").unwrap();
        assert!(matches!(read_picture(&path), Err(FileError::Picture(_))));
        assert!(matches!(read_picture(&folder.path().join("none.png")), Err(FileError::Picture(_))));
    }
}
