//! Counts against those of the tokenizers that the models were trained with.

use super::*;

fn count(prompt: &str, family: Family) -> PromptTokens {
    TokenCounter::default().count(prompt, &[], family).unwrap()
}

fn tokens(prompt: &str, family: Family) -> usize {
    count(prompt, family).main.tokens
}

#[test]
fn clip_reads_75_tokens_a_chunk_and_each_border_is_a_word() {
    let mut counter = TokenCounter::default();
    let mut count = |prompt: &str| counter.count(prompt, &[], Family::Sd1).unwrap();
    let short = count("a photo of a cat");
    assert_eq!(short.main, EncoderTokens { encoder: "CLIP", tokens: 5, reach: Reach::Chunks(75), chunks: 1 });
    assert_eq!((short.others, short.borders, short.is_certain), (vec![], vec![], true));
    let full = count("cat ".repeat(75).trim());
    assert_eq!((full.main.tokens, full.main.chunks, full.borders.len()), (75, 1, 0));
    let long = count("cat ".repeat(160).trim());
    assert_eq!((long.main.tokens, long.main.chunks, long.borders), (160, 3, vec![75 * 4, 150 * 4]));
    let broken = count("a photo BREAK of a cat");
    assert_eq!((broken.main.tokens, broken.main.chunks, broken.borders), (5, 2, vec!["a photo BREAK ".len()]));
    let joined = count("a photo AND a cat :0.5");
    assert_eq!((joined.main.tokens, joined.main.chunks, joined.borders), (4, 2, vec!["a photo AND ".len()]));
    assert_eq!(count("a BAND of cats").main.chunks, 1);
    assert_eq!(count(" ").main.tokens, 0);
    assert_eq!(count("cat ".repeat(2_000).trim()).borders.len(), MAX_BORDERS);
}

#[test]
fn each_family_counts_with_its_own_encoders() {
    let flux = count("a photo of a cat", Family::Flux);
    assert_eq!(flux.main, EncoderTokens { encoder: "T5", tokens: 7, reach: Reach::Chunks(255), chunks: 1 });
    assert_eq!(flux.others, [EncoderTokens { encoder: "CLIP", tokens: 5, reach: Reach::First(75), chunks: 1 }]);
    for (family, expected) in [
        (Family::ZImage, 5),
        (Family::LongCat, 5),
        (Family::Ideogram4, 5),
        (Family::Flux2, 5),
        (Family::Lens, 5),
        (Family::Ltx, 5),
        (Family::Wan, 5),
        (Family::Chroma, 7),
        (Family::Anima, 5),
    ] {
        assert_eq!(tokens("a photo of a cat", family), expected, "{family:?}");
    }
    assert_eq!(tokens("ein Schloß über dem See", Family::Sd1), 9);
    assert_eq!(tokens("桜の木の下で", Family::ZImage), 7);
}

#[test]
fn brackets_count_where_they_are_letters() {
    let prompt = "a (photo:1.2) of a cat";
    assert_eq!((tokens(prompt, Family::Sd1), tokens(prompt, Family::ZImage), tokens(prompt, Family::Ideogram4)), (5, 5, 11));
    assert_eq!((tokens(r#"the sign says "open""#, Family::ZImage), tokens(r#"the sign says "open""#, Family::LongCat)), (6, 10));
    let prompt = "a [photo] of a cat";
    assert!(tokens(prompt, Family::ZImage) > tokens(prompt, Family::Sd1));
}

#[test]
fn what_no_model_reads_is_not_counted_and_what_is_chosen_is_said() {
    let plain = count("a photo of a cat <lora:ink:0.8> /* in the rain */", Family::ZImage);
    assert_eq!((plain.main.tokens, plain.is_certain), (5, true));
    let chosen = count("a {photo|large painting} of a __animal__", Family::Sd1);
    assert_eq!((chosen.main.tokens, chosen.is_certain), (4, false));
}

#[test]
fn a_model_that_stops_reading_says_before_which_word() {
    let lens = count("cat ".repeat(500).trim(), Family::Lens);
    assert_eq!((lens.main.tokens, lens.main.reach, lens.borders), (500, Reach::First(408), vec![408 * 4]));
    assert!(count("cat ".repeat(408).trim(), Family::Lens).borders.is_empty());
}

#[test]
fn no_beginning_ends_within_a_choice_or_a_tag() {
    let text = "a {red b|c d} lake, <lora:my ink:1> 桜木 x";
    let words: Vec<&str> = cuts(text).into_iter().map(|cut| &text[cut..]).collect();
    let expected =
        ["{red b|c d} lake, <lora:my ink:1> 桜木 x", "lake, <lora:my ink:1> 桜木 x", "<lora:my ink:1> 桜木 x", "桜木 x", "木 x", "x"];
    assert_eq!(words, expected);
}

#[test]
fn what_would_take_long_is_refused() {
    let mut counter = TokenCounter::default();
    let mut count = |prompt: &str, family: Family| counter.count(prompt, &[], family);
    assert_eq!(count(&"a cat ".repeat(200_000), Family::Sd1), Err(NotCounted::TooLong));
    assert_eq!(count(&"x".repeat(5_000), Family::ZImage), Err(NotCounted::TooLong));
    // CLIP encodes what is no ASCII letter as one.
    assert_eq!(count(&"桜、".repeat(1_000), Family::Sd1), Err(NotCounted::TooLong));
    assert!(count(&"桜、".repeat(1_000), Family::ZImage).is_ok());
    assert_eq!(count("a cat", Family::Svd), Err(NotCounted::Family));
}
