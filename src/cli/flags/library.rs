//! The flags of `atelier models`, and those by which every command finds the library.

#![allow(clippy::doc_markdown, reason = "the documentation of a flag is its help text, in which backticks would show")]

use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};

use atelier_core::recipe::{TensorType, TensorTypeRules};
use atelier_library::disk::is_model_file;

const LIBRARY: &str = "Library";

/// Folders and catalogues of models.
#[derive(Clone, Debug, Default, Args)]
pub(in crate::cli) struct LibraryFlags {
    /// Folder of downloaded models, in place of the one in the settings
    #[arg(long, global = true, value_name = "DIR", help_heading = LIBRARY)]
    pub(in crate::cli) models_root: Option<PathBuf>,
    /// Additional model catalogue: a JSON array of entries. May be repeated
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
    /// Print JSON to standard output, one object per line
    #[arg(long, global = true)]
    pub(in crate::cli) json: bool,
}

/// Subcommands of `models`.
#[derive(Debug, Subcommand)]
pub(in crate::cli) enum ModelsCommand {
    /// List models on this machine and in the catalogue.
    List {
        /// List only models on this machine
        #[arg(long)]
        here: bool,
    },
    /// Search models by words in name, family, description or licence.
    Search {
        /// Words to search for
        #[arg(required = true, value_name = "TEXT")]
        text: Vec<String>,
    },
    /// Show details of a model or file.
    Info {
        /// Model to show: ID, ID:VARIANT, or a file
        #[arg(value_name = "ID")]
        name: String,
    },
    /// Download models. Interrupted downloads resume.
    Pull {
        /// Model to download: ID, ID:VARIANT for another size, or the URL of a file on Hugging Face
        /// or elsewhere
        #[arg(required = true, value_name = "ID[:VARIANT]|LINK")]
        names: Vec<String>,
        /// Accept the licences of these models, which you have read
        #[arg(long)]
        accept_licence: bool,
    },
    /// Verify checksums of downloaded models.
    Verify {
        /// Models to verify [default: all downloaded models]
        #[arg(value_name = "ID")]
        names: Vec<String>,
    },
    /// Move downloaded models to the system's trash. Files that another model uses, or that Atelier
    /// did not download, are kept.
    Rm {
        /// Models to remove
        #[arg(required = true, value_name = "ID")]
        names: Vec<String>,
        /// List the files to remove and to keep, without removing any
        #[arg(long)]
        dry_run: bool,
    },
    /// Add a folder of models, such as that of ComfyUI or A1111. Its files stay in place and are
    /// never changed.
    Add {
        /// Folder of models, or ComfyUI's extra_model_paths.yaml
        #[arg(value_name = "FOLDER")]
        folder: PathBuf,
        /// Remove the folder from the library; its files are kept
        #[arg(long)]
        forget: bool,
    },
    /// Convert a model file to GGUF with other types of weights: a smaller copy. The file itself is
    /// not changed.
    Convert {
        /// A whole model, diffusion module or text encoder (.safetensors or .gguf)
        #[arg(value_name = "FILE")]
        file: PathBuf,
        #[arg(long = "type", value_name = "TYPE", required_unless_present = "tensor_type_rules", help = type_help())]
        weight_type: Option<TensorType>,
        /// Types of weights by name, before --type: the first pattern that occurs in a name decides
        #[arg(long, value_name = "PATTERN=TYPE,...")]
        tensor_type_rules: Option<TensorTypeRules>,
        /// The copy [default: beside the file, named after its type]
        #[arg(short, long, value_name = "FILE")]
        output: Option<PathBuf>,
        /// Print the size of the copy, without making it
        #[arg(long)]
        dry_run: bool,
    },
    /// Show disk usage by model and folder.
    Du,
}

fn type_help() -> String {
    format!("Type of the weights: {}", TensorType::ALL.iter().map(|it| it.key()).collect::<Vec<_>>().join(", "))
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
