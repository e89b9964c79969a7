//! The queue on disk: jobs that wait, run and ended, their order, and the pictures that they made.
//!
//! Invariants: each change is one transaction; a picture's file name is reserved before the file is
//! written, so after a kill at any moment the file is found, indexed and not made again; a job is
//! done only when all its pictures are; jobs that have not ended are also in a journal beside the
//! database. Not here: the engine, threads, which job is next.

mod control;
mod job;
pub(crate) mod journal;
mod order;
mod owner;
mod pace;
mod pictures;
mod recipes;
mod recovery;
mod rows;
mod states;

pub use control::{PauseMode, QueueControl};
pub use job::{JobPicture, JobState, Lane, NewJob, QueuedJob, QueuedJobId, StepProgress};
pub use owner::{Owner, User};
pub use pace::Pace;
pub use pictures::PictureReservation;
pub(crate) use recipes::DecodedRecipes;
pub use recovery::{LastEnd, Recovery, as_recovered};
pub use states::JobOutcome;

#[cfg(test)]
mod tests;
