//! The flags of `atelier serve`.

#![allow(clippy::doc_markdown, reason = "the documentation of a flag is its help text, in which backticks would show")]

use clap::{Args, Subcommand};

use super::{LibraryFlags, ServerFlags};
use crate::http::{DEFAULT_PORT, DiskQuota, Retention};

const ACCESS: &str = "Access";

/// Flags of `serve`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct HttpFlags {
    #[command(subcommand)]
    pub(in crate::cli) command: Option<HttpCommand>,
    /// Address to listen on [default: this computer alone, 127.0.0.1 and ::1]
    #[arg(long, value_name = "ADDRESS")]
    pub(in crate::cli) host: Option<String>,
    /// Port to listen on; 0 picks a free port
    #[arg(long, value_name = "N", default_value_t = DEFAULT_PORT)]
    pub(in crate::cli) port: u16,
    /// Model for clients that name none, by its name in the library [default: the first one]
    #[arg(long, value_name = "NAME")]
    pub(in crate::cli) model: Option<String>,
    /// Take the guidance that clients ask for with distilled models too [default: above 2 it is the model's own]
    #[arg(long)]
    pub(in crate::cli) keep_guidance: bool,
    /// CPU threads; 0 or less: all cores, or all but one if there are more than four
    #[arg(short, long, value_name = "N", allow_negative_numbers = true)]
    pub(in crate::cli) threads: Option<i32>,
    /// Listen to other computers; each needs a token
    #[arg(long, help_heading = ACCESS)]
    pub(in crate::cli) allow_network: bool,
    /// Require a token from programs on this computer too
    #[arg(long, help_heading = ACCESS)]
    pub(in crate::cli) require_token: bool,
    /// Create a token for this person and print it. May be repeated; a person's token stays the same
    #[arg(long, value_name = "NAME", help_heading = ACCESS)]
    pub(in crate::cli) person: Vec<String>,
    /// Days after which the tokens of new people end; the next start then prints others [default: never]
    #[arg(long, value_name = "DAYS", value_parser = clap::value_parser!(u32).range(1..=36_500), help_heading = ACCESS)]
    pub(in crate::cli) token_days: Option<u32>,
    /// Accept this token too, from everybody who has it: at least 16 letters and digits. Other users
    /// of this computer can see it in the list of processes
    #[arg(long, value_name = "TOKEN", help_heading = ACCESS)]
    pub(in crate::cli) token: Option<String>,
    /// Host name by which clients reach this computer, beside its own. May be repeated
    #[arg(long, value_name = "NAME", help_heading = ACCESS)]
    pub(in crate::cli) allow_host: Vec<String>,
    /// Web page that may use this server, as `https://lite.koboldai.net`. May be repeated
    #[arg(long, value_name = "ORIGIN", help_heading = ACCESS)]
    pub(in crate::cli) allow_origin: Vec<String>,
    /// Disk space for the pictures of each person, in GB. Once it is full their new jobs are refused;
    /// nothing is deleted. 0 sets no limit
    #[arg(
        long,
        value_name = "GB",
        default_value_t = DiskQuota::USUAL_GIGABYTES,
        value_parser = clap::value_parser!(u32).range(..=i64::from(DiskQuota::MAX_GIGABYTES)),
        help_heading = ACCESS
    )]
    pub(in crate::cli) disk_quota: u32,
    /// Days that pictures of other people are kept. Then they go to the trash, unless somebody rated,
    /// flagged, tagged or noted them, put them on a board or made others from them, or their program
    /// asked to save them. Your own are never touched. 0 keeps all
    #[arg(
        long,
        value_name = "DAYS",
        default_value_t = Retention::USUAL_DAYS,
        value_parser = clap::value_parser!(u32).range(..=i64::from(Retention::MAX_DAYS)),
        help_heading = ACCESS
    )]
    pub(in crate::cli) keep_days: u32,
    /// Announce this server in the network, so that other studios list it (mDNS)
    #[arg(long, help_heading = ACCESS)]
    pub(in crate::cli) announce: bool,
    /// Name under which it is announced [default: Studio of, and the name of your account]
    #[arg(long, value_name = "NAME", requires = "announce", help_heading = ACCESS)]
    pub(in crate::cli) name: Option<String>,
    #[command(flatten)]
    pub(in crate::cli) servers: ServerFlags,
    #[command(flatten)]
    pub(in crate::cli) library: LibraryFlags,
}

/// Subcommands of `serve`.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum HttpCommand {
    /// List who may use this computer's models: people by their tokens, and devices that were let in
    /// by their addresses.
    Access {
        /// Print JSON to standard output, one object per line
        #[arg(long)]
        json: bool,
    },
    /// Revoke the token of a person, or the access of a device, also where a server runs. Pictures
    /// stay.
    Revoke {
        /// Name of the person, or address of the device
        #[arg(value_name = "NAME|ADDRESS")]
        name: String,
    },
}
