//! Pictures that were dropped, pasted or opened and wait for the person to say what they are for.
//! Plain data.

use atelier_core::recipe::ImageSource;
use atelier_studio::opened_picture::OpenedPicture;

/// Pictures that wait for a decision.
#[derive(Clone, Debug, PartialEq)]
pub struct DroppedPictures {
    /// The pictures; the first is the one that is shown.
    pub images: Vec<ImageSource>,
    /// Name of the first.
    pub name: String,
    /// Settings of the first, where it has some.
    pub opened: Option<Box<OpenedPicture>>,
}

/// What dropped pictures can be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DroppedUse {
    /// Take the settings of the first over.
    Settings,
    /// Start a picture from each of them.
    Start,
    /// Have an edit model look at all of them.
    Reference,
    /// Steer through the `ControlNet` by the first.
    Control,
    /// Show a person whom the `PhotoMaker` brings into the picture.
    Person,
    /// Add all of them to the gallery.
    Gallery,
}
