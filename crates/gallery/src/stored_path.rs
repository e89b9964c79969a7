//! Paths as the database stores them: text, or bytes where they are not Unicode.

use std::path::{Path, PathBuf};

use rusqlite::types::{FromSql, FromSqlResult, ToSqlOutput, Value, ValueRef};
use rusqlite::{Row, ToSql};

/// A path in a column.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct StoredPath(pub(crate) PathBuf);

impl ToSql for StoredPath {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        if let Some(text) = self.0.to_str() {
            return Ok(text.into());
        }
        #[cfg(unix)]
        {
            use std::os::unix::ffi::OsStrExt;
            Ok(ToSqlOutput::Borrowed(ValueRef::Blob(self.0.as_os_str().as_bytes())))
        }
        #[cfg(not(unix))]
        Err(rusqlite::Error::ToSqlConversionFailure(tr!("index-the-name-of-the").into()))
    }
}

impl FromSql for StoredPath {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        match value {
            #[cfg(unix)]
            ValueRef::Blob(bytes) => {
                use std::os::unix::ffi::OsStrExt;
                Ok(Self(std::ffi::OsStr::from_bytes(bytes).into()))
            }
            other => Ok(Self(other.as_str()?.into())),
        }
    }
}

impl StoredPath {
    pub(crate) fn of(path: &Path) -> Self {
        Self(path.to_owned())
    }

    /// The path of a picture, whose folder and relative path are in these columns.
    pub(crate) fn joined(row: &Row<'_>, folder: usize, relative: usize) -> rusqlite::Result<PathBuf> {
        Ok(row.get::<_, Self>(folder)?.0.join(row.get::<_, Self>(relative)?.0))
    }
}

/// Ids as a JSON array, for `json_each`, which takes any number of them.
pub(crate) fn id_list(ids: impl IntoIterator<Item = i64>) -> Value {
    let mut text = String::from("[");
    for (index, id) in ids.into_iter().enumerate() {
        if index > 0 {
            text.push(',');
        }
        text.push_str(&id.to_string());
    }
    text.push(']');
    Value::Text(text)
}
