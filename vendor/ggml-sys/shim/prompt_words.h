// What a prompt's brackets mean, and how its words are split: called by the patched sources of the engine, whose regular expressions recurse for each
// letter. Everything here takes time in proportion to the text, and a text that means nothing is text.
#pragma once

#include <string>
#include <utility>
#include <vector>

// Words with their weights, in the syntax of AUTOMATIC1111: `(more)`, `[less]`, `(weight:1.2)`, `BREAK` with a weight of -1, and brackets after a
// backslash, which are letters.
std::vector<std::pair<std::string, float>> atelier_weighted_words(const std::string& text);

// The prompts that AND joins, with their weights, in the syntax of AUTOMATIC1111: `a dog AND a lake :0.5`. A prompt alone has no weight of its own.
std::vector<std::pair<std::string, float>> atelier_joined_prompts(const std::string& text);

// The same as weighted words for an encoder that reads brackets as letters: only the backslashes before them go.
std::vector<std::pair<std::string, float>> atelier_plain_words(const std::string& text);

// Words with their weights for a language model, to which brackets are letters: `(words:1.2)` alone weighs, and nothing in a text in JSON.
std::vector<std::pair<std::string, float>> atelier_emphasised_words(const std::string& text);

// Each run of white space (or, of blanks alone) is one blank.
std::string atelier_single_spaces(const std::string& text, bool blanks_only);

// Pieces of a text that CLIP's tokenizer encodes one by one: endings after an apostrophe, runs of ASCII letters, single digits, runs of the rest.
std::vector<std::string> atelier_clip_pieces(const std::string& text);
