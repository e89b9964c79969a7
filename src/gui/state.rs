//! The state of the window: what several features share, and each feature's own.
//!
//! Views read it; only the features' `update` and the frame loop change it.

use crate::gui::features::with_features;
use crate::gui::notices::Notices;
use crate::gui::shared::{Closing, Shared};

macro_rules! define_state {
    (
        screens { $($screen:ident $Screen:ident $label:literal $tooltip:literal $key:ident;)* }
        sections { $($section:ident $Section:ident;)* }
    ) => {
        /// The state of the window.
        pub struct State {
            /// State that several features read and change.
            pub shared: Shared,
            /// Short lines that go away by themselves.
            pub notices: Notices,
            /// State of closing the window.
            pub closing: Closing,
            /// What is in no file as the window is about to close, in sentences with the reasons.
            pub unsaved: Vec<String>,
            /// The person is asked whether to open this window beside another one that does not answer.
            pub asks_beside: bool,
            $(#[doc = concat!("State of the ", $label, " view.")] pub $screen: crate::gui::$screen::State,)*
            $(#[doc = concat!("State of the section ", stringify!($section), ".")] pub $section: crate::gui::$section::State,)*
        }
    };
}

with_features!(define_state);
