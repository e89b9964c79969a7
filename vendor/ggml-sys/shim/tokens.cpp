// How many tokens a prompt has: the engine's tokenizers, given a prompt's words as its conditioners cut them (conditioning/conditioner.hpp).
#include <memory>
#include <utility>
#include <vector>

#include "core/util.h"
#include "error_boundary.h"
#include "prompt_words.h"
#include "shim.h"
#include "tokenizers/clip_tokenizer.h"
#include "tokenizers/gemma_tokenizer.h"
#include "tokenizers/gpt_oss_tokenizer.h"
#include "tokenizers/mistral_tokenizer.h"
#include "tokenizers/qwen2_tokenizer.h"
#include "tokenizers/t5_unigram_tokenizer.h"

struct atelier_tokenizer {
    std::unique_ptr<Tokenizer> engine;
    // Special tokens of its own, before those of a call.
    size_t own_tokens = 0;
};

namespace {

using Words = std::vector<std::pair<std::string, float>>;

// Access to the protected list of texts that are one token each.
struct TokenizerAccess : Tokenizer {
    static std::vector<std::string>& special(Tokenizer& tokenizer) {
        return tokenizer.*(&TokenizerAccess::special_tokens);
    }
};

std::unique_ptr<Tokenizer> make_tokenizer(int kind) {
    switch (kind) {
        case ATELIER_TOKENIZER_CLIP:
            return std::make_unique<CLIPTokenizer>();
        case ATELIER_TOKENIZER_T5:
            return std::make_unique<T5UniGramTokenizer>();
        case ATELIER_TOKENIZER_UMT5:
            return std::make_unique<T5UniGramTokenizer>(true);
        case ATELIER_TOKENIZER_QWEN2:
            return std::make_unique<Qwen2Tokenizer>();
        case ATELIER_TOKENIZER_MISTRAL:
            return std::make_unique<MistralTokenizer>();
        case ATELIER_TOKENIZER_GPT_OSS:
            return std::make_unique<GPTOSSTokenizer>();
        case ATELIER_TOKENIZER_GEMMA:
            return std::make_unique<GemmaTokenizer>();
        default:
            return nullptr;
    }
}

// The words of a language model are tokenised at once, whatever they weigh.
Words joined(const Words& words) {
    std::string all;
    for (const auto& word : words) {
        all += word.first;
    }
    return {{all, 1.0f}};
}

Words words_of(const std::string& text, int reading) {
    switch (reading) {
        case ATELIER_READING_WEIGHTED:
            return atelier_weighted_words(text);
        case ATELIER_READING_EMPHASISED:
            return joined(atelier_emphasised_words(text));
        case ATELIER_READING_QUOTED:
            return split_quotation_attention(joined(atelier_emphasised_words(text)));
        case ATELIER_READING_PLAIN:
            return atelier_plain_words(text);
        default:
            return {{text, 1.0f}};
    }
}

}  // namespace

atelier_status atelier_tokenizer_new(int kind, atelier_tokenizer** out) {
    if (out == nullptr) {
        return atelier::reject("a tokenizer needs a place");
    }
    *out = nullptr;
    atelier_init();
    return atelier::run_guarded(nullptr, [=] {
        auto made    = std::make_unique<atelier_tokenizer>();
        made->engine = make_tokenizer(kind);
        if (made->engine == nullptr) {
            return atelier::reject("the engine has no such tokenizer");
        }
        made->own_tokens = TokenizerAccess::special(*made->engine).size();
        *out             = made.release();
        return ATELIER_OK;
    });
}

void atelier_tokenizer_free(atelier_tokenizer* tokenizer) {
    delete tokenizer;
}

uint64_t atelier_shared_vocabularies(void) {
    return atelier::SharedVocabulary::in_memory;
}

atelier_status atelier_tokenizer_count(atelier_tokenizer* tokenizer,
                                       const char* text,
                                       size_t size,
                                       int reading,
                                       size_t chunk,
                                       const atelier_token_word* tokens,
                                       size_t token_count,
                                       atelier_token_counts* out) {
    if (tokenizer == nullptr || text == nullptr || out == nullptr || (tokens == nullptr && token_count > 0)) {
        return atelier::reject("tokens are counted of a text");
    }
    *out = {};
    return atelier::run_guarded(nullptr, [=] {
        Tokenizer& engine                 = *tokenizer->engine;
        std::vector<std::string>& special = TokenizerAccess::special(engine);
        special.resize(tokenizer->own_tokens);
        for (size_t i = 0; i < token_count; ++i) {
            special.push_back(tokens[i].token);
        }
        const on_new_token_cb_t on_token = [&](std::string& word, std::vector<int32_t>& ids) {
            for (size_t i = 0; i < token_count; ++i) {
                if (word == tokens[i].token) {
                    ids.insert(ids.end(), tokens[i].count, 0);
                    return true;
                }
            }
            return false;
        };
        const std::string whole(text, size);
        const auto begin_chunk = [&] { out->places += (chunk - out->places % chunk) % chunk; };
        // As FrozenCLIPEmbedderWithCustomWords::tokenize does it, for each prompt that AND joins; elsewhere BREAK and AND are words.
        for (const auto& prompt : chunk > 0 ? atelier_joined_prompts(whole) : Words{{whole, 1.0f}}) {
            if (chunk > 0) {
                begin_chunk();
            }
            for (const auto& word : words_of(prompt.first, reading)) {
                if (chunk > 0 && word.second == -1.0f && word.first == "BREAK") {
                    begin_chunk();
                    continue;
                }
                const size_t count = engine.encode(word.first, token_count > 0 ? on_token : nullptr).size();
                out->tokens += count;
                out->places += count;
            }
        }
        return ATELIER_OK;
    });
}
