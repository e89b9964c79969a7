//! Patches of the engine's sources; `patches/README.md` describes the form.

/// The changes of one source.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Patch {
    /// Path of the source, relative to the engine's folder.
    pub(crate) source: String,
    pub(crate) hunks: Vec<Hunk>,
}

/// A text that must occur exactly once, and its replacement.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Hunk {
    pub(crate) search: String,
    pub(crate) replacement: String,
}

impl Patch {
    /// Reads a patch file.
    ///
    /// # Errors
    /// A sentence with the line's number where the file does not have the described form.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut source = None;
        let mut hunks: Vec<Hunk> = Vec::new();
        let mut is_in_hunk = false;
        for (index, line) in text.lines().enumerate() {
            let number = index + 1;
            if line == "@@" {
                if source.is_none() {
                    return Err(format!("line {number}: a hunk before the line `--- path`"));
                }
                hunks.push(Hunk::default());
                is_in_hunk = true;
            } else if line.is_empty() || line.starts_with('#') {
                is_in_hunk = false;
            } else if let (true, Some(hunk)) = (is_in_hunk, hunks.last_mut()) {
                // Every line begins with one of three ASCII characters, or the next test fails.
                let (mark, rest) = line.split_at_checked(1).unwrap_or((line, ""));
                let (in_search, in_replacement) = match mark {
                    " " => (true, true),
                    "-" => (true, false),
                    "+" => (false, true),
                    _ => return Err(format!("line {number}: begins with none of ` `, `-` and `+`")),
                };
                for (text, _) in [(&mut hunk.search, in_search), (&mut hunk.replacement, in_replacement)].into_iter().filter(|it| it.1) {
                    text.push_str(rest);
                    text.push('\n');
                }
            } else if let (None, Some(path)) = (&source, line.strip_prefix("--- ")) {
                source = Some(path.to_owned());
            } else {
                return Err(format!("line {number}: stands outside of a hunk"));
            }
        }
        if let Some(index) = hunks.iter().position(|hunk| hunk.search.is_empty() || hunk.search == hunk.replacement) {
            return Err(format!("hunk {}: searches or changes nothing", index + 1));
        }
        let source = source.ok_or("no line `--- path`")?;
        if hunks.is_empty() {
            return Err("no hunk".to_owned());
        }
        Ok(Self { source, hunks })
    }

    /// Applies the hunks in order.
    ///
    /// # Errors
    /// A sentence with the searched text of the first hunk that does not occur exactly once.
    pub(crate) fn apply(&self, text: &str) -> Result<String, String> {
        self.hunks.iter().enumerate().try_fold(text.to_owned(), |text, (index, hunk)| {
            let count = text.matches(&hunk.search).count();
            if count == 1 {
                Ok(text.replacen(&hunk.search, &hunk.replacement, 1))
            } else {
                Err(format!(
                    "{} should contain the text of hunk {} once, but contains it {count} times:\n{}",
                    self.source,
                    index + 1,
                    hunk.search
                ))
            }
        })
    }
}
