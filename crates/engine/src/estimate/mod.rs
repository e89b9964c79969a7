//! Memory and work of recipes, found out beside whatever runs.
//!
//! The engine itself goes the way of each picture on devices that hold nothing (`ffi::Estimator`):
//! once with its graphs whole and its weights where they run, which gives weights and compute
//! buffers, and once cut as small as can be, which gives the least that a module runs with. The
//! whole graphs give the work too, of each image that is made on the way to a picture (`passes`).
//! An upscaler between them goes the same way with one of its tiles. Invariants: nothing here holds
//! weights, waits for a job or makes one wait; the same query has the same answer until a file
//! changes. Not here: whether it fits (`atelier_core::placement`).

mod alternatives;
mod cache;
mod error;
mod estimates;
mod key;
mod passes;
mod queries;
mod request;

pub(crate) use cache::EstimateCache;
pub use key::EstimateKey;
pub(crate) use queries::{answer_queries, needs_and_work};
