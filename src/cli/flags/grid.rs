//! The flags of `atelier grid`.

#![allow(clippy::doc_markdown, reason = "the documentation of a flag is its help text, in which backticks would show")]

use std::path::PathBuf;

use clap::Args;

use super::{CommonFlags, DEVICES, LikeFlags, OUTPUT, PICTURE, PathFlags, PictureFlags, ReportFlags, WordFlags};
use atelier_core::recipe::{SeedNumber, read_seed};

const AXES: &str = "Axes";

/// Flags of `grid`.
#[derive(Debug, Args)]
pub struct GridFlags {
    /// Columns: a setting and its values, as in steps=4,8,16 or cfg=1..7/4 (four values from 1 to
    /// 7) or seed=1..9+2 (every second). Any setting of a recipe, and its parts (hires.strength);
    /// size=512x512,768x512; model=A,B; lora=A,none; lora:A=0.5,1; words=lake,hill (the first words
    /// of the prompt become the others); or words of the prompt with a choice: {day|night} sky
    #[arg(long, short = 'x', value_name = "AXIS", required = true, help_heading = AXES)]
    pub(in crate::cli) x: String,
    /// Rows
    #[arg(long, short = 'y', value_name = "AXIS", help_heading = AXES)]
    pub(in crate::cli) y: Option<String>,
    /// Pages, one below the other
    #[arg(long, short = 'z', value_name = "AXIS", requires = "y", help_heading = AXES)]
    pub(in crate::cli) z: Option<String>,
    /// Leave out this cell: column, row and page, from 1, as in 2,1; may be repeated
    #[arg(long, value_name = "X,Y[,Z]", value_parser = cell, help_heading = AXES)]
    pub(in crate::cli) without: Vec<[usize; 3]>,
    /// Make drafts of all cells first, which stop after STEP, and finish each from there to the same
    /// picture. Cells that have no more steps have no draft. Drafts are kept and printed too: after
    /// Ctrl-C, generate --like DRAFT --finish goes on with one
    #[arg(long, value_name = "STEP", value_parser = clap::value_parser!(u32).range(1..), conflicts_with_all = ["last_step", "from_step", "finish"], help_heading = AXES)]
    pub(in crate::cli) drafts_first: Option<u32>,
    /// Print what the sheet will take, and exit
    #[arg(long, help_heading = AXES)]
    pub(in crate::cli) dry_run: bool,
    /// Prompt: what the picture shows. <lora:NAME:STRENGTH> adds a LoRA
    #[arg(short, long, value_name = "TEXT", allow_hyphen_values = true, required_unless_present_any = ["like", "prompt_file"], help_heading = PICTURE)]
    prompt: Option<String>,
    #[command(flatten)]
    words: WordFlags,
    #[command(flatten)]
    pub(in crate::cli) like: LikeFlags,
    /// Seed of all pictures. Negative or absent: one is drawn for all of them
    #[arg(short, long, value_name = "N", value_parser = read_seed, allow_negative_numbers = true, help_heading = PICTURE)]
    seed: Option<SeedNumber>,
    #[command(flatten)]
    pub(in crate::cli) common: CommonFlags,
    /// The sheet's PNG file; the pictures are kept beside it [default: your pictures folder, with
    /// generated names]
    #[arg(short, long, value_name = "FILE", help_heading = OUTPUT)]
    pub(in crate::cli) output: Option<PathBuf>,
    /// Without a placement, use the first GPU even if another placement is faster or fits better
    #[arg(long, help_heading = DEVICES)]
    pub(in crate::cli) no_auto_placement: bool,
    #[command(flatten)]
    pub(in crate::cli) report: ReportFlags,
    #[command(flatten)]
    pub(in crate::cli) paths: PathFlags,
}

impl GridFlags {
    /// The flags about the picture, as `generate` has them.
    pub(in crate::cli) fn picture(&self) -> PictureFlags {
        self.words.picture(self.prompt.as_deref(), self.seed, 1)
    }

    /// The texts of the axes.
    pub(in crate::cli) fn axes(&self) -> impl Iterator<Item = &str> {
        std::iter::once(&self.x).chain(&self.y).chain(&self.z).map(String::as_str)
    }
}

fn cell(text: &str) -> Result<[usize; 3], String> {
    let numbers: Option<Vec<usize>> = text.split(',').map(|part| part.trim().parse::<usize>().ok()?.checked_sub(1)).collect();
    match numbers.as_deref() {
        Some([x]) => Ok([*x, 0, 0]),
        Some([x, y]) => Ok([*x, *y, 0]),
        Some([x, y, z]) => Ok([*x, *y, *z]),
        _ => Err("write column and row, from 1, as in 2,1".to_owned()),
    }
}
