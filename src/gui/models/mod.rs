//! Models feature: the library's cards, downloads, licences, folders and their settings.
//!
//! [`state`] is plain data, [`command`] the person's requests, [`update`] their effects and those
//! of the library service's events, [`view`] the drawing. The library itself belongs to the thread
//! of [`atelier_studio::library_service`]; nothing here touches disk or network.

pub mod command;
pub mod filter;
pub mod fit;
pub(crate) mod fit_queries;
pub mod queue;
pub mod state;
pub(crate) mod update;
pub(crate) mod view;

pub use atelier_downloads::{Cause, HubFile, JobSnapshot, Repository, Stage, Status};
pub use atelier_library::{Availability, CardVariant, ModelCard, ModelKind};
pub use command::Command;
pub use filter::{CardStatus, Filter, FitFilter, Sort, StateFilter};
pub use fit::{FitLevel, FitPrediction, MachineMemory, PictureTime};
pub use state::{LicensedAction, State};

pub use atelier_studio::library_service::{DownloadsState, FileCheck, FolderSummary, LibrarySnapshot, RemovalPreview, TokenState};
