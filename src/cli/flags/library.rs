//! The flags of `atelier models`, and those by which every command finds the library.

#![allow(clippy::doc_markdown, reason = "the documentation of a flag is its help text, in which backticks would show")]

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use atelier_library::disk::is_model_file;

const LIBRARY: &str = "Library";

/// Folders and catalogues of models.
#[derive(Clone, Debug, Default, Args)]
pub(in crate::cli) struct LibraryFlags {
    /// Folder of downloaded models, in place of the one in the settings
    #[arg(long, global = true, value_name = "DIR", help_heading = LIBRARY)]
    pub(in crate::cli) models_root: Option<PathBuf>,
    /// Catalogue of models, added to the one that comes with Atelier: a JSON array of entries. May be repeated
    #[arg(long, global = true, value_name = "FILE", help_heading = LIBRARY)]
    pub(in crate::cli) catalogue: Vec<PathBuf>,
}

/// Flags of `models`.
#[derive(Debug, Args)]
pub struct ModelsFlags {
    #[command(subcommand)]
    pub(in crate::cli) command: ModelsCommand,
    #[command(flatten)]
    pub(in crate::cli) library: LibraryFlags,
    /// Print JSON, one object a line, and nothing else, on standard output
    #[arg(long, global = true)]
    pub(in crate::cli) json: bool,
}

/// Subcommands of `models`.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ModelsCommand {
    /// List the models on this machine and those that can be downloaded.
    List {
        /// Only what is on this machine
        #[arg(long)]
        here: bool,
    },
    /// List the models that have every one of these words in their name, family, description or licence.
    Search {
        /// The words
        #[arg(required = true, value_name = "TEXT")]
        text: Vec<String>,
    },
    /// Say everything that is known of a model, or of a file.
    Info {
        /// ID, ID:VARIANT, or a file
        #[arg(value_name = "ID")]
        name: String,
    },
    /// Download models. What was begun goes on where it stopped.
    Pull {
        /// ID, ID:VARIANT for another size, or the link of a file on Hugging Face or elsewhere
        #[arg(required = true, value_name = "ID[:VARIANT]|LINK")]
        names: Vec<String>,
        /// You read the terms of models that have some of their own, and accept them
        #[arg(long)]
        accept_licence: bool,
    },
    /// Read every byte of downloaded models and compare their sums.
    Verify {
        /// The models; without any, all that were downloaded
        #[arg(value_name = "ID")]
        names: Vec<String>,
    },
    /// Move a downloaded model to the system's trash. What Atelier did not download, or another model uses, stays.
    Rm {
        /// The models
        #[arg(required = true, value_name = "ID")]
        names: Vec<String>,
        /// Only say what would go and what would stay
        #[arg(long)]
        dry_run: bool,
    },
    /// Use the models of a folder where they are, such as those of ComfyUI or A1111. Nothing in it is ever changed.
    Add {
        /// The folder, or ComfyUI's extra_model_paths.yaml
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
        /// Do not use it any longer; its files stay as they are
        #[arg(long)]
        forget: bool,
    },
    /// Say what models take on disk, by model and by folder.
    Du,
}

/// True where the value of `--model` is the name of a model and not a file.
pub(in crate::cli) fn is_model_name(value: &Path) -> bool {
    let Some(text) = value.to_str() else { return false };
    !is_model_file(value) && !text.contains(['/', '\\']) && !value.exists()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_told_from_a_file() {
        assert!(is_model_name(Path::new("z-image-turbo")) && is_model_name(Path::new("flux.1-dev:T5-Q4_K")));
        for file in ["m.gguf", "./m", "a/b", "C:\\m", "x.SAFETENSORS", "Cargo.toml"] {
            assert!(!is_model_name(Path::new(file)), "{file}");
        }
    }
}
