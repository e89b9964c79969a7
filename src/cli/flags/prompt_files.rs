//! The flags of prompts that stand in files.

#![allow(clippy::doc_markdown, reason = "the documentation of a flag is its help text, in which backticks would show")]

use std::path::PathBuf;

use clap::Args;

use super::PICTURE;

/// Flags of commands that have a prompt.
#[derive(Clone, Debug, Default, Args)]
pub(in crate::cli) struct PromptFileFlags {
    /// Text file (UTF-8) that holds the prompt, of any length; - reads standard input
    #[arg(long, value_name = "FILE", conflicts_with = "prompt", help_heading = PICTURE)]
    pub(in crate::cli) prompt_file: Option<PathBuf>,
    /// Text file (UTF-8) that holds the negative prompt; - reads standard input
    #[arg(long, value_name = "FILE", conflicts_with = "negative_prompt", help_heading = PICTURE)]
    pub(in crate::cli) negative_prompt_file: Option<PathBuf>,
}
