//! The flags of `atelier queue`, and those by which a missing model is downloaded.

#![allow(clippy::doc_markdown, reason = "the documentation of a flag is its help text, in which backticks would show")]

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{CommonFlags, DEVICES, LibraryFlags, LikeFlags, OUTPUT, PICTURE, PathFlags, PictureFlags, ServerFlags, side, suits};
use atelier_core::placement::one_device;
use atelier_core::recipe::Recipe;
use atelier_gallery::queue::QueuedJobId;

const DOWNLOAD: &str = "Downloading";

/// Flags of `queue`.
#[derive(Debug, Args)]
pub struct QueueFlags {
    #[command(subcommand)]
    pub(in crate::cli) command: QueueCommand,
    /// Print JSON, one object a line, and nothing else, on standard output
    #[arg(long, global = true)]
    pub(in crate::cli) json: bool,
}

/// Subcommands of `queue`.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum QueueCommand {
    /// List the jobs that wait and run, and those that ended last.
    List,
    /// Add a job. An open window makes it; else `atelier queue run` does.
    #[command(args_override_self = true)]
    Add(Box<QueueAddFlags>),
    /// Begin no further picture.
    Pause {
        /// Stop the forming picture too; it is begun again later
        #[arg(long)]
        now: bool,
    },
    /// Go on; with numbers: let these jobs wait again that are held, failed or were cancelled.
    Resume {
        /// The jobs
        #[arg(value_name = "JOB")]
        jobs: Vec<QueuedJobId>,
    },
    /// Cancel these jobs; without numbers, all that wait.
    Clear {
        /// The jobs
        #[arg(value_name = "JOB")]
        jobs: Vec<QueuedJobId>,
        /// Forget the jobs that ended; their pictures stay
        #[arg(long, conflicts_with = "jobs")]
        ended: bool,
    },
    /// Make the jobs that wait, until none is left. Where a window is open it makes them, and this tells what it does.
    Run {
        #[command(flatten)]
        pull: PullFlags,
        /// Run jobs without a placement on the first graphics card, even where another placement is quicker
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
    /// What the picture should show. <lora:NAME:STRENGTH> in it adds a LoRA
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true, required_unless_present = "like", help_heading = PICTURE)]
    prompt: Option<String>,
    #[command(flatten)]
    pub(in crate::cli) like: LikeFlags,
    /// What it should not show
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true, help_heading = PICTURE)]
    negative_prompt: Option<String>,
    #[arg(short = 'W', long, value_name = "PIXELS", value_parser = side(), help_heading = PICTURE, help = suits("Width in pixels", Recipe::default().width))]
    width: Option<u32>,
    #[arg(short = 'H', long, value_name = "PIXELS", value_parser = side(), help_heading = PICTURE, help = suits("Height in pixels", Recipe::default().height))]
    height: Option<u32>,
    /// Seed of the first picture; the next ones take the following numbers. Negative, or none: drawn at random
    #[arg(short, long, value_name = "N", allow_negative_numbers = true, help_heading = PICTURE)]
    seed: Option<i64>,
    /// Number of pictures
    #[arg(short, long, alias = "batch", value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = PICTURE)]
    batch_count: u32,
    #[command(flatten)]
    pub(in crate::cli) common: CommonFlags,
    /// Folder of the pictures; without it, your pictures folder
    #[arg(short, long, value_name = "DIR", help_heading = OUTPUT)]
    pub(in crate::cli) output: Option<PathBuf>,
    /// Go before jobs that nobody waits for
    #[arg(long, help_heading = OUTPUT)]
    pub(in crate::cli) first: bool,
    /// Run on this device, whatever the placement says
    #[arg(long, value_name = "DEVICE", value_parser = one_device, help_heading = DEVICES)]
    pub(in crate::cli) pin: Option<String>,
}

impl QueueAddFlags {
    /// The flags about the picture, as `generate` has them.
    pub(in crate::cli) fn picture(&self) -> PictureFlags {
        PictureFlags {
            prompt: self.prompt.clone(),
            negative_prompt: self.negative_prompt.clone(),
            width: self.width,
            height: self.height,
            seed: self.seed,
            batch_count: self.batch_count,
        }
    }
}

/// Flags by which a model that is not on this disk is downloaded first.
#[derive(Clone, Debug, Default, Args)]
pub(in crate::cli) struct PullFlags {
    /// Download a model of the catalogue that is not on this disk, without asking
    #[arg(long, help_heading = DOWNLOAD)]
    pub(in crate::cli) pull: bool,
    /// You read the terms of models that have some of their own, and accept them
    #[arg(long, requires = "pull", help_heading = DOWNLOAD)]
    pub(in crate::cli) accept_licence: bool,
}
