//! Flags about the person whom a `PhotoMaker` brings into a picture.

#![allow(clippy::doc_markdown, reason = "the documentation of a flag is its help text, in which backticks would show")]

use std::path::PathBuf;

use clap::Args;

use super::{INPUTS, finite};
use atelier_core::recipe::Person;

#[derive(Debug, Args)]
pub(in crate::cli) struct PersonFlags {
    /// Folder of pictures of a person for PhotoMaker. The prompt names the person with the word
    /// img: a woman img by a lake
    #[arg(long = "pm-id-images-dir", value_name = "DIR", help_heading = INPUTS)]
    pub(in crate::cli) id_images_dir: Option<PathBuf>,
    /// Face features for PhotoMaker v2, as face_detect.py of stable-diffusion.cpp writes them
    #[arg(long = "pm-id-embed-path", value_name = "FILE", help_heading = INPUTS)]
    pub(in crate::cli) id_embed_path: Option<PathBuf>,
    #[arg(long = "pm-style-strength", value_name = "PERCENT", value_parser = percent, help_heading = INPUTS, help = help())]
    pub(in crate::cli) style_strength: Option<f32>,
}

fn help() -> String {
    format!("Style strength: percent of the steps that run without the person, 0 to 100 [default: {}]", Person::USUAL_STYLE_STRENGTH)
}

fn percent(text: &str) -> Result<f32, String> {
    let number = finite(text)?;
    if Person::STYLE_STRENGTHS.contains(&number) { Ok(number) } else { Err("write a number from 0 to 100".to_owned()) }
}
