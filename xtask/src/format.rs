//! Formats of packages.

/// What a person downloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Deb,
    Rpm,
    Appimage,
    Tar,
    Windows,
    Msi,
    Macos,
}

impl Format {
    pub(crate) const ALL: [Self; 7] = [Self::Deb, Self::Rpm, Self::Appimage, Self::Tar, Self::Windows, Self::Msi, Self::Macos];

    /// Name on the command line.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Deb => "deb",
            Self::Rpm => "rpm",
            Self::Appimage => "appimage",
            Self::Tar => "tar",
            Self::Windows => "windows",
            Self::Msi => "msi",
            Self::Macos => "macos",
        }
    }

    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_format_is_found_by_its_name() {
        for format in Format::ALL {
            assert_eq!(Format::parse(format.name()), Some(format));
        }
        assert_eq!(Format::parse("zip"), None);
    }
}
