//! The server in this process, on the tiny model: what clients really send, and what they get.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on fails")]

mod client;
mod devices;
mod guarded;
mod jobs;
mod mcp;
mod openai;
mod owners;
mod phone;
mod pictures;
mod process;
mod queries;
mod recordings;
mod retention;
#[path = "../support/rust_files.rs"]
mod rust_files;
mod sdapi;
mod studio;
mod studios;
#[path = "../support/mod.rs"]
mod support;
