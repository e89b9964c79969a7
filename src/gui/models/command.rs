//! Commands of the Models view. Their effect is in [`crate::gui::models::update`]; nothing here
//! changes anything.

use std::path::PathBuf;

use crate::gui::feature_command::FeatureCommand;
use crate::gui::models::filter::{Filter, Sort};
use crate::gui::models::state::State;
use crate::gui::shared::Shared;
use atelier_core::recipe::TensorType;
use atelier_downloads::Status;
use atelier_language::tr;
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
            Self::FocusSearch => (tr!("models-search-models"), tr!("models-move-the-cursor-to")),
            Self::SetSearch(_) => (tr!("common-search"), tr!("models-search-models-by-name")),
            Self::SetFilter(_) => (tr!("models-filter"), tr!("models-filter-the-models")),
            Self::ShowKind(_) => (tr!("models-show-this-kind"), tr!("models-show-only-models-of")),
            Self::SetSort(_) => (tr!("models-sort"), tr!("models-order-of-the-models")),
            Self::ShowAll => (tr!("models-show-all"), tr!("models-clear-search-and-filters")),
            Self::MoveCursor(_) => (tr!("models-move-the-cursor"), tr!("models-move-to-another-card")),
            Self::SetVisible(..) => (tr!("models-see"), tr!("models-check-whether-the-visible")),
            Self::OpenDetails(_) => (tr!("models-details"), tr!("models-show-files-sizes-settings")),
            Self::CloseDetails => (tr!("models-close-details"), tr!("models-close-the-details")),
            Self::ChooseVariant(..) => (tr!("models-choose-this-size"), tr!("models-the-same-model-in")),
            Self::Download(_) => (tr!("models-download"), tr!("models-download-this-model-interrupted")),
            Self::DownloadAndGenerate(_) => (tr!("models-download-and-generate"), tr!("models-download-this-model-then")),
            Self::DownloadMissing(_) => (tr!("models-get-what-is-missing"), tr!("models-download-the-missing-files")),
            Self::ConfirmDownload => (tr!("models-start-the-download"), tr!("models-download-it-the-download")),
            Self::CancelSize => (tr!("common-not-now"), tr!("models-download-nothing")),
            Self::Use(_) => (tr!("models-use"), tr!("models-use-this-model-with")),
            Self::Pause(_) => (tr!("models-pause"), tr!("models-pause-this-download-downloaded")),
            Self::Resume(_) => (tr!("models-resume"), tr!("models-resume-this-download")),
            Self::Retry(_) => (tr!("common-try-again"), tr!("models-try-this-download-again")),
            Self::Cancel(_) => (tr!("models-cancel-download"), tr!("models-cancel-this-download-and")),
            Self::MoveDownload(..) => (tr!("models-move-in-the-queue"), tr!("models-drag-to-another-place")),
            Self::PauseAll => (tr!("models-pause-all"), tr!("models-pause-all-downloads-downloaded")),
            Self::ResumeAll => (tr!("models-resume-all"), tr!("models-resume-all-downloads")),
            Self::StartDownloads => (tr!("common-try-again"), tr!("models-try-to-start-the")),
            Self::OpenLicence(_) => (tr!("models-read-the-licence"), tr!("models-open-the-page-with")),
            Self::AcceptLicence => (tr!("common-accept"), tr!("models-accept-the-licence-atelier")),
            Self::DeclineLicence => (tr!("common-not-now"), tr!("models-cancel-the-model-is")),
            Self::Delete(_) => (tr!("models-delete"), tr!("models-move-the-downloaded-files")),
            Self::ConfirmDelete => (tr!("models-move-to-trash"), tr!("models-move-these-files-to")),
            Self::CancelDelete => (tr!("models-keep-it"), tr!("models-change-nothing")),
            Self::CopyModel(_) => (tr!("models-make-a-smaller-copy"), tr!("models-convert-the-weights-of")),
            Self::ChooseCopyType(_) => (tr!("models-choose-this-type"), tr!("models-the-type-of-the")),
            Self::ConfirmCopy => (tr!("models-make-the-copy"), tr!("models-write-the-copy-beside")),
            Self::CancelCopy => (tr!("common-not-now"), tr!("models-change-nothing")),
            Self::StopCopy => (tr!("models-stop-copying"), tr!("models-stop-and-leave-nothing")),
            Self::CheckFiles(_) => (tr!("models-verify-checksums"), tr!("models-verify-the-checksums-of")),
            Self::StopCheck(_) => (tr!("models-stop-verifying"), tr!("models-stop-verifying-nothing-is")),
            Self::OpenFolder(_) => (tr!("models-open-folder"), tr!("models-show-the-folder-of")),
            Self::CopyTriggerWord(_) => (tr!("common-copy"), tr!("models-copy-these-trigger-words")),
            Self::EditAddText(_) => (tr!("models-add-a-model"), tr!("models-a-hugging-face-page")),
            Self::Add => (tr!("common-add"), tr!("models-add-a-link-is")),
            Self::AddPaths(_) => (tr!("common-add"), tr!("models-a-link-is-downloaded")),
            Self::ChooseFolder => (tr!("models-add-a-folder"), tr!("models-use-the-models-of")),
            Self::ForgetFolder(_) => (tr!("models-stop-using-this-folder"), tr!("models-remove-this-folder-from")),
            Self::ChooseModelsRoot => (tr!("models-change"), tr!("models-choose-another-folder-for")),
            Self::UseDefaultModelsRoot => (tr!("models-use-the-default-folder"), tr!("models-download-to-the-default")),
            Self::SetParallelFiles(_) => (tr!("models-parallel-downloads"), tr!("models-number-of-parallel-downloads")),
            Self::Rescan => (tr!("models-look-again"), tr!("models-scan-all-folders-again")),
            Self::EditTokenText(_) => (tr!("models-token"), tr!("models-access-token-of-your")),
            Self::SaveToken => (tr!("models-save"), tr!("models-save-this-token-it")),
            Self::DeleteToken => (tr!("models-forget-the-token"), tr!("models-remove-the-token-from")),
            Self::FocusToken => (tr!("models-paste-a-token"), tr!("models-go-to-the-field")),
            Self::SearchHub => (tr!("models-search-hugging-face"), tr!("models-search-hugging-face-the")),
            Self::OpenRepository(_) => (tr!("models-show-files"), tr!("models-see-the-model-files")),
            Self::CloseRepository => (tr!("models-back-to-the-search"), tr!("models-go-back-to-the")),
            Self::DownloadHubFile(_) => (tr!("models-download"), tr!("models-download-this-file-to")),
            Self::CloseHub => (tr!("models-back-to-the-library"), tr!("models-go-back-to-your")),
        }
    }

    fn enabled(&self, state: &State, shared: &Shared) -> Result<(), &'static str> {
        let require = |holds: bool, otherwise: &'static str| holds.then_some(()).ok_or(otherwise);
        let card = |id: &String| state.card(id).ok_or(tr!("models-this-model-no-longer"));
        let download = |id: &String| state.queue.iter().find(|it| it.id == *id).ok_or(tr!("models-this-download-has-ended"));
        match self {
            Self::ShowAll => require(!state.shows_all(), tr!("models-everything-is-shown")),
            Self::CloseDetails => require(state.is_open, tr!("models-nothing-is-open")),
            Self::OpenDetails(id) => card(id).map(drop),
            Self::Download(id) => {
                let card = card(id)?;
                downloads_ready(state)?;
                let variant = state.variant(card);
                let wanted = variant.map_or(&card.id, |it| &it.id);
                require(!state.queue.iter().any(|it| it.id == *wanted), tr!("models-already-in-the-queue"))?;
                require(!variant.is_some_and(|it| it.on_disk), tr!("models-already-on-this-disk"))
            }
            Self::DownloadAndGenerate(id) => {
                Self::Download(id.clone()).enabled(state, shared)?;
                require(!shared.next.recipe.prompt.trim().is_empty(), tr!("models-write-a-prompt-in"))
            }
            Self::DownloadMissing(id) => {
                let card = card(id)?;
                require(card.can_be_completed(), tr!("models-no-download-source-is"))?;
                downloads_ready(state)?;
                require(state.download_of(card).is_none(), tr!("models-already-in-the-queue"))
            }
            Self::Use(id) => match (card(id)?.kind, card(id)?.availability) {
                (ModelKind::Upscaler, _) => Err(tr!("models-upscalers-do-not-generate")),
                (ModelKind::Cutout, _) => Err(tr!("models-cut-out-models-work")),
                (ModelKind::Detector, _) => Err(tr!("models-detectors-work-on-the")),
                (ModelKind::Part, _) => Err(tr!("models-not-a-full-model")),
                (_, Availability::Catalogue) => Err(tr!("models-download-it-first")),
                (_, Availability::Listed) => Err(tr!("models-cannot-be-used-here")),
                (_, Availability::Incomplete) => Err(tr!("models-get-what-is-missing-first")),
                (_, Availability::Damaged) => Err(tr!("models-a-file-is-damaged")),
                (_, Availability::BuiltIn | Availability::OnDisk | Availability::InPlace) => Ok(()),
            },
            Self::Pause(id) => require(is_open(&download(id)?.status), tr!("models-already-paused")),
            Self::Resume(id) => require(matches!(download(id)?.status, Status::Paused(_)), tr!("models-not-paused")),
            Self::Retry(id) => require(matches!(download(id)?.status, Status::Failed(_)), tr!("models-has-not-failed")),
            Self::Cancel(id) | Self::MoveDownload(id, _) => download(id).map(drop),
            Self::PauseAll => require(state.queue.iter().any(|it| is_open(&it.status)), tr!("models-nothing-is-downloading")),
            Self::ResumeAll => {
                require(state.queue.iter().any(|it| matches!(it.status, Status::Paused(_))), tr!("models-nothing-is-paused"))
            }
            Self::AcceptLicence | Self::DeclineLicence => require(state.licence_prompt.is_some(), tr!("common-there-is-no-question")),
            Self::ConfirmDownload | Self::CancelSize => require(state.size_prompt.is_some(), tr!("common-there-is-no-question")),
            Self::ConfirmDelete | Self::CancelDelete => require(state.removal.is_some(), tr!("common-there-is-no-question")),
            Self::Delete(id) => require(card(id)?.downloaded, tr!("models-atelier-deletes-only-models")),
            Self::CopyModel(id) => {
                require(card(id)?.copied_file().is_some(), tr!("models-only-models-and-text"))?;
                require(state.running_copy.is_none(), tr!("models-another-copy-is-being"))
            }
            Self::ConfirmCopy => {
                let dialog = state.copy_dialog.as_ref().ok_or(tr!("common-there-is-no-question"))?;
                require(
                    dialog.sizes.as_ref().is_some_and(|it| it.as_ref().is_ok_and(|it| !it.copies.is_empty())),
                    tr!("models-there-is-nothing-to"),
                )
            }
            Self::CancelCopy => require(state.copy_dialog.is_some(), tr!("common-there-is-no-question")),
            Self::StopCopy => require(state.running_copy.is_some(), tr!("models-no-copy-is-being")),
            Self::CheckFiles(id) => {
                require(card(id)?.downloaded, tr!("models-checksums-are-known-only"))?;
                require(!matches!(state.checks.get(id), Some(FileCheck::Running { .. })), tr!("models-already-verifying"))
            }
            Self::Add => require(!state.add_text.trim().is_empty(), tr!("models-paste-a-link-or")),
            Self::ChooseFolder => require(!shared.dialog_open, tr!("common-a-file-dialog-is")),
            Self::ChooseModelsRoot => {
                require(!shared.dialog_open, tr!("common-a-file-dialog-is"))?;
                require(state.queue.is_empty(), tr!("models-finish-or-cancel-the"))
            }
            Self::UseDefaultModelsRoot => {
                require(state.queue.is_empty(), tr!("models-finish-or-cancel-the"))?;
                require(!state.library.settings.is_default_root, tr!("models-already-the-default-folder"))
            }
            Self::SaveToken => require(!state.token_text.trim().is_empty(), tr!("models-paste-a-token-first")),
            Self::DeleteToken => require(state.library.settings.token == TokenState::Saved, tr!("models-there-is-no-saved")),
            Self::SearchHub => {
                downloads_ready(state)?;
                require(!state.search.trim().is_empty(), tr!("models-type-a-search-first"))
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
        DownloadsState::Starting => Err(tr!("models-the-downloads-are-starting")),
        DownloadsState::Refused(_) => Err(tr!("models-downloads-are-unavailable-see")),
    }
}
