//! The list of features.
//!
//! To add a view: a folder (`state`, `command`, `update`, `view`), its `mod` line in `gui/mod.rs`, a line in this list, and its first state in
//! `App::new`. The list gives it a field of `State`, a variant of `Command` and `Screen`, its button and key, and its place in the frame loop.
//!
//! A screen has `State`, `Command` (with `KEYS`, `label`, `tooltip` and `enabled`), `update::update`, `view::side_panel` and
//! `view::main_panel`; a section has the first three and is drawn by screens.

/// Passes the features on to another macro: screens in the order of their buttons, with label, tooltip and key; then sections.
macro_rules! with_features {
    ($then:ident) => {
        $then! {
            screens {
                create Create "Create" "Generate pictures from a prompt." Num1;
                devices Devices "Devices" "Choose where each part of the model runs, and see memory and time." Num2;
                models Models "Models" "Browse, download and manage models." Num3;
                gallery Gallery "Gallery" "Browse, search and compare your pictures, and continue from any of them." Num4;
            }
            sections {
                canvas Canvas;
                live Live;
                memory Memory;
                palette Palette;
                program Program;
                queue Queue;
            }
        }
    };
}

pub(crate) use with_features;
