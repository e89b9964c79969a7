//! Tokenizers that are there at a time have their vocabulary in common.

#![allow(unsafe_code, reason = "calls C")]

use std::ptr::null_mut;

use ggml_sys::{
    ATELIER_OK, ATELIER_TOKENIZER_QWEN2, atelier_shared_vocabularies, atelier_tokenizer, atelier_tokenizer_free, atelier_tokenizer_new,
};

fn new() -> *mut atelier_tokenizer {
    let mut tokenizer = null_mut();
    // SAFETY: `tokenizer` is a local to be written.
    assert!(unsafe { atelier_tokenizer_new(ATELIER_TOKENIZER_QWEN2, &raw mut tokenizer) } == ATELIER_OK);
    tokenizer
}

fn free(tokenizer: *mut atelier_tokenizer) {
    // SAFETY: made by the shim, and freed once.
    unsafe { atelier_tokenizer_free(tokenizer) };
}

fn count() -> u64 {
    // SAFETY: takes nothing and reads a number.
    unsafe { atelier_shared_vocabularies() }
}

#[test]
fn a_vocabulary_is_there_once_for_as_long_as_a_tokenizer_has_it() {
    assert_eq!(count(), 0);
    let [first, second] = [new(), new()];
    assert_eq!(count(), 1);
    free(first);
    assert_eq!(count(), 1, "the second has it");
    free(second);
    assert_eq!(count(), 0);
    let third = new();
    assert_eq!(count(), 1, "it is read again");
    free(third);
}
