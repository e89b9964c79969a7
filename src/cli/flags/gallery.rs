//! The flags of `atelier gallery`.

#![allow(clippy::doc_markdown, reason = "the documentation of a flag is its help text, in which backticks would show")]

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::PathFlags;
use atelier_gallery::{FIELDS, Order, PictureFlag};

/// Flags of `gallery`.
#[derive(Debug, Args)]
pub struct GalleryFlags {
    #[command(subcommand)]
    pub(in crate::cli) command: GalleryCommand,
    /// Print JSON to standard output, one object per line
    #[arg(long, global = true)]
    pub(in crate::cli) json: bool,
}

/// Subcommands of `gallery`.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum GalleryCommand {
    /// Add a folder of pictures to the gallery; its files are never changed. Without a folder,
    /// rescan all folders.
    Scan {
        /// Folder to add
        #[arg(value_name = "FOLDER")]
        folder: Option<PathBuf>,
        /// Remove the folder from the gallery; its files are kept
        #[arg(long, requires = "folder")]
        forget: bool,
    },
    /// Search pictures and list their paths; without a query, list all.
    #[command(after_help = fields())]
    Search {
        /// Words and fields to search for. A minus excludes matches; quote it: "lake -night"
        #[arg(value_name = "QUERY")]
        query: Vec<String>,
        /// Sort order
        #[arg(long, value_name = "ORDER", default_value = Order::default().key(), value_parser = order)]
        order: Order,
        /// Maximum number of pictures to list
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
        #[command(flatten)]
        paths: PathFlags,
    },
    /// Show what the gallery knows about pictures.
    Info {
        /// Picture files
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Rate, pick or reject pictures.
    Rate {
        /// Rating 0 (none) to 5, pick, reject, or none to clear the flag
        #[arg(value_name = "RATING", value_parser = verdict)]
        verdict: Verdict,
        /// Picture files
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        #[command(flatten)]
        paths: PathFlags,
    },
    /// Tag pictures.
    Tag {
        /// Tag to add
        #[arg(value_name = "TAG")]
        tag: String,
        /// Picture files
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Remove the tag instead
        #[arg(long)]
        remove: bool,
        #[command(flatten)]
        paths: PathFlags,
    },
    /// Move pictures to the system's trash.
    Rm {
        /// Picture files
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Restore the pictures from the trash instead
        #[arg(long)]
        restore: bool,
        #[command(flatten)]
        paths: PathFlags,
    },
    /// Export copies of pictures to a folder. Existing files are never overwritten.
    Export {
        /// Picture files
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Output folder
        #[arg(short, long, value_name = "DIR")]
        output: PathBuf,
        /// Format of the copies; WebP is lossless
        #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Png)]
        format: Format,
        /// JPEG quality, 1 to 100 [default: 90]
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=100))]
        quality: Option<u8>,
        /// Strip prompt and settings from the copies
        #[arg(long)]
        strip: bool,
        /// Reduce larger pictures to this longest side, in pixels
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
        max_side: Option<u32>,
        /// Name of the copies, numbered where there are several [default: that of each picture]
        #[arg(long)]
        name: Option<String>,
        #[command(flatten)]
        paths: PathFlags,
    },
}

impl GalleryCommand {
    /// How paths are printed.
    pub(in crate::cli) fn paths(&self) -> PathFlags {
        match self {
            Self::Search { paths, .. }
            | Self::Rate { paths, .. }
            | Self::Tag { paths, .. }
            | Self::Rm { paths, .. }
            | Self::Export { paths, .. } => *paths,
            Self::Scan { .. } | Self::Info { .. } => PathFlags::default(),
        }
    }
}

/// A person's verdict of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Verdict {
    Rating(u8),
    Flag(Option<PictureFlag>),
}

/// Format of exported copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(in crate::cli) enum Format {
    Png,
    Jpeg,
    Webp,
}

fn verdict(text: &str) -> Result<Verdict, String> {
    let flag = PictureFlag::ALL.into_iter().find(|flag| flag.key() == text);
    match (text.parse(), flag) {
        (_, Some(flag)) => Ok(Verdict::Flag(Some(flag))),
        (Ok(rating @ 0..=5), _) => Ok(Verdict::Rating(rating)),
        _ if text == "none" => Ok(Verdict::Flag(None)),
        _ => Err("write 0 to 5, pick, reject or none".to_owned()),
    }
}

fn order(text: &str) -> Result<Order, String> {
    let names: Vec<&str> = Order::ALL.into_iter().map(Order::key).collect();
    Order::from_key(text).ok_or_else(|| format!("write one of {}", names.join(", ")))
}

/// Help on the terms of a search.
fn fields() -> String {
    let mut text = "Terms:\n  lake, \"red sunset\", *set, -night  beginning of a word, phrase, part of a word, without".to_owned();
    for field in FIELDS {
        // Writing to a string never fails.
        let _ = write!(text, "\n  {:<24} {}", field.example, field.description());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_a_number_or_a_word() {
        assert_eq!(verdict("5"), Ok(Verdict::Rating(5)));
        assert_eq!(verdict("reject"), Ok(Verdict::Flag(Some(PictureFlag::Reject))));
        assert_eq!(verdict("none"), Ok(Verdict::Flag(None)));
        assert!(verdict("6").is_err() && verdict("good").is_err() && verdict("-1").is_err());
    }
}
