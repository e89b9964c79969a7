//! The flags of `atelier mcp`.

use clap::Args;

use super::{LibraryFlags, ServerFlags};

/// Flags of `mcp`.
#[derive(Debug, Args)]
pub struct McpFlags {
    /// Model where the agent names none, by its name in the library [default: the first one]
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) model: Option<String>,
    /// CPU threads; 0 or less: all cores, or all but one if there are more than four
    #[arg(short, long, value_name = "N", allow_negative_numbers = true)]
    pub(in crate::cli) threads: Option<i32>,
    #[command(flatten)]
    pub(in crate::cli) servers: ServerFlags,
    #[command(flatten)]
    pub(in crate::cli) library: LibraryFlags,
}
