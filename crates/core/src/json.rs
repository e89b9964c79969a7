//! A look at JSON before it is read: in memory a value takes up to a hundred times its bytes.

/// True where a text has more than `most` values, by the signs that begin them. Takes no memory.
#[must_use]
pub fn has_more_values(text: &[u8], most: usize) -> bool {
    let (mut values, mut is_string, mut is_escaped) = (0, false, false);
    for byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_string => is_escaped = true,
            b'"' => is_string = !is_string,
            b',' | b'[' | b'{' if !is_string => values += 1,
            _ => {}
        }
    }
    values > most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_and_signs_in_texts_are_not() {
        for (text, values) in [("", 0), ("7", 0), ("[1,2,3]", 3), ("{\"a\":[],\"b\":{}}", 4), (r#"["a,[{\",,", "\\",7]"#, 3)] {
            assert!(!has_more_values(text.as_bytes(), values), "{text}");
            assert_eq!(has_more_values(text.as_bytes(), values.wrapping_sub(1)), values > 0, "{text}");
        }
    }
}
