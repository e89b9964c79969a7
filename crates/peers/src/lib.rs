//! Other studios of the network: this one is announced, others are found, and pictures are made by
//! their models over the HTTP interface that every Atelier has.
//!
//! Invariants: whatever comes from the network is bounded in bytes, counts and time before it is
//! read, and no name, path or address in it is followed; a token goes to the address that it was
//! kept for, or to another one that has proved to know it, and nowhere else. Not here: the server (`src/http`), and where pictures are kept.
//! Everything blocks but where it says otherwise.

#![forbid(unsafe_code)]

mod address;
mod announcement;
mod browser;
mod error;
mod events;
mod identity;
mod job;
mod kept;
mod moved;
mod network;
mod offered;
mod record;
mod studio;

pub use address::{AccessToken, DEFAULT_PORT, StudioAddress, StudioLink};
pub use announcement::{Announcement, NotAnnounced, default_name};
pub use browser::Browser;
pub use error::StudioError;
pub use events::EventReader;
pub use identity::{StudioId, prove};
pub use job::{JobBegin, JobEvent, JobRequest, JobStatus, MAX_PICTURES};
pub use kept::{KeptStudio, KeptStudios};
pub use moved::{LocatedStudio, locate_studio};
pub use network::Network;
pub use offered::{Offer, OfferedModel};
pub use record::{FoundStudio, Record, clean_name};
pub use studio::{FollowedJob, RemoteJob, Studio};
