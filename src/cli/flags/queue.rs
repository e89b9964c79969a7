//! The flags of `atelier queue`, and those by which a missing model is downloaded.

#![allow(clippy::doc_markdown, reason = "the documentation of a flag is its help text, in which backticks would show")]

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{
    CommonFlags, DEVICES, LibraryFlags, LikeFlags, OUTPUT, PICTURE, PathFlags, PictureFlags, ServerFlags, TemplateFlags, WordFlags, within,
};
use atelier_core::placement::one_device;
use atelier_core::recipe::{ROWS, SeedNumber, read_seed};
use atelier_gallery::queue::QueuedJobId;

const DOWNLOAD: &str = "Downloading";

/// Flags of `queue`.
#[derive(Debug, Args)]
pub struct QueueFlags {
    #[command(subcommand)]
    pub(in crate::cli) command: QueueCommand,
    /// Print JSON to standard output, one object per line
    #[arg(long, global = true)]
    pub(in crate::cli) json: bool,
}

/// Subcommands of `queue`.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum QueueCommand {
    /// List waiting and running jobs, and those that ended last.
    List,
    /// Add a job. An open window runs it, otherwise `atelier queue run`.
    #[command(args_override_self = true)]
    Add(Box<QueueAddFlags>),
    /// Pause the queue after the current picture.
    Pause {
        /// Stop the current picture too; it restarts when the queue resumes
        #[arg(long)]
        now: bool,
    },
    /// Resume the queue, or requeue the given jobs that were held, failed or cancelled.
    Resume {
        /// Job numbers
        #[arg(value_name = "JOB")]
        jobs: Vec<QueuedJobId>,
    },
    /// Cancel the given jobs, or all waiting ones.
    Clear {
        /// Job numbers
        #[arg(value_name = "JOB")]
        jobs: Vec<QueuedJobId>,
        /// Remove ended jobs from the list; their pictures are kept
        #[arg(long, conflicts_with = "jobs")]
        ended: bool,
    },
    /// Run waiting jobs until none is left. If a window is open, it runs them, and progress is
    /// printed here.
    Run {
        #[command(flatten)]
        pull: PullFlags,
        /// Run jobs without a placement on the first GPU, even if another placement is faster
        #[arg(long, help_heading = DEVICES)]
        no_auto_placement: bool,
        #[command(flatten)]
        servers: ServerFlags,
        #[command(flatten)]
        library: LibraryFlags,
        #[command(flatten)]
        paths: PathFlags,
    },
}

impl QueueCommand {
    /// How paths are printed.
    pub(in crate::cli) fn paths(&self) -> PathFlags {
        match self {
            Self::Run { paths, .. } => *paths,
            Self::List | Self::Add(_) | Self::Pause { .. } | Self::Resume { .. } | Self::Clear { .. } => PathFlags::default(),
        }
    }
}

/// Flags of `queue add`.
#[derive(Debug, Args)]
pub(in crate::cli) struct QueueAddFlags {
    /// Prompt: what the picture shows. <lora:NAME:STRENGTH> adds a LoRA; of {A|B} and
    /// __LIST__ each picture has one
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true, required_unless_present_any = ["like", "prompt_file", "prompts"], help_heading = PICTURE)]
    prompt: Option<String>,
    #[command(flatten)]
    words: WordFlags,
    #[command(flatten)]
    pub(in crate::cli) templates: TemplateFlags,
    #[command(flatten)]
    pub(in crate::cli) like: LikeFlags,
    /// Seed of the first picture; each further picture takes the next number. Negative or absent:
    /// random
    #[arg(short, long, value_name = "N", value_parser = read_seed, allow_negative_numbers = true, help_heading = PICTURE)]
    seed: Option<SeedNumber>,
    #[arg(short, long, alias = "batch", value_name = "N", default_value_t = 1, help_heading = PICTURE, help = within(&ROWS.batch_count))]
    batch_count: u32,
    #[command(flatten)]
    pub(in crate::cli) common: CommonFlags,
    /// Output folder [default: your pictures folder]
    #[arg(short, long, value_name = "DIR", help_heading = OUTPUT)]
    pub(in crate::cli) output: Option<PathBuf>,
    /// Run before batch jobs
    #[arg(long, help_heading = OUTPUT)]
    pub(in crate::cli) first: bool,
    /// Run the job on this device, overriding the placement
    #[arg(long, value_name = "DEVICE", value_parser = one_device, help_heading = DEVICES)]
    pub(in crate::cli) pin: Option<String>,
}

impl QueueAddFlags {
    /// The flags about the picture, as `generate` has them.
    pub(in crate::cli) fn picture(&self) -> PictureFlags {
        self.words.picture(self.prompt.as_deref(), self.seed, self.batch_count)
    }
}

/// Flags by which a model that is not on this disk is downloaded first.
#[derive(Clone, Debug, Default, Args)]
pub(in crate::cli) struct PullFlags {
    /// Download missing models of the catalogue without asking
    #[arg(long, help_heading = DOWNLOAD)]
    pub(in crate::cli) pull: bool,
    /// Accept the licences of these models, which you have read
    #[arg(long, requires = "pull", help_heading = DOWNLOAD)]
    pub(in crate::cli) accept_licence: bool,
}
