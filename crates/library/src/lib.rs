//! The library: what the files on disk are, and whether they make a model together.
//!
//! Nothing here reads weights, and nothing here trusts a file. A file is described by its header
//! alone ([`read_header`], [`identify`]); a set of files is checked before the engine sees it
//! ([`check_files`]), because the engine ends the process where it is given files that do not fit.
//! A model as a whole is described by its [`Manifest`]; one comes with the program ([`Builtin`]).
//! No egui, no engine.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod adapter;
mod adapter_endings;
mod assemble;
mod builtin;
mod cache;
mod cards;
mod catalogue;
mod check;
mod companions;
mod config;
mod container;
mod diffusers;
pub mod disk;
mod download_job;
mod dtype;
mod embedding;
mod family;
mod first_choices;
mod gguf;
mod header;
mod heads;
mod id_embedding;
mod installed_item;
mod kind;
mod left_out;
mod limits;
mod link;
mod manifest;
mod models;
mod naming;
mod onnx;
mod problem;
mod removal;
mod safetensors;
mod shards;
mod sniff;
mod usage;
mod verify;
mod vocabulary;

#[cfg(test)]
mod malformed_tests;

pub use adapter::{AdapterNames, Adapters};
pub use assemble::{Assembly, Missing, assemble};
pub use builtin::{BUILTIN_VARIABLE, Builtin, BuiltinError};
pub use cache::{HeaderCache, IdentifiedFile};
pub use cards::{
    Availability, BUILTIN_CARD_ID, CardFile, CardVariant, FileFacts, ModelCard, ModelKind, builtin_card, card_named, model_cards,
    why_no_pickles,
};
pub use catalogue::{Catalogue, Offer, WORKING_BYTES};
pub use check::{Checked, check_files, family_of, snap};
pub use config::{LibraryConfig, LibraryConfigError};
pub use container::{Format, TensorInfo};
pub use diffusers::{files as diffusers_files, open_folders};
pub use download_job::{download_job, parts_job};
pub use dtype::Dtype;
pub use embedding::{EmbeddingTensors, embedding_tensors, is_embedding};
pub use family::Family;
pub use first_choices::{Machine, MachineDevice, first_choices};
pub use header::{Fault, Header, HeaderError, file_name, read_header};
pub use id_embedding::face_count;
pub use installed_item::InstalledItem;
pub use kind::{FileKind, identify};
pub use left_out::left_out_note;
pub use link::{Link, check_arrived, check_probed_name, link_id};
pub use manifest::{
    Defaults, Example, FaultyFile, FileName, HuggingFace, Licence, MANIFEST, Manifest, ManifestError, ModelFile, Origin, Packed,
    PictureOperations, PreviewWay, Role, Sha256, Unpack, Variant, model_name,
};
pub use models::{Installed, Loose, Models, Runnable, installed};
pub use naming::{lora_named, name_of};
pub use onnx::{Anchored, OnnxHeader, read_onnx_header};
pub use problem::Problem;
pub use removal::{DownloadRecord, Removal, RemovalError, Stays, downloaded, to_trash};
pub use usage::{FolderUse, ModelUse, Usage, usage};
pub use verify::{Verdict, Verified};
pub use vocabulary::Vocabulary;
