//! The flags of `atelier studios`.

#![allow(clippy::doc_markdown, reason = "the documentation of a flag is its help text, in which backticks would show")]

use clap::{Args, Subcommand};

/// Flags of `studios`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct StudiosFlags {
    #[command(subcommand)]
    pub(in crate::cli) command: Option<StudiosCommand>,
    /// Seconds to listen for studios of the network; 0 lists those that are kept
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(0..=60))]
    pub(in crate::cli) seconds: u64,
    /// Print JSON to standard output, one object per line
    #[arg(long)]
    pub(in crate::cli) json: bool,
}

/// Subcommands of `studios`.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum StudiosCommand {
    /// Keep a studio with its token. Without a token, the person there is asked to allow this
    /// computer.
    Add {
        /// The link that the studio shows for you, its address, or its name in the network
        #[arg(value_name = "LINK|URL|NAME")]
        studio: String,
        /// Name under which it is kept [default: its name in the network, or its address]
        #[arg(long, value_name = "NAME")]
        name: Option<String>,
        /// Token, if it is not in the link; - reads it from standard input. Other users of this
        /// computer can see it in the list of processes
        #[arg(long, value_name = "TOKEN")]
        token: Option<String>,
        /// Print JSON to standard output, one object per line
        #[arg(long)]
        json: bool,
    },
    /// Forget a studio and its token.
    Rm {
        /// Name of the studio
        #[arg(value_name = "NAME")]
        name: String,
    },
    /// List the models of a studio.
    Models {
        /// Name, address or link of the studio
        #[arg(value_name = "NAME|URL")]
        studio: String,
        /// Print JSON to standard output, one object per line
        #[arg(long)]
        json: bool,
    },
}
