//! Commands of the Models view. Their effect is in [`crate::gui::models::update`]; nothing here
//! changes anything.

use std::path::PathBuf;

use crate::gui::feature_command::FeatureCommand;
use crate::gui::models::filter::{Filter, Sort};
use crate::gui::models::state::State;
use crate::gui::shared::Shared;
use atelier_core::recipe::TensorType;
use atelier_downloads::Status;
use atelier_library::{Availability, ModelKind};
use atelier_studio::library_service::{DownloadsState, FileCheck, TokenState};

/// A command of the Models view.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Put the cursor into the search field.
    FocusSearch,
    /// The search text was edited.
    SetSearch(String),
    /// Show the models that pass this filter.
    SetFilter(Filter),
    /// Show the models of this kind alone.
    ShowKind(ModelKind),
    /// Show the models in this order.
    SetSort(Sort),
    /// Clear search and filter.
    ShowAll,
    /// Move the cursor by this many cards.
    MoveCursor(isize),
    /// The cards from the first index to before the second are on the screen.
    SetVisible(usize, usize),
    /// Show the details of this model.
    OpenDetails(String),
    CloseDetails,
    /// Choose the variant of a model that is downloaded.
    ChooseVariant(String, String),
    Download(String),
    /// Download this model, and make a picture with it once it is here.
    DownloadAndGenerate(String),
    /// Download the missing files of this model.
    DownloadMissing(String),
    /// Begin the large download that was asked about.
    ConfirmDownload,
    /// Close the question about a large download.
    CancelSize,
    /// Use files and settings of this model for the next picture.
    Use(String),
    Pause(String),
    /// Resume a paused download.
    Resume(String),
    /// Resume a failed download.
    Retry(String),
    /// Cancel a download and remove its partial files.
    Cancel(String),
    /// Move a download before another one, or to the end.
    MoveDownload(String, Option<String>),
    PauseAll,
    /// Resume every paused download.
    ResumeAll,
    /// Start the download queue, once another process has given it up.
    StartDownloads,
    /// Show a licence in the browser.
    OpenLicence(String),
    /// Accept the licence of the open prompt.
    AcceptLicence,
    /// Close the licence prompt.
    DeclineLicence,
    /// Ask for confirmation to delete this model.
    Delete(String),
    /// Delete the model of the open confirmation.
    ConfirmDelete,
    CancelDelete,
    /// Ask which smaller copy of this model to make.
    CopyModel(String),
    /// Type of the weights of the copy.
    ChooseCopyType(TensorType),
    /// Make the copy of the open dialog.
    ConfirmCopy,
    CancelCopy,
    /// Stop the copy that is being made.
    StopCopy,
    /// Compare every byte of this model with its published sums.
    CheckFiles(String),
    /// Stop the check of this model.
    StopCheck(String),
    /// Show this folder in the file manager.
    OpenFolder(PathBuf),
    /// Copy a trigger word.
    CopyTriggerWord(String),
    /// The text of the Add field was edited.
    EditAddText(String),
    /// Add the text of the Add field: a link, file or folder.
    Add,
    /// Add files, folders and links that were dropped or pasted.
    AddPaths(Vec<PathBuf>),
    /// Show the dialog for a folder to use in place.
    ChooseFolder,
    /// Stop using this folder.
    ForgetFolder(PathBuf),
    /// Show the dialog for the folder of downloaded models.
    ChooseModelsRoot,
    /// Download models into the default folder again.
    UseDefaultModelsRoot,
    /// Number of files downloaded at the same time.
    SetParallelFiles(usize),
    /// Scan all folders again.
    Rescan,
    /// The text of the token field was edited.
    EditTokenText(String),
    /// Save the token of the token field.
    SaveToken,
    /// Delete the saved token.
    DeleteToken,
    /// Put the cursor into the token field.
    FocusToken,
    /// Search Hugging Face for the search text.
    SearchHub,
    /// List the model files of a repository.
    OpenRepository(String),
    /// Go back from a repository to the search results.
    CloseRepository,
    /// Download the file of this index in the open repository.
    DownloadHubFile(usize),
    /// Go back to the library.
    CloseHub,
}

impl FeatureCommand for Command {
    type State = State;

    const OFFERED: &'static [Self] = &[
        Self::FocusSearch,
        Self::ShowAll,
        Self::PauseAll,
        Self::ResumeAll,
        Self::StartDownloads,
        Self::ChooseFolder,
        Self::ChooseModelsRoot,
        Self::UseDefaultModelsRoot,
        Self::Rescan,
        Self::StopCopy,
    ];

    fn words(&self) -> (&'static str, &'static str) {
        match self {
            Self::FocusSearch => ("Search models", "Move the cursor to the search field."),
            Self::SetSearch(_) => ("Search", "Search models by name, family, licence or file."),
            Self::SetFilter(_) => ("Filter", "Filter the models."),
            Self::ShowKind(_) => ("Show this kind", "Show only models of this kind."),
            Self::SetSort(_) => ("Sort", "Order of the models."),
            Self::ShowAll => ("Show all", "Clear search and filters."),
            Self::MoveCursor(_) => ("Move the cursor", "Move to another card with the arrow keys."),
            Self::SetVisible(..) => ("See", "Check whether the visible models fit."),
            Self::OpenDetails(_) => ("Details", "Show files, sizes, settings and actions of this model."),
            Self::CloseDetails => ("Close details", "Close the details."),
            Self::ChooseVariant(..) => ("Choose this size", "The same model in another size."),
            Self::Download(_) => ("Download", "Download this model. Interrupted downloads resume."),
            Self::DownloadAndGenerate(_) => {
                ("Download and generate", "Download this model, then generate your picture. The job waits in the queue.")
            }
            Self::DownloadMissing(_) => ("Get what is missing", "Download the missing files of this model."),
            Self::ConfirmDownload => ("Start the download", "Download it. The download can be paused, and resumes after an interruption."),
            Self::CancelSize => ("Not now", "Download nothing."),
            Self::Use(_) => ("Use", "Use this model with its recommended settings, and go to Create. Your prompt is kept."),
            Self::Pause(_) => ("Pause", "Pause this download. Downloaded data is kept."),
            Self::Resume(_) => ("Resume", "Resume this download."),
            Self::Retry(_) => ("Try again", "Try this download again. Downloaded data is kept."),
            Self::Cancel(_) => ("Cancel download", "Cancel this download and delete its data."),
            Self::MoveDownload(..) => ("Move in the queue", "Drag to another place in the queue, or press the up and down keys."),
            Self::PauseAll => ("Pause all", "Pause all downloads. Downloaded data is kept."),
            Self::ResumeAll => ("Resume all", "Resume all downloads."),
            Self::StartDownloads => ("Try again", "Try to start the downloads again."),
            Self::OpenLicence(_) => ("Read the licence", "Open the page with the licence in your browser."),
            Self::AcceptLicence => ("Accept", "Accept the licence. Atelier does not ask again."),
            Self::DeclineLicence => ("Not now", "Cancel. The model is not downloaded."),
            Self::Delete(_) => ("Delete…", "Move the downloaded files of this model to the trash. A list is shown first."),
            Self::ConfirmDelete => ("Move to trash", "Move these files to your system's trash. Empty the trash to free the space."),
            Self::CancelDelete => ("Keep it", "Change nothing."),
            Self::CopyModel(_) => (
                "Make a smaller copy…",
                "Convert the weights of this model to a smaller type, in a file of its own. Its size is shown first; the model is not changed.",
            ),
            Self::ChooseCopyType(_) => ("Choose this type", "The type of the weights in the copy."),
            Self::ConfirmCopy => ("Make the copy", "Write the copy beside the model. It takes minutes, and can be stopped."),
            Self::CancelCopy => ("Not now", "Change nothing."),
            Self::StopCopy => ("Stop copying", "Stop, and leave nothing of the copy."),
            Self::CheckFiles(_) => ("Verify checksums", "Verify the checksums of all files of this model. Takes a while."),
            Self::StopCheck(_) => ("Stop verifying", "Stop verifying. Nothing is changed."),
            Self::OpenFolder(_) => ("Open folder", "Show the folder of this model in your file manager."),
            Self::CopyTriggerWord(_) => ("Copy", "Copy these trigger words."),
            Self::EditAddText(_) => ("Add a model", "A Hugging Face page or file, a direct link, or a path on this machine."),
            Self::Add => ("Add", "Add: a link is downloaded, a folder is used in place."),
            Self::AddPaths(_) => ("Add", "A link is downloaded; a folder is used in place and never changed."),
            Self::ChooseFolder => (
                "Add a folder…",
                "Use the models of a folder in place, such as those of ComfyUI or A1111. Atelier never changes anything in it.",
            ),
            Self::ForgetFolder(_) => ("Stop using this folder", "Remove this folder from the library. Its files are not changed."),
            Self::ChooseModelsRoot => ("Change…", "Choose another folder for downloaded models. Existing downloads are not moved."),
            Self::UseDefaultModelsRoot => ("Use the default folder", "Download to the default folder again."),
            Self::SetParallelFiles(_) => ("Parallel downloads", "Number of parallel downloads, 1 to 8."),
            Self::Rescan => ("Look again", "Scan all folders again. Changes are usually noticed automatically."),
            Self::EditTokenText(_) => {
                ("Token", "Access token of your Hugging Face account. It is stored in the system's keyring if available, and never shown.")
            }
            Self::SaveToken => ("Keep", "Save this token. It is sent to Hugging Face only."),
            Self::DeleteToken => ("Forget the token", "Remove the token from this machine."),
            Self::FocusToken => ("Paste a token", "Go to the field for a Hugging Face token."),
            Self::SearchHub => ("Search Hugging Face", "Search Hugging Face. The words are sent to its server."),
            Self::OpenRepository(_) => ("Show files", "See the model files of this repository."),
            Self::CloseRepository => ("Back to the search", "Go back to the search results."),
            Self::DownloadHubFile(_) => ("Download", "Download this file to your models folder."),
            Self::CloseHub => ("Back to the library", "Go back to your models and the catalogue."),
        }
    }

    fn enabled(&self, state: &State, shared: &Shared) -> Result<(), &'static str> {
        let require = |holds: bool, otherwise: &'static str| holds.then_some(()).ok_or(otherwise);
        let card = |id: &String| state.card(id).ok_or("This model no longer exists.");
        let download = |id: &String| state.queue.iter().find(|it| it.id == *id).ok_or("This download has ended.");
        match self {
            Self::ShowAll => require(!state.shows_all(), "Everything is shown."),
            Self::CloseDetails => require(state.is_open, "Nothing is open."),
            Self::OpenDetails(id) => card(id).map(drop),
            Self::Download(id) => {
                let card = card(id)?;
                downloads_ready(state)?;
                let variant = state.variant(card);
                let wanted = variant.map_or(&card.id, |it| &it.id);
                require(!state.queue.iter().any(|it| it.id == *wanted), "Already in the queue.")?;
                require(!variant.is_some_and(|it| it.on_disk), "Already on this disk.")
            }
            Self::DownloadAndGenerate(id) => {
                Self::Download(id.clone()).enabled(state, shared)?;
                require(!shared.next.recipe.prompt.trim().is_empty(), "Write a prompt in the Create view first.")
            }
            Self::DownloadMissing(id) => {
                let card = card(id)?;
                require(card.can_be_completed(), "No download source is known for these files. Add a folder that contains them.")?;
                downloads_ready(state)?;
                require(state.download_of(card).is_none(), "Already in the queue.")
            }
            Self::Use(id) => match (card(id)?.kind, card(id)?.availability) {
                (ModelKind::Upscaler, _) => Err("Upscalers do not generate pictures: choose Upscale 2× on a finished picture."),
                (ModelKind::Cutout, _) => Err("Cut-out models work on the canvas: choose Cut out the background there."),
                (ModelKind::Detector, _) => Err("Detectors work on the canvas: choose Find faces and hands there."),
                (ModelKind::Part, _) => Err("Not a full model: other models use it."),
                (_, Availability::Catalogue) => Err("Download it first."),
                (_, Availability::Listed) => Err("Cannot be used here; see the details."),
                (_, Availability::Incomplete) => Err("Get what is missing first."),
                (_, Availability::Damaged) => Err("A file is damaged. Download it again first."),
                (_, Availability::BuiltIn | Availability::OnDisk | Availability::InPlace) => Ok(()),
            },
            Self::Pause(id) => require(is_open(&download(id)?.status), "Already paused."),
            Self::Resume(id) => require(matches!(download(id)?.status, Status::Paused(_)), "Not paused."),
            Self::Retry(id) => require(matches!(download(id)?.status, Status::Failed(_)), "Has not failed."),
            Self::Cancel(id) | Self::MoveDownload(id, _) => download(id).map(drop),
            Self::PauseAll => require(state.queue.iter().any(|it| is_open(&it.status)), "Nothing is downloading."),
            Self::ResumeAll => require(state.queue.iter().any(|it| matches!(it.status, Status::Paused(_))), "Nothing is paused."),
            Self::AcceptLicence | Self::DeclineLicence => require(state.licence_prompt.is_some(), "There is no question."),
            Self::ConfirmDownload | Self::CancelSize => require(state.size_prompt.is_some(), "There is no question."),
            Self::ConfirmDelete | Self::CancelDelete => require(state.removal.is_some(), "There is no question."),
            Self::Delete(id) => require(card(id)?.downloaded, "Atelier deletes only models that it downloaded."),
            Self::CopyModel(id) => {
                require(card(id)?.copied_file().is_some(), "Only models and text encoders on this machine can be copied.")?;
                require(state.running_copy.is_none(), "Another copy is being made.")
            }
            Self::ConfirmCopy => {
                let dialog = state.copy_dialog.as_ref().ok_or("There is no question.")?;
                require(
                    dialog.sizes.as_ref().is_some_and(|it| it.as_ref().is_ok_and(|it| !it.copies.is_empty())),
                    "There is nothing to copy.",
                )
            }
            Self::CancelCopy => require(state.copy_dialog.is_some(), "There is no question."),
            Self::StopCopy => require(state.running_copy.is_some(), "No copy is being made."),
            Self::CheckFiles(id) => {
                require(card(id)?.downloaded, "Checksums are known only for models that Atelier downloaded.")?;
                require(!matches!(state.checks.get(id), Some(FileCheck::Running { .. })), "Already verifying.")
            }
            Self::Add => require(!state.add_text.trim().is_empty(), "Paste a link or a path first."),
            Self::ChooseFolder => require(!shared.dialog_open, "A file dialog is already open."),
            Self::ChooseModelsRoot => {
                require(!shared.dialog_open, "A file dialog is already open.")?;
                require(state.queue.is_empty(), "Finish or cancel the downloads first.")
            }
            Self::UseDefaultModelsRoot => {
                require(state.queue.is_empty(), "Finish or cancel the downloads first.")?;
                require(!state.library.settings.is_default_root, "Already the default folder.")
            }
            Self::SaveToken => require(!state.token_text.trim().is_empty(), "Paste a token first."),
            Self::DeleteToken => require(state.library.settings.token == TokenState::Saved, "There is no saved token."),
            Self::SearchHub => {
                downloads_ready(state)?;
                require(!state.search.trim().is_empty(), "Type a search first.")
            }
            Self::DownloadHubFile(_) => downloads_ready(state),
            Self::FocusSearch
            | Self::SetSearch(_)
            | Self::SetFilter(_)
            | Self::ShowKind(_)
            | Self::SetSort(_)
            | Self::MoveCursor(_)
            | Self::SetVisible(..)
            | Self::ChooseVariant(..)
            | Self::StartDownloads
            | Self::OpenLicence(_)
            | Self::StopCheck(_)
            | Self::ChooseCopyType(_)
            | Self::OpenFolder(_)
            | Self::CopyTriggerWord(_)
            | Self::EditAddText(_)
            | Self::AddPaths(_)
            | Self::ForgetFolder(_)
            | Self::SetParallelFiles(_)
            | Self::Rescan
            | Self::EditTokenText(_)
            | Self::FocusToken
            | Self::OpenRepository(_)
            | Self::CloseRepository
            | Self::CloseHub => Ok(()),
        }
    }
}

/// True for downloads that run or will run.
const fn is_open(status: &Status) -> bool {
    matches!(status, Status::Waiting | Status::Running)
}

fn downloads_ready(state: &State) -> Result<(), &'static str> {
    match state.downloads {
        DownloadsState::Ready => Ok(()),
        DownloadsState::Starting => Err("The downloads are starting."),
        DownloadsState::Refused(_) => Err("Downloads are unavailable; see Downloads for the reason."),
    }
}
